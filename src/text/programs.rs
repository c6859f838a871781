//! What a command line or a script does: which program it runs, and whether it changes something.

use super::ends::head;
use super::named::WRITES;
use super::shell::{Lexer, Token};
use super::sql::sql_mutates;
use super::words::{is_in, name_words};
use alloc::vec::Vec;

/// Programs that always change something.
const PROGRAMS: &str = "add-content apply_patch applypatch chattr chgrp chmod chown copy cp del install kill killall \
    ln mkdir mkfifo mktemp move mv new-item out-file patch pkill rd ren rm rmdir rsync scp set-content setfacl shred \
    split touch truncate umount unlink unzip useradd visudo";

/// Words that may precede the program itself.
const PREFIXES: &str = "! builtin command do doas elif else env exec if ionice nice nohup setsid stdbuf sudo then \
    time timeout until while xargs";

/// Programs whose first argument says what they do.
const MANAGERS: &str = "apk apt apt-get brew bun bundle cargo choco composer conda deno dnf dotnet firebase flyctl \
    gem gh git go helm hg jj kubectl mamba mix npm nvm pip pip3 pipenv pipx pnpm poetry pulumi rustup svn terraform \
    uv yarn yum";

/// Programs that run others as services or containers.
const SUPERVISORS: &str = "docker docker-compose initctl launchctl pm2 podman service supervisorctl systemctl";

/// Arguments of [`MANAGERS`] that change something.
const CHANGES: &str = "add am annotate apply bisect checkout cherry-pick ci clean clone close commit create del \
    delete deploy destroy edit fix fmt generate i import init install label link merge mv new patch publish pull push \
    rebase remove replace reset restore revert rm rollback scale stash switch sync tidy uninstall unlink up update \
    upgrade vendor";

/// Arguments of [`SUPERVISORS`] that change something.
const RUNS: &str = "build create disable down enable exec kill pull push reload restart rm rmi run start stop up";

const SHELL_PROGRAMS: &str = "ash bash dash ksh pwsh sh zsh";

const SCRIPT_PROGRAMS: &str = "bun deno ipython node nodejs perl php py python python2 python3 ruby";

/// Programs of databases that are given SQL.
const DATABASES: &str = "clickhouse-client duckdb mariadb mysql psql sqlcmd sqlite3";

/// Command lines nested deeper than this are taken to change nothing.
const MAX_NESTING: usize = 4;

/// Whether a shell command line changes something: it redirects to a file, or runs a program known to change things.
pub(super) fn line_mutates(line: &str) -> bool {
    nested_line_mutates(line, 0)
}

/// Programs that search many places.
const SEARCHERS: &str = "ack ag egrep fd fgrep find grep rg";

/// The first words of a simple command: a prefix or two, the program, and what it is to do.
#[derive(Default)]
struct Beginning<'a> {
    words: [&'a str; 8],
    count: usize,
}

impl<'a> Beginning<'a> {
    fn push(&mut self, word: &'a str) {
        if let Some(free) = self.words.get_mut(self.count) {
            *free = word;
            self.count += 1;
        }
    }

    fn program(&self) -> Option<(&'a str, &[&'a str])> {
        program(self.words.get(..self.count).unwrap_or_default())
    }
}

/// The program that a shell command line is about and its first argument. What only prepares for it (changing
/// directory, waiting) is skipped, but if nothing else follows, the first such command except `cd` is returned.
pub(super) fn leading(line: &str) -> Option<(&str, Option<&str>)> {
    let (mut command, mut prepares) = (Beginning::default(), None);
    for token in Lexer::new(line).chain([Token::End]) {
        match token {
            Token::Word(word) => command.push(word),
            Token::Write(_) | Token::Here(_) => {}
            Token::End => {
                let own = command.program().map(|(name, args)| (name, args.first().copied()));
                match own {
                    Some((name, _)) if !is_in(PREPARE, name) => return own,
                    Some((name, _)) if name != "cd" => prepares = prepares.or(own),
                    _ => {}
                }
                command.count = 0;
            }
        }
    }
    prepares
}

