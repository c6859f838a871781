import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./run.ts";

export const js: string = fileURLToPath(new URL("../..", import.meta.url));

/** npm, wherever this Node came from: the one that runs the tests, else the first on the path. */
export async function npm(args: string[], cwd: string): Promise<string> {
  const script = process.env["npm_execpath"];
  const [command, first] = script === undefined ? ["npm", []] : [process.execPath, [script]];
  const { code, stdout, stderr } = await run(command, [...first, ...args], { cwd });
  assert.equal(code, 0, `npm ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A project that has installed the package from its tarball. */
export interface Project extends AsyncDisposable {
  folder: string;
}

/** Packs the package as it would be published, and tells what is in it. */
export async function pack(folder: string): Promise<{ tarball: string; files: string[]; size: number }> {
  const [info] = JSON.parse(await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], js));
  const files = info.files.map(({ path }: { path: string }) => path).sort();
  return { tarball: join(folder, info.filename), files, size: info.size };
}

/** Makes a project with these files, and installs the tarball into it. */
export async function project(files: Record<string, string>): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "loopwarden-project-"));
  const remove = () => rm(folder, { recursive: true });
  try {
    for (const [name, content] of Object.entries({ "package.json": '{"private":true}', ...files })) {
      await writeFile(join(folder, name), content);
    }
    const { tarball } = await pack(folder);
    await npm(["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", tarball], folder);
    return { folder, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The `node` the machine has, as opposed to the one the scripts run on. */
export async function machineNode(): Promise<string> {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.includes("node_modules"));
  const env = { PATH: folders.join(delimiter) };
  const { code, stdout } = await run("node", ["--print", "process.execPath"], { env });
  assert.equal(code, 0, "there is no node on the path");
  assert.ok(!stdout.includes("node_modules"), stdout);
  return stdout.trim();
}
