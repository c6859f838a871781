//! The shell commands that SWE-agent provides. Each is treated as a tool: its line is parsed into the declared
//! arguments, so that an edit counts as an edit with its file as the target.

use super::content::begins;
use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value, json};

/// Commands and their arguments in positional order. A name in capitals takes the rest of the line.
const COMMANDS: [(&str, &[&str]); 37] = [
    ("click_mouse", &["x", "y", "button"]),
    ("close_site", &[]),
    ("create", &["path"]),
    ("double_click_mouse", &["x", "y"]),
    ("drag_mouse", &["PATH"]),
    ("edit", &["search", "replace", "replace_all"]),
    ("execute_script_on_page", &["SCRIPT"]),
    ("exit_api", &[]),
    ("exit_context", &[]),
    ("exit_cost", &[]),
    ("exit_format", &[]),
    ("exit_forfeit", &[]),
    ("filemap", &["path"]),
    ("find_file", &["file_name", "dir"]),
    ("get_console_output", &[]),
    ("goto", &["line_number"]),
    ("insert", &["text", "line"]),
    ("move_mouse", &["x", "y"]),
    ("navigate_back", &[]),
    ("navigate_forward", &[]),
    ("open", &["path", "line_number"]),
    ("open_site", &["url"]),
    ("press_keys_on_page", &["KEYS"]),
    ("reload_page", &[]),
    ("screenshot_site", &[]),
    ("scroll_down", &[]),
    ("scroll_on_page", &["scroll_x", "scroll_y"]),
    ("scroll_up", &[]),
    ("search_dir", &["search_term", "dir"]),
    ("search_file", &["search_term", "path"]),
    ("set_browser_window_size", &["width", "height"]),
    ("set_cursors", &["start_line", "end_line"]),
    ("str_replace_editor", &["command", "path"]),
    ("submit", &["ANSWER"]),
    ("type_text", &["TEXT"]),
    ("view_image", &["path"]),
    ("wait_time", &["time"]),
];

/// Commands that act on the open file.
const OF_OPEN_FILE: [&str; 7] = ["edit", "goto", "insert", "scroll_down", "scroll_up", "search_file", "set_cursors"];

/// A command as a call.
pub(super) struct Command {
    pub(super) tool: &'static str,
    pub(super) args: Map<String, Value>,
}

/// The command on a line; `None` if it is not one of these alone. `open` is the file shown in the window.
pub(super) fn command(line: &str, open: Option<&str>) -> Option<Command> {
    let line = line.trim();
    let word = line.split_whitespace().next()?;
    let (tool, names) = *COMMANDS.iter().find(|(name, _)| *name == word)?;
    let rest = line.strip_prefix(word)?;
    let mut args = edit_of_lines(tool, rest).or_else(|| named(names, rest))?;
    if OF_OPEN_FILE.contains(&tool)
        && !args.contains_key("path")
        && let Some(open) = open
    {
        args.insert("path".to_owned(), open.into());
    }
    Some(Command { tool, args })
}

/// Whether a command's output says that it was not carried out.
pub(super) fn was_refused(observed: &str) -> bool {
    const STARTS: [&str; 23] = [
        "Did not find",
        "File already exists at:",
        "Invalid",
        "No edit history found",
        "No file open",
        "No replacement was performed",
        "Parameter `",
        "Ran into ",
        "Search text not found",
        "Start line must be less than",
        "Text not found",
        "The `insert_line`",
        "The `view_range` parameter",
        "The parent directory ",
        "There were no changes made",
        "Unrecognized command",
        "Usage: ",
        "Your edit was not applied",
        "Your proposed edit has introduced new syntax error",
        "Your search and replace strings are the same",
        "usage: ",
        "Error: ",
        "ERROR:",
    ];
    let text = observed.trim_start();
    let first = text.lines().next().unwrap_or_default();
    begins(text, &STARTS)
        || (first.starts_with("The path ")
            && [" does not exist", " is a directory", " is not an absolute path", " is not a "]
                .iter()
                .any(|end| first.contains(end)))
        || first.contains(": error: ")
}

/// Parses `edit 12:15`, followed by the new lines up to `end_of_edit`.
fn edit_of_lines(tool: &str, rest: &str) -> Option<Map<String, Value>> {
    if tool != "edit" {
        return None;
    }
    let (head, body) = rest.split_once('\n').unwrap_or((rest, ""));
    let (start, end) = head.trim().split_once(':')?;
    let lines = [start, end].map(|line| line.trim().parse::<u64>().ok());
    let [Some(start), Some(end)] = lines else { return None };
    let text = body.trim_end().strip_suffix("end_of_edit").unwrap_or(body);
    let text = text.strip_suffix('\n').unwrap_or(text);
    json!({ "start_line": start, "end_line": end, "replacement_text": text }).as_object().cloned()
}

