// The complete examples of the documents, exactly as they are printed: each in an empty folder, with the line of npm that
// stands above it. Only the package itself comes from its tarball, and not from the registry.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { npm, pack } from "../../test/support/packed.ts";
import { run } from "../../test/support/run.ts";

const folder = new URL("../../../docs/frameworks/", import.meta.url);
/** The line of npm, the command, and the example. */
const PRINTED = /```sh\nnpm install ([^\n]+)\nnode (\S+)\n```\n\n```ts\n(.*?)```\n/s;

const pages = (await readdir(folder)).filter((name) => name !== "README.md");
test("every page has a complete example", async () => {
  for (const page of pages) {
    const text = await readFile(new URL(page, folder), "utf8");
    // A worker is no script: the conformance of that one runs it in workerd.
    assert.equal(PRINTED.test(text), page !== "cloudflare.md", page);
  }
});

for (const page of pages.filter((name) => name !== "cloudflare.md")) {
  test(`${page}: installed and run as printed`, async () => {
    const [, packages = "", file = "", example = ""] =
      PRINTED.exec(await readFile(new URL(page, folder), "utf8")) ?? [];
    const project = await mkdtemp(join(tmpdir(), "loopwarden-printed-"));
    try {
      const { tarball } = await pack(project);
      const names = packages.split(" ");
      assert.equal(names[0], "loopwarden");
      const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
      await npm(["install", ...flags, tarball, ...names.slice(1)], project);
      await writeFile(join(project, file), example);
      const { code, stdout, stderr } = await run(process.execPath, [file], { cwd: project });
      assert.equal(code, 0, stderr);
      for (const line of [/^nudge: Loopwarden/m, /^block: Loopwarden/m, /^halt: /m, /^## Loop Detected/m])
        assert.match(stdout, line);
    } finally {
      await rm(project, { recursive: true });
    }
  });
}
