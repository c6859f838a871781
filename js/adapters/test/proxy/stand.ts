// A proxy between an agent and a scripted model, over real connections.
import type { AddressInfo } from "node:net";
import type { Verdict } from "loopwarden";
import { createLoopProxy, type LoopProxy, type LoopProxyOptions, type ProxyExchange } from "loopwarden/proxy";
import { served } from "../../../src/cli/proxy/bridge.ts";
import { upstream } from "../../../src/cli/proxy/upstream.ts";
import type { Run, Setup, Vendor } from "./agents.ts";
import { type Model, model, type Script } from "./model.ts";

export interface Stand extends AsyncDisposable {
  base: string;
  model: Model;
  proxy: LoopProxy;
  told: { verdict: Verdict; exchange: ProxyExchange }[];
  warnings: string[];
  run(vendor: Vendor, setup: Omit<Setup, "base">): Promise<Run>;
}

/** A proxy between an agent and a scripted model. */
export async function stand(script: Script, options: Partial<LoopProxyOptions> = {}): Promise<Stand> {
  const scripted = await model(script);
  const client = upstream();
  const told: Stand["told"] = [];
  const warnings: string[] = [];
  const proxy = createLoopProxy({
    upstream: scripted.url,
    fetch: client.fetch,
    packed: true,
    onVerdict: (verdict, exchange) => told.push({ verdict, exchange: structuredClone(exchange) }),
    onWarning: (message) => warnings.push(message),
    ...options,
  });
  const server = served(proxy, (error) => warnings.push(String(error)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    model: scripted,
    proxy,
    told,
    warnings,
    run: (vendor, setup) => vendor.run({ base, ...setup }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      client.close();
      await scripted[Symbol.asyncDispose]();
    },
  };
}

export const levels = ({ headers }: Run): (string | null)[] => headers.map((own) => own.get("loopwarden-level"));

/** Repeats the same call forever. */
export const stuck: Script = () => ({
  text: "Let me look.",
  calls: [{ name: "read_file", args: { path: "cart.ts" } }],
});
export const nothing = (): string => "Error: no such file: cart.ts";