/// Positional words and `--options` by name; `None` if the shell has more to do than this command.
fn named(names: &[&str], rest: &str) -> Option<Map<String, Value>> {
    let mut args = Map::new();
    if let [name] = names
        && name.starts_with(|first: char| first.is_ascii_uppercase())
    {
        let text = unquoted(rest.trim());
        if !text.is_empty() {
            args.insert(name.to_ascii_lowercase(), text.into());
        }
        return Some(args);
    }
    let mut places = names.iter();
    let mut words = words(rest)?.into_iter().peekable();
    while let Some(Word { text, quoted }) = words.next() {
        if !quoted && matches!(text.as_str(), "|" | "||" | "&&" | ";" | "&" | ">" | ">>" | "<" | "2>&1") {
            return None;
        }
        if let Some(option) = text.strip_prefix("--").filter(|option| !quoted && !option.is_empty()) {
            let mut values = Vec::new();
            if let Some((option, value)) = option.split_once('=') {
                args.insert(option.replace('-', "_"), value.into());
                continue;
            }
            while let Some(value) = words.next_if(|word| word.quoted || !word.text.starts_with("--")) {
                values.push(value.value());
            }
            let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
            args.insert(option.replace('-', "_"), value);
            continue;
        }
        let word = Word { text, quoted };
        match places.next() {
            Some(name) => {
                args.insert((*name).to_owned(), word.value());
            }
            // Surplus words are kept all the same.
            None => match args.entry("more").or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(more) => more.push(word.value()),
                _ => return None,
            },
        }
    }
    Some(args)
}

struct Word {
    text: String,
    quoted: bool,
}

impl Word {
    /// The word as a number if it is unquoted and nothing else, otherwise as text.
    fn value(self) -> Value {
        match self.text.parse::<i64>() {
            Ok(number) if !self.quoted && number.to_string() == self.text => number.into(),
            _ => self.text.into(),
        }
    }
}

fn unquoted(text: &str) -> String {
    match words(text).as_deref() {
        Some([Word { text, quoted: true }]) => text.clone(),
        _ => text.to_owned(),
    }
}

/// The words of a line as a shell splits them; `None` if a quote is not closed.
fn words(line: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut characters = line.chars();
    let begun = |word: &mut Option<Word>| word.take().unwrap_or(Word { text: String::new(), quoted: false });
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let mut open = begun(&mut word);
                open.quoted = true;
                loop {
                    match characters.next()? {
                        '\'' => break,
                        inside => open.text.push(inside),
                    }
                }
                word = Some(open);
            }
            '"' => {
                let mut open = begun(&mut word);
                open.quoted = true;
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => match characters.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => open.text.push(escaped),
                            other => open.text.extend(['\\', other]),
                        },
                        inside => open.text.push(inside),
                    }
                }
                word = Some(open);
            }
            '\\' => {
                let mut open = begun(&mut word);
                open.text.extend(characters.next());
                word = Some(open);
            }
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => {
                let mut open = begun(&mut word);
                open.text.push(other);
                word = Some(open);
            }
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{command, was_refused};
    use serde_json::json;

    #[test]
    fn lines() {
        let rows = [
            ("open src/a.py 12", "open", json!({"path": "src/a.py", "line_number": 12})),
            ("open \"my file.py\"", "open", json!({"path": "my file.py"})),
            ("goto 30", "goto", json!({"line_number": 30, "path": "w.py"})),
            (
                "edit 3:4\n    return 'x'\n\nend_of_edit",
                "edit",
                json!({"start_line": 3, "end_line": 4, "replacement_text": "    return 'x'\n", "path": "w.py"}),
            ),
            ("edit 'a(1)' \"b(\\\"2\\\")\"", "edit", json!({"search": "a(1)", "replace": "b(\"2\")", "path": "w.py"})),
            (
                "str_replace_editor str_replace /w/a.py --old_str 'x = 1\ny = '\"'\"'2'\"'\"'' --new_str 'x = 2'",
                "str_replace_editor",
                json!({"command": "str_replace", "path": "/w/a.py", "old_str": "x = 1\ny = '2'", "new_str": "x = 2"}),
            ),
            (
                "str_replace_editor view /w/a.py --view_range 1 20",
                "str_replace_editor",
                json!({"command": "view", "path": "/w/a.py", "view_range": [1, 20]}),
            ),
            (
                "str_replace_editor insert /w/a.py --insert_line 7 --new_str '-- a note'",
                "str_replace_editor",
                json!({"command": "insert", "path": "/w/a.py", "insert_line": 7, "new_str": "-- a note"}),
            ),
            ("search_dir \"def run\" src", "search_dir", json!({"search_term": "def run", "dir": "src"})),
            ("submit 'the answer'", "submit", json!({"answer": "the answer"})),
            ("scroll_down", "scroll_down", json!({"path": "w.py"})),
        ];
        for (line, tool, args) in rows {
            let found = command(line, Some("w.py")).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.tool, json!(found.args)), (tool, args), "{line}");
        }
        for shell in ["ls -la", "find_file a.py | head", "create 'not closed", "cd src && open a.py", ""] {
            assert!(command(shell, None).is_none(), "{shell}");
        }
    }

    #[test]
    fn refusals() {
        for text in [
            "No replacement was performed, old_str `x` did not appear verbatim in /w/a.py.",
            "File already exists at: /w/a.py. Cannot overwrite files using command `create`.",
            "The path /w/b.py does not exist. Please provide a valid path.",
            "The parent directory /w/new does not exist. Please create it first.",
            "usage: str_replace_editor [-h]\nstr_replace_editor: error: argument command: invalid choice",
            "\nYour edit was not applied (file not modified): Text 'a' not found in displayed lines.",
        ] {
            assert!(was_refused(text), "{text}");
        }
        for text in
            ["The file /w/a.py has been edited.", "The path of least resistance", "[File: a.py (3 lines total)]"]
        {
            assert!(!was_refused(text), "{text}");
        }
    }
}
