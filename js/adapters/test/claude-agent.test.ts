import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createSdkMcpServer, type Options, query, type SDKMessage, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { run } from "../../test/support/run.ts";
import { ClaudeAgentGuard, createLoopGuard, loopHalt } from "../src/claude-agent.ts";
import { type Asked, type Content, claudeApi, content, environment } from "./claude-api.ts";
import {
  callId,
  conformance,
  type Harness,
  type Run,
  runTool,
  type Setup,
  spied,
  streaming,
  TOOLS,
  type Turn,
} from "./kit.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "loopwarden-claude-"));
});
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const PREFIX = "mcp__kit__";

/** The results of calls in a conversation, as text, by call id. */
function answersIn({ messages }: Asked): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const block of content) {
      if (block.type !== "tool_result") continue;
      const said = block["content"];
      const texts = Array.isArray(said) ? said.map((part) => String(part.text ?? "")) : [String(said)];
      found[String(block["tool_use_id"])] = texts.join("\n");
    }
  }
  return found;
}

/** The conversation without parts that differ between sessions. */
const comparable = ({ messages }: Asked) =>
  JSON.parse(
    JSON.stringify(messages)
      .replaceAll(/"cache_control":\{[^}]*\},?/g, "")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "ID")
      .replaceAll(/,\}/g, "}"),
  );

interface Session {
  setup: Setup;
  prompt?: string;
  /** The model's answer, which takes precedence over the script. */
  reply?: (asked: Asked) => Content[] | undefined;
  options?: Partial<Options>;
}

async function session({ setup, prompt = "Find it", reply, options = {} }: Session): Promise<Run> {
  const { script, first, dieAfter, bare, from } = setup;
  // A session needs a prompt to continue; the host writes it.
  const shared = setup.shared ?? {};
  shared.guard ??= createLoopGuard({ ...setup.options, ...(from && { state: from.state, prompts: "host" }) });
  const guard = shared.guard as ClaudeAgentGuard;
  const [prompts, executed]: [unknown[], string[]] = [[], []];
  let answers: Record<string, string> = {};
  let turn = 0;
  const aborter = new AbortController();
  const scripted = (asked: Asked) => {
    answers = { ...answers, ...answersIn(asked) };
    if (turn === dieAfter) {
      aborter.abort();
      return undefined;
    }
    prompts.push(comparable(asked));
    const next: Turn = script[turn] ?? { text: "done" };
    turn += 1;
    const id = (index: number) => callId(first + turn - 1, index);
    return content(next, (name) => PREFIX + name, id);
  };
  await using api = await claudeApi((asked) => reply?.(asked) ?? scripted(asked));
  const tools = TOOLS.map((name) =>
    tool(name, name, { q: z.string() }, async (args, extra) => {
      const meta = (extra as { _meta?: Record<string, unknown> })._meta;
      executed.push(String(meta?.["claudecode/toolUseId"] ?? ""));
      return { content: [{ type: "text", text: runTool(name, args) }] };
    }),
  );
  const kit = createSdkMcpServer({ name: "kit", version: "1.0.0", tools });
  const asked = query({
    prompt: from ? "Go on" : prompt,
    options: {
      abortController: aborter,
      mcpServers: { kit },
      allowedTools: [...TOOLS.map((name) => PREFIX + name), "Task", "Agent"],
      tools: [],
      settingSources: [],
      cwd: folder,
      env: environment(api.url, join(folder, "config")),
      ...(from && { resume: (from.memory as { session: string }).session }),
      ...(!bare && { hooks: guard.hooks() }),
      ...(setup.streamed && { includePartialMessages: true }),
      ...options,
    },
  });
  const messages: SDKMessage[] = [];
  const watched = guard.watch(asked);
  try {
    for await (const message of bare ? asked : watched) messages.push(message);
  } catch (error) {
    if (dieAfter === undefined) throw error;
  }
  const result = messages.findLast((message) => message.type === "result");
  const completed = result?.subtype === "success" && result.terminal_reason === "completed" && !loopHalt(watched);
  return {
    prompts,
    executed,
    answers,
    text: completed ? result.result : undefined,
    ended: !result ? "died" : completed ? "completed" : "stopped",
    halt: loopHalt(watched),
    state: guard.snapshot(),
    memory: { session: messages.find((message) => "session_id" in message)?.session_id, result },
  };
}

