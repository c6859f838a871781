export { type Goal, goals, type InForce, inForce, type Normalised, normalise, type RuleInForce } from "./diagnose.ts";
export type { ErrorCode } from "./errors.ts";
export { LoopwardenError } from "./errors.ts";
export { readTranscript, type Transcript, type TranscriptFormat } from "./transcript.ts";
