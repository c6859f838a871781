import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { Background } from "../support/background.ts";
import { launch } from "../support/browser.ts";
import { Log } from "../support/claude-log.ts";

const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
let folder: string;
let browser: Browser;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-live-"));
  browser = await launch();
});
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

test("a session that is going on: the page follows it, and nothing that a person looks at moves", async () => {
  const log = new Log();
  const file = join(folder, "session.jsonl");
  const failing = () => log.step("Bash", { command: "npm test" }, "Error: cannot find module 'cart'");
  await writeFile(file, log.prompt("mend it") + log.step("Read", { file_path: "cart.ts" }, "export", false));
  await using server = new Background(process.execPath, [cli, "view", file, "--live"], { cwd: folder });
  await server.until(/\n/);
  const address = server.stdout.trim();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const wrong: string[] = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url()))
      wrong.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  const about = page.locator("#about");
  await about.filter({ hasText: "● live · session.jsonl · claude-code · 3 events" }).waitFor();
  assert.match((await page.locator("#headline-title").textContent()) ?? "", /./);
  // The end is followed where it is looked at.
  await appendFile(file, failing() + failing());
  await about.filter({ hasText: "7 events" }).waitFor();
  await page.locator("#position").filter({ hasText: "6 of 0–6" }).waitFor();
  await appendFile(file, failing());
  await page.locator("#loops .chip.nudge").first().waitFor();
  await page.waitForFunction("document.title.includes('nudge')");
  assert.match((await page.locator("#progress").textContent()) ?? "", /^New: nudge\. /);
  // What is looked at stays, and so does the keyboard.
  await page.locator("#previous").focus();
  for (let step = 0; step < 5; step++) await page.keyboard.press("Enter");
  await page.locator("#position").filter({ hasText: "3 of 0–8" }).waitFor();
  await page.locator("#loops button").first().focus();
  for (let step = 0; step < 5; step++) await appendFile(file, failing());
  await about.filter({ hasText: "19 events" }).waitFor();
  await page.locator("#loops .chip.halt").first().waitFor();
  assert.match((await page.locator("#position").textContent()) ?? "", /^3 of 0–18$/);
  assert.equal(await page.evaluate("document.activeElement?.closest('#loops') !== null"), true);
  // While text is marked nothing is drawn.
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('#headline-title'))");
  await appendFile(file, failing());
  await page.waitForTimeout(1500);
  assert.match((await about.textContent()) ?? "", /19 events/);
  await page.evaluate("getSelection().removeAllRanges()");
  await about.filter({ hasText: "21 events" }).waitFor();
  // Another session in the same file.
  const other = new Log("99999999-2222-4333-8444-555555555555");
  await writeFile(file, other.prompt("something else"));
  await about.filter({ hasText: "1 event" }).waitFor();
  await page.locator("#loops .note").filter({ hasText: "None." }).waitFor();
  assert.deepEqual(wrong, []);
  assert.equal(await server.stop(), 0);
  await about.filter({ hasText: "○ no longer followed" }).waitFor();
  await page.close();
});
