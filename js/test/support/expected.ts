import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Expected, Outcome } from "../../conformance/run.ts";

/** A path that `cargo xtask test` hands over; without it there is nothing to compare with. */
export function given(name: string): string {
  const path = process.env[name];
  assert.ok(path, `${name} is not set: run \`cargo xtask test\`, which builds what is compared and sets it`);
  return path;
}

/** The native library's answers. */
export async function expected(): Promise<Expected[]> {
  const text = await readFile(given("LOOPWARDEN_EXPECTED"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  assert.ok(lines.length > 0, "there is no scenario to compare");
  return lines.map((line) => JSON.parse(line));
}

/** Fails with the first differences, if there are any. */
export function same({ scenarios, answers, unasked, differences }: Outcome): void {
  assert.equal(differences.length, 0, `${differences.length} differences:\n${differences.slice(0, 5).join("\n")}`);
  assert.ok(scenarios > 0 && answers > scenarios, "nothing was compared");
  console.log(
    `${scenarios} scenarios, ${answers} equal answers${unasked > 0 ? `, ${unasked} events not askable` : ""}`,
  );
}
