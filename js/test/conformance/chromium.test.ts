import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Outcome } from "../../conformance/run.ts";
import { openTab } from "../support/browser.ts";
import { expected, same } from "../support/expected.ts";

test("Chromium: the bytes of the native library", async () => {
  const lines = await expected();
  await using tab = await openTab(fileURLToPath(new URL("../..", import.meta.url)));
  const outcome: Outcome = await tab.page.evaluate(async (lines) => {
    // The page resolves these, not Node: they are the URLs of its own server.
    const [loopwarden, runner] = ["/dist/index.js", "/conformance/run.ts"];
    const { LoopDetector } = await import(loopwarden as string);
    const { compare, packageDoor } = await import(runner as string);
    return compare(packageDoor(LoopDetector), lines);
  }, lines);
  same(outcome);
});
