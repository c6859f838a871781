import { inForce } from "../diagnose.ts";
import { expected, type Options, parse, UsageError } from "./args.ts";
import { InputError } from "./failure.ts";
import { shown } from "./input.ts";
import { NAME } from "./name.ts";
import { print, printJson, tell } from "./print.ts";
import { exists, notes, read } from "./settings.ts";

export const help: string = `Usage: loopwarden config check [FILE] [--json]
       loopwarden config show [FILE] [--tool NAME] [--json]

check says whether a configuration is valid: no unknown field, no contradiction, no threshold that can never be reached or
that has no effect. Up to 20 errors are reported, each as if the fields of those before were left out; each names its
field and, where it can be found, the line. In a valid one it notes what may be unintended: a duplicate key, a 0, which
switches a threshold off and makes a budget unlimited, thresholds of a rule that is off, and a level for unattended runs
while the run is attended.
show says what is in force: the settings that differ from the defaults, with everything that the configuration extends,
and the thresholds of every rule that runs.

FILE is ${NAME} in this folder by default, and may be "-" for the standard input; if there is no such file, the
defaults apply. It may contain comments, trailing commas and "$schema".

  --tool NAME  what is in force for one tool
  --json       check: {"file", "ok", "absent"?, "error"?, "errors"?, "notes"?}, with "errors" if there are several;
               show: {"file", "absent"?, "config", "rules", …}

Exit codes: 0 valid, 1 not valid or not readable, 2 wrong usage.
`;

const OWN = { json: { type: "boolean", default: false }, tool: { type: "string" } } as const satisfies Options;
export const options: Options = OWN;

/** Words for completion. */
export const words: readonly string[] = ["check", "show"];

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OWN);
  const [action, named, ...more] = positionals;
  const file = named ?? NAME;
  if (action === "show" && more.length === 0) return show(named, values);
  if (action === undefined || more.length > 0) throw new UsageError("config: expected `check FILE` or `show FILE`");
  if (action !== "check" && action !== "show") throw new UsageError(`config ${action}: ${expected(action, words)}`);
  if (values.tool !== undefined) throw new UsageError("config check: --tool belongs to `config show`");
  if (named === undefined && !(await exists(NAME))) {
    if (values.json) printJson({ file, ok: true, absent: true });
    else print(ABSENT);
    return 0;
  }
  let document: string;
  try {
    ({ document } = await read(file));
  } catch (error) {
    if (!values.json || !(error instanceof InputError)) throw error;
    const [first, ...more] = error.messages;
    printJson({ file, ok: false, error: first, ...(more.length > 0 && { errors: error.messages }) });
    return 1;
  }
  const noted = notes(document);
  if (values.json) printJson({ file, ok: true, ...(noted.length > 0 && { notes: noted }) });
  else {
    print(`${shown(file)}: ok`);
    for (const { line, field, message } of noted) print(`${shown(file)}:${line}: note: \`${field}\`: ${message}`);
  }
  return 0;
}

/** The message if no configuration is named and none is found. */
const ABSENT = `no ${NAME} in this folder: the defaults are in force`;

async function show(named: string | undefined, values: { json: boolean; tool?: string }): Promise<number> {
  const isAbsent = named === undefined && !(await exists(NAME));
  const file = named ?? NAME;
  const force = inForce(isAbsent ? "" : (await read(file)).text, values.tool);
  if (values.json) {
    printJson({ file, ...(isAbsent && { absent: true }), ...force });
    return 0;
  }
  if (isAbsent) tell(`loopwarden: ${ABSENT}`);
  print(JSON.stringify(force.config, undefined, 2));
  if (!force.enabled) print(`\n${values.tool}: calls are not judged`);
  if (force.polling)
    print(
      `\n${values.tool}: is declared to poll: repeated-call, blind-repeat, unanswered-call and cycle need three times as much`,
    );
  if (force.ignoreArgs.length > 0) print(`\n${values.tool}: calls are compared without ${force.ignoreArgs.join(", ")}`);
  if (force.identityArgs.length > 0)
    print(`\n${values.tool}: calls are compared by ${force.identityArgs.join(", ")} only`);
  const rung = (threshold: number): string => (threshold === 0 ? "-" : String(threshold)).padStart(6);
  const row = (id: string, rungs: readonly string[]): string => `${id.padEnd(24)}${rungs.join(" ")}`;
  const head = ["nudge", "block", "gate", "halt"].map((name) => name.padStart(6));
  print(`\n${row("rules in force", head)}`);
  for (const { id, nudge, block, gate, halt } of force.rules) {
    // Counters have thresholds of their own, printed below.
    if (id !== "counter") print(row(id, [nudge, block, gate, halt].map(rung)));
  }
  for (const [name, counter] of Object.entries(force.config.conventions?.counters ?? {})) {
    const { nudge, block, gate, halt } = counter;
    print(
      row(
        `counter ${name}`,
        [nudge, block, gate, halt].map((threshold) => rung(threshold ?? 0)),
      ),
    );
  }
  return 0;
}
