//! What a call acts upon: a path, a URL, a selector or an id.
//!
//! The same file reached by an editor, a reader and a command line is one target, so of a path only the last two
//! components count: one tool names it from the root, the other from where it stands.

use super::canonical::resolve_path;
use super::digest::{Key, salted};
use super::mask::has_extension;
use super::mutation::{Named, command};
use super::shell::{Lexer, Token};
use super::sort_few;
use super::words::{Sieve, listed_name};
use crate::model::ToolCall;
use alloc::{borrow::Cow, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Argument names of paths and URLs.
const PLACES: [&str; 30] = [
    "absolutepath",
    "dir",
    "directory",
    "directorypath",
    "dirpath",
    "endpoint",
    "file",
    "filename",
    "filepath",
    "files",
    "folder",
    "href",
    "link",
    "location",
    "notebook",
    "notebookpath",
    "path",
    "paths",
    "relativepath",
    "relativeworkspacepath",
    "resource",
    "root",
    "targetfile",
    "targetpath",
    "uri",
    "url",
    "urls",
    "website",
    "workbook",
    "workspacepath",
];

/// Argument names of things on a page.
const ELEMENTS: [&str; 12] = [
    "css",
    "cssselector",
    "element",
    "elementid",
    "elementselector",
    "index",
    "locator",
    "ref",
    "selector",
    "testid",
    "uid",
    "xpath",
];

/// Ids that name the call or the conversation, not what is acted upon.
const NOT_ACTED_UPON: [&str; 11] = [
    "agentid",
    "callid",
    "conversationid",
    "correlationid",
    "invocationid",
    "requestid",
    "runid",
    "sessionid",
    "spanid",
    "toolcallid",
    "traceid",
];

/// The key of what `call` acts upon; the same for every tool and agent.
pub(crate) fn target(call: &ToolCall, named: &Named, salt: u64) -> Option<Key> {
    found(call, named).map(|target| salted("target", salt, target.as_bytes()))
}

fn found<'a>(call: &'a ToolCall, tool: &Named) -> Option<Cow<'a, str>> {
    if let Some(own) = call.target.as_deref().filter(|own| !own.trim().is_empty()) {
        return Some(shortened(own.trim()));
    }
    let arguments = call.args.as_ref().and_then(Value::as_object);
    let named = arguments.and_then(argument).or_else(|| match command(call, tool)? {
        Cow::Borrowed(line) => line_path(line).map(shortened),
        Cow::Owned(line) => line_path(&line).map(|path| Cow::Owned(shortened(path).into_owned())),
    });
    named.or_else(|| arguments?.values().filter_map(Value::as_str).find_map(table).map(Cow::Owned))
}

/// Words of a statement that are looked at.
const STATEMENT: usize = 256;
/// What stands before a noun in prose, and is no table: "Update the page", "Select one from each list".
const DETERMINERS: [&str; 12] = ["a", "all", "an", "any", "each", "every", "my", "our", "that", "the", "this", "your"];

/// The first table that a statement of SQL names.
fn table(statement: &str) -> Option<String> {
    let is = |word: &str, keyword: &str| word.eq_ignore_ascii_case(keyword);
    let mut words = statement.split_ascii_whitespace().take(STATEMENT);
    let first = words.next()?;
    let mut after = |keyword: &str| words.next().filter(|word| is(word, keyword)).and_then(|_| words.next());
    let name = match () {
        () if is(first, "insert") => after("into")?,
        () if is(first, "delete") => after("from")?,
        () if is(first, "alter") => after("table")?,
        () if is(first, "update") => {
            let name = words.next()?;
            words.next().filter(|word| is(word, "set"))?;
            name
        }
        () if is(first, "select") || is(first, "with") => loop {
            let from = words.find(|word| is(word, "from")).and_then(|_| words.next())?;
            // Of `(SELECT` the table comes later.
            if !is(from.trim_start_matches('('), "select") {
                break from;
            }
        },
        () => return None,
    };
    let mark = |char: char| !char.is_alphanumeric() && char != '_';
    let name = name.trim_start_matches(mark).split(['(', ')', ',', ';']).next()?.trim_end_matches(mark).to_lowercase();
    (!name.is_empty() && !DETERMINERS.contains(&name.as_str())).then(|| alloc::format!("table={name}"))
}

