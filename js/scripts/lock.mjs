// Completes a package-lock.json: if a registry mirrors only one platform, npm omits the optional packages of the others
// from the lock, and `npm ci` rejects such a lock. Adds the missing ones, in the versions that the packages themselves
// name; their integrity is added by the next `npm install` from a registry that has them. Run it after every
// `npm install` that changes the lock: node scripts/lock.mjs [folder …]
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const FOLDERS = [".", "test", "tools/binaryen", "tools/biome", "tools/jco", "tools/node", "adapters"];
const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** The path at which npm finds a dependency of the package at `from`: the nearest folder that has it. */
function found(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (path in packages) return path;
    if (at === "") return undefined;
  }
}

/** The platform in a package's name; without a field if the package is for all values of it. */
function platform(name) {
  const words = name.split(/[^a-z0-9]+/i).map((word) => (word === "windows" ? "win32" : word));
  // `armv7`, `arm-gnueabihf` and the like are all `arm`.
  const cpu = PROCESSORS.filter((one) =>
    words.some((word) => word === one || (one === "arm" && /^armv?\d?$/.test(word))),
  );
  const os = SYSTEMS.filter((one) => words.includes(one));
  const musl = words.some((word) => /musl/.test(word));
  const gnu = words.some((word) => /^gnu/.test(word));
  if (name === "fsevents") os.push("darwin");
  return {
    ...(cpu.length > 0 && { cpu: cpu.slice(0, 1) }),
    ...((musl || gnu) && os.includes("linux") && { libc: [musl ? "musl" : "glibc"] }),
    ...(os.length > 0 && { os }),
  };
}

for (const folder of process.argv.length > 2 ? process.argv.slice(2) : FOLDERS) {
  const path = join(folder, "package-lock.json");
  const lock = JSON.parse(await readFile(path, "utf8"));
  let added = 0;
  for (const [at, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(optionalDependencies)) {
      const [version] = /\d+\.\d+\.\d+[\w.+-]*$/.exec(range) ?? [];
      const there = lock.packages[found(lock.packages, at, name)];
      if (there && (there.version === version || range !== version)) continue;
      const where = platform(name);
      if (version === undefined || (where.os ?? where.cpu) === undefined) {
        console.error(`${path}: ${name}@${range} of ${at} names no version or no platform`);
        process.exitCode = 1;
        continue;
      }
      // If two packages need different versions, the second one is nested below the package that needs it.
      const own = `${at}/node_modules/${name}`;
      const shared = `node_modules/${name}`;
      const place = lock.packages[shared] === undefined && !at.includes("/node_modules/") ? shared : own;
      lock.packages[place] = { version, ...where, ...(dev && { dev }), optional: true };
      added += 1;
    }
  }
  const packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  await writeFile(path, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
  console.log(`${path}: ${added} added`);
}