/// Whether a shell command line begins with a search and prints what it finds.
pub(super) fn line_searches(line: &str) -> bool {
    match leading(line) {
        Some(("git", first)) => first == Some("grep"),
        Some((name, first)) => is_in(SEARCHERS, name) && !matches!(first, Some("-q" | "--quiet")),
        None => false,
    }
}

/// Programs that print a part of their input, and programs that only print.
const FILTERS: &str = "awk cut egrep fgrep grep head jq rg sed sort tail tr uniq";
const PRINTERS: &str = "cat compgen echo find ls printf seq strings";

/// Whether a shell command line only prints something and filters it: no output then means that nothing was found.
pub(super) fn line_filters(line: &str) -> bool {
    let (mut command, mut stages, mut filters) = (Beginning::default(), 0, false);
    for token in Lexer::new(line).chain([Token::End]) {
        match token {
            Token::Word(word) => command.push(word),
            Token::Write(_) | Token::Here(_) => return false,
            Token::End => {
                if let Some((name, _)) = command.program() {
                    filters = is_in(FILTERS, name);
                    if !filters && !is_in(PRINTERS, name) {
                        return false;
                    }
                    stages += 1;
                }
                command.count = 0;
            }
        }
    }
    filters && stages > 1
}

/// Commands that prepare for the one that a line is about.
pub(super) const PREPARE: &str = ". cd echo export pushd set sleep source";

/// Whether a command line writes content that it contains: a here-document or words into a file, a patch, or an edit in
/// place.
pub(super) fn line_writes(line: &str) -> bool {
    let (mut command, mut here) = (Beginning::default(), false);
    for token in Lexer::new(line).chain([Token::End]) {
        match token {
            Token::Word(word) => command.push(word),
            Token::Write(file) => {
                let prints = |name| matches!(name, "cat" | "echo" | "printf" | "tee");
                if !is_sink(file) && command.program().is_some_and(|(name, _)| prints(name)) {
                    return true;
                }
            }
            Token::Here(_) => here = true,
            Token::End => {
                let reads = core::mem::take(&mut here);
                let writes = |(name, args): (&str, &[&str])| match name {
                    "apply_patch" | "applypatch" => true,
                    "patch" => reads,
                    "git" => reads && args.first() == Some(&"apply"),
                    "sed" | "perl" => args.iter().any(|arg| arg.starts_with("-i") || *arg == "-pi"),
                    _ => edits_text(name, args),
                };
                if command.program().is_some_and(writes) {
                    return true;
                }
                command.count = 0;
            }
        }
    }
    false
}