/// Paths and URLs before elements before ids: a click on a page is about the page's element where no page is named.
fn argument(map: &Map<String, Value>) -> Option<Cow<'_, str>> {
    let first = |wanted: &dyn Fn(&str) -> bool| {
        // The least name, whatever the order of the map.
        map.iter()
            .filter(|(name, _)| wanted(name))
            .filter_map(|(name, value)| Some((name, scalar(value)?)))
            .min_by_key(|(name, _)| *name)
    };
    const SIEVE: Sieve = Sieve::of(&[&PLACES]);
    if let Some((_, place)) = first(&|name| SIEVE.passes_name(name) && listed_name(&PLACES, name)) {
        return Some(match place {
            Cow::Borrowed(place) => shortened(place),
            Cow::Owned(place) => Cow::Owned(place),
        });
    }
    // Numbers mean little without their name: element 3, issue 3.
    if let Some((name, value)) = first(&|name| listed_name(&ELEMENTS, name)).or_else(|| first(&is_id)) {
        return Some(Cow::Owned(alloc::format!("{name}={value}")));
    }
    // A URL is one, whatever the argument is called.
    let urls = map.iter().filter_map(|(name, value)| Some((name, value.as_str()?.trim())));
    let web = |text: &str| ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) && text.len() <= 2048;
    let (_, url) = urls.filter(|(_, text)| web(text) && !text.contains(' ')).min_by_key(|(name, _)| *name)?;
    Some(shortened(url))
}

/// `id`, `issueId`, `order_id`, `issue_number`, `key`.
fn is_id(name: &str) -> bool {
    let ends = ["Id", "_id", "-id", "ID", "_number", "Number"].iter().any(|end| name.ends_with(end));
    (ends || matches!(name, "id" | "key" | "number")) && !listed_name(&NOT_ACTED_UPON, name)
}

fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => {
            Some(text.trim()).filter(|text| !text.is_empty() && text.len() <= 2048).map(Cow::Borrowed)
        }
        Value::Number(number) => Some(Cow::Owned(alloc::format!("{number}"))),
        // One of a list stands for it only where it is alone.
        Value::Array(items) => match items.as_slice() {
            [item @ (Value::String(_) | Value::Number(_))] => scalar(item),
            _ => None,
        },
        _ => None,
    }
}

/// Parameters of a URL that are looked at.
const PARAMETERS: usize = 32;

/// Parameters of a URL that say nothing of what is asked for: they keep answers out of caches, or tell who asks.
const BUSTERS: [&str; 20] = [
    "_",
    "_t",
    "_ts",
    "bust",
    "buster",
    "cache",
    "cache_buster",
    "cachebust",
    "cachebuster",
    "cb",
    "no-cache",
    "no_cache",
    "nocache",
    "nonce",
    "rand",
    "random",
    "rnd",
    "timestamp",
    "ts",
    "uncache",
];

/// Whether a parameter of a URL tells two of them apart: it is neither made to be new each time nor, by its looks, the time of
/// day or a random fraction. An id that was drawn by lot is an id.
fn asks_for(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let time = matches!(whole.len(), 10 | 13) && whole.starts_with('1') && digits(whole) && digits(rest);
    let fraction = whole == "0" && rest.len() > 6 && digits(rest);
    let named = BUSTERS.iter().any(|known| name.eq_ignore_ascii_case(known)) || name.starts_with("utm_");
    !parameter.is_empty() && !named && !time && !fraction
}

