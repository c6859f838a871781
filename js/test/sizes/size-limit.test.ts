import { test } from "node:test";
import { tool } from "../support/tool.ts";

test("size-limit: the package is as small as promised", async () => {
  console.log((await tool("size-limit", "size-limit", [])).trim());
});
