import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { Config, AgentEvent as Event, Verdict } from "../../dist/index.js";
import { readTranscript } from "../../dist/tools.js";
import { launch } from "../support/browser.ts";
import { run } from "../support/run.ts";

const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const transcripts = fileURLToPath(new URL("../../../tests/transcripts/", import.meta.url));
const demo = join(transcripts, "debugging-session.jsonl");
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

let folder: string;
let browser: Browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-page-"));
  browser = await launch();
  await loopwarden("view", "-o", "empty.html");
  await loopwarden("view", demo, "-o", "demo.html");
});
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

const loopwarden = (...args: string[]) => run(process.execPath, [cli, ...args], { cwd: folder });

/** A page from a file, on which nothing may go wrong and from which nothing may go out. */
async function open(
  name: string,
  options: BrowserContextOptions = {},
  hash = "",
  script = "",
): Promise<Page & AsyncDisposable> {
  const context = await browser.newContext({ viewport: WIDE, acceptDownloads: true, ...options });
  if (script !== "") await context.addInitScript(script);
  // A machine at work with other things is slow, and no browser hangs for so long.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) wrong.push(`request: ${request.url()}`);
  });
  await page.goto(`${pathToFileURL(join(folder, name)).href}${hash}`);
  return Object.assign(page, {
    [Symbol.asyncDispose]: async () => {
      await context.close();
      assert.deepEqual(wrong, []);
    },
  });
}

/** Waits until a run is judged. */
const judged = (page: Page): Promise<void> => page.locator("#headline:visible").waitFor({ timeout: 60_000 });

/** The level of every event, as the list shows them. */
async function levels(page: Page): Promise<string[]> {
  const list = page.locator("#events .events");
  const found = new Map<number, string>();
  const total = Number(await page.locator("#events .row").first().getAttribute("aria-setsize"));
  for (let top = 0; found.size < total; top += 300) {
    await list.evaluate((element, to) => element.scrollTo(0, to), top);
    // Drawn two frames later, however long a frame takes.
    await page.evaluate(
      "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))",
    );
    const rows = await page
      .locator("#events .row")
      .evaluateAll((elements) =>
        elements.map((row) => [Number(row.getAttribute("data-event")), row.querySelector(".chip")?.textContent ?? ""]),
      );
    for (const [index, chip] of rows) found.set(index as number, String(chip).split(" ").at(-1) || "continue");
    assert.ok(top <= total * 30 + 300, "not every event is in the list");
  }
  return [...found].sort(([a], [b]) => a - b).map(([, level]) => level);
}

/** The same from the command line. */
async function expected(file: string, config: Config): Promise<string[]> {
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const { stdout } = await loopwarden("replay", file, "--json", "--config", "config.json");
  const verdicts: Verdict[] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return verdicts.map(({ level, wouldBe }) => wouldBe ?? level);
}

/** Waits until the list shows what the command line says with the page's settings, however slow the browser is. */
async function shows(page: Page): Promise<void> {
  const wanted = await expected(demo, await configOf(page));
  const end = performance.now() + 30_000;
  let found = await levels(page);
  while (!isDeepStrictEqual(found, wanted) && performance.now() < end) {
    await page.waitForTimeout(100);
    found = await levels(page);
  }
  assert.deepEqual(found, wanted);
}

const configOf = async (page: Page): Promise<Config> => JSON.parse(await page.locator("#config-text").inputValue());

/** Calls that fail in the same way, each in a round of its own. */
const stuck = (times: number): Event[] =>
  Array.from({ length: times }, (_, index): Event[] => [
    { type: "tool-call", tool: "edit", args: { path: "a.ts", old: `try ${index}` }, callId: `c${index}` },
    { type: "tool-result", tool: "edit", callId: `c${index}`, outcome: "error", output: "text not found in a.ts" },
  ]).flat();

const jsonLines = (events: unknown[]): string => events.map((event) => JSON.stringify(event)).join("\n");

