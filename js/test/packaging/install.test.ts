import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { openTab } from "../support/browser.ts";
import { js, machineNode, type Project, pack, project } from "../support/packed.ts";
import { run } from "../support/run.ts";
import { serve } from "../support/worker.ts";

/** Prints what a detector says to the first event, and that an error is one. */
const body = `
const detector = new LoopDetector();
const verdict = detector.record({ type: "output", text: "hello" });
let code;
try { detector.record("{"); } catch (error) { code = error instanceof LoopwardenError && error.code; }
const answer = JSON.stringify([verdict.seq, verdict.level, code, LoopDetector.restore(detector.snapshot()).metrics().events]);
`;
const answer = '[0,"continue","invalid-json",1]';

const esm = `import { LoopDetector, LoopwardenError } from "loopwarden";${body}console.log(answer);`;
const cjs = `const { LoopDetector, LoopwardenError } = require("loopwarden");${body}console.log(answer);`;
const slim = `
import { readFileSync } from "node:fs";
import { LoopDetector, LoopwardenError, init } from "loopwarden/slim";
let early;
try { new LoopDetector(); } catch (error) { early = error.code; }
if (early !== "not-initialised") throw new Error(early);
let foreign;
try { init(new Uint8Array(8)); } catch (error) { foreign = error.code; }
if (foreign !== "invalid-argument") throw new Error(foreign);
init(readFileSync(new URL(import.meta.resolve("loopwarden/core.wasm"))));
${body}console.log(answer);`;
const slimCjs = `
const { readFileSync } = require("node:fs");
const { LoopDetector, LoopwardenError, init } = require("loopwarden/slim");
init(new WebAssembly.Module(readFileSync(require.resolve("loopwarden/core.wasm"))));
${body}console.log(answer);`;
const both = `
import { createRequire } from "node:module";
import schema from "loopwarden/schema/event.schema.json" with { type: "json" };
import { LoopDetector } from "loopwarden";
import { LoopDetector as Slim } from "loopwarden/slim";
if (Slim !== LoopDetector) throw new Error("two classes");
new Slim();
if (schema.title !== "Event") throw new Error("schema");
if (createRequire(import.meta.url)("loopwarden/package.json").name !== "loopwarden") throw new Error("package.json");
`;

let installed: Project;
before(async () => {
  installed = await project({
    "esm.mjs": esm,
    "cjs.cjs": cjs,
    "slim.mjs": slim,
    "slim.cjs": slimCjs,
    "both.mjs": both,
  });
});
after(() => installed[Symbol.asyncDispose]());

test("the tarball holds what is needed and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "loopwarden-pack-"));
  const { files, size } = await pack(folder);
  await rm(folder, { recursive: true });
  for (const name of [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "THIRD-PARTY-NOTICES.txt",
    "dist/cli.js",
    "dist/core.wasm",
    "dist/http.js",
    "dist/index.d.cts",
    "dist/view.html",
  ]) {
    assert.ok(files.includes(name), name);
  }
  assert.deepEqual(
    files.filter((name) => name.endsWith(".wasm")),
    ["dist/core.wasm", "dist/tools.wasm"],
  );
  const elsewhere =
    /^(LICENSE-\w+|THIRD-PARTY-NOTICES\.txt|README\.md|package\.json|dist\/[\w.-]+|schema\/[\w-]+\.schema\.json)$/;
  assert.deepEqual(
    files.filter((name) => !elsewhere.test(name)),
    [],
  );
  const { dependencies } = JSON.parse(await readFile(join(js, "package.json"), "utf8"));
  assert.equal(dependencies, undefined, "no run-time dependencies");
  console.log(`tarball: ${size} bytes, ${files.length} files`);
});

for (const script of ["esm.mjs", "cjs.cjs", "slim.mjs", "slim.cjs", "both.mjs"]) {
  for (const [name, node] of [
    ["the scripts' Node", async () => process.execPath],
    ["the machine's Node", machineNode],
  ] as const) {
    test(`${script} on ${name}`, async () => {
      const path = await node();
      const { code, stdout, stderr } = await run(path, [script], { cwd: installed.folder });
      assert.equal(code, 0, stderr);
      if (script !== "both.mjs") assert.equal(stdout.trim(), answer);
    });
  }
}

