// Builds dist/view.html: the page of `loopwarden view` with its script and style inlined. The CLI adds the modules and
// the run.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { build, transform } from "esbuild";

const source = new URL("../src/view/", import.meta.url);
const target = new URL("../dist/view.html", import.meta.url);

const bundle = await build({
  entryPoints: [new URL("page.ts", source).pathname],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  write: false,
  // The glue could fetch its module from its own URL, but the page provides it.
  logOverride: { "empty-import-meta": "silent" },
});
// Only these sequences could end a script early, or make the HTML parser look for another end.
const script = (bundle.outputFiles[0]?.text ?? "").trim().replaceAll(/<(\/script|!--|script)/gi, "\\x3c$1");
const { code } = await transform(await readFile(new URL("style.css", source), "utf8"), { loader: "css", minify: true });
const style = code.trim();

const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const parts = { "script-hash": hash(script), "style-hash": hash(style), style, script };
const page = await readFile(new URL("page.html", source), "utf8");
// The placeholders of the run and the modules stay: the CLI fills them in. The comments keep the template valid for
// linters.
const whole = page.replaceAll(
  /\/\*\{\{([\w-]+)\}\}\*\/|\{\{([\w-]+)\}\}/g,
  (all, quiet, open) => parts[quiet ?? open] ?? all,
);
await writeFile(target, whole);
console.log(`dist/view.html ${(whole.length / 1024).toFixed(1)} kB`);
