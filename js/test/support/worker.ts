import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const js = fileURLToPath(new URL("../..", import.meta.url));

/** A worker that runs in workerd. */
export interface Worker extends AsyncDisposable {
  fetch(init?: { method?: string; body?: string }): Promise<{ status: number; text(): Promise<string> }>;
}

/**
 * Serves a worker's module in workerd. It is bundled as deployment tools do it: with the conditions of the edge, and
 * with `.wasm` imports left to the runtime, which compiles them. `root` is where `loopwarden` is looked up.
 */
export async function serve(code: string, root: string = js): Promise<Worker> {
  const inPackage = root === js;
  const bundle = await build({
    stdin: { contents: code, resolveDir: root, loader: "ts", sourcefile: "worker.ts" },
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
    conditions: ["workerd", "worker", "import"],
    external: ["./core.wasm"],
    ...(inPackage && { alias: { loopwarden: join(js, "dist/index.workerd.js") } }),
    logLevel: "silent",
  });
  const wasm = inPackage ? join(js, "dist/core.wasm") : join(root, "node_modules/loopwarden/dist/core.wasm");
  const miniflare = new Miniflare({
    compatibilityDate: "2026-01-01",
    modules: [
      { type: "ESModule", path: "worker.js", contents: bundle.outputFiles[0]?.text ?? "" },
      { type: "CompiledWasm", path: "core.wasm", contents: await readFile(wasm) },
    ],
  });
  await miniflare.ready;
  return {
    fetch: (init) => miniflare.dispatchFetch("http://localhost/", init ?? {}),
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}
