// Tests every entry of the packed package in a project that has only the tarball and the framework of that entry.
import assert from "node:assert/strict";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { js, type Project, project } from "../../../test/support/packed.ts";
import { run } from "../../../test/support/run.ts";

/** The packages that each entry needs. Entries without run-time dependencies are loaded without any. */
const PEERS: Record<string, { runtime: string[]; types: string[] }> = {
  ".": { runtime: [], types: [] },
  "./slim": { runtime: [], types: [] },
  "./tools": { runtime: [], types: [] },
  "./proxy": { runtime: [], types: [] },
  "./ai-sdk": { runtime: ["ai"], types: ["ai"] },
  "./claude-agent": { runtime: [], types: ["@anthropic-ai/claude-agent-sdk"] },
  "./cloudflare": { runtime: [], types: ["@cloudflare/think", "@cloudflare/workers-types"] },
  "./langchain": { runtime: ["langchain"], types: ["langchain"] },
  "./mastra": { runtime: [], types: ["@mastra/core"] },
  "./openai-agents": { runtime: ["@openai/agents"], types: ["@openai/agents"] },
  "./otel": { runtime: ["@opentelemetry/api"], types: ["@opentelemetry/api"] },
};

const { exports, peerDependencies, peerDependenciesMeta } = JSON.parse(
  await readFile(join(js, "package.json"), "utf8"),
);
const entries = Object.keys(exports).filter((name) => !/\.(json|wasm)$/.test(name));
const here = fileURLToPath(new URL("../..", import.meta.url));

let installed: Project;
before(async () => {
  installed = await project({});
});
after(() => installed[Symbol.asyncDispose]());

test("every entry is tried, and what it loads is an optional peer of any version", () => {
  assert.deepEqual(
    entries.filter((name) => !(name in PEERS)),
    [],
  );
  // Packages needed only for types are not peers: npm resolves even the peers of optional peers that are not installed,
  // so a framework that requires the newest version of another one would break installations with an older one.
  const loaded = [...new Set(Object.values(PEERS).flatMap(({ runtime }) => runtime))].sort();
  assert.deepEqual(Object.keys(peerDependencies).sort(), loaded);
  for (const name of loaded) {
    // A range would break the installation in a project that has another version for something else.
    assert.deepEqual([peerDependencies[name], peerDependenciesMeta[name]], ["*", { optional: true }], name);
  }
});

