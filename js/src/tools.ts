import { initSync, type SyncInitInput } from "../glue/tools.js";
import { Module } from "./module.ts";

/** The module with the functions that explain and tune. Judging does not need it, so hosts do not load it. */
export const tools: Module<ReturnType<typeof initSync>> = new Module("tools.wasm", ({ module }) =>
  initSync({ module: module as SyncInitInput }),
);
