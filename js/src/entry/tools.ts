import wasm from "../../glue/tools_bg.wasm";
import { tools } from "../tools.ts";
import { bytes } from "./bytes.ts";

tools.provide(() => bytes(wasm));

export * from "../tools-api.ts";
