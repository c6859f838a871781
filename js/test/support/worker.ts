import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { Miniflare, type MiniflareOptions } from "miniflare";

const js = fileURLToPath(new URL("../..", import.meta.url));

/** A worker that runs in workerd. */
export interface Worker extends AsyncDisposable {
  fetch(init?: { method?: string; body?: string }): Promise<{ status: number; text(): Promise<string> }>;
}

/**
 * Bundles a worker's module as deployment tools do it: with the conditions of the edge, and with `.wasm` imports left to
 * the runtime, which compiles them. `root` is where `loopwarden` is looked up, `own` are options of the bundler to add.
 */
export async function bundleWorker(code: string, root: string = js, own: BuildOptions = {}): Promise<string> {
  const bundle = await build({
    ...own,
    stdin: { contents: code, resolveDir: root, loader: "ts", sourcefile: "worker.ts" },
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
    conditions: ["workerd", "worker", "import"],
    external: ["./core.wasm", "./tools.wasm", "cloudflare:*", ...(own.external ?? [])],
    ...(root === js && {
      alias: {
        ...own.alias,
        "loopwarden/proxy": join(js, "dist/proxy.js"),
        "loopwarden/tools": join(js, "dist/tools.workerd.js"),
        loopwarden: join(js, "dist/index.workerd.js"),
      },
    }),
    logLevel: "silent",
  });
  return bundle.outputFiles[0]?.text ?? "";
}

/** workerd with a bundled worker in it. */
export async function miniflare(
  code: string,
  options: Partial<MiniflareOptions> = {},
  root: string = js,
): Promise<Miniflare> {
  const dist = root === js ? join(js, "dist") : join(root, "node_modules/loopwarden/dist");
  const wasm = async (path: string) => ({
    type: "CompiledWasm",
    path,
    contents: await readFile(join(dist, path)),
  });
  const runtime = new Miniflare({
    compatibilityDate: "2026-01-01",
    modules: [
      { type: "ESModule", path: "worker.js", contents: code },
      await wasm("core.wasm"),
      await wasm("tools.wasm"),
    ],
    ...options,
  } as MiniflareOptions);
  await runtime.ready;
  return runtime;
}

/** Serves a worker's module in workerd. */
export async function serve(code: string, root: string = js): Promise<Worker> {
  const runtime = await miniflare(await bundleWorker(code, root), {}, root);
  return {
    fetch: (init) => runtime.dispatchFetch("http://localhost/", init ?? {}),
    [Symbol.asyncDispose]: () => runtime.dispose(),
  };
}
