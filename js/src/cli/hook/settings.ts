// Reads the configuration of a new session for `loopwarden hook` as called by a host. A separate bundle beside run.ts,
// because only the first hook of a session needs it. It includes its own copy of the detector to check the
// configuration.
import { readFileSync } from "node:fs";
import { core } from "../../core.ts";

core.provide(() => readFileSync(new URL("./core.wasm", import.meta.url)));

export { configText } from "../settings.ts";
