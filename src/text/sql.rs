//! SQL statements: which table they name, what they do, whether they change something.

use super::canonical::named_arguments;
use super::case::lower_text;
use super::ends::head;
use super::words::{hashes_of, is_in, same, spaced, words};
use crate::model::ToolCall;
use alloc::{format, string::String};
use serde_json::{Map, Value};

/// Words of a statement that are read.
const WORDS: usize = 256;
/// Words before a noun in prose, which are never table names: "Update the page", "Select one from each list".
const DETERMINERS: &str = "a all an any each every my our that the this your";

/// A SQL statement without the comments and the start of a transaction at its beginning.
pub(super) fn uncommented(statement: &str) -> &str {
    let mut rest = statement;
    loop {
        // Fast path: hardly any text begins with a comment.
        if rest.starts_with(|char: char| char.is_ascii_whitespace()) {
            rest = rest.trim_ascii_start();
        }
        let after = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else if !may_begin(rest, &BEGINNINGS) {
            return rest;
        } else {
            let near = head(rest, BEGINNING);
            match near.find(';').and_then(|end| rest.split_at_checked(end)) {
                Some((first, after)) if BEGINS.iter().any(|begins| same(begins, first.trim_end())) => {
                    after.trim_start_matches(';')
                }
                _ => return rest,
            }
        };
        rest = after;
    }
}

/// Ways to start a transaction, their first letters, and bytes within which their semicolon must be.
const BEGINS: [&str; 3] = ["begin", "begin transaction", "start transaction"];
const BEGINNINGS: [[u8; 3]; 2] = [*b"beg", *b"sta"];
const BEGINNING: usize = 32;
/// The first letters of statements that change something.
const CHANGES: [[u8; 3]; 11] =
    [*b"alt", *b"cre", *b"del", *b"do ", *b"dro", *b"gra", *b"ins", *b"rev", *b"tru", *b"upd", *b"wit"];

/// Whether a text begins with one of these, ignoring ASCII case.
fn may_begin(text: &str, starts: &[[u8; 3]]) -> bool {
    text.as_bytes().first_chunk::<3>().is_some_and(|start| starts.contains(&start.map(|byte| byte | 32)))
}

/// Verbs that create, change or drop an object of the database.
const DEFINES: &str = "alter create drop truncate";
/// Kinds of such objects.
const KEPT: &str = "database extension function index policy procedure role schema sequence table trigger type user \
    view";
/// Words between `create` and the kind of object.
const ASIDE: &str = "concurrently global local materialized or replace temp temporary unique";

/// Whether a SQL statement creates, changes or drops an object of the database, or grants or revokes rights to one.
fn defines(statement: &str) -> bool {
    let mut words = statement.split_ascii_whitespace().take(WORDS);
    let Some(first) = words.next() else { return false };
    if is_in(DEFINES, first) {
        words.find(|word| !is_in(ASIDE, word)).is_some_and(|kept| is_in(KEPT, kept)) && words.next().is_some()
    } else if is_in("grant revoke", first) {
        words.any(|word| same(word, "on"))
    } else {
        same(first, "do") && words.next().is_some_and(|body| body.starts_with('$'))
    }
}

/// The first table that a SQL statement names, as `table=name` in lower case.
pub(super) fn table(statement: &str) -> Option<String> {
    let mut words = uncommented(statement).split_ascii_whitespace().take(WORDS);
    let first = words.next()?;
    let mut after = |keyword: &str| words.next().filter(|word| same(word, keyword)).and_then(|_| words.next());
    let name = match () {
        () if same(first, "insert") => after("into")?,
        () if same(first, "delete") => after("from")?,
        () if is_in(DEFINES, first) => {
            let name = after("table")?;
            let aside = |word: &&str| is_in("exists if not", word);
            if aside(&name) { words.find(|word| !aside(word))? } else { name }
        }
        () if same(first, "update") => {
            let name = words.next()?;
            // `orders set`, `orders o set`, `orders as o set`.
            words.take(3).find(|word| same(word, "set"))?;
            name
        }
        () if same(first, "select") || same(first, "with") => loop {
            let from = words.find(|word| same(word, "from")).and_then(|_| words.next())?;
            // The table of a subquery, `(SELECT …`, comes later.
            if !same(from.trim_start_matches('('), "select") {
                break from;
            }
        },
        () => return None,
    };
    let mark = |char: char| !char.is_alphanumeric() && char != '_';
    let name = name.trim_start_matches(mark).split(['(', ')', ',', ';']).next()?.trim_end_matches(mark);
    let name = lower_text(name);
    (!name.is_empty() && !is_in(DETERMINERS, &name)).then(|| format!("table={name}"))
}

