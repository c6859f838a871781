// Generates src/generated/types.ts from the published JSON Schemas; with --check, fails when it is not up to date. Schemas
// and src/generated/rules.ts come from the core itself: `cargo xtask schema`.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const folder = new URL("../schema/", import.meta.url);
const target = new URL("../src/generated/types.ts", import.meta.url);

// What goes in may be `null` where what comes out is left out. A type that does both is named after what comes out.
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
// One name per event: a trace event is an event with one more field.
definitions.TraceEvent = {
  description: definitions.TraceEvent.description,
  tsType: "Event & { pending?: boolean }",
};
const strip = (/** @type {any} */ node) => {
  if (Array.isArray(node)) return node.map(strip);
  if (node === null || typeof node !== "object") return node;
  const { format, minimum, maximum, default: _, ...rest } = node;
  // A description beside a reference would make a copy of the type under another name.
  if ("$ref" in rest && "description" in rest) return { description: rest.description, allOf: [{ $ref: rest.$ref }] };
  // Any JSON: a schema that says nothing but what it is for.
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
const compiled = await compile(strip(schema), "Documents", {
  additionalProperties: true,
  bannerComment: "// Generated from schema/*.schema.json by `npm run types`: change the model, not this file.",
  style: { printWidth: 120 },
  unreachableDefinitions: true,
});

// Where a definition was found in the schemas is no news to who reads the types.
const text = compiled.replaceAll(
  / \*\n \* This interface was referenced by `Documents`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g,
  "",
);

for (const [path, wanted] of /** @type {const} */ ([[target, text]])) {
  if (!process.argv.includes("--check")) await writeFile(path, wanted);
  else if ((await readFile(path, "utf8").catch(() => "")) !== wanted) {
    console.error(`${path.pathname.split("/").slice(-3).join("/")} is not up to date: run \`npm run types\``);
    process.exit(1);
  }
}
