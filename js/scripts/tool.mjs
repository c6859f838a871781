// Runs a development tool that only some steps need: node scripts/tool.mjs TOOL ARGUMENTS… in the caller's folder. Each
// tool is a folder of tools/ with its own lock, installed on first use and whenever its lock has changed, so that
// nobody waits for unused tools. `node` is the installed Node if it is recent enough for the tests, else one from npm;
// it also installs the dependencies of the tests.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const js = fileURLToPath(new URL("..", import.meta.url));

/** The oldest Node that supports `using` and runs TypeScript. */
const NODE = 24;
const TOOLS = {
  biome: { folder: "biome", package: "@biomejs/biome", bin: "bin/biome" },
  jco: { folder: "jco", package: "@bytecodealliance/jco", bin: "dist/jco.js" },
  "wasm-opt": { folder: "binaryen", package: "binaryen", bin: "bin/wasm-opt" },
};

/** The digest of a lock, stored with the installed packages; `cargo xtask` writes the same. */
function digest(lock) {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(lock.length));
  return createHash("sha256").update(length).update(lock).digest("hex");
}

/** Installs the locked packages of a folder, unless that has been done. */
function install(folder) {
  const wanted = digest(readFileSync(join(folder, "package-lock.json")));
  const stamp = join(folder, "node_modules/.loopwarden-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error(`installing ${folder}`);
  const env = { ...process.env, npm_config_fund: "false", npm_config_audit: "false" };
  // If npm runs this script, its settings are in the environment, and a prefix would install elsewhere.
  for (const name of ["npm_config_prefix", "npm_config_local_prefix"]) delete env[name];
  const npm = process.env.npm_execpath;
  const [command, first] = npm ? [process.execPath, [npm]] : [process.platform === "win32" ? "npm.cmd" : "npm", []];
  const options = { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"], shell: command === "npm.cmd" };
  const { status, error } = spawnSync(command, [...first, "ci"], options);
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, wanted);
}

/** The path of a Node that can run the tests. */
function node() {
  if (Number.parseInt(process.versions.node, 10) >= NODE) return process.execPath;
  const folder = join(js, "tools/node");
  install(folder);
  return join(folder, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");
}

const [name, ...args] = process.argv.slice(2);
const tool = TOOLS[name];
if (name !== "node" && !tool) {
  console.error(`usage: node scripts/tool.mjs ${["node", ...Object.keys(TOOLS)].join("|")} ARGUMENTS…`);
  process.exit(2);
}
let program = process.execPath;
if (tool) {
  const folder = join(js, "tools", tool.folder);
  install(folder);
  args.unshift(join(folder, "node_modules", tool.package, tool.bin));
} else {
  program = node();
  install(join(js, "test"));
}
// Makes the same Node available as `node` to child processes.
const separator = process.platform === "win32" ? ";" : ":";
const path = tool ? process.env.PATH : `${dirname(program)}${separator}${process.env.PATH}`;
const { status, signal, error } = spawnSync(program, args, { stdio: "inherit", env: { ...process.env, PATH: path } });
if (error) throw error;
process.exitCode = status ?? (signal ? 1 : 0);
