// Tests the packed package with versions of the frameworks, each in a separate project: a looping agent has to be
// nudged, refused and ended, and honest agents running at the same time on the same guard must not be affected.
// Usage: node matrix/run.mjs [framework[@version]] …; without arguments all of them, which needs minutes and a network.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const js = join(here, "../..");

/** The oldest supported version, the newest and some in between, and the packages to install with them. */
const MATRIX = {
  "ai-sdk": { name: "ai", versions: ["5.0.0", "5", "6.0.0", "6", "7.0.0", "7"], beside: ["zod"] },
  langchain: {
    name: "langchain",
    versions: ["1.0.1", "1.2", "1.3", "1.4", "1"],
    beside: ["@langchain/core", "@langchain/langgraph", "zod"],
  },
  "openai-agents": {
    name: "@openai/agents",
    versions: ["0.11.0", "0.13.0", "0.16.0", "0.17", "0.19.0", "0.20.0"],
    beside: ["zod@4"],
  },
  mastra: { name: "@mastra/core", versions: ["1.41.0", "1.50.0", "1.60.0", "1"], beside: ["zod@4"] },
};

const npm = process.env.npm_execpath;
function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { ok: status === 0, output: `${stdout ?? ""}${stderr ?? ""}` };
}
const install = (cwd, ...args) => (npm ? run(process.execPath, [npm, ...args], cwd) : run("npm", args, cwd));

const wanted = process.argv.slice(2);
const tried = Object.entries(MATRIX).flatMap(([framework, row]) => {
  if (wanted.length === 0) return row.versions.map((version) => ({ framework, version, ...row }));
  return wanted.flatMap((one) => {
    const [, name, version] = /^(.+?)(?:@([^@]+))?$/.exec(one) ?? [];
    if (name !== framework) return [];
    return (version ? [version] : row.versions).map((version) => ({ framework, version, ...row }));
  });
});
if (tried.length === 0) throw new Error(`expected ${Object.keys(MATRIX).join(", ")}, each with @version where wanted`);

const place = mkdtempSync(join(tmpdir(), "loopwarden-matrix-"));
let failed = 0;
try {
  const packed = install(js, "pack", "--json", "--ignore-scripts", "--pack-destination", place);
  if (!packed.ok) throw new Error(packed.output);
  const tarball = join(place, /loopwarden-[\w.-]+\.tgz/.exec(packed.output)?.[0] ?? "");
  for (const { framework, version, name, beside } of tried) {
    const folder = mkdtempSync(join(place, "project-"));
    writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
    copyFileSync(join(here, `${framework}.mjs`), join(folder, "try.mjs"));
    const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
    const made = install(folder, "install", ...flags, tarball, `${name}@${version}`, ...beside);
    const result = made.ok ? run(process.execPath, ["try.mjs", version], folder) : made;
    const there = run(process.execPath, ["-p", `require("./node_modules/${name}/package.json").version`], folder);
    console.log(`${result.ok ? "ok    " : "FAILED"} ${name} ${made.ok ? there.output.trim() : version}`);
    if (!result.ok) {
      failed += 1;
      console.log(result.output.trim().split("\n").slice(-40).join("\n"));
    }
    rmSync(folder, { recursive: true, force: true });
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
if (failed > 0) process.exitCode = 1;
