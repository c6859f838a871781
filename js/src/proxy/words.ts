// The texts of the proxy for models and people. They are always signed: they must not be mistaken for a tool's output
// or a human's message.
import type { Level, Verdict } from "loopwarden";

/**
 * The beginnings of answers given in place of the model, by which they are recognised when a conversation continues.
 */
export const ENDED = "Loopwarden (loop detector) ended this run";
export const ASKS = "Loopwarden (loop detector) stopped here for a human";

/** Sentences in the core's guidance for hosts that can refuse a call. Here the call has already run. */
const REFUSALS = [
  " This attempt is refused so that something else can be tried.",
  " The same call will be refused if it is made again.",
];

/** The note for the model. */
export function note(verdict: Verdict, level: Level): string {
  const [finding] = verdict.findings;
  let said = verdict.guidance ?? finding?.message ?? "this run is going round in circles.";
  for (const refusal of REFUSALS) said = said.replace(refusal, "");
  const stop =
    level === "nudge"
      ? ""
      : " Do not do the same again: its result is known, and the run will be ended if this continues. Use another tool" +
        " or another way, or tell the user what is in the way.";
  return `<harness-note>\nThis is a note from the harness, not a tool's output and not the user's words.\n${signed(said)}${stop}\n</harness-note>`;
}

/** The answer given in place of the model at a gate or halt. */
export function ending(verdict: Verdict): string {
  const [finding] = verdict.findings;
  const found = sentence(finding?.message ?? "it is going round in circles");
  const since = finding && finding.wasted.events > 1 ? ` It has been going on for ${finding.wasted.events} steps.` : "";
  const rule = finding ? ` (${finding.rule})` : "";
  if (verdict.level === "gate")
    return `${ASKS}${rule}: ${found}${since} The model was not asked. Say how to go on, and it will.`;
  return `${ENDED}${rule}: ${found}${since} The model was not asked, and the task is not done. Write a new message to go on.`;
}

/** The note at the end of an answer that was cut. */
export const cutNote = (verdict: Verdict): string =>
  `\n\n[Loopwarden (loop detector) cut this answer here: ${sentence(verdict.findings[0]?.message ?? "it repeats itself")}]`;

/** Whether a text is an answer given in place of the model. */
export const isOurs = (text: string): boolean => text.startsWith(ENDED) || text.startsWith(ASKS);

const sentence = (text: string): string => text.replace(/[.\s]*$/, ".");

const signed = (text: string): string => (text.startsWith("Loopwarden") ? text : `Loopwarden (loop detector): ${text}`);