test("the demo's transcript: what went wrong, since when, what it cost and what to do, at the top", async () => {
  await using page = await open("demo.html");
  await judged(page);
  const headline = page.locator("#headline");
  const box = await headline.boundingBox();
  assert.ok(box && box.y + box.height < WIDE.height, "all of it is in sight without scrolling");
  const text = await headline.innerText();
  for (const part of [
    /stuck/i,
    /Edit failed at least 8 times/,
    /String to replace not found/,
    /since/i,
    /event 77/i,
    /\d+ events/,
    /End the run/,
  ]) {
    assert.match(text, part);
  }
  assert.match(await page.title(), /debugging-session\.jsonl/);
  assert.match(await page.locator("#report").innerText(), /Loop Detected[\s\S]*Options/);
});

test("what repeats, what differs and what counts as equal stand side by side", async () => {
  await using page = await open("demo.html");
  await judged(page);
  const sides = page.locator("#evidence .side");
  assert.equal(await sides.count(), 2);
  const digests = await page.locator("#evidence .digest code").allInnerTexts();
  assert.equal(digests[0], digests[1]);
  assert.ok((await page.locator("#evidence .masked").count()) > 0, "the anchors differ and count as equal");
  assert.match(await page.locator("#evidence").innerText(), /the marked words do not count/);
  assert.match(await page.locator("#evidence").innerText(), /The rule is \d+ % sure that this is a loop/);
  await sides.first().locator("select").selectOption({ index: 1 });
  assert.match(await page.locator("#evidence .side select").first().locator("option:checked").innerText(), /^2 of/);
});

test("where nothing differs no marked words are spoken of, and code with backticks is code in the report", async () => {
  await using page = await open("empty.html");
  const same = Array.from({ length: 4 }, (_, index): Event[] => [
    { type: "tool-call", tool: "run", args: { cmd: "a" }, callId: `s${index}` },
    { type: "tool-result", tool: "run", callId: `s${index}`, outcome: "error", output: "see `cat -n` first" },
  ]).flat();
  await page.locator("#paste").fill(jsonLines(same));
  await page.locator("#read").click();
  await judged(page);
  const evidence = await page.locator("#evidence").innerText();
  assert.match(evidence, /treats these two as equal\./);
  assert.doesNotMatch(evidence, /differs/);
  const report = page.locator("#report");
  await report.locator("code", { hasText: "error: see `cat -n` first" }).first().waitFor({ state: "attached" });
  assert.doesNotMatch((await report.textContent()) ?? "", /``/);
});

for (const [name, viewport] of [
  ["desktop", WIDE],
  ["phone", PHONE],
] as const) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`${name}, ${colorScheme}: axe finds nothing, nothing is cut off at the side`, async () => {
      for (const file of ["demo.html", "empty.html"]) {
        await using page = await open(file, { viewport, colorScheme, bypassCSP: true });
        if (file === "demo.html") {
          await judged(page);
          await page.locator("#false-alarm").click();
          await page.locator(".proposal").first().waitFor();
          await page.locator("#settings details summary").click();
        }
        const { violations } = await new AxeBuilder({ page }).analyze();
        const told = violations.map(({ id, nodes }) => `${file}: ${id}: ${nodes.map(({ html }) => html).join("\n")}`);
        assert.deepEqual(told, []);
        const [inner, outer] = (await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [
          number,
          number,
        ];
        assert.ok(inner <= outer, `${file} is ${inner} wide on a screen of ${outer}`);
      }
    });
  }
}

test("a finding about one target says which", async () => {
  await using page = await open("demo.html");
  await judged(page);
  assert.match(await page.locator("#loops").innerText(), /report\.py failed 11 times in the same way/);
});

test("the names of loops are whole on a phone, wherever the timeline is scrolled to", async () => {
  await using page = await open("demo.html", { viewport: PHONE });
  await judged(page);
  const scroller = page.locator("#timeline .scroller");
  const window = await scroller.boundingBox();
  const names = page.locator("#timeline .span text");
  assert.ok(window && (await names.count()) >= 2);
  for (const name of await names.all()) {
    const box = await name.boundingBox();
    assert.ok(box && box.x >= window.x && box.x + box.width <= window.x + window.width, await name.innerHTML());
  }
});

test("the colour schemes are two", async () => {
  const papers = new Set<string>();
  for (const colorScheme of ["light", "dark"] as const) {
    await using page = await open("demo.html", { colorScheme });
    papers.add(await page.evaluate<string>("getComputedStyle(document.body).backgroundColor"));
  }
  assert.equal(papers.size, 2);
});