/// [`line_mutates`] for a command line inside `nesting` others.
fn nested_line_mutates(line: &str, nesting: usize) -> bool {
    if nesting >= MAX_NESTING {
        return false;
    }
    let mut words: Vec<&str> = Vec::new();
    for token in Lexer::new(line).chain([Token::End]) {
        let found = match token {
            Token::Word(word) => {
                words.push(word);
                false
            }
            // `[[ a > b ]]` is a comparison.
            Token::Write(file) => words.first() != Some(&"[[") && !is_sink(file),
            Token::Here(text) => match program(&words) {
                Some((name, _)) if is_shell(name) => nested_line_mutates(text, nesting + 1),
                Some((name, _)) if is_interpreter(SCRIPT_PROGRAMS, name) => script_mutates(text),
                Some((name, _)) if is_in(DATABASES, name) => sql_mutates(text),
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
    false
}

/// Whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    is_interpreter(SHELL_PROGRAMS, program)
}

fn is_interpreter(list: &str, program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    // `python3.12` is `python3`.
    is_in(list, name.split_once('.').map_or(name, |(name, _)| name))
}

/// Whether a redirection target discards its input or is an output stream of the shell's own.
fn is_sink(file: &str) -> bool {
    const SINKS: &str = "$null &1 &2 /dev/null /dev/stderr /dev/stdout /dev/tty nul";
    file.is_empty() || file == "-" || is_in(SINKS, file)
}

/// The program of a simple command and its arguments, skipping assignments and prefixes.
fn program<'a, 'w>(words: &'w [&'a str]) -> Option<(&'a str, &'w [&'a str])> {
    let mut rest = words;
    let mut prefixed = false;
    loop {
        let (first, after) = rest.split_first()?;
        let name = first.rsplit('/').next().unwrap_or_default();
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        let prefix = is_in(PREFIXES, name);
        // `timeout 60 make`, `xargs -0 rm`
        let option = prefixed && first.starts_with(|char: char| char == '-' || char.is_ascii_digit());
        if !(assigns || prefix || option || matches!(name, "{" | "}")) {
            return Some((name, after));
        }
        prefixed |= prefix;
        rest = after;
    }
}

/// The argument after one of these flags.
fn after<'a>(args: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    args.iter().skip_while(|arg| !flags.contains(arg)).nth(1).copied()
}

/// Whether a program called with these arguments changes something.
fn program_mutates(name: &str, args: &[&str], nesting: usize) -> bool {
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(arg));
    let plain = || args.iter().copied().filter(|arg| !arg.starts_with('-'));
    if has(&["--fix", "--in-place", "--inplace", "--write"]) {
        return true;
    }
    match name {
        "black" | "isort" | "rustfmt" => !has(&["--check", "--check-only", "--diff"]),
        "curl" => curl_changes(args),
        "dd" => args.iter().any(|arg| arg.strip_prefix("of=").is_some_and(|file| !is_sink(file))),
        "find" => {
            let exec = args.iter().position(|arg| matches!(*arg, "-exec" | "-execdir"));
            let run = exec.and_then(|at| program(args.get(at + 1..)?));
            has(&["-delete"])
                || run.is_some_and(|(name, args)| nesting < MAX_NESTING && program_mutates(name, args, nesting + 1))
        }
        "gofmt" | "goimports" | "prettier" => has(&["-w"]),
        _ if is_in(DATABASES, name) => args.iter().copied().any(sql_mutates),
        "perl" | "gsed" | "sed" => {
            args.iter().any(|arg| {
                arg.strip_prefix('-')
                    .is_some_and(|flags| !flags.starts_with(['-', 'M', 'e', 'f']) && flags.contains('i'))
            }) || runs_script(name, args)
        }
        "ssh" => ssh_changes(args, nesting),
        "tar" => {
            args.first().is_some_and(|flags| !flags.starts_with("--") && flags.contains(['c', 'x']))
                || has(&["--extract", "--create"])
        }
        "tee" => plain().any(|file| !is_sink(file)),
        "unzip" => !has(&["-l", "-v", "-t", "-p"]),
        "wget" => !has(&["--spider", "-O-", "-qO-"]) && !after(args, &["-O", "-qO"]).is_some_and(is_sink),
        "stash" => false,
        _ if is_shell(name) => {
            let line = args.iter().skip_while(|arg| !(arg.starts_with('-') && arg.ends_with('c'))).nth(1);
            line.is_some_and(|line| nested_line_mutates(line, nesting + 1))
        }
        _ if is_in(PROGRAMS, name) => true,
        _ if name.starts_with("python")
            && after(args, &["-m"]).is_some_and(|module| matches!(module, "pip" | "venv")) =>
        {
            has(&["install", "uninstall", "venv"])
        }
        _ if is_in(SUPERVISORS, name) => {
            // `docker compose -f a.yml -p quay up`
            let composes = name == "docker-compose" || plain().next().is_some_and(|first| first == "compose");
            plain().take(if composes { 4 } else { 2 }).any(|arg| is_in(RUNS, arg))
        }
        _ if is_in(MANAGERS, name) => manager_mutates(name, args),
        _ if is_interpreter(SCRIPT_PROGRAMS, name) => runs_script(name, args),
        // PowerShell's `Set-Item`, and `create-…-app`.
        _ => name.contains('-') && name_words(name).next().is_some_and(writes) || edits_text(name, args),
    }
}

/// Whether a word is a verb that changes something.
fn writes(word: &str) -> bool {
    is_in(WRITES, word)
}

/// Whether an editor that is told by its first argument what to do changes a text: `str_replace_editor insert …`.
fn edits_text(name: &str, args: &[&str]) -> bool {
    let asked = || args.first().filter(|asked| !asked.contains(['/', '.', '\\']));
    name_words(name).any(|word| matches!(word, "edit" | "editor"))
        && asked().is_some_and(|asked| name_words(asked).any(writes))
}

