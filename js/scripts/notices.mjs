// Writes THIRD-PARTY-NOTICES.txt, the licences of third-party code in the package: the npm packages bundled into the
// command line, and the Rust crates in the WebAssembly module, according to cargo. With --check it fails if the file is
// not up to date.
import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const js = fileURLToPath(new URL("..", import.meta.url));
const target = join(js, "THIRD-PARTY-NOTICES.txt");
/** The packages in `alwaysBundle` of tsdown.config.ts and their bundled dependencies. */
const BUNDLED = [
  "@modelcontextprotocol/sdk",
  "content-type",
  "diff",
  "eventsource-parser",
  "jsonc-parser",
  "pkce-challenge",
  "zod",
];

/** The licence texts in a folder; if there is a choice, MIT is taken. */
async function licence(folder) {
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name)).sort();
  const mit = names.filter((name) => /mit/i.test(name));
  const texts = await Promise.all((mit.length > 0 ? mit : names).map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}

const packages = [];
for (const name of BUNDLED) {
  const folder = join(js, "node_modules", name);
  const { license, homepage, repository } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const where = homepage ?? repository?.url ?? "";
  packages.push({ name, license, where, kind: "npm", text: await licence(folder) });
}

const cargo = (...args) =>
  execFileSync(process.env.CARGO ?? "cargo", args, { cwd: join(js, ".."), encoding: "utf8", maxBuffer: 1 << 28 });
const wasm = ["--target=wasm32-unknown-unknown", "--features=js"];
const tree = cargo(
  "tree",
  "--locked",
  "--package=loopwarden",
  ...wasm,
  "--edges=normal,no-proc-macro",
  "--prefix=none",
);
const used = new Set([...tree.matchAll(/^([\w-]+) v(\S+)/gm)].map(([, name, version]) => `${name} ${version}`));
const metadata = JSON.parse(cargo("metadata", "--locked", "--all-features", "--format-version=1"));
for (const { name, version, license, repository, manifest_path } of metadata.packages) {
  if (name === "loopwarden" || !used.has(`${name} ${version}`)) continue;
  packages.push({ name, license, where: repository ?? "", kind: "crate", text: await licence(dirname(manifest_path)) });
}

const line = "-".repeat(80);
const parts = packages
  .sort((a, b) => (a.name < b.name ? -1 : 1))
  .map(({ name, license, where, kind, text }) => {
    if (!license) throw new Error(`${name} names no licence`);
    return `${line}\n${name} (${kind}), ${license}\n${where}\n${line}\n\n${text || `Licence: ${license}`}\n`;
  });
const wanted = `This package carries parts of the following works of others. Made by \`npm run notices\`.\n\n${parts.join("\n")}`;
if (!process.argv.includes("--check")) {
  await writeFile(target, wanted);
  console.log(`${packages.length} notices: ${packages.map(({ name }) => name).join(", ")}`);
} else if ((await readFile(target, "utf8").catch(() => "")) !== wanted) {
  console.error("THIRD-PARTY-NOTICES.txt is not up to date: run `npm run notices`");
  process.exit(1);
}
