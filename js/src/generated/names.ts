// Generated from the core by `cargo xtask schema`: change the core, not this file.

/** The formats that recorded runs are read in. */
export const FORMATS = [
  "trace",
  "claude-code",
  "openai",
  "anthropic",
  "ai-sdk",
  "langchain",
  "swe-agent",
  "openhands",
  "gemini-cli",
  "opentelemetry",
] as const;

/** The fields of a configuration. */
export const SETTINGS: readonly string[] = [
  "attempts",
  "attended",
  "budgets",
  "collaboration",
  "conventions",
  "enabled",
  "extends",
  "failures",
  "graph",
  "memory",
  "mode",
  "onStall",
  "patterns",
  "phases",
  "preset",
  "prices",
  "privacy",
  "rules",
  "tools",
  "unattendedLevel",
];