/** A folder in the project in which only the package and these others can be resolved. */
async function only(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(installed.folder, name.replaceAll(/\W/g, "_"));
  for (const peer of packages) {
    // This one is installed with the core's dependencies.
    const root = peer === "@cloudflare/workers-types" ? js : here;
    const link = join(folder, "node_modules", peer);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", peer), link, "junction").catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  await mkdir(join(folder, "node_modules"), { recursive: true });
  const own = join(folder, "node_modules/loopwarden");
  const { code } = await run(process.execPath, [
    "-e",
    "require('node:fs').cpSync(process.argv[1], process.argv[2], { recursive: true })",
    join(installed.folder, "node_modules/loopwarden"),
    own,
  ]);
  assert.equal(code, 0);
  return folder;
}

for (const name of entries) {
  const { runtime = [] } = PEERS[name] ?? {};
  const specifier = JSON.stringify(`loopwarden${name.slice(1)}`);
  const forms: [string, string][] = [["mjs", `console.log(Object.keys(await import(${specifier})).sort().join());`]];
  if (typeof exports[name].require === "object")
    forms.push([
      "cjs",
      `console.log(Object.keys(require(${specifier})).filter((name) => name !== "default").sort().join());`,
    ]);
  for (const [form, code] of forms) {
    test(`${name} as ${form}, with ${runtime.join() || "nothing"} beside it`, async () => {
      const folder = await only(`run ${name}`, runtime);
      await writeFile(join(folder, `load.${form}`), code);
      const { code: exit, stdout, stderr } = await run(process.execPath, [`load.${form}`], { cwd: folder });
      assert.equal(exit, 0, stderr);
      const names = stdout.trim().split(",");
      const adapter = !["./otel", ".", "./slim", "./tools", "./proxy"].includes(name);
      for (const wanted of adapter ? ["LoopHalt", "createLoopGuard", "loopHalt"] : [])
        assert.ok(names.includes(wanted), `${wanted} is not among ${names.join()}`);
    });
  }
}

for (const [name, framework] of [
  ["./ai-sdk", "ai"],
  ["./langchain", "langchain"],
  ["./openai-agents", "@openai/agents"],
] as const) {
  test(`${name} says in words that the version of its framework is none that it knows`, async () => {
    const folder = await only(`old ${name}`, []);
    const old = join(folder, "node_modules", framework);
    await mkdir(old, { recursive: true });
    await writeFile(join(old, "package.json"), JSON.stringify({ name: framework, version: "0.0.1", type: "module" }));
    await writeFile(join(old, "index.js"), "export const nothing = true;");
    const script = `import { createLoopGuard } from "loopwarden${name.slice(1)}"; createLoopGuard();`;
    await writeFile(join(folder, "old.mjs"), script);
    const { code, stderr } = await run(process.execPath, ["old.mjs"], { cwd: folder });
    assert.notEqual(code, 0);
    assert.match(stderr, new RegExp(`LoopwardenError: loopwarden/${name.slice(2)} needs .*${framework}.*has no `));
  });
}

const CONSUMERS: Record<string, string> = {
  "./ai-sdk": `
import { generateText, jsonSchema, Output, tool } from "ai";
import { createLoopGuard, loopHalt, type LoopHalt } from "loopwarden/ai-sdk";

const guard = createLoopGuard({ config: { mode: "shadow" } });
const search = tool({
  inputSchema: jsonSchema<{ q: string }>({ type: "object" }),
  execute: async ({ q }: { q: string }) => q,
});
const output = Output.object({ schema: jsonSchema<{ found: boolean }>({ type: "object" }) });
export async function found(): Promise<boolean> {
  const result = await generateText({
    model: guard.model("openai/gpt-5.1"),
    prompt: "",
    tools: guard.tools({ search, read: search }),
    output,
    prepareStep: guard.prepareStep(({ stepNumber, messages }) => ({
      messages: messages.slice(stepNumber),
      activeTools: ["search"],
    })),
    stopWhen: [guard.stopWhen],
  });
  const halt: LoopHalt | undefined = loopHalt(result);
  const [call] = result.toolCalls;
  if (call && !call.dynamic && call.toolName === "search") console.log(call.input.q);
  return result.output.found && halt === undefined;
}
export const plain = generateText({
  model: "openai/gpt-5.1",
  prompt: "",
  tools: guard.tools({ search }),
  prepareStep: guard.prepareStep(),
  stopWhen: guard.stopWhen,
});
`,
  "./langchain": `
import { createAgent } from "langchain";
import { createLoopGuard, loopHalt } from "loopwarden/langchain";
const guard = createLoopGuard({ prompts: "host" });
const agent = createAgent({ model: "openai:gpt-5.1", tools: [], middleware: [guard.middleware] });
export const rule = loopHalt(await agent.invoke({ messages: [] }))?.rule;
`,
  "./mastra": `
import { Agent } from "@mastra/core/agent";
import { createLoopGuard, loopHalt } from "loopwarden/mastra";
const guard = createLoopGuard();
const agent = new Agent({
  id: "a",
  name: "a",
  instructions: "",
  model: "openai/gpt-5.1",
  inputProcessors: [guard.processor],
  outputProcessors: [guard.processor],
  hooks: guard.hooks(),
});
export const rule = loopHalt(await agent.generate(""))?.rule;
`,
  "./openai-agents": `
import { Agent, run } from "@openai/agents";
import { createLoopGuard, loopHalt } from "loopwarden/openai-agents";
const guard = createLoopGuard();
const agent = new Agent({ name: "a" });
export const result = await run(guard.agent(agent), "", guard.options({ maxTurns: 50 }));
export const halt = loopHalt(result) ?? guard.halted;
`,
  "./claude-agent": `
import { query } from "@anthropic-ai/claude-agent-sdk";
import { createLoopGuard, loopHalt } from "loopwarden/claude-agent";
const guard = createLoopGuard();
const session = guard.watch(query({ prompt: "", options: { hooks: guard.hooks() } }));
for await (const message of session) console.log(message.type, loopHalt(message)?.rule);
`,
  "./cloudflare": `
import { Think } from "@cloudflare/think";
import { createLoopGuard } from "loopwarden/cloudflare";
const guard = createLoopGuard();
export class Assistant extends guard.agent(Think) {
  override onChatResponse(): void {
    console.log(this.loopGuard.halted?.rule);
  }
}
`,
  "./proxy": `
import { createLoopProxy, MemoryCache, type ProxyCache, type ProxyMetrics } from "loopwarden/proxy";
const cache: ProxyCache = new MemoryCache(1 << 20);
const proxy = createLoopProxy({ upstream: "https://api.openai.com", cache, policy: { block: "guide" } });
export const metrics: ProxyMetrics = proxy.metrics();
export default { fetch: proxy };
export const answer: Promise<Response> = proxy(new Request("https://localhost/v1/models"));
`,
  "./otel": `
import { LoopDetector } from "loopwarden";
import { loopTelemetry } from "loopwarden/otel";
loopTelemetry()(new LoopDetector().record({ type: "output", text: "" }));
`,
};

/** The oldest supported version of TypeScript and a current one: both must accept the declarations. */
for (const [compiler, moduleResolution] of [
  ["typescript-oldest", "nodenext"],
  ["typescript", "bundler"],
] as const) {
  for (const [where, names] of [
    ["on a server", Object.keys(CONSUMERS).filter((name) => name !== "./cloudflare")],
    ["on Cloudflare", ["./cloudflare"]],
  ] as const) {
    test(`types ${where} with ${compiler}, ${moduleResolution}, libraries checked`, async () => {
      const folder = await only(
        `types ${where}`,
        names.flatMap((name) => PEERS[name]?.types ?? []),
      );
      const cloudflare = where === "on Cloudflare";
      const compilerOptions = {
        module: moduleResolution === "bundler" ? "esnext" : "nodenext",
        moduleResolution,
        target: "es2022",
        lib: cloudflare ? ["es2023"] : ["es2023", "dom", "dom.iterable"],
        types: cloudflare ? ["@cloudflare/workers-types"] : [],
        strict: true,
        noEmit: true,
        skipLibCheck: false,
      };
      await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
      for (const name of names) await writeFile(join(folder, `${name.slice(2)}.ts`), CONSUMERS[name] ?? "");
      const root = compiler === "typescript" ? js : here;
      const { stdout } = await run(process.execPath, [join(root, "node_modules", compiler, "lib/tsc.js"), "-p", "."], {
        cwd: folder,
      });
      // Errors in the frameworks' own declarations are not ours.
      const ours = stdout.split("\n").filter((line) => /^([\w-]+\.ts|.*loopwarden\/dist\/)/.test(line));
      // Frameworks may need a newer compiler than the oldest one: with it, only our own declarations are checked.
      const told = compiler === "typescript" ? ours : ours.filter((line) => line.includes("loopwarden/dist/"));
      assert.deepEqual(told, []);
    });
  }
}
