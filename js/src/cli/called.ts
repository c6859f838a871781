import { basename, relative } from "node:path";

/** The command line that calls this program from this folder: by name where it is installed, otherwise by file. */
export function called(program: string = process.argv[1] ?? ""): string[] {
  if (/[\\/]node_modules[\\/]/.test(program)) return ["npx", "loopwarden"];
  if (basename(program) === "loopwarden") return ["loopwarden"];
  return ["node", relative(process.cwd(), program)];
}
