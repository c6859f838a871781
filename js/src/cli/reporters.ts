// Reports findings in formats for continuous integration.

import { version } from "../core.ts";
import { RULES } from "../generated/rules.ts";
import type { Finding, Level } from "../generated/types.ts";
import { annotate, bare, printJson, printRaw } from "./print.ts";

export const REPORTERS = ["junit", "sarif", "github"] as const;
export type Reporter = (typeof REPORTERS)[number];

/** The result of one run. */
export interface Case {
  file: string;
  /** The name of the run, or its file if it has none. */
  name: string;
  line: number;
  /** Why the run fails; absent if it does not. */
  failure?: { kind: string; message: string };
  seconds: number;
  /** The first occurrence of each finding at the requested level or above. */
  findings: { line: number; finding: Pick<Finding, "rule" | "message">; level: Level }[];
}

/** Prints the results of runs in a format. */
export function report(reporter: Reporter, cases: readonly Case[]): void {
  if (reporter === "junit") printRaw(junit(cases));
  else if (reporter === "sarif") printJson(sarif(cases));
  else github(cases);
}

function junit(cases: readonly Case[]): string {
  const suites = new Map<string, typeof cases>();
  for (const one of cases) suites.set(one.file, [...(suites.get(one.file) ?? []), one]);
  const totals = (some: readonly Case[]) => {
    const seconds = some.reduce((sum, { seconds }) => sum + seconds, 0);
    const failures = some.filter(({ failure }) => failure !== undefined).length;
    return `tests="${some.length}" failures="${failures}" errors="0" time="${seconds.toFixed(3)}"`;
  };
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites name="loopwarden" ${totals(cases)}>`];
  for (const [file, some] of suites) {
    lines.push(`  <testsuite name="${xml(file)}" ${totals(some)}>`);
    for (const { name, failure, seconds, line } of some) {
      const own = `<testcase classname="${xml(file)}" name="${xml(name)}" file="${xml(file)}" line="${line}" time="${seconds.toFixed(3)}"`;
      if (failure === undefined) lines.push(`    ${own}/>`);
      else
        lines.push(
          `    ${own}>`,
          `      <failure type="${xml(failure.kind)}" message="${xml(failure.message)}"/>`,
          "    </testcase>",
        );
    }
    lines.push("  </testsuite>");
  }
  return `${[...lines, "</testsuites>"].join("\n")}\n`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

const xml = (text: string): string =>
  bare(text)
    .replaceAll("\n", " ")
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
    .replaceAll(/##(?=\w*\[)/g, "#&#35;");

const SEVERITY: Readonly<Record<Level, "note" | "warning" | "error">> = {
  continue: "note",
  observe: "note",
  nudge: "warning",
  block: "error",
  gate: "error",
  halt: "error",
};

/** Escapes a text for a SARIF message, in which brackets would begin a link. */
const unlinked = (text: string): string => bare(text).replaceAll(/[\\[\]]/g, "\\$&");

function sarif(cases: readonly Case[]): object {
  const at = (file: string, line: number) => ({
    physicalLocation: {
      artifactLocation: { uri: encodeURI(file.replaceAll("\\", "/")) },
      region: { startLine: Math.max(1, line) },
    },
  });
  const results = cases.flatMap(({ file, name, line, failure, findings }) => [
    ...findings.map(({ finding, line, level }) => ({
      ruleId: finding.rule,
      level: SEVERITY[level],
      message: { text: unlinked(`${level}: ${finding.message}${name === file ? "" : ` (${name})`}`) },
      locations: [at(file, line)],
    })),
    ...(failure?.kind === "missed"
      ? [
          {
            ruleId: "missed-loop",
            level: "error",
            message: { text: unlinked(failure.message) },
            locations: [at(file, line)],
          },
        ]
      : []),
  ]);
  const used = new Set(results.map(({ ruleId }) => ruleId));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "loopwarden",
            version: version(),
            informationUri: "https://github.com/loopwarden/loopwarden",
            rules: [
              ...RULES.filter(({ id }) => used.has(id)).map(({ id, about }) => ({
                id,
                shortDescription: { text: about },
              })),
              ...(used.has("missed-loop")
                ? [
                    {
                      id: "missed-loop",
                      shortDescription: { text: "A run that is labelled a loop and was not found." },
                    },
                  ]
                : []),
            ],
          },
        },
        results,
      },
    ],
  };
}

function github(cases: readonly Case[]): void {
  for (const { file, name, line, failure, findings } of cases) {
    if (failure !== undefined)
      annotate("error", { file, line, title: `loopwarden: ${failure.kind}` }, `${name}: ${failure.message}`);
    for (const { finding, line, level } of failure === undefined ? findings : [])
      annotate(
        SEVERITY[level] === "error" ? "error" : "warning",
        { file, line, title: `loopwarden: ${level}` },
        `${finding.rule}: ${finding.message}`,
      );
  }
}
