//! Whether a call changes the world, and what its command line is for.
//!
//! Progress needs a change, so a call that only looks must not pass for one. The configuration knows best, then the
//! host's `readOnly` hint; else the name tells, and for a shell the command line. An agent's own notes (to-do lists,
//! plans) are no change of the world.

use super::digest::{Key, combine, key, mark};
use super::named::{Named, WRITES};
use super::outcome::Empty;
use super::request::Asks;
use super::shell::{Lexer, Token};
use super::target::{PREPARE, changes_table, does};
use super::waits::{asks_health, shows_state};
use super::words::{listed, name_words, same};
use crate::codec::codec;
use crate::model::ToolCall;
use alloc::{borrow::Cow, vec::Vec};
use serde_json::Value;

/// Whether `call` changes something: as configured, else by hint, action, name or command line.
pub(crate) fn mutates(call: &ToolCall, named: &Named, configured: Option<bool>) -> bool {
    if let Some(configured) = configured {
        return configured;
    }
    // `false` is what hosts copy from servers that said nothing, so only `true` is a statement.
    if call.read_only == Some(true) {
        return false;
    }
    if let Some(command) = command(call, named) {
        return line_mutates(&command);
    }
    if named.notes {
        return false;
    }
    if let Some(script) = script(call, named) {
        return script_mutates(script);
    }
    named.says().unwrap_or(false) || !named.search && changes_table(call)
}

/// Bytes of a statement that is looked through.
const STATEMENT: usize = 4 * 1024;

/// How many a statement of SQL is to change at most (`LIMIT 5000`); 0 where it does not say so.
pub(crate) fn limit(call: &ToolCall) -> u32 {
    let Some(arguments) = call.args.as_ref().and_then(Value::as_object) else { return 0 };
    let texts = arguments.values().filter_map(Value::as_str);
    let told = |text: &str| {
        let mut words = text.split(|char: char| !char.is_ascii_alphanumeric()).skip_while(|word| !same(word, "limit"));
        words.nth(1).and_then(|number| number.parse().ok())
    };
    let changes = |text: &&str| {
        // Hardly a text begins as one of those, or as what gives a name to what is selected first.
        let begins =
            text.bytes().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| b"duw".contains(&(first | 32)));
        begins && text.len() <= STATEMENT && does(text).is_some_and(|verb| same(verb, "delete") || same(verb, "update"))
    };
    texts.filter(changes).find_map(told).unwrap_or(0)
}

/// How empty the answer to a call may be that has gone well. Who changes something, or looks for what is wrong, may
/// have nothing to say; who is asked for something may not.
pub(crate) fn quiet(call: &ToolCall, named: &Named, mutates: bool, asks: Asks) -> Empty {
    let looks = || call.read_only == Some(true) || named.says() == Some(false);
    if mutates && changes_table(call) {
        Empty::All
    } else if mutates || named.complains && named.verb != Some(false) {
        Empty::List
    } else if named.shell {
        // A search that prints nothing has found nothing.
        if asks == Asks::Search { Empty::Nothing } else { Empty::Blank }
    } else if matches!(asks, Asks::Nothing | Asks::View | Asks::Gesture) && (named.checks || !looks()) {
        Empty::Null
    } else {
        Empty::Nothing
    }
}

/// The command line of a call: what a shell is given, or the `command` of any other tool that reads like one. A program
/// and its arguments given as a list are joined by blanks.
pub(crate) fn command<'a>(call: &'a ToolCall, named: &Named) -> Option<Cow<'a, str>> {
    let shell = named.shell;
    if shell && let Some(text) = &call.raw_args {
        return Some(Cow::Borrowed(text));
    }
    match call.args.as_ref()? {
        Value::String(line) if shell => Some(Cow::Borrowed(line)),
        Value::Object(map) => {
            // Hardly a tool that is no shell has such an argument.
            if !shell && !map.keys().any(|name| name.starts_with('c')) {
                return None;
            }
            let names: &[&str] =
                if shell { &["command", "cmd", "script", "input", "code"] } else { &["command", "cmd"] };
            let line = names.iter().find_map(|name| match map.get(*name)? {
                Value::String(line) => Some(Cow::Borrowed(line.as_str())),
                Value::Array(words) => joined(words),
                _ => None,
            })?;
            (shell || line.trim().contains(char::is_whitespace)).then_some(line)
        }
        _ => None,
    }
}

