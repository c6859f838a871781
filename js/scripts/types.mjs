// Generates src/generated/types.ts and public.ts from the published JSON Schemas; with --check, fails if one is not up
// to date. The schemas and src/generated/rules.ts are generated from the core: `cargo xtask schema`.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const folder = new URL("../schema/", import.meta.url);
const target = new URL("../src/generated/types.ts", import.meta.url);
const publicTarget = new URL("../src/generated/public.ts", import.meta.url);

// Inputs may be `null` where outputs are omitted. Outputs come last, so that a type used for both has their definition.
const names = (await readdir(folder)).filter((name) => name.endsWith(".schema.json")).sort();
const written = ["error", "metrics", "record", "report", "status", "verdict"].map((name) => `${name}.schema.json`);
names.sort((a, b) => Number(written.includes(a)) - Number(written.includes(b)));

const definitions = {};
const documents = {};
for (const name of names) {
  const { $schema: _, $id: __, $defs, ...root } = JSON.parse(await readFile(new URL(name, folder), "utf8"));
  Object.assign(definitions, $defs, { [root.title]: root });
  documents[name.replace(".schema.json", "")] = { $ref: `#/$defs/${root.title}` };
}
// Collects the definitions of all schemas; the fields that all events share become one interface.
const common = Object.keys(definitions.Context.properties);
// Open in the schema, where each kind of event is closed; an open base interface would open all kinds.
definitions.Context.additionalProperties = false;
for (const kind of definitions.Event.oneOf) {
  for (const name of common) delete kind.properties[name];
  kind.extends = { $ref: "#/$defs/Context" };
}
const here = (/** @type {any} */ node) => {
  if (Array.isArray(node)) return node.map(here);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key !== "$ref" || typeof value !== "string") return [key, here(value)];
      const [, document, pointer] = /^(\w+)\.schema\.json#?(.*)$/.exec(value) ?? [];
      if (document === undefined) return [key, value];
      return [key, pointer === "" ? documents[document]?.$ref : `#${pointer}`];
    }),
  );
};
// One name per event: a trace event is an event with one more field.
definitions.TraceEvent = {
  description: definitions.TraceEvent.description,
  tsType: "Event & { pending?: boolean }",
};
const strip = (/** @type {any} */ node) => {
  if (Array.isArray(node)) return node.map(strip);
  if (node === null || typeof node !== "object") return node;
  const { format, minimum, maximum, default: _, ...rest } = node;
  // A description beside a reference would create a copy of the type under another name.
  if ("$ref" in rest && "description" in rest) return { description: rest.description, allOf: [{ $ref: rest.$ref }] };
  // Any JSON: a schema with only a description.
  if (Object.keys(rest).length === 1 && typeof rest.description === "string") return { ...rest, tsType: "unknown" };
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, strip(value)]));
};
const schema = {
  title: "Documents",
  description: "The published documents, by the name of their schema.",
  type: "object",
  properties: documents,
  required: Object.keys(documents),
  additionalProperties: false,
  $defs: definitions,
};
const compiled = await compile(here(strip(schema)), "Documents", {
  additionalProperties: true,
  bannerComment: "// Generated from schema/*.schema.json by `npm run types`: change the model, not this file.",
  style: { printWidth: 120 },
  unreachableDefinitions: true,
});

// Removes remarks about where a definition was found.
const found = compiled.replaceAll(
  / \*\n \* This interface was referenced by `Documents`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g,
  "",
);

const rules = Object.keys(definitions.Config.properties.rules.properties);
if (rules.length === 0) throw new Error("the schema of the configuration names no rule");

/** Replaces a pattern; throws unless it occurs `times` times. */
function replaced(text, pattern, replacement, times) {
  let count = 0;
  const result = text.replaceAll(pattern, (...match) => {
    count += 1;
    return replacement(...match);
  });
  if (count !== times) throw new Error(`${pattern} is there ${count} times, not ${times}`);
  return result;
}

// Adds what the schemas of outputs cannot express without invalidating outputs of newer versions: the ids of rules, and
// that verdicts from `nudge` on have guidance.
const ids = rules.map((id) => `  | ${JSON.stringify(id)}`).join("\n");
let text = `${found}/**\n * The id of a rule.\n */\nexport type RuleId =\n${ids};\n`;
text = replaced(text, /^( +)rule: string;$/gm, (_, indent) => `${indent}rule: RuleId;`, 3);
text = replaced(text, /^export interface Verdict \{$/gm, () => "export interface VerdictFields {", 1);
text += `/**
 * The answer to one event. From \`nudge\` on it says what to tell the agent, and a halt says why.
 */
export type Verdict = VerdictFields &
  (
    | { level: "continue" | "observe" }
    | { level: "nudge" | "block" | "gate"; guidance: string }
    | { level: "halt"; guidance: string; haltReason: HaltReason }
  );
`;

// Renames types whose names the DOM has too, so that an import does not shadow them.
const RENAMED = { Event: "AgentEvent", MessageEvent: "AgentMessageEvent", CustomEvent: "AgentCustomEvent" };
const exported = [...text.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name]) => name ?? "").sort();
for (const name of Object.keys(RENAMED)) if (!exported.includes(name)) throw new Error(`there is no ${name}`);
const publicText = `// Generated by \`npm run types\`: the types of the package, without names that hide the DOM's.
export type {
${exported.map((name) => `  ${name in RENAMED ? `${name} as ${RENAMED[/** @type {keyof typeof RENAMED} */ (name)]}` : name},`).join("\n")}
} from "./types.ts";
`;
for (const [path, wanted] of /** @type {const} */ ([
  [target, text],
  [publicTarget, publicText],
])) {
  if (!process.argv.includes("--check")) await writeFile(path, wanted);
  else if ((await readFile(path, "utf8").catch(() => "")) !== wanted) {
    console.error(`${path.pathname.split("/").slice(-3).join("/")} is not up to date: run \`npm run types\``);
    process.exit(1);
  }
}
