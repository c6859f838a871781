// Runs the conformance kit and the tests specific to Think in workerd; here the tests are only listed and started.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { imported, thinkWorker } from "./think.ts";

const folder = await mkdtemp(join(tmpdir(), "loopwarden-think-"));
const worker = imported("adapters/test/cloudflare/worker.ts");
const runtime = await thinkWorker(
  `export * from ${worker}; export { default } from ${worker};`,
  ["Bare", "Watched", "Own", "Forgetful", "Chat", "Careful"],
  folder,
);
after(async () => {
  await runtime.dispose();
  await rm(folder, { recursive: true });
});

const listed = await runtime.dispatchFetch("http://localhost/");
const cases = (await listed.json()) as { title: string; skip?: string }[];
assert.ok(cases.length > 0);

for (const { title, skip } of cases) {
  test(title, { ...(skip !== undefined && { skip }) }, async () => {
    const response = await runtime.dispatchFetch("http://localhost/", { method: "POST", body: title });
    assert.equal(response.status, 200, await response.clone().text());
  });
}