/// `["ls", "-l"]` as a line; of `["bash", "-lc", "…"]` the line itself.
fn joined(words: &[Value]) -> Option<Cow<'_, str>> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    match words.as_slice() {
        [] => None,
        [shell, flags, line] if is_interpreter(&SHELL_PROGRAMS, shell) && flags.starts_with('-') => {
            Some(Cow::Borrowed(line))
        }
        words => Some(Cow::Owned(words.join(" "))),
    }
}

/// A program in another language than the shell's.
fn script<'a>(call: &'a ToolCall, named: &Named) -> Option<&'a str> {
    let map = call.args.as_ref()?.as_object()?;
    if named.verb.is_some() || !named.language {
        return None;
    }
    ["code", "script", "source", "input"].iter().find_map(|name| map.get(*name)?.as_str())
}

/// Programs that always change something.
const PROGRAMS: [&str; 38] = [
    "add-content",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "copy",
    "cp",
    "del",
    "install",
    "kill",
    "killall",
    "ln",
    "mkdir",
    "mkfifo",
    "mktemp",
    "move",
    "mv",
    "new-item",
    "out-file",
    "patch",
    "pkill",
    "rd",
    "ren",
    "rm",
    "rmdir",
    "rsync",
    "scp",
    "set-content",
    "setfacl",
    "shred",
    "split",
    "touch",
    "truncate",
    "umount",
    "unlink",
    "unzip",
    "useradd",
    "visudo",
];

/// Words before the program itself.
const PREFIXES: [&str; 22] = [
    "!", "builtin", "command", "do", "doas", "elif", "else", "env", "exec", "if", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "then", "time", "timeout", "until", "while", "xargs",
];

/// Programs whose first argument says what they do.
const MANAGERS: [&str; 40] = [
    "apk",
    "apt",
    "apt-get",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "choco",
    "composer",
    "conda",
    "deno",
    "dnf",
    "dotnet",
    "firebase",
    "flyctl",
    "gem",
    "gh",
    "git",
    "go",
    "helm",
    "hg",
    "jj",
    "kubectl",
    "mamba",
    "mix",
    "npm",
    "nvm",
    "pip",
    "pip3",
    "pipenv",
    "pipx",
    "pnpm",
    "poetry",
    "pulumi",
    "rustup",
    "svn",
    "terraform",
    "uv",
    "yarn",
    "yum",
];

/// Programs that run other programs for longer.
const SUPERVISORS: [&str; 9] =
    ["docker", "docker-compose", "initctl", "launchctl", "pm2", "podman", "service", "supervisorctl", "systemctl"];

/// What managers are asked to do when something is to change.
const CHANGES: [&str; 53] = [
    "add",
    "am",
    "annotate",
    "apply",
    "bisect",
    "checkout",
    "cherry-pick",
    "ci",
    "clean",
    "clone",
    "close",
    "commit",
    "create",
    "del",
    "delete",
    "deploy",
    "destroy",
    "edit",
    "fix",
    "fmt",
    "generate",
    "i",
    "import",
    "init",
    "install",
    "label",
    "link",
    "merge",
    "mv",
    "new",
    "patch",
    "publish",
    "pull",
    "push",
    "rebase",
    "remove",
    "replace",
    "reset",
    "restore",
    "revert",
    "rm",
    "rollback",
    "scale",
    "stash",
    "switch",
    "sync",
    "tidy",
    "uninstall",
    "unlink",
    "up",
    "update",
    "upgrade",
    "vendor",
];

/// What supervisors are asked to do when something is to change.
const RUNS: [&str; 17] = [
    "build", "create", "disable", "down", "enable", "exec", "kill", "pull", "push", "reload", "restart", "rm", "rmi",
    "run", "start", "stop", "up",
];

const SHELL_PROGRAMS: [&str; 7] = ["ash", "bash", "dash", "ksh", "pwsh", "sh", "zsh"];

const SCRIPT_PROGRAMS: [&str; 12] =
    ["bun", "deno", "ipython", "node", "nodejs", "perl", "php", "py", "python", "python2", "python3", "ruby"];

/// Nested command lines deeper than this change nothing as far as this module is concerned.
const MAX_NESTING: usize = 4;

/// Whether a shell command line changes something: redirects to files, and programs known to.
fn line_mutates(line: &str) -> bool {
    nested_line_mutates(line, 0)
}

/// Programs that look for something in many places.
const SEARCHERS: [&str; 8] = ["ack", "ag", "egrep", "fd", "fgrep", "find", "grep", "rg"];