test("the example has trend, badge, phases and the collaboration", async () => {
  await using page = await open("empty.html");
  await page.locator("#example-workflow").click();
  await judged(page);
  const flow = page.locator("#flow");
  await flow.getByText("Transitions between phases").waitFor();
  const text = await flow.innerText();
  for (const part of [/7 → 4 → 2 → 2/, /Loop \d\/8/, /implement[\s\S]*verify/, /Hand-overs between agents/])
    assert.match(text, part);
  assert.equal(await page.locator("#timeline .labels .lane").first().innerText(), "coder");
});

test("every recorded transcript can be dropped, and is read as the CLI reads it", async () => {
  const files = (await readdir(transcripts)).filter((name) => name !== "README.md");
  assert.ok(files.length > 0);
  for (const name of files) {
    const { events, format } = readTranscript(await readFile(join(transcripts, name), "utf8"));
    await using page = await open("empty.html");
    await page.locator("#file").setInputFiles(join(transcripts, name));
    await judged(page);
    const about = await page.locator("#about").innerText();
    assert.ok(about.startsWith(`${name} · ${format} · ${events.length.toLocaleString("en")} event`), about);
    assert.deepEqual(await levels(page), await expected(join(transcripts, name), {}), name);
  }
});

test("a run can be pasted, packed with gzip, or be a scenario with a configuration of its own", async () => {
  await using page = await open("empty.html");
  await page.locator("#paste").fill(jsonLines(stuck(9)));
  await page.locator("#read").click();
  await judged(page);
  assert.match(await page.locator("#headline").innerText(), /halt/i);
  await page
    .locator("#file")
    .setInputFiles({ name: "run.jsonl.gz", mimeType: "application/gzip", buffer: gzipSync(jsonLines(stuck(4))) });
  await page.locator("#about", { hasText: "run.jsonl.gz" }).waitFor();
  await page.locator("#headline.nudge").waitFor();
  const scenario = { id: "s", config: { enabled: false }, events: stuck(9) };
  await page
    .locator("#file")
    .setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(scenario)) });
  await page.locator("#headline.continue").waitFor();
  assert.deepEqual(await configOf(page), { enabled: false });
});

test("what cannot be read is told in place", async () => {
  await using page = await open("empty.html");
  await page.locator("#paste").fill('{"type":"output"}\nno json');
  await page.locator("#read").click();
  await page.locator("#refusal", { hasText: /no readable event.*Line 1/ }).waitFor();
  assert.equal(await page.locator("#headline").isVisible(), false);
});

test("lines that cannot be read are told, and the others are shown", async () => {
  await using page = await open("empty.html");
  await page.locator("#paste").fill(`${jsonLines(stuck(4))}\nno json\n`);
  await page.locator("#read").click();
  await page.locator("#headline.nudge").waitFor();
  await page.locator("#unread summary").click();
  await page.locator("#unread li", { hasText: /^Line 9: / }).waitFor();
});

test("a log of which most cannot be read has a headline that says so", async () => {
  await using page = await open("empty.html");
  const empty = { type: "tool-call", tool: "", args: {} };
  await page.locator("#paste").fill(`${jsonLines([...stuck(1), empty, empty])}\nno json\n`);
  await page.locator("#read").click();
  await page.locator("#headline.mostly-unread", { hasText: "3 of 5 lines or events" }).waitFor();
  assert.match(await page.locator("#about").innerText(), /2 events · 3 unreadable/);
  await page.locator("#unread summary", { hasText: "3 lines or events" }).click();
  assert.deepEqual(
    (await page.locator("#unread li").allInnerTexts()).map((text) => text.split(":")[0]),
    ["Line 3", "Line 4", "Line 5"],
  );
});

