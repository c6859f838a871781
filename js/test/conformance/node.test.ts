import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { compare, packageDoor } from "../../conformance/run.ts";
import { LoopDetector } from "../../dist/index.js";
import { expected, same } from "../support/expected.ts";

test("Node, as an ES module: the bytes of the native library", async () => {
  // The entry that Node takes is the same detector, whose module comes from the file.
  const node = "../../dist/index.node.js";
  assert.equal((await import(node)).LoopDetector, LoopDetector);
  same(compare(packageDoor(LoopDetector), await expected()));
});

test("Node, as a CommonJS module: the bytes of the native library", async () => {
  const required: typeof import("../../dist/index.js") = createRequire(import.meta.url)("../../dist/index.cjs");
  same(compare(packageDoor(required.LoopDetector), await expected()));
});