/// The program that a shell command line is for, past what only prepares for it (going to a folder, a wait), and what
/// comes first of what it is to do.
fn leading(line: &str) -> Option<(&str, Option<&str>)> {
    let mut lexer = Lexer::new(line);
    let mut prepares = None;
    // A prefix or two, the program, and what it is to do.
    let (mut words, mut count) = ([""; 8], 0);
    loop {
        let token = lexer.token();
        match token {
            Some(Token::Word(word)) => {
                if let Some(free) = words.get_mut(count) {
                    *free = word;
                    count += 1;
                }
            }
            Some(Token::Write(_) | Token::Here(_)) => {}
            Some(Token::End) | None => match program(words.get(..count).unwrap_or_default()) {
                Some((name, args)) if !listed(&PREPARE, name) => return Some((name, args.first().copied())),
                own => {
                    let own = own.filter(|(name, _)| *name != "cd").map(|(name, args)| (name, args.first().copied()));
                    prepares = prepares.or(own);
                    if token.is_none() {
                        return prepares;
                    }
                    count = 0;
                }
            },
        }
    }
}

/// Whether a shell command line begins by searching, and prints what it finds.
pub(super) fn line_searches(line: &str) -> bool {
    match leading(line) {
        Some(("git", first)) => first == Some("grep"),
        Some((name, first)) => listed(&SEARCHERS, name) && !matches!(first, Some("-q" | "--quiet")),
        None => false,
    }
}

/// Bytes of arguments from which the same change is hardly made again for another reason.
const CONTENT: usize = 48;

/// Whether a call that changes something holds the change itself, so that the same call is the same change: an edit, a
/// file that is written. What a build, a deployment or a copy comes to depends on what was changed before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Edit {
    #[default]
    No,
    /// A value that is set.
    Brief,
    /// Content that is written.
    Whole,
}
codec!(enum Edit { No: 0, Brief: 1, Whole: 2 });

/// What kind of edit a call with these arguments is, which changes something.
pub(crate) fn edit(call: &ToolCall, named: &Named, arguments: &str) -> Edit {
    let edits = if named.shell {
        command(call, named).is_some_and(|line| line_writes(&line))
    } else {
        named.edits || named.action.edits
    };
    match edits {
        false => Edit::No,
        true if arguments.len() < CONTENT => Edit::Brief,
        true => Edit::Whole,
    }
}

/// Whether a command line writes what stands in it: a here-document or words into a file, an edit in place.
fn line_writes(line: &str) -> bool {
    let mut lexer = Lexer::new(line);
    let (mut words, mut count) = ([""; 8], 0);
    let edits = |words: &[&str]| {
        program(words).is_some_and(|(name, args)| {
            matches!(name, "sed" | "perl") && args.iter().any(|arg| arg.starts_with("-i") || *arg == "-pi")
        })
    };
    while let Some(token) = lexer.token() {
        match token {
            Token::Word(word) => {
                if let Some(free) = words.get_mut(count) {
                    *free = word;
                    count += 1;
                }
            }
            Token::Write(file) if !is_sink(file) => {
                let words = words.get(..count).unwrap_or_default();
                if program(words).is_some_and(|(name, _)| matches!(name, "cat" | "echo" | "printf" | "tee")) {
                    return true;
                }
            }
            Token::Write(_) | Token::Here(_) => {}
            Token::End => {
                if edits(words.get(..count).unwrap_or_default()) {
                    return true;
                }
                count = 0;
            }
        }
    }
    edits(words.get(..count).unwrap_or_default())
}

/// What kind of call it is, of one tool and of a shell's of one program; and whether those tell the state of something
/// that changes by itself.
pub(crate) fn kind(call: &ToolCall, named: &Named, tool: Key) -> (u32, bool) {
    let line = if named.shell { command(call, named) } else { None };
    let (program, shows) = match line.as_deref().and_then(leading) {
        Some((name, first)) => {
            let asks = || line.as_deref().is_some_and(asks_health);
            (key("program", name.as_bytes()), shows_state(name, first) || asks())
        }
        None => (0, false),
    };
    (kind_of(tool, program), named.watches || shows)
}

/// The kind of a tool's calls, of those that run a program its key; 0 for none.
pub(crate) fn kind_of(tool: Key, program: Key) -> u32 {
    mark(combine("kind", &[tool, program]))
}

