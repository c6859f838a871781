/** Entries of a session as Claude Code writes them. */
export class Log {
  #entries: number;
  readonly session: string;

  constructor(session = "11111111-2222-4333-8444-555555555555", first = 0) {
    this.session = session;
    this.#entries = first;
  }

  /** What a person wrote. */
  prompt(text: string): string {
    return this.#entry("user", { role: "user", content: text });
  }

  /** A call and its result: two lines. */
  step(tool: string, input: unknown, output: string, isError = true): string {
    const id = `toolu_${this.#entries}`;
    const call = { type: "tool_use", id, name: tool, input };
    const result = { type: "tool_result", tool_use_id: id, is_error: isError, content: output };
    return (
      this.#entry("assistant", { id: `msg_${this.#entries}`, role: "assistant", content: [call] }) +
      this.#entry("user", { role: "user", content: [result] })
    );
  }

  #entry(type: string, message: unknown): string {
    const number = this.#entries++;
    const timestamp = new Date(Date.UTC(2026, 10, 22, 9) + number * 1000).toISOString();
    return `${JSON.stringify({ type, uuid: `entry-${number}`, sessionId: this.session, timestamp, message })}\n`;
  }
}
