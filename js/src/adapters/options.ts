// The options of every adapter are checked on creation: a misspelt one would be silently ignored, and an agent that was
// only to be observed would be stopped.
import { LoopwardenError } from "loopwarden";
import { SETTINGS } from "../generated/names.ts";
import { distance } from "../replay/nearest.ts";

/** The options of every adapter. */
const OPTIONS = [
  "agent",
  "config",
  "detector",
  "enabled",
  "maxRefusals",
  "now",
  "onHalt",
  "onVerdict",
  "onWarning",
  "prompts",
  "run",
  "state",
  "task",
];
/** The types of those that have one. */
const TYPES = {
  boolean: ["enabled"],
  function: ["now", "onHalt", "onVerdict", "onWarning"],
  string: ["agent", "run", "state", "task"],
};
/** Settings that belong in `config` and are often written beside it. */
const CONFIG = SETTINGS.filter((name) => !OPTIONS.includes(name));

/**
 * Returns the options unchanged after checking names and values.
 *
 * @param foreign options of other adapters that this one does not take, with the reason.
 * @throws {LoopwardenError} `invalid-config`, naming the option and, for an unknown one, the one that was probably
 * meant.
 */
export function checked<OPTIONS extends object>(
  options: OPTIONS,
  foreign: Readonly<Record<string, string>> = {},
): OPTIONS {
  if (!isRecord(options)) throw wrong("options", "must be an object", options);
  for (const [name, value] of Object.entries(options)) {
    const reason = Object.hasOwn(foreign, name) ? foreign[name] : undefined;
    if (reason !== undefined && value !== undefined) throw wrong(name, reason);
    if (OPTIONS.includes(name)) continue;
    throw unknown(
      name,
      OPTIONS.filter((known) => foreign[known] === undefined),
    );
  }
  const given = options as Readonly<Record<string, unknown>>;
  for (const [type, names] of Object.entries(TYPES))
    for (const name of names)
      if (given[name] !== undefined && typeof given[name] !== type) throw wrong(name, `must be a ${type}`, given[name]);
  const { config, detector, prompts, maxRefusals } = given;
  if (config !== undefined && !isRecord(config)) throw wrong("config", "must be an object", config);
  if (detector !== undefined && !(isRecord(detector) && "record" in detector))
    throw wrong("detector", "must be a LoopDetector", detector);
  if (config !== undefined && detector !== undefined)
    throw wrong("config", "is not for a guard with a `detector`, which has its own");
  if (prompts !== undefined && prompts !== "human" && prompts !== "host")
    throw wrong("prompts", 'must be "human" or "host"', prompts);
  if (maxRefusals !== undefined && !(Number.isSafeInteger(maxRefusals) && Number(maxRefusals) >= 0))
    throw wrong("maxRefusals", "must be a whole number, 0 for never", maxRefusals);
  return options;
}

/** The error for an unknown option, with the option or setting that was probably meant. */
export function unknown(name: string, options: readonly string[]): LoopwardenError {
  if (CONFIG.includes(name)) return wrong(name, `belongs into \`config\`: { config: { ${name}: … } }`);
  const [near] = [...options, ...CONFIG]
    .map((known) => ({ known, distance: distance(name.toLowerCase(), known.toLowerCase()) }))
    .filter(({ known, distance }) => distance <= Math.max(2, known.length / 3))
    .sort((a, b) => a.distance - b.distance);
  const hint = near && (CONFIG.includes(near.known) ? `config: { ${near.known}: … }` : near.known);
  return wrong(name, `is no option${hint === undefined ? "" : `; did you mean \`${hint}\`?`}`);
}

/**
 * Checks that the installed version of the framework exports what the adapter uses.
 *
 * @param entry the name of the adapter's entry point.
 * @param needs the supported versions, for the error message.
 * @throws {LoopwardenError} `invalid-config` with the supported versions if one of `names` is missing.
 */
export function supported(entry: string, needs: string, framework: object, names: readonly (string | symbol)[]): void {
  const missing = names.filter((name) => !(name in framework));
  if (missing.length === 0) return;
  const message = `loopwarden/${entry} needs ${needs}; the version that is installed has no ${missing.map(String).join(", ")}`;
  throw new LoopwardenError({ code: "invalid-config", message });
}

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The error for an option. */
export function wrong(field: string, message: string, value?: unknown): LoopwardenError {
  const told = value === undefined ? undefined : String(value).slice(0, 80);
  return new LoopwardenError({ code: "invalid-config", message, field, value: told });
}