fn nested_line_mutates(line: &str, nesting: usize) -> bool {
    if nesting >= MAX_NESTING {
        return false;
    }
    let mut lexer = Lexer::new(line);
    let mut words: Vec<&str> = Vec::new();
    while let Some(token) = lexer.token() {
        let found = match token {
            Token::Word(word) => {
                words.push(word);
                false
            }
            // `[[ a > b ]]` compares.
            Token::Write(file) => words.first() != Some(&"[[") && !is_sink(file),
            Token::Here(text) => match program(&words) {
                Some((name, _)) if is_interpreter(&SHELL_PROGRAMS, name) => nested_line_mutates(text, nesting + 1),
                Some((name, _)) if is_interpreter(&SCRIPT_PROGRAMS, name) => script_mutates(text),
                _ => false,
            },
            Token::End => {
                let found = program(&words).is_some_and(|(name, args)| program_mutates(name, args, nesting));
                words.clear();
                found
            }
        };
        if found {
            return true;
        }
    }
    program(&words).is_some_and(|(name, args)| program_mutates(name, args, nesting))
}

fn is_interpreter(list: &[&str], program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    // `python3.12` is `python3`.
    listed(list, name.split_once('.').map_or(name, |(name, _)| name))
}

/// What swallows what is written to it.
fn is_sink(file: &str) -> bool {
    const SINKS: [&str; 8] = ["$null", "&1", "&2", "/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty", "nul"];
    file.is_empty() || file == "-" || listed(&SINKS, file)
}

/// The program of a simple command and its arguments, past assignments and prefixes.
fn program<'a, 'w>(words: &'w [&'a str]) -> Option<(&'a str, &'w [&'a str])> {
    let mut rest = words;
    let mut prefixed = false;
    loop {
        let (first, after) = rest.split_first()?;
        let name = first.rsplit('/').next().unwrap_or_default();
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        let prefix = listed(&PREFIXES, name);
        // `timeout 60 make`, `xargs -0 rm`
        let option = prefixed && first.starts_with(|char: char| char == '-' || char.is_ascii_digit());
        if !(assigns || prefix || option || matches!(name, "{" | "}")) {
            return Some((name, after));
        }
        prefixed |= prefix;
        rest = after;
    }
}

fn program_mutates(name: &str, args: &[&str], nesting: usize) -> bool {
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(arg));
    let plain = || args.iter().copied().filter(|arg| !arg.starts_with('-'));
    let after = |flags: &[&str]| args.iter().skip_while(|arg| !flags.contains(arg)).nth(1).copied();
    if has(&["--fix", "--in-place", "--inplace", "--write"]) {
        return true;
    }
    match name {
        "black" | "isort" | "rustfmt" => !has(&["--check", "--check-only", "--diff"]),
        "curl" => {
            let method = after(&["-X", "--request"]).or_else(|| args.iter().find_map(|arg| arg.strip_prefix("-X")));
            let output = after(&["-o", "--output"]).is_some_and(|file| !is_sink(file));
            let sends =
                args.iter().any(|arg| arg.starts_with("--data") || matches!(*arg, "-d" | "-F" | "-T" | "--json"));
            let method = method.filter(|method| !method.is_empty());
            method.map_or(sends, |method| !matches!(method, "GET" | "HEAD" | "OPTIONS")) || output || has(&["-O"])
        }
        "dd" => args.iter().any(|arg| arg.strip_prefix("of=").is_some_and(|file| !is_sink(file))),
        "find" => {
            let exec = args.iter().position(|arg| matches!(*arg, "-exec" | "-execdir"));
            let run = exec.and_then(|at| program(args.get(at + 1..)?));
            has(&["-delete"])
                || run.is_some_and(|(name, args)| nesting < MAX_NESTING && program_mutates(name, args, nesting + 1))
        }
        "gofmt" | "goimports" | "prettier" => has(&["-w"]),
        "perl" | "gsed" | "sed" => {
            args.iter().any(|arg| {
                arg.strip_prefix('-')
                    .is_some_and(|flags| !flags.starts_with(['-', 'M', 'e', 'f']) && flags.contains('i'))
            }) || runs_script(name, args)
        }
        "ssh" => {
            // Options of one letter that take a value.
            let takes = |at: usize| {
                args.get(at).is_some_and(|arg| {
                    arg.len() == 2
                        && b"BbcDEeFIiJLlmOopQRSWw".iter().any(|letter| arg.as_bytes().last() == Some(letter))
                })
            };
            let host = (0..args.len()).find(|at| {
                let option = |at: usize| args.get(at).is_some_and(|arg| arg.starts_with('-'));
                !option(*at) && !at.checked_sub(1).is_some_and(|before| option(before) && takes(before))
            });
            let behind = host.and_then(|host| args.get(host + 1..));
            // `ssh host "systemctl restart x"`, `ssh host sudo systemctl restart x`
            args.iter().any(|arg| arg.contains(' ') && nested_line_mutates(arg, nesting + 1))
                || behind.is_some_and(|words| words.len() > 1 && nested_line_mutates(&words.join(" "), nesting + 1))
        }
        "tar" => {
            args.first().is_some_and(|flags| !flags.starts_with("--") && flags.contains(['c', 'x']))
                || has(&["--extract", "--create"])
        }
        "tee" => plain().any(|file| !is_sink(file)),
        "unzip" => !has(&["-l", "-v", "-t", "-p"]),
        "wget" => !has(&["--spider", "-O-", "-qO-"]) && !after(&["-O", "-qO"]).is_some_and(is_sink),
        "stash" => false,
        _ if is_interpreter(&SHELL_PROGRAMS, name) => {
            let line = args.iter().skip_while(|arg| !(arg.starts_with('-') && arg.ends_with('c'))).nth(1);
            line.is_some_and(|line| nested_line_mutates(line, nesting + 1))
        }
        _ if listed(&PROGRAMS, name) => true,
        _ if name.starts_with("python") && after(&["-m"]).is_some_and(|module| matches!(module, "pip" | "venv")) => {
            has(&["install", "uninstall", "venv"])
        }
        _ if listed(&SUPERVISORS, name) => {
            // `docker compose -f a.yml -p quay up`
            let composes = name == "docker-compose" || plain().next().is_some_and(|first| first == "compose");
            plain().take(if composes { 4 } else { 2 }).any(|arg| listed(&RUNS, arg))
        }
        _ if listed(&MANAGERS, name) => manager_mutates(name, args),
        _ if is_interpreter(&SCRIPT_PROGRAMS, name) => runs_script(name, args),
        // PowerShell's `Set-Item`, and `create-…-app`.
        _ => name.contains('-') && name_words(name).next().is_some_and(|word| listed(&WRITES, word)),
    }
}