/** The main agent starts a `worker`, which follows the script, and accepts its result. */
function delegate(setup: Setup): Promise<Run> {
  const input = { description: "find it", prompt: "Find it", subagent_type: "worker", run_in_background: false };
  const reply = (asked: Asked): Content[] | undefined => {
    if (!JSON.stringify(asked.messages[0]).includes("Have it found")) return undefined;
    const handed = asked.messages.some(({ role }) => role === "assistant");
    return handed ? [{ type: "text", text: "done" }] : [{ type: "tool_use", id: "hand", name: "Agent", input }];
  };
  const worker = { description: "finds things", prompt: "You find things.", tools: TOOLS.map((name) => PREFIX + name) };
  return session({ setup, prompt: "Have it found", reply, options: { agents: { worker }, tools: ["Agent"] } });
}

const harness: Harness = { run: (setup) => session({ setup }), delegate };
conformance("claude-agent", harness);
streaming("claude-agent", harness);

test("claude-agent: what is no query of the SDK is told so in words", () => {
  const { watch } = ClaudeAgentGuard.prototype;
  for (const query of [undefined, {}, (async function* () {})()])
    assert.throws(
      () => watch.call(createLoopGuard(), query as never),
      /loopwarden\/claude-agent needs a query of `@anthropic-ai\/claude-agent-sdk`; the version that is installed has no .*interrupt/,
    );
});

test("claude-agent: what the SDK throws of a session that was ended is told by the halt alone", async () => {
  const guard = createLoopGuard();
  const hooks = guard.hooks();
  const tell = (session_id: string, hook_event_name: "PreToolUse" | "PostToolUse", nth: number) => {
    const call = { tool_name: "search", tool_input: { q: "tram" }, tool_use_id: `call-${nth}`, session_id };
    const input = { hook_event_name, tool_response: "nothing", transcript_path: "", cwd: folder, ...call };
    const [matcher] = hooks[hook_event_name] ?? [];
    return matcher?.hooks[0]?.(input as never, undefined, { signal: new AbortController().signal });
  };
  for (let nth = 0; nth < 20; nth += 1) {
    await tell("ended", "PreToolUse", nth);
    await tell("ended", "PostToolUse", nth);
  }
  await tell("honest", "PreToolUse", 20);
  async function* dies(session_id: string) {
    yield { type: "result", session_id };
    throw new Error("error result");
  }
  const watched = (session: string) => guard.watch(Object.assign(dies(session), { interrupt() {} }) as never);
  const seen: string[] = [];
  const session = watched("ended");
  for await (const { type } of session) seen.push(type);
  assert.deepEqual(seen, ["result"]);
  assert.equal(loopHalt(session)?.level, "halt");
  await assert.rejects(async () => {
    for await (const _ of watched("honest"));
  }, /error result/);
});

test("claude-agent: tokens are told of an answer whose end the hooks heard before its messages were read", async () => {
  const { detector, events } = spied();
  const guard = createLoopGuard({ detector });
  const [matcher] = guard.hooks().Stop ?? [];
  const told = { session_id: "late", transcript_path: "", cwd: folder };
  const stop = { ...told, hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: "It is done." };
  const text = (type: string) => events.filter((event) => event.type === type);
  async function* late() {
    await matcher?.hooks[0]?.(stop as never, undefined, { signal: new AbortController().signal });
    const usage = { input_tokens: 30, output_tokens: 12 };
    for (const id of ["one", "one"]) yield { type: "assistant", session_id: "late", message: { id, usage } };
    yield { type: "result", session_id: "late" };
  }
  for await (const _ of guard.watch(Object.assign(late(), { interrupt() {} }) as never));
  assert.deepEqual([text("message").length, text("delta").length], [1, 1]);
  assert.equal(
    events.reduce((sum, event) => sum + (event.tokens ?? 0), 0),
    42,
  );
});

test("the hook command, installed in a project, guards a real session", async () => {
  const project = join(folder, "project");
  await mkdir(project);
  const env = { XDG_STATE_HOME: join(folder, "state") };
  const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
  const installed = await run(process.execPath, [cli, "hook", "install", "--local"], { cwd: project, env });
  assert.equal(installed.code, 0, installed.stderr);
  const script: Turn[] = Array.from({ length: 12 }, () => ({ calls: [{ tool: "search", args: { q: "oauth" } }] }));
  process.env["XDG_STATE_HOME"] = env.XDG_STATE_HOME;
  const options: Partial<Options> = { cwd: project, settingSources: ["local"] };
  const ran = await session({ setup: { options: {}, script, first: 0, bare: true }, options });
  assert.equal(ran.executed.length, 5);
  assert.match(
    JSON.stringify(ran.prompts.at(4)),
    /Loopwarden \(loop detector\): `mcp__kit__search` was called 3 times/,
  );
  assert.match(ran.answers[callId(5)] ?? "", /Loopwarden.*refused/);
  assert.equal(ran.ended, "stopped");
  assert.equal(ran.prompts.length, 9);
});