/// A URL without scheme, fragment and what keeps it out of caches, for pages of one list are different; of a path the last two
/// components; anything else as it is.
fn shortened(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let pair = |first: u8, second: &[u8]| {
        bytes.windows(2).any(|pair| matches!(pair, [one, other] if *one == first && second.contains(other)))
    };
    if pair(b':', b"/")
        && let Some((_, rest)) = text.split_once("://")
    {
        let rest = rest.split('#').next().unwrap_or(rest);
        let (page, query) = rest.split_once('?').unwrap_or((rest, ""));
        let page = page.trim_end_matches('/');
        let mut asked: Vec<&str> = query.split('&').filter(|parameter| asks_for(parameter)).collect();
        if asked.is_empty() {
            return Cow::Borrowed(page);
        }
        asked.truncate(PARAMETERS);
        sort_few(&mut asked, |one, other| one > other);
        return Cow::Owned(alloc::format!("{page}?{}", asked.join("&")));
    }
    if !bytes.iter().any(|byte| matches!(byte, b'/' | b'\\')) {
        return Cow::Borrowed(text);
    }
    // Nearly every path is spelled simply already.
    let simple = !text.starts_with('.') && !text.ends_with('/') && !pair(b'/', b"/.");
    if simple && bytes.contains(&b'/') {
        let slashes = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        let cut = slashes.map(|(at, _)| at + 1).nth(1).unwrap_or(0);
        return Cow::Borrowed(text.get(cut..).unwrap_or_default());
    }
    let mut resolved = String::with_capacity(text.len());
    if text.contains('/') {
        resolve_path(text, &mut resolved);
    } else {
        resolve_path(&text.replace('\\', "/"), &mut resolved);
    }
    let cut = resolved.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    resolved.drain(..cut);
    Cow::Owned(resolved)
}