fn manager_mutates(name: &str, args: &[&str]) -> bool {
    // `git -C dir` and `-c key=value` take an argument.
    let mut skip = false;
    let mut plain = args.iter().filter(|arg| {
        let value = core::mem::replace(&mut skip, matches!(**arg, "-C" | "-c" | "--prefix" | "-n" | "--namespace"));
        !value && !arg.starts_with('-')
    });
    let Some(first) = plain.next() else { return false };
    let second = plain.next().copied().unwrap_or_default();
    match (name, *first) {
        ("go", "get" | "mod") | ("git", "stash") => !matches!(second, "list" | "show" | "graph" | "verify" | "why"),
        ("cargo" | "terraform" | "go", "fmt") => !args.iter().any(|arg| matches!(*arg, "--check" | "-check" | "-n")),
        ("gh", _) => listed(&CHANGES, second),
        (_, first) => listed(&CHANGES, first),
    }
}

fn runs_script(name: &str, args: &[&str]) -> bool {
    is_interpreter(&SCRIPT_PROGRAMS, name)
        && args
            .iter()
            .skip_while(|arg| !matches!(**arg, "-c" | "-e" | "-r" | "--eval"))
            .nth(1)
            .is_some_and(|text| script_mutates(text))
}

/// Whether a script in a general language writes, as far as its text tells.
fn script_mutates(script: &str) -> bool {
    const CALLS: [&str; 24] = [
        ".mkdir(",
        ".rename(",
        ".rmdir(",
        ".to_csv(",
        ".to_excel(",
        ".to_json(",
        ".unlink(",
        "File.write",
        "appendFile",
        "fs.rm",
        "json.dump(",
        "makedirs(",
        "mkdirSync(",
        "os.remove(",
        "os.rename(",
        "os.replace(",
        "renameSync(",
        "rmSync(",
        "rmtree(",
        "savefig(",
        "shutil.",
        "write_bytes(",
        "write_text(",
        "writeFile",
    ];
    CALLS.iter().any(|call| script.contains(call))
        || script.match_indices("open(").any(|(at, _)| {
            // A mode among the arguments: `open(p, 'w')`, `open(p, mode="a+b")`, `p.open('x')`.
            let method = script.get(..at).is_some_and(|before| before.ends_with('.'));
            let arguments = script.get(at..).unwrap_or_default();
            let arguments = arguments.split(['\n', ';']).next().unwrap_or_default();
            let mut before = "";
            arguments.split(['\'', '"']).take(16).any(|text| {
                let before = core::mem::replace(&mut before, text).trim_end();
                let placed = before.ends_with([',', '=']) || method && before == "open(";
                let mode = (1..=3).contains(&text.len())
                    && text.starts_with(['a', 'r', 'w', 'x'])
                    && (!text.starts_with('r') || text.contains('+'))
                    && text.bytes().skip(1).all(|byte| b"+bt".contains(&byte));
                mode && placed
            })
        })
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;

    #[test]
    fn what_a_line_is_for() {
        for (line, expected) in [
            ("make all", Some(("make", Some("all")))),
            ("cd harbour && make", Some(("make", None))),
            (". .venv/bin/activate && python -m tides", Some(("python", Some("-m")))),
            ("source env.sh; export A=1; sleep 60 && quayctl view 7", Some(("quayctl", Some("view")))),
            ("set -e\necho start\npytest -q", Some(("pytest", Some("-q")))),
            ("sleep 60", Some(("sleep", Some("60")))),
            ("echo done", Some(("echo", Some("done")))),
            ("cd harbour", None),
            ("", None),
        ] {
            assert_eq!(leading(line), expected, "{line}");
        }
    }

    fn mutates(call: &ToolCall, configured: Option<bool>) -> bool {
        super::mutates(call, &Named::of_call(call), configured)
    }
    use alloc::string::String;
    use serde_json::json;

    fn call(tool: &str, args: Value) -> ToolCall {
        ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() }
    }

    #[test]
    fn lists_are_sorted() {
        for list in [
            &PROGRAMS[..],
            &PREFIXES,
            &MANAGERS,
            &SUPERVISORS,
            &CHANGES,
            &RUNS,
            &SHELL_PROGRAMS,
            &SCRIPT_PROGRAMS,
            &SEARCHERS,
        ] {
            assert_sorted(list);
        }
    }

    #[test]
    fn names_and_actions() {
        for (tool, args, expected) in [
            ("write_file", json!({}), true),
            ("editFile", json!({}), true),
            ("mcp__github__create_issue", json!({}), true),
            ("mcp__update-server__list_issues", json!({}), false),
            ("fs.remove", json!({}), true),
            ("str_replace_editor", json!({"command": "str_replace", "path": "a"}), true),
            ("str_replace_editor", json!({"command": "view", "path": "a"}), false),
            ("http_request", json!({"method": "POST"}), true),
            ("http_request", json!({"method": "GET"}), false),
            ("book_flight", json!({}), true),
            ("get_book", json!({}), false),
            ("get_post", json!({}), false),
            ("call_service", json!({"service": "turn_off", "entity": "lamp"}), true),
            ("call_service", json!({"service": "get_forecasts"}), false),
            ("logs", json!({"service": "checkout"}), false),
            ("get_logs", json!({"service": "checkout"}), false),
            ("list_updates", json!({}), false),
            ("search", json!({"command": "update"}), true),
            ("query", json!({"sql": "UPDATE boats SET length = 9 WHERE name = 'Ida'"}), true),
            ("execute_sql", json!({"statement": " insert into boats values (1)"}), true),
            ("query", json!({"sql": "with x as (select a from boats) select a from x"}), false),
            ("query", json!({"sql": "with x as (select a from boats for update) select a from x"}), false),
            ("psql", json!({"sql": "with x as (select a from boats limit 9) update boats b set c = 1 from x"}), true),
            ("psql", json!({"sql": "UPDATE boats AS b SET c = 1"}), true),
            ("ask", json!({"question": "Update the page and set it in bold"}), false),
            ("web_search", json!({"query": "create table syntax"}), false),
            ("bookshelf", json!({}), false),
            ("settings", json!({}), false),
            ("click", json!({}), false),
            ("TodoWrite", json!({}), false),
            ("update_plan", json!({}), false),
            ("apply_patch", json!("*** Begin Patch"), true),
            ("execute_python", json!({"code": "open('a','w').write('x')"}), true),
            ("execute_python", json!({"code": "p.open('w')"}), true),
            ("execute_python", json!({"code": "print(open('a').read())"}), false),
        ] {
            let call = call(tool, args);
            assert_eq!(mutates(&call, None), expected, "{call:?}");
            assert!(mutates(&call, Some(true)) && !mutates(&call, Some(false)));
            assert!(!mutates(&ToolCall { read_only: Some(true), ..call.clone() }, None));
            assert_eq!(mutates(&ToolCall { read_only: Some(false), ..call }, None), expected);
        }
    }

    #[test]
    fn shells() {
        let line = |args: Value| command(&call("bash", args), &Named::of("bash")).map(Cow::into_owned);
        assert_eq!(line(json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
        assert_eq!(line(json!({"cmd": ["bash", "-lc", "ls | wc"]})).as_deref(), Some("ls | wc"));
        assert_eq!(line(json!({"cmd": ["rm", "a"]})).as_deref(), Some("rm a"));
        assert_eq!(line(json!("ls")).as_deref(), Some("ls"));
        assert_eq!(line(json!({"path": "ls"})), None);
        assert_eq!(command(&call("editor", json!({"command": "view"})), &Named::of("editor")), None);
        assert!(command(&call("sandbox", json!({"command": "ls -l"})), &Named::of("sandbox")).is_some());
    }

    #[test]
    fn command_lines_that_change_something() {
        for line in [
            "echo x > a.txt",
            "echo x >> a.txt",
            "make &> build.log",
            "cat > a.py <<'EOF'\nprint(1)\nEOF",
            "cat <<EOF > a.py\nx\nEOF",
            "cat <<'EOF' | tee a.txt\nx\nEOF",
            "ls | tee out.txt",
            "sed -i 's/a/b/' f",
            "sed -Ei.bak 's/a/b/' f",
            "perl -pi -e 's/a/b/' f",
            "cd /x && mv a b",
            "cp -r a b; ls",
            "sudo rm -rf a",
            "FOO=1 mkdir -p a",
            "touch a",
            "find . -name '*.o' -delete",
            "find . -name x -exec rm {} \\;",
            "ls | xargs -0 rm",
            "timeout 60 chmod +x a",
            "git apply x.patch",
            "git -C repo commit -m 'a > b'",
            "git bisect bad",
            "git stash",
            "git add . && git status",
            "pip install x",
            "python3 -m pip install -e .",
            "npm i left",
            "yarn add x",
            "cargo add serde",
            "apt-get -y install jq",
            "patch -p1 < x.diff",
            "python -c \"open('a','w').write('1')\"",
            "python3 - <<'EOF'\nfrom pathlib import Path\nPath('a').write_text('x')\nEOF",
            "bash -lc 'rm a'",
            "bash <<EOF\nrm a\nEOF",
            "cat <<EOF\nx\nEOF\nrm a",
            "if true; then rm a; fi",
            "x=$(rm a)",
            "curl -X POST http://x",
            "curl -d a=1 http://x",
            "docker compose up -d",
            "docker compose -f it/quay.yml -p quay up -d",
            "kubectl -n x apply -f a.yml",
            "systemctl restart x",
            "ssh quay-2 sudo systemctl restart x",
            "ssh -q quay-2 rm -rf a",
            "ssh -i key.pem -p 2222 quay-2 sudo systemctl restart x",
            "gh pr create --fill",
            "npx eslint --fix .",
            "tar -xzf a.tgz",
            "Set-Content a.txt x",
            "dd if=a of=b",
        ] {
            assert!(line_mutates(line), "{line}");
        }
    }

    #[test]
    fn command_lines_that_only_look() {
        for line in [
            "",
            "ls > /dev/null",
            "make 2>&1 | tail -5",
            "make 2> err.txt",
            "make >/dev/null 2>&1",
            "ls >&2",
            "grep 'a > b' f",
            "grep -rn \"x >> y\" .",
            "grep rm f",
            "echo 'rm a'",
            "echo \\> a",
            "cat <<EOF\nx > y\nrm a\nEOF",
            "cat <<< 'a > b'",
            "[[ a > b ]] && echo yes",
            "sed -n '1,5p' f",
            "sed -e 's/i/j/' f",
            "perl -ne 'print if /i/' f",
            "git status",
            "git diff HEAD~1 -- add",
            "git log --oneline | head",
            "git stash list",
            "cargo test add",
            "cargo fmt --check",
            "npm test",
            "npm run install-check",
            "pip list",
            "python -c \"print(open('a').read())\"",
            "python3 - <<'EOF'\nprint('w', open('a.txt').read())\nEOF",
            "python manage.py test",
            "diff <(ls a) <(ls b)",
            "ls # > a",
            "ls | tee /dev/null",
            "find . -name '*.rs' -exec grep x {} +",
            "curl -s http://x | jq .",
            "curl -o /dev/null http://x",
            "docker ps",
            "kubectl get pods",
            "tar tzf a.tgz",
            "gh pr view 3",
            "cd x && ls; pwd",
            "sleep 110; tail -n 1 build.log",
            "'unclosed > a",
            "é > /dev/null",
            "wc -l < a.txt",
        ] {
            assert!(!line_mutates(line), "{line}");
        }
    }

    #[test]
    fn what_an_empty_answer_means() {
        let quiet = |tool: &str, args: Value| {
            let call = call(tool, args);
            let named = Named::of_call(&call);
            quiet(&call, &named, super::mutates(&call, &named, None), super::super::asks(&call, &named))
        };
        let path = || json!({"path": "a"});
        for (tool, most) in [
            ("lint", Empty::List),
            ("write_file", Empty::List),
            ("run_tests", Empty::List),
            ("resize", Empty::Null),
            ("check_hull", Empty::Null),
            ("bash", Empty::Blank),
            ("list_tests", Empty::Nothing),
            ("find_berth", Empty::Nothing),
            ("web_search", Empty::Nothing),
        ] {
            assert_eq!(quiet(tool, path()), most, "{tool}");
        }
        assert_eq!(quiet("orders", json!({"query": "which are open for the harbour"})), Empty::Nothing);
        let mut told = call("orders", path());
        told.read_only = Some(true);
        assert_eq!(super::quiet(&told, &Named::of("orders"), false, Asks::Nothing), Empty::Nothing);
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "[ \\n'\"\\\\<>&|;()$a-eé-]{0,60}") {
            let call = call("bash", json!({"command": line}));
            let _ = mutates(&call, None);
            let _ = line_searches(&line);
        }
    }

    #[test]
    fn command_lines_that_search() {
        for line in [
            "grep -rn x src",
            "cd /repo && cd src && rg -n 'x y' . | head -5",
            "LC_ALL=C timeout 60 /usr/bin/find . -name '*.rs'",
            "git grep x",
        ] {
            assert!(line_searches(line), "{line}");
        }
        for line in ["", "|", "cat a | grep x", "git log --grep x", "cargo test && grep x a", "cd grep", "grepping x"] {
            assert!(!line_searches(line), "{line}");
        }
    }

    #[test]
    fn calls_that_hold_their_change() {
        let holds = |tool: &str, args: Value| {
            let text = serde_json::to_string(&args).unwrap();
            let call = call(tool, args);
            edit(&call, &Named::of_call(&call), &text) == Edit::Whole
        };
        for line in [
            "sed -i 's/port: 8080/port: 9090/' deploy/values.yaml",
            "cd app && sed -i.bak -e 's/a/b/' config.toml && make",
            "cat > notes/plan.md <<'EOF'\n# Plan\nEOF",
            "echo 'max_depth = 3' >> settings.toml && cargo build",
        ] {
            assert!(holds("bash", json!({ "command": line })), "{line}");
        }
        for line in [
            "sed -n '10,40p' src/very/long/path/of/a/file.rs",
            "make clean && make -j4 all > build.log 2>&1 && tail build.log",
            "cp -r dist/assets /srv/www/assets && systemctl restart nginx",
            "echo done > x",
        ] {
            assert!(!holds("bash", json!({ "command": line })), "{line}");
        }
        assert!(holds("edit_file", json!({"path": "src/main.rs", "old": "let a = 1;", "new": "let a = 2;"})));
        assert!(holds(
            "str_replace_editor",
            json!({"command": "str_replace", "path": "a.rs", "old_str": "a()", "new_str": "b()"})
        ));
        assert!(!holds("set_light", json!({"on": true})));
        assert!(!holds("deploy", json!({"service": "shop", "version": "2.14.0", "environment": "staging"})));
    }

    #[test]
    fn nesting_ends() {
        let mut line = String::from("rm a");
        for _ in 0..3 {
            line = alloc::format!("bash -c \"{}\"", line.replace('"', "'"));
        }
        let _ = line_mutates(&line);
        let finds = "find . -exec ".repeat(2000);
        assert!(!line_mutates(&finds));
    }
}
