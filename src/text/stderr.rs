//! Error messages of command-line programs, `program: message`: many harnesses pass on neither the exit code nor which
//! stream a text was written to.

use super::digest::{Key, key};
use super::lines::{Lines, trimmed};
use super::mutation::kind_of;
use super::programs::is_shell;

/// Maximum number of bytes of an answer that is only such a message, and of a program's name.
const LONGEST: usize = 400;
const NAME: usize = 16;
/// Phrases, separated by `|`, in messages about the call itself or about what it names.
const MESSAGES: &str = "ambiguous redirect|bad substitution|cannot |command not found|conflicting|illegal option|\
    invalid|is a directory|missing|must be|must precede|no such|not a directory|not a valid|not permitted|\
    not recognized|permission denied|requires an argument|syntax error|too few arguments|too many arguments|unable to|\
    unexpected|unknown|unrecognized|unterminated|usage";
/// Beginnings of lines that may follow a message.
const BEHIND: &str = "Try '|Try `|Usage:|usage:";

/// Whether an answer is only an error message, of the program that a call of this kind has run or of its shell.
pub(crate) fn only_complains(output: &str, tool: Key, kind: u32) -> bool {
    complainer(output).is_some_and(|name| is_shell(name) || kind == kind_of(tool, key("program", name.as_bytes())))
}

/// The program whose error message an answer is, if it is nothing else.
fn complainer(output: &str) -> Option<&str> {
    if output.len() > LONGEST {
        return None;
    }
    let mut lines = Lines(output).map(trimmed).filter(|line| !line.is_empty());
    let (program, message) = lines.next()?.split_once(": ")?;
    let name = program.strip_prefix("/usr").unwrap_or(program);
    let name = name.strip_prefix("/bin/").unwrap_or(name);
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'+');
    // A single word is a value rather than a message.
    if name.is_empty() || name.len() > NAME || !name.bytes().all(plain) || !message.contains(' ') {
        return None;
    }
    let message = message.to_ascii_lowercase();
    let goes_on = |line: &str| {
        BEHIND.split('|').any(|begin| line.starts_with(begin))
            || line.strip_prefix(program).is_some_and(|rest| rest.starts_with(':'))
    };
    let complains = MESSAGES.split('|').any(|known| message.contains(known)) && lines.all(goes_on);
    complains.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::complainer;

    #[test]
    fn complaints_of_programs() {
        for output in [
            "bash: line 1: tidal: command not found\n",
            "tar: unrecognized option '--date'\nTry 'tar --help' or 'tar --usage' for more information.",
            "ls: cannot access 'berths': No such file or directory\nls: cannot access 'moorings': No such file or directory",
            "/bin/sh: 1: tidal: not found in this directory: no such program",
            "find: paths must precede expression: `*.log'",
            "sort: invalid option -- 'q'\nTry 'sort --help' for more information.",
        ] {
            assert!(complainer(output).is_some(), "{output}");
        }
        for output in [
            "",
            "berth: 12\nmooring: 4",
            "make: Nothing to be done for 'all'.",
            "notes.txt: cannot be moored in winter",
            "find: './lock': Permission denied\n./berths.csv",
            "status: unknown\nsince: monday",
            "Error: cannot find berth",
        ] {
            assert!(complainer(output).is_none(), "{output}");
        }
    }
}
