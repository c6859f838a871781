import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { machineNode, project } from "./support/packed.ts";
import { run } from "./support/run.ts";
import { serve } from "./support/worker.ts";

const js = fileURLToPath(new URL("..", import.meta.url));
const blocks: { page: string; kind: string; code: string }[] = [];
for (const page of ["README.md", "docs/javascript.md"]) {
  const text = await readFile(join(js, "..", page), "utf8");
  for (const [, kind = "", code = ""] of text.matchAll(/<!-- test: (\w+) -->\s*```(?:js|ts|mjs)\n(.*?)```/gs))
    blocks.push({ page, kind, code });
}

test("the README and the page of the API have examples that are run", () => {
  for (const needs of ["README.md", "docs/javascript.md"])
    assert.ok(
      blocks.some(({ page, kind }) => page === needs && kind === "node"),
      `${needs} needs a js or ts block after <!-- test: node -->`,
    );
  for (const { kind } of blocks) assert.ok(["node", "worker"].includes(kind), `nothing runs <!-- test: ${kind} -->`);
});

/** The example with the types that the README names, as a TypeScript project has it. */
const typed = (code: string): string =>
  `${code}\nimport type { AgentEvent, Config, Verdict } from "loopwarden";\nexport type All = [AgentEvent, Config, Verdict];\n`;

for (const [index, { page, kind, code }] of blocks.entries()) {
  const title = `${page}, example ${index + 1} (${kind})`;
  if (kind === "node") {
    test(title, async () => {
      // As printed: a fresh project that has installed the package, and the example in a file of it.
      await using fresh = await project({ "example.mjs": code, "example.mts": typed(code) });
      // On the Node that the machine has, which may be as old as the package takes.
      const { code: exit, stdout, stderr } = await run(await machineNode(), ["example.mjs"], { cwd: fresh.folder });
      assert.equal(exit, 0, stderr);
      assert.match(stdout, /^nudge /m, "the example shows what a nudge looks like");
      assert.ok(stdout.split("\n").length <= 12, `what it shows is more than a reader needs:\n${stdout}`);
      const tsc = join(js, "node_modules", "typescript", "bin", "tsc");
      const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "example.mts"];
      const checked = await run(process.execPath, [tsc, ...strict], { cwd: fresh.folder });
      assert.equal(checked.code, 0, checked.stdout);
    });
  } else if (kind === "worker") {
    test(title, async () => {
      await using worker = await serve(code);
      // The convention: a worker takes the events of a run as a JSON list and answers with the last verdict.
      const pair = (callId: number) => [
        { type: "tool-call", tool: "search", args: { q: "oauth2" }, callId: `${callId}` },
        { type: "tool-result", callId: `${callId}`, outcome: "ok", output: "no results" },
      ];
      const events = Array.from({ length: 8 }, (_, callId) => pair(callId)).flat();
      const response = await worker.fetch({ method: "POST", body: JSON.stringify(events) });
      const body = await response.text();
      assert.equal(response.status, 200, body);
      assert.notEqual(JSON.parse(body).level, "continue", body);
    });
  }
}
