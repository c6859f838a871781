import { initSync, type SyncInitInput } from "../glue/tools.js";
import { Module } from "./module.ts";

/** The module of what explains and tunes: no part of judging, so hosts do not load it. */
export const tools: Module<ReturnType<typeof initSync>> = new Module("tools.wasm", ({ module }) =>
  initSync({ module: module as SyncInitInput }),
);
