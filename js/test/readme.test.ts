import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { machineNode } from "./support/packed.ts";
import { run } from "./support/run.ts";
import { serve } from "./support/worker.ts";

const js = fileURLToPath(new URL("..", import.meta.url));
const readme = await readFile(join(js, "..", "README.md"), "utf8");
const blocks = [...readme.matchAll(/<!-- test: (\w+) -->\s*```(?:js|ts|mjs)\n(.*?)```/gs)].map(([, kind, code]) => ({
  kind: kind ?? "",
  code: code ?? "",
}));

test("the README has examples that are run", () => {
  assert.ok(
    blocks.some(({ kind }) => kind === "node"),
    "the README needs a js or ts block after <!-- test: node -->",
  );
  for (const { kind } of blocks) assert.ok(["node", "worker"].includes(kind), `nothing runs <!-- test: ${kind} -->`);
});

for (const [index, { kind, code }] of blocks.entries()) {
  const title = `README example ${index + 1} (${kind})`;
  if (kind === "node") {
    test(title, async () => {
      const folder = await mkdtemp(join(tmpdir(), "loopwarden-readme-"));
      try {
        await writeFile(join(folder, "example.mjs"), code);
        await writeFile(join(folder, "package.json"), '{"type":"module"}');
        await mkdir(join(folder, "node_modules"));
        await symlink(js, join(folder, "node_modules/loopwarden"), "junction");
        // On the Node that the machine has, which may be as old as the package takes.
        const { code: exit, stdout, stderr } = await run(await machineNode(), ["example.mjs"], { cwd: folder });
        assert.equal(exit, 0, stderr);
        assert.match(stdout, /^(nudge|block|halt) /m, "the example shows what a verdict looks like");
      } finally {
        await rm(folder, { recursive: true });
      }
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
