import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { bundleWorker, miniflare } from "../../test/support/worker.ts";

type Miniflare = Awaited<ReturnType<typeof miniflare>>;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * `chat`, a dependency of Think for messengers, creates a signal when it is loaded, which this version of workerd
 * forbids outside of a request. Nothing here uses messengers, so the signal is replaced by one that is never aborted.
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
 * Starts workerd with a worker that has agents of the real Think and Durable Objects of these classes. Their storage is
 * in `folder`, because it would not outlive an object otherwise. `root` is a project with its own installed
 * dependencies.
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
    // CommonJS code in the bundle requires modules of the runtime.
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

/** The path of an example or a test's worker, as an import specifier. */
export function imported(path: string): string {
  return JSON.stringify(join(here("../.."), path));
}