test("events are found and filtered, and the keys stay among those that are listed", async () => {
  await using page = await open("demo.html");
  await judged(page);
  await page.locator("#find-kind").selectOption("failed");
  await page.locator("#found", { hasText: /^\d+ events of 115$/ }).waitFor();
  const count = Number.parseInt(await page.locator("#found").innerText(), 10);
  assert.equal(await page.locator("#events .row").first().getAttribute("aria-setsize"), String(count));
  await page.locator("#find").fill("output:replace");
  await page.locator("#found", { hasText: new RegExp(`^(?!${count} )\\d+ events of 115$`) }).waitFor();
  await page.locator("#events .events").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  const first = Number(await page.locator("#timeline [role=slider]").getAttribute("aria-valuenow"));
  await page.keyboard.press("ArrowDown");
  const second = Number(await page.locator("#timeline [role=slider]").getAttribute("aria-valuenow"));
  assert.ok(second > first + 1, "events between them are not listed");
  await page.locator("#find").fill("nothing is like this");
  await page.locator("#found", { hasText: "No matching event." }).waitFor();
  assert.equal(await page.locator("#events .row").count(), 0);
});

test("a run whose every finding is a false alarm has no headline of a loop", async () => {
  await using page = await open("empty.html");
  await page.locator("#paste").fill(jsonLines(stuck(4)));
  await page.locator("#read").click();
  await page.locator("#headline.nudge").waitFor();
  const loops = await page.locator("#loops .loop").count();
  for (let index = 0; index < loops; index++) {
    await page.locator("#loops .loop").nth(index).click();
    await page.locator("#false-alarm").click();
    await page.locator(".proposal").first().waitFor();
  }
  await page.locator("#headline.continue").waitFor();
  assert.match(await page.locator("#headline").innerText(), /according to you/);
});

test("stepping: keys and buttons, the slider tells where", async () => {
  await using page = await open("demo.html");
  await judged(page);
  const slider = page.locator("#timeline [role=slider]");
  const now = async () => Number(await slider.getAttribute("aria-valuenow"));
  const start = await now();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await now(), start - 1);
  await page.locator("#next").click();
  assert.equal(await now(), start);
  await slider.focus();
  await page.keyboard.press("Home");
  assert.equal(await now(), 0);
  assert.match((await slider.getAttribute("aria-valuetext")) ?? "", /event 0, user: The nightly import/);
  // Each time a loop reaches a level: the first is the nudge.
  await page.keyboard.press("n");
  const first = await now();
  assert.equal(
    (await expected(demo, {})).findIndex((level) => level !== "continue"),
    first,
  );
  assert.match((await slider.getAttribute("aria-valuetext")) ?? "", /nudge/);
  await page.keyboard.press("n");
  assert.ok((await now()) > first);
  await page.keyboard.press("p");
  assert.equal(await now(), first);
  assert.match(await page.locator("#event").innerText(), /Guidance for the agent/);
  await page.locator("#events .events").focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await now(), first + 1);
  assert.equal(await page.locator("#events .events").getAttribute("aria-activedescendant"), `event-${first + 1}`);
});

test("thresholds, presets and rules change the verdicts to what the CLI says", async () => {
  await using page = await open("demo.html");
  await judged(page);
  assert.deepEqual(await levels(page), await expected(demo, {}));
  const settled = async (outcome: RegExp) =>
    page.locator("#outcome", { hasText: outcome }).waitFor({ timeout: 30_000 });

  const nudge = page.locator("[id='repeated-error-nudge']");
  assert.deepEqual(
    [await nudge.getAttribute("min"), await nudge.getAttribute("max"), await nudge.inputValue()],
    ["2", "5", "3"],
    "no further than validation goes",
  );
  await nudge.focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("[id='repeated-error-block']").focus();
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await configOf(page), { rules: { "repeated-error": { nudge: 4, block: 7 } } });
  await shows(page);

  await page.locator("#preset").selectOption("conservative");
  await shows(page);

  await page
    .locator("#config-text")
    .fill('{"rules":{"repeated-error":{"enabled":false},"failing-target":{"enabled":false}}}');
  await settled(/Now: .*Before: halt at event/);
  await shows(page);

  await page.locator("#config-text").fill('{"rules":{"repeated-error":{"nudge":1}}}');
  await page.locator("#config-error", { hasText: "rules.repeated-error.nudge" }).waitFor();
  await page.locator("#config-text").fill("{}");
  await settled(/^Now: halt at event \d+ and \d+ other findings?\.$/);
});

