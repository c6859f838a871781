export { version } from "./core.ts";
export { LoopDetector } from "./detector.ts";
export { type ErrorCode, LoopwardenError } from "./errors.ts";
export type * from "./generated/public.ts";
