import { basename, relative } from "node:path";

/** How this command is called once more from this folder: by its name where it is installed, by its file where it is not. */
export function called(program: string = process.argv[1] ?? ""): string[] {
  if (/[\\/]node_modules[\\/]/.test(program)) return ["npx", "loopwarden"];
  if (basename(program) === "loopwarden") return ["loopwarden"];
  return ["node", relative(process.cwd(), program)];
}
