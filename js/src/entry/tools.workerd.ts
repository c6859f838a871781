import { tools } from "../tools.ts";
import module from "./tools.wasm";

tools.provide(() => module);

export * from "../tools-api.ts";
