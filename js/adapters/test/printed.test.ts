// The complete examples of the documents, exactly as they are printed: each in an empty folder, with the line of npm that
// stands above it. Only the package itself comes from its tarball, and not from the registry.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { npm, pack } from "../../test/support/packed.ts";
import { run } from "../../test/support/run.ts";
import { thinkWorker } from "./think.ts";

const folder = new URL("../../../docs/frameworks/", import.meta.url);
/** The line of npm, the command, and the example. */
const PRINTED = /```sh\nnpm install ([^\n]+)\nnode (\S+)\n```\n\n```ts\n(.*?)```\n/s;
/** The same of a worker, which is no script. */
const WORKER = /```sh\nnpm install ([^\n]+)\n```.*\n## A complete example\n.*?```ts\n(.*?)```\n/s;

const pages = (await readdir(folder)).filter((name) => name !== "README.md");
test("every page has a complete example", async () => {
  for (const page of pages) {
    const text = await readFile(new URL(page, folder), "utf8");
    assert.ok((page === "cloudflare.md" ? WORKER : PRINTED).test(text), page);
  }
});

/** A project with the package and what a line of npm names beside it. */
async function installed(packages: string): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "loopwarden-printed-"));
  const { tarball } = await pack(project);
  const [own, ...names] = packages.split(" ");
  assert.equal(own, "loopwarden");
  await npm(["install", "--no-audit", "--no-fund", "--prefer-offline", tarball, ...names], project);
  return project;
}

const TOLD = [/^nudge: Loopwarden/m, /^block: Loopwarden/m, /^halt: /m, /^## Loop Detected/m];

test("cloudflare.md: installed and run as printed, in workerd", async () => {
  const page = await readFile(new URL("cloudflare.md", folder), "utf8");
  const [, packages = "", example = ""] = WORKER.exec(page) ?? [];
  const project = await installed(packages);
  try {
    await writeFile(join(project, "cloudflare.ts"), example);
    const code = 'export { default, Assistant } from "./cloudflare.ts";';
    const runtime = await thinkWorker(code, ["Assistant"], join(project, "storage"), project);
    try {
      const response = await runtime.dispatchFetch("http://localhost/");
      const text = await response.text();
      assert.equal(response.status, 200, text);
      for (const line of TOLD) assert.match(text, line);
    } finally {
      await runtime.dispose();
    }
  } finally {
    await rm(project, { recursive: true });
  }
});

for (const page of pages.filter((name) => name !== "cloudflare.md")) {
  test(`${page}: installed and run as printed`, async () => {
    const [, packages = "", file = "", example = ""] =
      PRINTED.exec(await readFile(new URL(page, folder), "utf8")) ?? [];
    const project = await installed(packages);
    try {
      await writeFile(join(project, file), example);
      const { code, stdout, stderr } = await run(process.execPath, [file], { cwd: project });
      assert.equal(code, 0, stderr);
      for (const line of TOLD) assert.match(stdout, line);
    } finally {
      await rm(project, { recursive: true });
    }
  });
}
