import { FORMATS } from "../generated/names.ts";
import { LEVELS } from "../replay/levels.ts";
import { type Command, type Options, parse, UsageError } from "./args.ts";
import { printRaw } from "./print.ts";
import { REPORTERS } from "./reporters.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

export const help: string = `Usage: loopwarden completion bash | zsh | fish

Prints a script that makes a shell complete commands, options and their values. Put it where the shell looks:

  bash  loopwarden completion bash > ~/.local/share/bash-completion/completions/loopwarden
  zsh   loopwarden completion zsh > "\${fpath[1]}/_loopwarden"
  fish  loopwarden completion fish > ~/.config/fish/completions/loopwarden.fish

Exit codes: 0 printed, 2 wrong usage.
`;

const OWN = {} as const satisfies Options;
export const options: Options = OWN;
export const words: readonly string[] = SHELLS;

/** Values of options that have a fixed set; other options take files. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  level: LEVELS.slice(1),
  format: FORMATS,
  reporter: REPORTERS,
  unlabelled: ["honest", "loop", "skip"],
  prompts: ["human", "host"],
};

/** Prints the completion script of a shell, generated from the commands. */
export function complete(args: string[], commands: Readonly<Record<string, Command>>): number {
  const { positionals } = parse(args, OWN);
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError(`completion: expected one of ${SHELLS.join(", ")}`);
  const shell = SHELLS.find((known) => known === name);
  // Three words need no suggestion of the nearest one.
  if (shell === undefined) throw new UsageError(`completion ${name}: expected one of ${SHELLS.join(", ")}`);
  printRaw(shell === "fish" ? fish(commands) : shell === "zsh" ? zsh(commands) : bash(commands));
  return 0;
}

const optionsOf = ({ options = {} }: Command): { name: string; takes: boolean }[] =>
  [...Object.entries(options), ["help", { type: "boolean" }] as const].map(([name, { type }]) => ({
    name,
    takes: type === "string",
  }));

function bash(commands: Readonly<Record<string, Command>>): string {
  const cases = Object.entries(commands).map(([name, command]) => {
    const offered = [...optionsOf(command).map(({ name }) => `--${name}`), ...(command.words ?? [])];
    return `    ${name}) offered="${offered.join(" ")}" ;;`;
  });
  const values = Object.entries(VALUES).map(
    ([name, known]) => `    --${name}) COMPREPLY=($(compgen -W "${known.join(" ")}" -- "$word")); return ;;`,
  );
  return `_loopwarden() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" offered=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${Object.keys(commands).join(" ")} --help --version" -- "$word"))
    return
  fi
  case "$before" in
${values.join("\n")}
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word") $(compgen -f -- "$word"))
}
complete -o filenames -F _loopwarden loopwarden
`;
}

function zsh(commands: Readonly<Record<string, Command>>): string {
  const cases = Object.entries(commands).map(([name, command]) => {
    const told = optionsOf(command).map(({ name, takes }) => {
      const known = VALUES[name];
      const value = !takes ? "" : known === undefined ? ":value:_files" : `:value:(${known.join(" ")})`;
      return `'--${name}${takes ? "=" : ""}${value}'`;
    });
    const first = command.words === undefined ? "_files" : `(${command.words.join(" ")})`;
    return `    ${name}) _arguments ${told.join(" ")} ${command.words === undefined ? "" : `'2:what:${first}' `}'*:file:_files' ;;`;
  });
  return `#compdef loopwarden
_loopwarden() {
  if (( CURRENT == 2 )); then
    compadd -- ${Object.keys(commands).join(" ")} --help --version
    return
  fi
  case "\${words[2]}" in
${cases.join("\n")}
  esac
}
compdef _loopwarden loopwarden
`;
}

function fish(commands: Readonly<Record<string, Command>>): string {
  const lines = [`complete -c loopwarden -n __fish_use_subcommand -f -a "${Object.keys(commands).join(" ")}"`];
  for (const [name, command] of Object.entries(commands)) {
    const here = `-n "__fish_seen_subcommand_from ${name}"`;
    if (command.words !== undefined) lines.push(`complete -c loopwarden ${here} -a "${command.words.join(" ")}"`);
    for (const { name, takes } of optionsOf(command)) {
      const known = VALUES[name];
      const value = !takes ? "" : known === undefined ? " -r" : ` -x -a "${known.join(" ")}"`;
      lines.push(`complete -c loopwarden ${here} -l ${name}${value}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
