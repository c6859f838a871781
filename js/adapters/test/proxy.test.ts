// Tests the proxy for each API, with the vendor's own SDK on one side and a scripted model on the other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { VENDORS } from "./proxy/agents.ts";
import type { Script } from "./proxy/model.ts";
import { levels, nothing, stand, stuck } from "./proxy/stand.ts";

for (const vendor of VENDORS) {
  for (const stream of [false, true]) {
    const title = `${vendor.name}, ${stream ? "streamed" : "whole"}`;

    test(`${title}: a loop is told to the model, then steered, then ended in the model's stead`, async () => {
      await using at = await stand(stuck);
      const run = await at.run(vendor, { stream, tool: nothing });
      const asked = at.model.received.map(({ json }) => json());
      const first = levels(run).indexOf("nudge");
      const blocked = levels(run).indexOf("block");
      assert.ok(first >= 1 && first <= 3, `nudged at ${levels(run)}`);
      assert.ok(blocked > first, `blocked at ${levels(run)}`);
      assert.equal(levels(run).at(-1), "halt");
      assert.match(run.headers[first]?.get("loopwarden-finding") ?? "", /^[a-z-]+;kind=[a-z-]+;level=nudge;count=\d+;/);
      // The note is at the end of the conversation, names its author, and is not in earlier requests.
      assert.match(vendor.last(asked[first] ?? {}), /harness-note.*not a tool's output.*Loopwarden \(loop detector\)/s);
      assert.doesNotMatch(JSON.stringify(asked[first - 1]), /Loopwarden/);
      assert.match(vendor.last(asked[blocked] ?? {}), /Do not do the same again/);
      assert.doesNotMatch(JSON.stringify(asked), /will be refused|is refused/);
      if (vendor.name !== "anthropic") {
        const choice = JSON.stringify(vendor.choice(asked[blocked] ?? {}));
        assert.ok(choice.includes("search") && !choice.includes("read_file"), choice);
      }
      // The last answer is the proxy's: the vendor was not called.
      assert.equal(asked.length, run.headers.length - 1);
      assert.match(run.text, /^Loopwarden \(loop detector\) ended this run \([a-z-]+\): /);
      assert.equal(run.stop, vendor.done);
      assert.ok(run.executed < 12, `${run.executed} calls ran`);
      const { judged, answered, guided, steered, unread, saved } = at.proxy.metrics();
      assert.deepEqual([judged, answered, unread], [run.headers.length, 1, 0]);
      assert.ok(guided >= 2 && (vendor.name === "anthropic" ? steered === 0 : steered >= 1), `${guided} ${steered}`);
      assert.ok(saved.input > 100);
      assert.deepEqual(at.warnings, []);
    });

    test(`${title}: honest work passes byte for byte, both ways`, async () => {
      const script: Script = (_, index) =>
        index < 12
          ? { text: `Step ${index}.`, calls: [{ name: "read_file", args: { path: `${index}.ts` } }] }
          : { text: "Done." };
      await using at = await stand(script);
      const run = await at.run(vendor, {
        stream,
        tool: (_, __, index) =>
          `export const part${index} = ${index * 17};\n// ${"abcdefghij"[index % 10]?.repeat(index)}`,
      });
      assert.equal(run.text, "Done.");
      assert.equal(run.executed, 12);
      assert.deepEqual(
        at.model.received.map(({ body }) => body.toString()),
        run.bodies,
      );
      assert.ok(
        levels(run).every((level) => level === "continue" || level === "observe"),
        `${levels(run)}`,
      );
      assert.deepEqual(at.warnings, []);
      assert.equal(at.proxy.metrics().unread, 0);
    });

    test(`${title}: an answer that runs away is cut, and its tokens are counted`, async () => {
      await using at = await stand(() => ({ forever: () => "I will now check the file again. " }));
      let seen = "";
      const setup = { stream, tool: nothing, maxTokens: 30_000, onText: (text: string) => (seen += text) };
      if (!stream) {
        // An answer that is not streamed has already been billed, so it is not cut.
        at.model.script = () => ({ text: "I will now check the file again. ".repeat(200) });
        const run = await at.run(vendor, { ...setup, maxTokens: 8000 });
        assert.ok(run.text.length > 6000 && !run.text.includes("Loopwarden"));
        return;
      }
      const run = await at.run(vendor, setup);
      assert.equal(run.stop, vendor.cut);
      assert.match(run.text, /Loopwarden \(loop detector\) cut this answer here/);
      assert.equal(seen, run.text);
      assert.ok(run.text.length < 10_000, `${run.text.length} characters`);
      const [received] = at.model.received;
      for (let wait = 0; wait < 100 && !received?.aborted; wait++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.ok(received?.aborted, "the vendor's stream was ended");
      const { cut, saved } = at.proxy.metrics();
      assert.equal(cut, 1);
      assert.ok(saved.output > 25_000 && saved.output < 30_000, `${saved.output}`);
      assert.deepEqual(at.told.map(({ exchange }) => exchange.action).slice(-1), ["cut"]);
    });

    test(`${title}: only observed, nothing changes but the headers`, async () => {
      await using at = await stand((_, index) => (index < 14 ? stuck(_, index) : { text: "I give up." }), {
        policy: "observe",
      });
      const run = await at.run(vendor, { stream, tool: nothing });
      assert.equal(run.text, "I give up.");
      assert.ok(levels(run).includes("nudge") && levels(run).includes("halt"), `${levels(run)}`);
      assert.deepEqual(
        at.model.received.map(({ body }) => body.toString()),
        run.bodies,
      );
      assert.ok(at.told.every(({ exchange }) => exchange.action === "none"));
    });

    test(`${title}: parallel calls are one turn, each with its own answer`, async () => {
      const calls = ["a", "b", "c"].map((path) => ({ name: "read_file", args: { path } }));
      await using at = await stand(() => ({ calls }));
      const run = await at.run(vendor, { stream, tool: (_, args) => `Error: cannot read ${JSON.stringify(args)}` });
      assert.ok(levels(run).includes("nudge"), `${levels(run)}`);
      assert.equal(levels(run).at(-1), "halt");
      assert.equal(levels(run)[0], "continue");
      // The same three calls with changing results are honest.
      at.model.received.length = 0;
      at.model.script = (_, index) => (index < 8 ? { calls } : { text: "Done." });
      const other = await at.run(vendor, {
        stream,
        tool: (_, __, index) => `${index * 7919} of ${index * 104_729} done, ${"qwertz"[index % 6]}${index}`,
      });
      assert.equal(other.text, "Done.");
    });

    test(`${title}: an error of the vendor's comes as it is`, async () => {
      await using at = await stand(() => ({ status: 429 }));
      await assert.rejects(at.run(vendor, { stream, tool: nothing }), /429|scripted/);
      assert.equal(at.proxy.metrics().judged, at.model.received.length);
    });
  }

  test(`${vendor.name}: who goes away ends the vendor's answer`, async () => {
    await using at = await stand(() => ({ forever: (piece) => `line ${piece * 7919} of the story, which goes on. ` }));
    const gone = new AbortController();
    let seen = 0;
    const setup = { stream: true, tool: nothing, signal: gone.signal, onText: () => ++seen === 20 && gone.abort() };
    await assert.rejects(at.run(vendor, setup));
    const [received] = at.model.received;
    for (let wait = 0; wait < 200 && !received?.aborted; wait++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(received?.aborted);
    assert.deepEqual(at.warnings, []);
  });

  test(`${vendor.name}: an answer that breaks off does not look like a whole one`, async () => {
    await using at = await stand(() => ({ text: "One sentence after the other. ".repeat(20), breaksAfter: 5 }));
    await assert.rejects(at.run(vendor, { stream: true, tool: nothing }));
  });
}
