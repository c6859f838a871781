// Runs the complete examples of the documents exactly as printed, each in a new project with the `npm install` line
// above it. Only the package itself comes from its tarball instead of the registry.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Background } from "../../../test/support/background.ts";
import { npm, pack } from "../../../test/support/packed.ts";
import { run } from "../../../test/support/run.ts";

const folder = new URL("../../../../docs/frameworks/", import.meta.url);
/** Matches the `npm install` line, the command and the example. */
const PRINTED = /```sh\nnpm install ([^\n]+)\nnode (\S+)\n```\n\n```ts\n(.*?)```\n/s;
/** As above for a worker: the `npm install` line, the server's settings, the command and the example. */
const WORKER =
  /```sh\nnpm install ([^\n]+)\n```\n\n`(\S+)`:\n\n```json\n(.*?)```\n\n`(\S+)`, below[^`]*```sh\nnpx wrangler dev\n```\n\n```ts\n(.*?)```\n/s;

const pages = (await readdir(folder)).filter((name) => name !== "README.md");
test("every page has a complete example", async () => {
  for (const page of pages) {
    const text = await readFile(new URL(page, folder), "utf8");
    assert.ok((page === "cloudflare.md" ? WORKER : PRINTED).test(text), page);
  }
});

let packed: string;
let tarball: string;
before(async () => {
  packed = await mkdtemp(join(tmpdir(), "loopwarden-packed-"));
  ({ tarball } = await pack(packed));
});
after(() => rm(packed, { recursive: true }));

/** Creates a project with the package and the other packages of an `npm install` line. */
async function installed(packages: string): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "loopwarden-printed-"));
  // As written by `npm init`: the example must be recognisable as a module by itself.
  await writeFile(join(project, "package.json"), '{"private":true,"type":"commonjs"}');
  const [own, ...names] = packages.split(" ");
  assert.equal(own, "loopwarden");
  await npm(["install", "--no-audit", "--no-fund", "--prefer-offline", tarball, ...names], project);
  return project;
}

const TOLD = [/^nudge: Loopwarden/m, /^block: Loopwarden/m, /^halt: /m, /^## Loop Detected/m];

test("cloudflare.md: installed and run as printed, by wrangler", async () => {
  const page = await readFile(new URL("cloudflare.md", folder), "utf8");
  const [, packages = "", settings = "", config = "", file = "", example = ""] = WORKER.exec(page) ?? [];
  const project = await installed(packages);
  try {
    await writeFile(join(project, settings), config);
    await writeFile(join(project, file), example);
    const script = join(project, "node_modules/wrangler/bin/wrangler.js");
    const env = { CI: "1", WRANGLER_SEND_METRICS: "false", XDG_CONFIG_HOME: project };
    // Any free port; the output says which.
    await using server = new Background(process.execPath, [script, "dev", "--port", "0"], { cwd: project, env });
    await server.until(/Ready on http:\S+/, "stdout", 120_000);
    const response = await fetch(/Ready on (http:\S+)/.exec(server.stdout)?.[1] ?? "");
    const text = await response.text();
    assert.equal(response.status, 200, text);
    for (const line of TOLD) assert.match(text, line);
    // Ctrl-C, so that it ends its child processes.
    await server.stop();
  } finally {
    await rm(project, { recursive: true, maxRetries: 3 });
  }
});

const scripts = pages.filter((name) => name !== "cloudflare.md");
for (const page of [...scripts, "../opentelemetry.md"]) {
  test(`${page}: installed and run as printed`, async () => {
    const [, packages = "", file = "", example = ""] =
      PRINTED.exec(await readFile(new URL(page, folder), "utf8")) ?? [];
    const project = await installed(packages);
    try {
      await writeFile(join(project, file), example);
      const { code, stdout, stderr } = await run(process.execPath, [file], { cwd: project });
      assert.equal(code, 0, stderr);
      for (const line of page.startsWith("..") ? [/loopwarden\.verdict/] : TOLD) assert.match(stdout, line);
    } finally {
      await rm(project, { recursive: true });
    }
  });
}
