import { tools } from "../tools.ts";
import module from "./tools.wasm?module";

tools.provide(() => module);

export * from "../tools-api.ts";
