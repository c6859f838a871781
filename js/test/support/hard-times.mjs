// Preloaded into a hook: between every two calls of the file system it stops for a while, and it may be killed there.
// HARD_TIMES is `SEED,LONGEST,KILL`: the longest stop in milliseconds, and before which call it is killed (-1: never).
// With DISK_FULL nothing can be written.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [seed = 1, longest = 0, kill = -1] = (process.env.HARD_TIMES ?? "").split(",").map(Number);
const folder = process.env.HARD_TIMES_IN ?? "";
let state = seed * 2654435761 + process.pid;
const random = () => {
  state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
  return state / 2 ** 32;
};
const sleep = new Int32Array(new SharedArrayBuffer(4));
const files = new Set();
let calls = 0;

function before() {
  if (calls++ === kill) process.kill(process.pid, "SIGKILL");
  if (longest > 0) Atomics.wait(sleep, 0, 0, Math.floor(random() * longest));
}

for (const name of ["mkdirSync", "openSync", "readdirSync", "renameSync", "unlinkSync", "rmdirSync"]) {
  const original = fs[name];
  fs[name] = (path, ...rest) => {
    if (!String(path).startsWith(folder)) return original(path, ...rest);
    before();
    const made = original(path, ...rest);
    if (name === "openSync") files.add(made);
    return made;
  };
}
for (const name of ["writeSync", "readSync", "fstatSync", "fdatasyncSync", "closeSync"]) {
  const original = fs[name];
  fs[name] = (file, ...rest) => {
    if (files.has(file)) before();
    if (name === "writeSync" && files.has(file) && process.env.DISK_FULL)
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    if (name === "closeSync") files.delete(file);
    return original(file, ...rest);
  };
}
syncBuiltinESMExports();
