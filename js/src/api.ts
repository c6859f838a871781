export { version } from "./core.ts";
export { LoopDetector } from "./detector.ts";
export { type Normalised, normalise } from "./diagnose.ts";
export { type ErrorCode, LoopwardenError } from "./errors.ts";
export type * from "./generated/public.ts";
export { readTranscript, type Transcript, type TranscriptFormat } from "./transcript.ts";
