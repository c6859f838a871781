import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { js, npm, pack, project } from "../support/packed.ts";
import { tool } from "../support/tool.ts";

test("publint --strict has nothing to say", async () => {
  assert.match(await tool("publint", "publint", ["--strict"]), /All good!/);
});

test("npm would publish the tarball", async () => {
  const folder = await mkdtemp(join(tmpdir(), "loopwarden-publish-"));
  try {
    const { tarball, files } = await pack(folder);
    const [, json] =
      /^(\{.*^\})/ms.exec(await npm(["publish", tarball, "--dry-run", "--access", "public", "--json"], folder)) ?? [];
    const told = JSON.parse(json ?? "");
    const { version } = JSON.parse(await readFile(join(js, "package.json"), "utf8"));
    const published = told.loopwarden ?? told;
    assert.equal(published.id, `loopwarden@${version}`);
    assert.equal(published.files.length, files.length);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("attw: the types are right for every resolution that has subpaths", async () => {
  // Node 10 knows no `exports`, so it finds `.` alone; its subpaths cannot be resolved by any package without stray files
  // at its root. The other resolutions have no excuse.
  const { exports } = JSON.parse(await readFile(join(js, "package.json"), "utf8"));
  // An adapter of a framework that has no CommonJS has none either.
  const only = Object.keys(exports).filter((name) => typeof exports[name].default === "string");
  assert.ok(only.length > 0);
  const both = ["--profile", "node16", "--exclude-entrypoints", "core.wasm", "tools.wasm", ...only];
  for (const options of [both, ["--profile", "esm-only", "--entrypoints", ...only]]) {
    await tool("@arethetypeswrong/cli", "attw", ["--pack", ".", "--format", "ascii", ...options]);
  }
  const legacy = await tool("@arethetypeswrong/cli", "attw", [
    "--pack",
    ".",
    "--entrypoints",
    ".",
    "--profile",
    "strict",
    "--format",
    "ascii",
  ]);
  assert.match(legacy, /No problems found/);
});

const consumer = `
import { type AgentEvent as Event, LoopDetector, LoopwardenError, type Verdict, version } from "loopwarden";
import { readTranscript } from "loopwarden/tools";
import { init, LoopDetector as Slim } from "loopwarden/slim";

const event: Event = { type: "tool-call", tool: "t", args: { any: [1] } };
const detector: LoopDetector = new LoopDetector({ mode: "shadow" });
const verdict: Verdict = detector.record(event);
const level: "continue" | "observe" | "nudge" | "block" | "gate" | "halt" = verdict.level;
const markdown: string = detector.report();
const rules: string[] = detector.report({}, "json").findings.map((finding) => finding.rule);
const bytes: Uint8Array = detector.snapshot();
init(bytes);
const slim: Slim = Slim.restore(bytes);
export const all = [level, markdown, rules, slim, version(), readTranscript("").events.length];

// @ts-expect-error: a field that no event has
const unknown: Event = { type: "output", text: "", txt: "" };
// @ts-expect-error: a field of another event
detector.record({ type: "output", tool: "t" });
// @ts-expect-error: a level that does not exist
const wrong: Verdict["level"] = "stop";
try {
  detector.check(event);
} catch (error) {
  if (error instanceof LoopwardenError && error.code === "disposed") all.push(error.field ?? "");
}
export default [unknown, wrong];
`;

for (const [module, moduleResolution, type] of [
  ["node16", "node16", "module"],
  ["node16", "node16", "commonjs"],
  ["nodenext", "nodenext", "module"],
  ["esnext", "bundler", "module"],
] as const) {
  test(`types: a strict ${type} project with moduleResolution ${moduleResolution}`, async () => {
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2022",
      lib: ["es2022"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
    };
    await using consuming = await project({
      "package.json": JSON.stringify({ private: true, type }),
      "tsconfig.json": JSON.stringify({ compilerOptions, files: ["consumer.ts"] }),
      "consumer.ts": consumer,
    });
    await tool("typescript", "tsc", ["-p", "."], consuming.folder);
  });
}

const loop = `
import { LoopDetector, LoopwardenError } from "loopwarden";

const detector = new LoopDetector();
const verdict = detector.record({ type: "tool-call", tool: "edit", args: { file: "a.js" } });
console.log(verdict.level, verdict.guidance, new LoopwardenError({ code: "internal", message: "" }).field);
declare const other: { record: LoopDetector["record"] };
// @ts-expect-error: what only looks like a detector is none
export const detectors: LoopDetector[] = [detector, other];
`;

test("types: a file that is compiled by itself, for the oldest target", async () => {
  await using consuming = await project({ "package.json": '{ "private": true }', "loop.ts": loop });
  // What TypeScript 5.9 does by itself.
  const oldest = ["--target", "es5", "--module", "commonjs", "--moduleResolution", "node10"];
  const allowed = ["--ignoreDeprecations", "6.0"];
  await tool("typescript", "tsc", ["--strict", "--noEmit", ...oldest, ...allowed, "loop.ts"], consuming.folder);
});
