import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { componentDoor, type Detection } from "../../conformance/component.ts";
import { compare } from "../../conformance/run.ts";
import { expected, given, same } from "../support/expected.ts";
import { run } from "../support/run.ts";

const js = fileURLToPath(new URL("../..", import.meta.url));

test("the component, transpiled by jco: the bytes of the native library", async () => {
  const lines = await expected();
  const folder = await mkdtemp(join(tmpdir(), "loopwarden-component-"));
  try {
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    const jco = join(js, "scripts/tool.mjs");
    const args = ["transpile", given("LOOPWARDEN_COMPONENT"), "-o", folder, "--name", "detector", "--no-wasi-shim"];
    const { code, stdout, stderr } = await run(process.execPath, [jco, "jco", ...args]);
    assert.equal(code, 0, stdout + stderr);
    const module: { detection: Detection } = await import(pathToFileURL(join(folder, "detector.js")).href);
    const schema = JSON.parse(await readFile(join(js, "schema/event.schema.json"), "utf8"));
    same(compare(componentDoor(module.detection, schema), lines));
  } finally {
    await rm(folder, { recursive: true });
  }
});