/// The file a command line is about: the first word with a known extension, else the first with a slash. Where a shell
/// goes to first (`cd`), where output is sunk and what programs are called are not what it is about.
fn line_path(line: &str) -> Option<&str> {
    let mut lexer = Lexer::new(line);
    let mut with_slash = None;
    let mut first = true;
    let mut goes = false;
    while let Some(token) = lexer.token() {
        let word = match token {
            Token::End => {
                first = true;
                continue;
            }
            Token::Word(word) | Token::Write(word) => word,
            Token::Here(_) => continue,
        };
        if core::mem::replace(&mut first, false) {
            goes = matches!(word, "cd" | "pushd" | "source" | ".");
            if !word.starts_with("./") {
                continue;
            }
        }
        let is_path = !goes
            && !word.starts_with(['-', '$', '{'])
            && !word.starts_with("/dev/")
            && !word.contains(|char: char| char.is_whitespace() || "'\"*^|".contains(char))
            && (!word.contains('=') || word.contains("://"));
        if is_path && has_extension(word) {
            return Some(word);
        }
        if is_path && word.contains('/') && word.len() > 1 {
            with_slash = with_slash.or(Some(word));
        }
    }
    with_slash
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;
    use serde_json::json;

    fn target(call: &ToolCall) -> Option<Key> {
        super::target(call, &Named::of(&call.tool), 0)
    }

    fn name(tool: &str, args: Value) -> Option<String> {
        let call = ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() };
        found(&call, &Named::of(tool)).map(Cow::into_owned)
    }

    #[test]
    fn lists_are_sorted() {
        for list in [&PLACES[..], &ELEMENTS, &NOT_ACTED_UPON] {
            assert_sorted(list);
        }
    }

    proptest::proptest! {
        #[test]
        fn simple_paths_are_shortened_as_others_are(text in "[a/.\\\\é]{0,16}") {
            let mut resolved = String::new();
            resolve_path(&text.replace('\\', if text.contains('/') { "\\" } else { "/" }), &mut resolved);
            let cut = resolved.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
            let paths = text.contains(['/', '\\']);
            let expected = if paths { resolved.get(cut..).unwrap_or_default() } else { text.as_str() };
            proptest::prop_assert_eq!(shortened(&text), expected);
        }
    }

    #[test]
    fn targets() {
        for (tool, args, expected) in [
            ("read", json!({"path": "/repo/src/a.rs", "line": 3}), Some("src/a.rs")),
            ("read", json!({"file_path": "src//x/../a.rs"}), Some("src/a.rs")),
            ("read", json!({"filePath": "C:\\repo\\src\\a.rs"}), Some("src/a.rs")),
            ("read", json!({"path": "a.rs"}), Some("a.rs")),
            ("read", json!({"path": ""}), None),
            ("read", json!({"paths": ["x/y/a.rs"]}), Some("y/a.rs")),
            ("read", json!({"paths": ["a", "b"]}), None),
            ("get", json!({"url": "https://x.test/a/b/?q=1#f"}), Some("x.test/a/b?q=1")),
            ("get", json!({"url": "https://x.test/a?page=2&cb=17&ts=1"}), Some("x.test/a?page=2")),
            ("get", json!({"url": "https://x.test/a?z=1&page=2&_=9#x?y"}), Some("x.test/a?page=2&z=1")),
            ("get", json!({"url": "https://x.test/a/?_=1790000000&utm_source=b&x=0.7712345678"}), Some("x.test/a")),
            (
                "get",
                json!({"url": "https://x.test/a?id=6f1c7a3e-52c1-4c4e-9d57-2b0f9e6d1a11"}),
                Some("x.test/a?id=6f1c7a3e-52c1-4c4e-9d57-2b0f9e6d1a11"),
            ),
            ("click", json!({"selector": "#go", "sessionId": "s"}), Some("selector=#go")),
            ("click", json!({"index": 3}), Some("index=3")),
            ("get_order", json!({"orderId": 17}), Some("orderId=17")),
            ("get_issue", json!({"issue_number": 5, "repo": "r"}), Some("issue_number=5")),
            ("find", json!({"requestId": "x"}), None),
            ("grep", json!({"pattern": "x"}), None),
            ("bash", json!({"command": "cat /repo/src/a.rs | head"}), Some("src/a.rs")),
            ("bash", json!({"command": "cd /repo && python -m pytest tests/test_a.py -q"}), Some("tests/test_a.py")),
            ("bash", json!({"command": "cd /repo && ls src/lib"}), Some("src/lib")),
            ("bash", json!({"command": "grep -rn 'a/b c' src/x.py > /dev/null"}), Some("src/x.py")),
            ("bash", json!({"command": "/usr/bin/make all"}), None),
            ("bash", json!({"command": "./run.sh now"}), Some("run.sh")),
            ("bash", json!({"cmd": ["cat", "x/y/a.rs"]}), Some("y/a.rs")),
            ("bash", json!({"command": "git status"}), None),
            ("query", json!({"sql": "SELECT a FROM \"Orders\" WHERE b = 1"}), Some("table=orders")),
            ("query", json!({"sql": " select a\nfrom (select b from x.carts) c"}), Some("table=x.carts")),
            ("query", json!({"statement": "INSERT INTO seats(a) VALUES (1)"}), Some("table=seats")),
            ("query", json!({"statement": "UPDATE seats SET a = 1"}), Some("table=seats")),
            ("query", json!({"statement": "DELETE FROM seats WHERE a = 1"}), Some("table=seats")),
            ("query", json!({"sql": "with x as (select a from carts) select a from x"}), Some("table=carts")),
            ("ask", json!({"question": "Select one from each list"}), None),
            ("delegate", json!({"task": "Update the page and move it into place"}), None),
            ("delegate", json!({"task": "Insert a table into the report"}), None),
            ("delegate", json!({"task": "Delete what came from yesterday"}), None),
            ("ask", json!({"question": "Where do these come from?"}), None),
            ("query", json!({"sql": "SELECT 1"}), None),
            ("query", json!({"sql": "SELECT 1 FROM"}), None),
        ] {
            assert_eq!(name(tool, args.clone()).as_deref(), expected, "{tool} {args}");
        }
    }

    #[test]
    fn one_target_for_every_tool() {
        let by = |tool: &str, args: Value| ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() };
        let read = target(&by("read", json!({"path": "/repo/src/a.rs"})));
        assert!(read.is_some());
        assert_eq!(read, target(&by("bash", json!({"command": "sed -n 1,5p src/a.rs"}))));
        assert_ne!(read, target(&by("read", json!({"path": "/repo/src/b.rs"}))));
        let told = ToolCall { target: Some("./src/a.rs".into()), ..by("read", json!({"path": "other"})) };
        assert_eq!(read, target(&told));
        assert_eq!(target(&ToolCall::default()), None);
    }
}
