import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { compare, packageDoor } from "../../conformance/run.ts";
import { LoopDetector } from "../../dist/index.js";
import { LoopDetector as OfFile } from "../../dist/index.node.js";
import { expected, same } from "../support/expected.ts";

test("Node, as an ES module: the bytes of the native library", async () => {
  assert.equal(OfFile, LoopDetector);
  same(compare(packageDoor(LoopDetector), await expected()));
});

test("Node, as a CommonJS module: the bytes of the native library", async () => {
  const required: typeof import("../../dist/index.js") = createRequire(import.meta.url)("../../dist/index.cjs");
  same(compare(packageDoor(required.LoopDetector), await expected()));
});