test("the command runs on the machine's Node", async () => {
  const cli = join(installed.folder, "node_modules/loopwarden/dist/cli.js");
  const { code, stdout } = await run(await machineNode(), [cli, "schema", "event"]);
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).title, "Event");
  for (const reporter of ["junit", "sarif", "github"]) {
    const args = [cli, "replay", "-", "--format", "trace", "--reporter", reporter];
    const told = await run(await machineNode(), args, { input: '{"type":"output","text":"hello"}\n' });
    assert.deepEqual([told.code, told.stderr], [0, ""], reporter);
  }
});

test("mcp --url brings all it needs, and nothing else loads that", async () => {
  const cli = join(installed.folder, "node_modules/loopwarden/dist/cli.js");
  const request = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`;
  const { code, stdout, stderr } = await run(await machineNode(), [cli, "mcp", "--url", "http://127.0.0.1:9/"], {
    cwd: installed.folder,
    input: request,
  });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).error.code, -32000);
  const loads = await Promise.all(
    (await readdir(join(installed.folder, "node_modules/loopwarden/dist"))).map(async (name) => {
      if (!/\.c?js$/.test(name) || name === "http.js") return [];
      const text = await readFile(join(installed.folder, "node_modules/loopwarden/dist", name), "utf8");
      return /["']\.\/http\.js["']/.test(text) ? [name] : [];
    }),
  );
  assert.deepEqual(loads.flat(), ["mcp.js"]);
});

test("a hook loads a few files and little of Node: it is started for every call of a tool", async () => {
  const dist = join(installed.folder, "node_modules/loopwarden/dist");
  const [files, builtins] = [new Map<string, number>(), new Set<string>()];
  const load = async (name: string): Promise<void> => {
    if (files.has(name)) return;
    const text = await readFile(join(dist, name), "utf8");
    files.set(name, text.length);
    for (const [, from = ""] of text.matchAll(/(?:^|;)import\b[^"'`(]*["'`]([^"'`]+)["'`]/gm)) {
      // An ES module that imports one of Node's has it load all that it could export.
      assert.ok(from.startsWith("./"), `${name} imports ${from}`);
      await load(from.slice(2));
    }
    for (const [, from = ""] of text.matchAll(/getBuiltinModule\?\.\(["'`]([^"'`]+)["'`]\)/g)) builtins.add(from);
  };
  await load("cli.js");
  await load("hook-run.js");
  assert.deepEqual([...files.keys()], ["cli.js", "hook-run.js"]);
  const bytes = [...files.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 80_000, `${bytes} bytes`);
  assert.deepEqual([...builtins].sort(), ["node:fs", "node:os", "node:path", "node:util"]);
});

/** Bundles a script of the project as a user would. */
async function bundled(contents: string, platform: "node" | "browser"): Promise<string> {
  const { outputFiles, warnings } = await build({
    stdin: { contents, resolveDir: installed.folder },
    bundle: true,
    format: "esm",
    platform,
    write: false,
    logLevel: "silent",
  });
  assert.deepEqual(warnings, []);
  return outputFiles[0]?.text ?? "";
}

test("one file, bundled for a server, needs nothing beside it", async () => {
  const { code, stdout, stderr } = await run(process.execPath, ["--input-type=module"], {
    cwd: tmpdir(),
    input: await bundled(esm, "node"),
  });
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trim(), answer);
});

test("one file, bundled for a browser, runs in Chromium", async () => {
  const script = await bundled(esm.replace("console.log(answer)", "globalThis.answer = answer"), "browser");
  await using tab = await openTab(installed.folder);
  await tab.page.addScriptTag({ content: script, type: "module" });
  await tab.page.waitForFunction("globalThis.answer");
  assert.equal(await tab.page.evaluate("globalThis.answer"), answer);
});

test("the installed files, unbundled, run in Chromium", async () => {
  await using tab = await openTab(join(installed.folder, "node_modules/loopwarden"));
  const version = await tab.page.evaluate(async (path) => (await import(path)).version(), "/dist/index.js");
  assert.match(version, /^\d+\.\d+\.\d+\+rules\.\d+$/);
});

test("a worker that was deployed from the installed package runs in workerd", async () => {
  await using worker = await serve(
    `import { LoopDetector, LoopwardenError } from "loopwarden";
    export default { fetch() { ${body} return new Response(answer); } };`,
    installed.folder,
  );
  const response = await worker.fetch();
  assert.equal(await response.text(), answer);
});
