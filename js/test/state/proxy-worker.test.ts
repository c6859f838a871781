// The example of a worker, with its own wrangler configuration, in workerd.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "jsonc-parser";
import type { Miniflare } from "miniflare";
import { cases, upstream } from "../support/proxy-cases.ts";
import { bundleWorker, miniflare } from "../support/worker.ts";

const example = fileURLToPath(new URL("../../examples/proxy/", import.meta.url));

let model: Awaited<ReturnType<typeof upstream>>;
let folder: string;
let runtime: Miniflare;
let base: string;

before(async () => {
  model = await upstream();
  folder = await mkdtemp(join(tmpdir(), "loopwarden-proxy-"));
  const wrangler = parse(await readFile(join(example, "wrangler.jsonc"), "utf8"));
  const main = join(example, wrangler.main);
  const code = await bundleWorker(
    `export * from ${JSON.stringify(main)}; export { default } from ${JSON.stringify(main)};`,
  );
  const [{ name, class_name: className }] = wrangler.durable_objects.bindings;
  runtime = await miniflare(code, {
    compatibilityDate: wrangler.compatibility_date,
    compatibilityFlags: wrangler.compatibility_flags,
    bindings: { ...wrangler.vars, UPSTREAM: model.url },
    durableObjects: { [name]: { className, useSQLite: wrangler.migrations[0].new_sqlite_classes.includes(className) } },
    durableObjectsPersist: folder,
  });
  base = (await runtime.ready).origin;
});

after(async () => {
  await runtime.dispose();
  await model[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

cases("a worker", () => ({ base, asked: model.asked }));
