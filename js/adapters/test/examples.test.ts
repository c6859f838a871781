import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../../test/support/run.ts";
import { imported, thinkWorker } from "./think.ts";

const folder = new URL("../examples/", import.meta.url);
const files = (await readdir(folder)).filter((name) => name.endsWith(".ts") && name !== "otel.ts");
const exported = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")).exports;

test("every adapter has an example", () => {
  const entries = Object.keys(exported).filter((name) => files.includes(`${name.slice(2)}.ts`));
  assert.equal(entries.length, files.length);
  assert.ok(files.length >= 2);
});

/** The output of an example. */
async function printed(file: string): Promise<string> {
  const { code, stdout, stderr } = await run(process.execPath, [
    // The package is a link here; its adapters must resolve their frameworks from the location of the link.
    "--preserve-symlinks",
    "--preserve-symlinks-main",
    fileURLToPath(new URL(file, folder)),
  ]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** The answer of the example that is a worker. */
async function answered(): Promise<string> {
  const storage = await mkdtemp(join(tmpdir(), "loopwarden-example-"));
  const example = imported("adapters/examples/cloudflare.ts");
  const runtime = await thinkWorker(`export { default, Assistant } from ${example};`, ["Assistant"], storage);
  try {
    const response = await runtime.dispatchFetch("http://localhost/");
    assert.equal(response.status, 200, await response.clone().text());
    return await response.text();
  } finally {
    await runtime.dispose();
    await rm(storage, { recursive: true });
  }
}

for (const file of files) {
  const name = file.replace(/\.ts$/, "");

  test(`example ${name}: nudged, refused, ended`, async () => {
    const stdout = file === "cloudflare.ts" ? await answered() : await printed(file);
    const place = (line: RegExp) => {
      const index = stdout.search(line);
      assert.ok(index >= 0, `no ${line} in:\n${stdout}`);
      return index;
    };
    const order = [/^nudge: Loopwarden/m, /^block: Loopwarden/m, /^halt: /m, /^## Loop Detected/m].map(place);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  test(`docs/frameworks/${name}.md shows the example as it is`, async () => {
    const page = await readFile(new URL(`../../../docs/frameworks/${name}.md`, import.meta.url), "utf8");
    const example = await readFile(new URL(file, folder), "utf8");
    assert.ok(page.includes(`\`\`\`ts\n${example}\`\`\`\n`));
  });
}