test("a false alarm: the line that exempts it is tried, and does what it says", async () => {
  await using page = await open("demo.html");
  await judged(page);
  await page.locator("#false-alarm").click();
  const proposal = page.locator(".proposal").first();
  await proposal.waitFor({ timeout: 30_000 });
  const change: Config = JSON.parse(await proposal.locator("pre").innerText());
  assert.ok(change.tools?.["Edit"], "the narrowest one names the tool");
  assert.match(await page.locator(".marks").innerText(), /repeated-error/);
  await proposal.getByText("Try it here").click();
  await page.locator("#headline:not(.halt)").waitFor();
  assert.deepEqual(await configOf(page), change);
  const levels = await expected(demo, change);
  assert.ok(!levels.includes("halt") && !levels.includes("block"));
  await page.locator(".marks button").click();
  assert.equal(await page.locator(".marks").count(), 0);
});

test("a link brings back run, place and settings; an exported test case holds", async () => {
  let url: string;
  {
    await using page = await open("empty.html");
    await page.locator("#paste").fill(jsonLines(stuck(9)));
    await page.locator("#read").click();
    await judged(page);
    await page.locator("#preset").selectOption("sensitive");
    await page.locator("#outcome", { hasText: "Before" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#previous").click();
    await page.locator("#link").click();
    await page.waitForFunction("location.hash.length > 10");
    url = page.url();
    if (await page.locator("#dialog").isVisible()) await page.locator("#dialog button").click();
    const download = page.waitForEvent("download");
    await page.locator("#export").click();
    await (await download).saveAs(join(folder, "exported.jsonl"));
    const [score] = (await loopwarden("eval", "exported.jsonl", "--json")).stdout.split("\n");
    assert.equal(JSON.parse(score ?? "").caught, 1);
    const position = await page.locator("#position").innerText();
    await using again = await open("empty.html", {}, new URL(url).hash);
    await judged(again);
    assert.equal(await again.locator("#position").innerText(), position);
    assert.deepEqual(await configOf(again), { preset: "sensitive" });
  }
});

test("hostile text in a run, a file name or a link never becomes markup or script", async () => {
  const attack = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1"><svg onload=window.hacked=1>"'\`{{core}}`;
  const events: Event[] = [
    { type: "message", role: "user", text: attack },
    ...Array.from({ length: 9 }, (_, index): Event[] => [
      {
        type: "tool-call",
        tool: attack,
        agent: attack,
        args: { [attack]: attack, n: index },
        callId: `${attack}${index}`,
        task: attack,
      },
      {
        type: "tool-result",
        tool: attack,
        agent: attack,
        callId: `${attack}${index}`,
        outcome: "error",
        output: attack,
        task: attack,
      },
    ]).flat(),
    { type: "collaboration", from: attack, to: `${attack}2`, request: attack, task: attack },
    { type: "transition", to: attack, task: attack },
    { type: "progress", task: attack, tests: { failing: 2, failingIds: [attack] } },
    { type: "custom", name: attack, key: attack, outcome: attack },
    { type: "turn", node: attack, finalMessage: attack, task: attack },
  ];
  const clean = async (page: Page) => {
    assert.equal(await page.evaluate("window.hacked"), undefined);
    assert.equal(await page.locator("img, iframe, object, embed, [onerror], [onload]").count(), 0);
    assert.equal(await page.locator("script").count(), 4);
  };
  const name = "hostile<img src=x onerror=alert(1)>.jsonl";
  await writeFile(join(folder, name), jsonLines(events));
  await loopwarden("view", name, "-o", "hostile.html");
  {
    await using page = await open("hostile.html");
    await judged(page);
    await page.locator("#false-alarm").click();
    await page.locator(".proposal").first().waitFor();
    await page.locator("#timeline [role=slider]").focus();
    for (const key of ["Home", "n", "n", "End", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
    await page.waitForTimeout(300);
    assert.ok((await page.locator("#event").innerText()).length > 0);
    await clean(page);
  }
  {
    await using page = await open("empty.html");
    await page.locator("#paste").fill(jsonLines(events));
    await page.locator("#read").click();
    await judged(page);
    await page.locator("#link").click();
    await page.waitForFunction("location.hash.length > 10");
    await clean(page);
    await using linked = await open("empty.html", {}, new URL(page.url()).hash);
    await judged(linked);
    await clean(linked);
  }
});

test("a link with nonsense inside opens the empty page", async () => {
  await using page = await open("empty.html", {}, "#s=AAAA");
  await page.locator("#start:visible").waitFor();
});

test("ten thousand events: painted before they are judged, smooth while they are judged and scrolled", async () => {
  const events = Array.from({ length: 5000 }, (_, index): Event[] => {
    const bad = index > 3000 && index < 3010;
    const [tool, output] = bad ? ["edit", "text not found in a.ts"] : ["read_file", `part ${index} of the source`];
    const common = { agent: index % 3 === 0 ? "planner" : "coder", round: `r${index}`, callId: `c${index}` };
    return [
      { type: "tool-call", tool, args: { path: bad ? "a.ts" : `src/f${index}.ts`, n: index }, ...common },
      { type: "tool-result", tool, outcome: bad ? "error" : "ok", output, ...common },
    ];
  }).flat();
  await writeFile(join(folder, "big.jsonl"), jsonLines(events));
  await loopwarden("view", "big.jsonl", "-o", "big.html");
  // How far the page is: by its own clock, and by the frames that were drawn before it was judged.
  const script = `
    globalThis.framesBefore = 0;
    const frame = () => {
      if (performance.getEntriesByName("judged").length > 0) return;
      globalThis.framesBefore += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    new MutationObserver((_, observer) => {
      if (!document.querySelector("#headline")?.checkVisibility()) return;
      performance.mark("judged");
      observer.disconnect();
    }).observe(document, { subtree: true, childList: true, attributes: true });`;
  await using page = await open("big.html", {}, "", script);
  // The processor time of a frame says what the page asks for, however busy the machine is.
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
  };
  // Frames with the list and the timeline scrolled all along: how long each took, by the clock on the wall.
  const scrolled = async (frames: number): Promise<number[]> => {
    const gaps = (await page.evaluate(`new Promise((resolve) => {
      const gaps = [];
      let last = performance.now();
      const list = document.querySelector(".events"), lane = document.querySelector(".scroller");
      const frame = (now) => {
        gaps.push(now - last);
        last = now;
        list.scrollTop += 240;
        lane.scrollLeft += 320;
        if (gaps.length <= ${frames}) requestAnimationFrame(frame); else resolve(gaps.slice(1));
      };
      requestAnimationFrame(frame);
    })`)) as number[];
    return gaps.sort((a, b) => a - b);
  };
  const judging = await busy();
  const whileJudging = await scrolled(60);
  const costJudging = ((await busy()) - judging) / 60;
  await judged(page);
  const [paint = Number.NaN, done = Number.NaN, frames = Number.NaN] = (await page.evaluate(`[
    ...["first-contentful-paint", "judged"].map((name) => performance.getEntriesByName(name)[0].startTime), framesBefore,
  ]`)) as number[];
  await page.locator("#events .events").evaluate((element) => element.scrollTo(0, 0));
  await page.locator("#timeline .scroller").evaluate((element) => element.scrollTo(0, 0));
  const begin = await busy();
  const afterwards = await scrolled(60);
  const cost = ((await busy()) - begin) / 60;
  const nodes = (await page.evaluate("document.querySelectorAll('*').length")) as number;
  const median = (gaps: number[]) => gaps[Math.floor(gaps.length / 2)] ?? Number.NaN;
  console.log(
    `first paint ${paint.toFixed(0)} ms, judged after ${done.toFixed(0)} ms and ${frames} frames; ` +
      `a frame ${median(whileJudging).toFixed(0)} ms while judging, of which ${costJudging.toFixed(1)} ms of processor time, ` +
      `${median(afterwards).toFixed(0)} and ${cost.toFixed(1)} ms afterwards; ${nodes} elements`,
  );
  assert.ok(paint < done, `first paint after ${paint} ms, all judged after ${done} ms`);
  assert.ok(frames > 5, `${frames} frames before all was judged`);
  assert.ok(costJudging < 100, `a frame takes ${costJudging} ms of processor time while judging`);
  assert.ok(cost < 33, `a frame takes ${cost} ms of processor time`);
  assert.ok(nodes < 5000, `${nodes} elements`);
  assert.match(await page.locator("#headline").innerText(), /edit failed 6 times/);
});
