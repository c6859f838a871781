import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { expected, same } from "../support/expected.ts";
import { serve } from "../support/worker.ts";

test("workerd: the bytes of the native library", async () => {
  const lines = await expected();
  const runner = fileURLToPath(new URL("../../conformance/run.ts", import.meta.url));
  await using worker = await serve(`
    import { LoopDetector } from "loopwarden";
    import { compare, packageDoor } from ${JSON.stringify(runner)};
    export default {
      fetch: async (request) => Response.json(compare(packageDoor(LoopDetector), await request.json())),
    };
  `);
  const response = await worker.fetch({ method: "POST", body: JSON.stringify(lines) });
  same(JSON.parse(await response.text()));
});