/// Whether an argument is a SQL statement that changes something, however harmless the tool's name sounds.
pub(super) fn changes_table(call: &ToolCall) -> bool {
    let arguments = named_arguments(call);
    let mut texts = arguments.into_iter().flat_map(Map::values).filter_map(Value::as_str);
    texts.any(changes)
}

/// Whether a text is a SQL statement that changes something.
// Out of line, for the size of the module.
#[inline(never)]
fn changes(text: &str) -> bool {
    let text = uncommented(text);
    may_begin(text, &CHANGES)
        && !does(text).is_some_and(|verb| same(verb, "select"))
        && (table(text).is_some() || defines(text))
}

/// Statements of a script that are looked at.
const SCRIPT: usize = 16;

/// Whether a script of SQL statements, as given to a database's own program, changes something.
pub(super) fn sql_mutates(script: &str) -> bool {
    script.split(';').take(SCRIPT).any(changes)
}

/// What a SQL statement does: its first word or, after a `WITH` clause, the verb that changes something (else
/// `select`).
pub(super) fn does(statement: &str) -> Option<&str> {
    let mut words = uncommented(statement).split_ascii_whitespace().take(WORDS);
    let first = words.next()?;
    if !same(first, "with") {
        return Some(first);
    }
    let mut before = first;
    let changes = words.find(|word| {
        // `FOR UPDATE` only locks rows.
        let locked = same(core::mem::replace(&mut before, word), "for");
        !locked && is_in("delete insert update", word.trim_start_matches('('))
    });
    Some(changes.map_or("select", |word| word.trim_start_matches('(')))
}

/// Maximum number of bytes of a statement that is read.
const STATEMENT: usize = 4 * 1024;

/// The most rows a SQL statement may change (`LIMIT 5000`); 0 if it does not say so. In the command line of a `shell`,
/// a statement is quoted: `psql -c "DELETE …"`.
pub(crate) fn limit(call: &ToolCall, shell: bool) -> u32 {
    let Some(arguments) = named_arguments(call) else { return 0 };
    let mut texts = arguments.values().filter_map(Value::as_str);
    texts.find_map(|text| limit_of(if shell { quoted(text) } else { text })).unwrap_or(0)
}

/// What follows the first quote of a command line.
fn quoted(line: &str) -> &str {
    let quote = line.bytes().position(|byte| matches!(byte, b'"' | b'\''));
    quote.and_then(|at| line.get(at + 1..)).unwrap_or_default()
}

/// [`limit`] of a text that is a statement.
// Out of line, for the size of the module.
#[inline(never)]
fn limit_of(text: &str) -> Option<u32> {
    // Fast path: hardly any text begins like `DELETE`, `UPDATE` or `WITH`.
    let begins =
        text.bytes().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| b"duw".contains(&(first | 32)));
    let changes = begins && text.len() <= STATEMENT && does(text).is_some_and(|verb| is_in("delete update", verb));
    if !changes {
        return None;
    }
    let mut words = text.split(|char: char| !char.is_ascii_alphanumeric()).skip_while(|word| !same(word, "limit"));
    words.nth(1).and_then(|number| number.parse().ok())
}

/// Statements that show the state of a database, in the case they are usually written in.
const SHOWS: [&str; 4] = ["DESC", "DESCRIBE", "PRAGMA", "SHOW"];
/// Options of `EXPLAIN`.
const PLAN: &str = "analyse analyze buffers costs query verbose";

/// Whether a text is a statement that queries a database.
pub(super) fn is_query(text: &str) -> bool {
    let [r#as, from, select] = const { hashes_of(["as", "from", "select"]) };
    let text = uncommented(text);
    let mut words = words(text);
    let mut says = |keyword: u32| words.any(|word| word.hash == keyword);
    match spaced(text).next() {
        Some(first) if same(first, "select") => says(from),
        // A `WITH` clause.
        Some(first) if same(first, "with") => says(r#as) && says(select) && says(from),
        // `Explain how …` is a question.
        Some(first) if same(first, "explain") => {
            let plan = |word: &str| is_in(PLAN, word.trim_matches(['(', ')', ',']));
            spaced(text).nth(1).is_some_and(plan) || says(select) && says(from)
        }
        // So is `Show me how …`.
        Some(first) => SHOWS.contains(&first),
        None => false,
    }
}
