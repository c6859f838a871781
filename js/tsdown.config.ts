import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { UserConfig } from "tsdown";

/** The edge runtimes take a module from a `.wasm` import of their own: that import must reach them as it is written. */
const keepWasmImport = {
  name: "keep-wasm-import",
  resolveId: (source: string) => (/^\.\/(core|tools)\.wasm/.test(source) ? { id: source, external: true } : null),
};

/**
 * A hook of the command is one file: what it needs is not shared with the rest, which would be a file for each part, each of
 * them found, read and compiled for every call of a tool. A configuration, which only a session's first hook is shown, is
 * read by another one.
 */
const hook = {
  name: "hook",
  resolveId: (source: string) => (source === "./hook/run.ts" ? { id: "./hook-run.js", external: true } : null),
};
const hookSettings = {
  name: "hook-settings",
  resolveId: (source: string) => (source === "./settings.ts" ? { id: "./hook-settings.js", external: true } : null),
};
/**
 * Modules of Node as they are, and not by way of an ES module, for which Node asks them for everything they export and so
 * loads its streams and promises: 10 ms of every call of a tool. Before 20.16 there is no other way.
 */
const quickly = {
  name: "quickly",
  renderChunk: (code: string, { name }: { name: string }) =>
    ["cli", "hook-run"].includes(name)
      ? code.replaceAll(/^import \{([^}]+)\} from ("node:\w+");$/gm, (_, names: string, from: string) => {
          const taken = names.replaceAll(" as ", ": ");
          return `const {${taken}} = process.getBuiltinModule?.(${from}) ?? (await import(${from}));`;
        })
      : null,
};
/**
 * Private names need a target from ES2015 on, which a consumer's compiler may not be told of: in the types they are
 * private fields, which say the same.
 */
const privates = {
  name: "privates",
  renderChunk: (code: string, { fileName }: { fileName: string }) =>
    /\.d\.c?ts$/.test(fileName) ? code.replaceAll(/^( +)#private;$/gm, '$1private readonly "#private";') : null,
};
/** The package itself, where it is bundled and not asked for by its name. */
const own = {
  name: "own",
  resolveId: (source: string) =>
    source === "loopwarden" ? fileURLToPath(new URL("src/api.ts", import.meta.url)) : null,
};

/** What the package exports: which entries there are, and which of them CommonJS may ask for, is said there alone. */
const exported: Record<string, string | object> = JSON.parse(
  readFileSync(new URL("package.json", import.meta.url), "utf8"),
).exports;
/** The source of each adapter. A proxy is no framework's, but takes the detector from the package as well. */
const sources = (name: string) =>
  [`adapters/src/${name}.ts`, `src/${name}/${name}.ts`].filter((path) => existsSync(new URL(path, import.meta.url)));
const entries = (names: string[]) =>
  Object.fromEntries(names.map((name) => name.slice(2)).flatMap((name) => sources(name).map((path) => [name, path])));

/**
 * Adapters, one entry each. They take the detector from the package itself, so that there is one WebAssembly instance
 * and the consumer's conditions choose its module; their frameworks are optional peers.
 */
const adapters = entries(Object.keys(exported));
/** Those that CommonJS may ask for: its frameworks have it as well. */
const commonjs = entries(Object.keys(exported).filter((name) => "require" in Object(exported[name])));

const shared: UserConfig = {
  platform: "neutral",
  target: "es2022",
  outDir: "dist",
  hash: false,
  loader: { ".wasm": "base64" },
  // A consumer's own `lib` may not know `Symbol.dispose`, nor, without a target, what every engine has.
  banner: { dts: '/// <reference lib="es2018" />\n/// <reference lib="esnext.disposable" />' },
  inputOptions: { resolve: { mainFields: ["module", "main"] } },
  plugins: [keepWasmImport],
  // What they say is in the types; in the JavaScript they would be half of it.
  outputOptions: { comments: false, plugins: [privates] },
  outExtensions: ({ format }) => (format === "cjs" ? { js: ".cjs", dts: ".d.cts" } : { js: ".js", dts: ".d.ts" }),
};

const builds: UserConfig[] = [
  {
    ...shared,
    entry: {
      index: "src/entry/inline.ts",
      "index.node": "src/entry/node.ts",
      "index.workerd": "src/entry/workerd.ts",
      "index.edge-light": "src/entry/edge-light.ts",
      slim: "src/entry/slim.ts",
      tools: "src/entry/tools.ts",
      "tools.node": "src/entry/tools.node.ts",
      "tools.workerd": "src/entry/tools.workerd.ts",
      "tools.edge-light": "src/entry/tools.edge-light.ts",
      cli: "src/cli/start.ts",
    },
    format: "esm",
    plugins: [keepWasmImport, hook, quickly],
    // What the command line bundles for itself may have a form for Node alone.
    inputOptions: { resolve: { mainFields: ["module", "main"], conditionNames: ["node", "import", "default"] } },
    dts: { entry: ["src/entry/inline.ts", "src/entry/slim.ts", "src/entry/tools.ts"] },
    deps: {
      neverBundle: [/^node:/, /^loopwarden/],
      alwaysBundle: ["jsonc-parser", "diff", /^@modelcontextprotocol\//, /^zod(\/|$)/],
    },
    copy: [
      { from: "glue/loopwarden_bg.wasm", to: "dist", rename: "core.wasm" },
      { from: "glue/tools_bg.wasm", to: "dist", rename: "tools.wasm" },
    ],
  },
  {
    ...shared,
    entry: { "hook-run": "src/cli/hook/run.ts" },
    format: "esm",
    dts: false,
    clean: false,
    plugins: [own, hookSettings, quickly],
    deps: { neverBundle: [/^node:/] },
    // It is read anew for every call of a tool. Names stay as they are, for what a stack trace says.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  },
  {
    ...shared,
    entry: { "hook-settings": "src/cli/hook/settings.ts" },
    format: "esm",
    dts: false,
    clean: false,
    plugins: [own],
    deps: { neverBundle: [/^node:/], alwaysBundle: ["jsonc-parser"] },
  },
  {
    ...shared,
    entry: adapters,
    format: "esm",
    dts: true,
    clean: false,
    deps: { neverBundle: [/^[^./]/] },
    // What they share has names that the command line's own parts, in the same folder, do not have.
    outputOptions: {
      ...shared.outputOptions,
      chunkFileNames: ({ name }) => `adapter-[name].${name.endsWith(".d") ? "d.ts" : "js"}`,
    },
  },
  {
    ...shared,
    entry: commonjs,
    format: "cjs",
    dts: true,
    clean: false,
    deps: { neverBundle: [/^[^./]/] },
    // Left to itself the bundler puts its runtime into one of the entries, which then is loaded with all the others.
    outputOptions: {
      plugins: [privates],
      codeSplitting: { groups: [{ name: "runtime", test: /rolldown[:/]runtime/ }] },
    },
  },
  // CommonJS reads the modules from their files: bundlers take the ES modules.
  {
    ...shared,
    platform: "node",
    shims: true,
    entry: { index: "src/entry/node.ts", slim: "src/entry/slim.ts", tools: "src/entry/tools.node.ts" },
    format: "cjs",
    dts: true,
    clean: false,
  },
];

export default builds;
