import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { bundleWorker, miniflare } from "../../test/support/worker.ts";

type Miniflare = Awaited<ReturnType<typeof miniflare>>;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * `chat`, which Think brings for messengers, makes a signal when it is loaded, and this version of workerd forbids that
 * outside of a request. Nothing here uses messengers: a signal that is never aborted stands for it.
 */
const quietChat: Plugin = {
  name: "quiet-chat",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules\/chat\/dist\/.*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(
        "= new AbortController().signal;",
        "= { aborted: false, addEventListener() {}, removeEventListener() {} };",
      ),
      loader: "js",
    }));
  },
};

/**
 * workerd with a worker in it that has agents of the real Think, and Durable Objects of these classes, whose storage is in
 * the folder: without one it would not outlive an object. `root` is a project that has installed everything itself.
 */
export async function thinkWorker(code: string, classes: string[], folder: string, root?: string): Promise<Miniflare> {
  const bundled = await bundleWorker(code, root, {
    external: ["node:*", ...builtinModules, "just-bash"],
    ...(root === undefined && {
      alias: {
        "node:test": here("../../test/support/collect.ts"),
        "loopwarden/cloudflare": here("../../dist/cloudflare.js"),
      },
    }),
    plugins: [quietChat],
    // CommonJS in the bundle asks for modules of the runtime.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("/");' },
  });
  const options = {
    compatibilityDate: "2026-07-01",
    compatibilityFlags: ["nodejs_compat"],
    durableObjectsPersist: folder,
    durableObjects: Object.fromEntries(classes.map((className) => [className, { className, useSQLite: true }])),
  };
  return miniflare(bundled, options, root);
}

/** The path of an example or a test's worker, as an import. */
export function imported(path: string): string {
  return JSON.stringify(join(here("../.."), path));
}