/// Whether `curl` sends a request that changes something or writes the response to a file.
fn curl_changes(args: &[&str]) -> bool {
    let method = after(args, &["-X", "--request"]).or_else(|| args.iter().find_map(|arg| arg.strip_prefix("-X")));
    let output = after(args, &["-o", "--output"]).is_some_and(|file| !is_sink(file)) || args.contains(&"-O");
    let sends = args.iter().any(|arg| arg.starts_with("--data") || matches!(*arg, "-d" | "-F" | "-T" | "--json"));
    let method = method.filter(|method| !method.is_empty());
    method.map_or(sends, |method| !matches!(method, "GET" | "HEAD" | "OPTIONS")) || output
}

/// Whether a command run on another host changes something: `ssh host "systemctl restart x"`,
/// `ssh host sudo systemctl restart x`.
fn ssh_changes(args: &[&str], nesting: usize) -> bool {
    const TAKE_A_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
    let takes = |arg: &str| arg.strip_prefix('-').is_some_and(|flag| flag.len() == 1 && TAKE_A_VALUE.contains(flag));
    let mut before = "";
    let host = args.iter().position(|arg| {
        let before = core::mem::replace(&mut before, arg);
        !arg.starts_with('-') && !takes(before)
    });
    let behind = host.and_then(|host| args.get(host + 1..));
    args.iter().any(|arg| arg.contains(' ') && nested_line_mutates(arg, nesting + 1))
        || behind.is_some_and(|words| words.len() > 1 && nested_line_mutates(&words.join(" "), nesting + 1))
}

/// Whether a manager of packages, versions or deployments is asked to change something.
fn manager_mutates(name: &str, args: &[&str]) -> bool {
    // `git -C dir` and `-c key=value` take a value.
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
        ("gh", _) => is_in(CHANGES, second),
        (_, first) => is_in(CHANGES, first),
    }
}

/// Whether an interpreter is given a script that writes.
fn runs_script(name: &str, args: &[&str]) -> bool {
    is_interpreter(SCRIPT_PROGRAMS, name) && after(args, &["-c", "-e", "-r", "--eval"]).is_some_and(script_mutates)
}

/// Bytes within which an `open(` names its mode.
const OPENING: usize = 256;

/// Whether a script in a general-purpose language writes, as far as its text shows.
pub(super) fn script_mutates(script: &str) -> bool {
    const CALLS: &str = ".mkdir( .rename( .rmdir( .to_csv( .to_excel( .to_json( .unlink( File.write appendFile fs.rm \
        json.dump( makedirs( mkdirSync( os.remove( os.rename( os.replace( renameSync( rmSync( rmtree( savefig( \
        shutil. write_bytes( write_text( writeFile";
    CALLS.split(' ').any(|call| script.contains(call))
        || script.match_indices("open(").any(|(at, _)| {
            // A mode among the arguments: `open(p, 'w')`, `open(p, mode="a+b")`, `p.open('x')`.
            let method = script.get(..at).is_some_and(|before| before.ends_with('.'));
            let arguments = head(script.get(at..).unwrap_or_default(), OPENING);
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
    use super::*;
    use alloc::string::String;

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
            "psql -d quay -c \"UPDATE boats SET length = 9\"",
            "mysql quay -e 'use quay; delete from boats where id = 4'",
            "sqlite3 quay.db <<'EOF'\nSELECT 1;\nINSERT INTO boats VALUES (1);\nEOF",
            "text_editor str_replace quay/main.go --old_str 'a' --new_str 'b'",
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
            "text_editor view quay/main.go --view_range 1 20",
            "text_editor quay/update/main.go",
            "grep 'a > b' f",
            "grep -rn \"x >> y\" .",
            "grep rm f",
            "echo 'rm a'",
            "echo \\> a",
            "cat <<EOF\nx > y\nrm a\nEOF",
            "cat <<< 'a > b'",
            "[[ a > b ]] && echo yes",
            "psql -d quay -c \"SELECT name FROM boats WHERE state = 'update'\"",
            "sqlite3 update.db .tables",
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

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "[ \\n'\"\\\\<>&|;()$a-eé-]{0,60}") {
            let _ = (line_mutates(&line), line_searches(&line), line_writes(&line));
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
