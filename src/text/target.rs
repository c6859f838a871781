//! What a call acts upon: a path, a URL, a selector or an id.
//!
//! The same file reached by an editor, a reader and a command line is one target. So only the last two components of a
//! path count: one tool names it from the root, another relative to its working directory.

use super::canonical::{is_rationale, named_arguments, resolve_path};
use super::case::lower_text;
use super::digest::{Key, mark, salted};
use super::ends::head;
use super::lines::trimmed;
use super::mask::has_known_extension;
use super::mutation::command;
use super::named::ToolName;
use super::programs::PREPARE;
use super::request::is_asked;
use super::shell::{Lexer, Token};
use super::sort_few;
use super::sql::table;
use super::words::{Sieve, is_in, is_name_in};
use crate::model::ToolCall;
use alloc::{borrow::Cow, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Argument names of paths and URLs, the most frequent first.
const PLACES: &str = "path filepath file url dir filename uri absolutepath directory directorypath dirpath doc document \
    endpoint files folder href link location notebook notebookpath paths relativepath relativeworkspacepath resource \
    root targetfile targetpath urls website workbook workspacepath";

/// Argument names of elements on a page.
const ELEMENTS: &str = "css cssselector element elementid elementselector index locator ref selector testid uid xpath";

/// Ids of the call or the conversation rather than of what is acted upon.
const NOT_ACTED_UPON: &str = "agentid callid conversationid correlationid invocationid requestid runid sessionid \
    spanid toolcallid traceid";

/// Argument names used if nothing else is named: whom something is sent to or asked of, and what is changed in a sheet.
const OTHERS: &str = "cell email host hostname phone range recipient recipients to";

/// The key of what `call` acts upon; it does not depend on the tool or the agent.
pub(crate) fn target(call: &ToolCall, named: &ToolName, salt: u64) -> Option<Key> {
    found(call, named).map(|target| salted("target", salt, target.as_bytes()))
}

/// Whether an argument of this name is a path or a URL.
pub(super) fn names_place(name: &str) -> bool {
    const SIEVE: Sieve = Sieve::of(&[PLACES]);
    SIEVE.passes_name(name) && is_name_in(PLACES, name)
}

/// Bytes at the head of an output in which a file is looked for.
const NAMES_FILE: usize = 600;

/// The key of the first file that an output names: the [`target`] of a call that edits it. `src/cart.rs:20:9` and
/// `src/cart.ts(12,5)` name it as well.
pub(crate) fn named_file(output: &str, salt: u64) -> Option<Key> {
    let near = head(output, NAMES_FILE);
    let outside = |char: char| char.is_whitespace() || "\"'`()[]<>,;".contains(char);
    let path = near.match_indices('.').find_map(|(dot, _)| {
        let extension = near.get(dot + 1..)?;
        extension.starts_with(|char: char| char.is_ascii_alphabetic()).then_some(())?;
        let end = dot + 1 + extension.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(extension.len());
        // Most dots end something else.
        near.get(dot.checked_sub(1)?..end).filter(|end| has_known_extension(end))?;
        near.get(..end)?.rsplit(outside).next()
    })?;
    Some(salted("target", salt, shortened(path).as_bytes()))
}

fn found<'a>(call: &'a ToolCall, tool: &ToolName) -> Option<Cow<'a, str>> {
    if let Some(own) = call.target.as_deref().filter(|own| !own.trim().is_empty()) {
        return Some(shortened(own.trim()));
    }
    let arguments = named_arguments(call);
    let named = arguments.and_then(argument).or_else(|| match command(call, tool)? {
        Cow::Borrowed(line) => line_path(line).map(shortened).or_else(|| operands(line).map(Cow::Owned)),
        Cow::Owned(line) => {
            line_path(&line).map(|path| shortened(path).into_owned()).or_else(|| operands(&line)).map(Cow::Owned)
        }
    });
    let patch = || {
        let line = command(call, tool).filter(|line| line.starts_with("apply_patch"));
        let texts = arguments.filter(|_| tool.edits).into_iter().flat_map(Map::values).filter_map(Value::as_str);
        let own = line.as_deref().and_then(patched).map(|path| shortened(path).into_owned());
        own.map(Cow::Owned).or_else(|| texts.into_iter().find_map(patched).map(shortened))
    };
    let table = || arguments?.values().filter_map(Value::as_str).find_map(table).map(Cow::Owned);
    let other = || {
        let (name, value) = arguments.and_then(|map| least(map, &|name| is_name_in(OTHERS, name)))?;
        Some(Cow::Owned(alloc::format!("{name}={value}")))
    };
    named.or_else(patch).or_else(table).or_else(other)
}

/// Bytes of the longest name of a thing.
const NAME: usize = 40;
/// Letters with which different names begin differently.
const BEGINS: usize = 3;

/// Most arguments of a call that names a thing, and names of arguments that say how, and not what.
const NAMED: usize = 3;
const OPTIONS: &str =
    "action encoding format kind lang language locale method mode op operation order sort status type unit units";

/// A mark of how the arguments of a call begin, if there are few and they may name a thing: `{"city": "Bern"}`,
/// `{"name": "Ada", "region": "eu"}`; 0 if not. Guesses at one name begin alike.
pub(crate) fn thing(call: &ToolCall, tool: &ToolName, salt: u64) -> u32 {
    let Some(arguments) = named_arguments(call).filter(|_| !tool.runs_code()) else { return 0 };
    let mut begins = String::new();
    let mut letters = 0;
    for (at, (name, value)) in arguments.iter().filter(|(name, _)| !is_rationale(name)).enumerate() {
        let thing = value.as_str().unwrap_or_default();
        let is_name = !thing.is_empty()
            && thing.len() <= NAME
            && !thing.contains(|char: char| !char.is_alphanumeric() && !" -_.'".contains(char))
            && thing.chars().take(BEGINS).all(char::is_alphabetic);
        if at == NAMED || !is_name || is_asked(name) || is_name_in(OPTIONS, name) {
            return 0;
        }
        begins.extend(thing.chars().take(BEGINS));
        letters = letters.max(thing.chars().take(BEGINS).count());
    }
    if letters < BEGINS { 0 } else { mark(salted("thing", salt, lower_text(&begins).as_bytes())) }
}

/// Beginnings of the line that names the first file of a patch, and the lines among which it is.
const PATCHES: [&str; 5] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ "];
const HEAD_OF_PATCH: usize = 8;

/// The first file that a patch changes.
fn patched(text: &str) -> Option<&str> {
    let mut lines = text.lines().take(HEAD_OF_PATCH);
    let path = lines.find_map(|line| PATCHES.iter().find_map(|start| line.strip_prefix(start)))?;
    Some(path.split('\t').next().unwrap_or(path).trim())
}

/// The alphabetically first argument among the wanted names, whatever the order of the map.
fn least<'a>(map: &'a Map<String, Value>, wanted: &dyn Fn(&str) -> bool) -> Option<(&'a str, Cow<'a, str>)> {
    map.iter()
        .filter(|(name, _)| wanted(name))
        .filter_map(|(name, value)| Some((name.as_str(), scalar(value)?)))
        .min_by_key(|(name, _)| *name)
}

/// Paths and URLs before elements, and elements before ids: a click is on a page's element if it names no page.
fn argument(map: &Map<String, Value>) -> Option<Cow<'_, str>> {
    let first = |wanted: &dyn Fn(&str) -> bool| least(map, wanted);
    const SIEVE: Sieve = Sieve::of(&[PLACES]);
    if let Some((_, place)) = first(&|name| SIEVE.passes_name(name) && is_name_in(PLACES, name)) {
        return Some(match place {
            Cow::Borrowed(place) => shortened(place),
            Cow::Owned(place) => Cow::Owned(place),
        });
    }
    // Numbers mean little without their name: element 3, issue 3.
    // Code does not act upon the cell or the session that it runs in.
    let id = || if map.contains_key("code") { None } else { first(&is_id) };
    if let Some((name, value)) = first(&|name| is_name_in(ELEMENTS, name)).or_else(id) {
        return Some(Cow::Owned(alloc::format!("{name}={value}")));
    }
    // A URL is a target whatever its argument is called.
    let urls = map.iter().filter_map(|(name, value)| Some((name, value.as_str()?.trim())));
    let web = |text: &str| ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) && text.len() <= 2048;
    let (_, url) = urls.filter(|(_, text)| web(text) && !text.contains(' ')).min_by_key(|(name, _)| *name)?;
    Some(shortened(url))
}

/// `id`, `issueId`, `order_id`, `issue_number`, `key`.
fn is_id(name: &str) -> bool {
    let ends = ["Id", "_id", "-id", "ID", "_number", "Number"].iter().any(|end| name.ends_with(end));
    (ends || matches!(name, "id" | "key" | "number")) && !is_name_in(NOT_ACTED_UPON, name)
}

fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => {
            Some(trimmed(text)).filter(|text| !text.is_empty() && text.len() <= 2048).map(Cow::Borrowed)
        }
        Value::Number(number) => Some(Cow::Owned(alloc::format!("{number}"))),
        // A list is represented by its item only if it has just one.
        Value::Array(items) => match items.as_slice() {
            [item @ (Value::String(_) | Value::Number(_))] => scalar(item),
            _ => None,
        },
        _ => None,
    }
}

/// Maximum number of URL parameters that are kept.
const PARAMETERS: usize = 32;

/// URL parameters that do not change what is asked for: cache busters, and those that say who asks.
const BUSTERS: &str = "_ _t _ts bust buster cache cache_buster cachebust cachebuster cb no-cache no_cache nocache \
    nonce rand random rnd timestamp ts uncache";

/// Whether a URL parameter has a name that does not change what is asked for.
pub(super) fn asks_nothing(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default();
    name.is_empty() || name.starts_with("utm_") || is_in(BUSTERS, name)
}

/// Whether a URL parameter distinguishes two requests: it is neither named as one that does not nor, by its value, a
/// timestamp or a random fraction. A randomly generated id is still an id.
fn asks_for(parameter: &str) -> bool {
    let (_, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let time = matches!(whole.len(), 10 | 13) && whole.starts_with('1') && digits(whole) && digits(rest);
    let fraction = whole == "0" && rest.len() > 6 && digits(rest);
    !asks_nothing(parameter) && !time && !fraction
}

/// A URL without scheme, fragment and cache busters, keeping its other parameters sorted (pages of a list are different
/// targets); the last two components of a path; anything else unchanged.
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
    // Nearly all paths are already in a simple form.
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

/// The file a command line is about: the first word with a known extension, else the first with a slash. Not counted
/// are where the shell changes to first (`cd`), `/dev` files, program names, and a script that the line itself writes
/// and runs.
fn line_path(line: &str) -> Option<&str> {
    let mut with_slash = None;
    let mut written = None;
    let mut first = true;
    let mut goes = false;
    for token in Lexer::new(line) {
        let (word, writes) = match token {
            Token::End => {
                first = true;
                continue;
            }
            Token::Word(word) => (word, false),
            Token::Write(word) => (word, true),
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
        if is_path && has_known_extension(word) {
            match written {
                None if writes => written = Some(word),
                Some(own) if own == word => written = None,
                _ => return written.or(Some(word)),
            }
        } else if is_path && word.contains('/') && word.len() > 1 {
            with_slash = with_slash.or(Some(word));
        }
    }
    written.or(with_slash)
}

/// Commands that run another command.
const WRAP: [&str; 5] = ["nice", "nohup", "sudo", "time", "timeout"];
/// Package managers, whose arguments may carry versions, whatever the subcommand.
const PACKAGERS: [&str; 4] = ["bun", "npm", "pnpm", "yarn"];
/// Maximum number of words of a command line that are kept.
const OPERANDS: usize = 8;

/// A package without its version, and `install` for its short forms: `npm i quay@4` is about the package `quay`.
fn unversioned(word: &str) -> &str {
    match word.rsplit_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ if matches!(word, "i" | "add") => "install",
        _ => word,
    }
}

/// What a command line without a path is about: the program and its plain arguments, as in `systemctl status cups` or
/// `nc harbour 22`. `None` for a single argument that may be a subcommand (`git status`).
fn operands(line: &str) -> Option<String> {
    let mut about = String::new();
    let (mut count, mut named, mut flag, mut prepares, mut packages) = (0, false, false, false, false);
    for token in Lexer::new(line) {
        let (Token::Word(word) | Token::Write(word)) = token else {
            if !about.is_empty() {
                break;
            }
            prepares = false;
            continue;
        };
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        let after_flag = core::mem::replace(&mut flag, word.starts_with('-'));
        if about.is_empty() {
            prepares = prepares || is_in(PREPARE, word);
            if !prepares && !WRAP.contains(&word) && !digits && !flag && !word.contains('=') {
                about.push_str(word);
                packages = PACKAGERS.contains(&word);
            }
            continue;
        }
        let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._@:-".contains(&byte));
        let address = !digits && word.bytes().any(|byte| b".@:".contains(&byte));
        // A word after a flag is its value, unless it looks like an address.
        if !plain || flag || after_flag && !address && !packages || count >= OPERANDS {
            continue;
        }
        let word = if packages { unversioned(word) } else { word };
        count += 1;
        named |= address || !digits && word.bytes().any(|byte| byte.is_ascii_digit());
        about.push(' ');
        about.push_str(word);
    }
    (count > 1 || named).then_some(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn target(call: &ToolCall) -> Option<Key> {
        super::target(call, &ToolName::of(&call.tool), 0)
    }

    fn name(tool: &str, args: Value) -> Option<String> {
        let call = ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() };
        found(&call, &ToolName::of(tool)).map(Cow::into_owned)
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
            ("bash", json!({"command": "cat > src/a.py <<'X'\nimport b\nX\ngit add x.py"}), Some("src/a.py")),
            ("bash", json!({"command": "cat > /tmp/try3.py <<'X'\nimport b\nX\npython /tmp/try3.py"}), None),
            ("bash", json!({"command": "echo x > b.py; python b.py data/c.csv"}), Some("data/c.csv")),
            ("bash", json!({"command": "/usr/bin/make all"}), None),
            ("bash", json!({"command": "./run.sh now"}), Some("run.sh")),
            ("bash", json!({"cmd": ["cat", "x/y/a.rs"]}), Some("y/a.rs")),
            ("bash", json!({"command": "git status"}), None),
            ("bash", json!({"command": "make  -j8 test"}), None),
            ("bash", json!({"command": "head -n 5"}), None),
            (
                "bash",
                json!({"command": "cd /srv && sudo systemctl status -n 20 cups | head"}),
                Some("systemctl status cups"),
            ),
            (
                "apply_patch",
                json!({"input": "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-x\n+y"}),
                Some("src/a.ts"),
            ),
            ("apply_patch", json!({"patch": "--- a/src/a.ts\t1\n+++ b/src/a.ts\t2\n@@"}), Some("src/a.ts")),
            (
                "shell",
                json!({"command": "apply_patch <<'X'\n*** Begin Patch\n*** Add File: src/b.ts\n+y\nX"}),
                Some("src/b.ts"),
            ),
            ("search", json!({"text": "*** Update File: src/a.ts"}), None),
            ("bash", json!({"command": "npm i quay@4"}), Some("npm install quay")),
            ("bash", json!({"command": "npm install --save quay@latest"}), Some("npm install quay")),
            ("bash", json!({"command": "sudo npm install --force quay"}), Some("npm install quay")),
            ("bash", json!({"command": "pnpm add quay jetty@2.1"}), Some("pnpm install quay jetty")),
            ("bash", json!({"command": "cargo add quay jetty"}), Some("cargo add quay jetty")),
            ("bash", json!({"command": "ssh pilot@quay uptime"}), Some("ssh pilot@quay uptime")),
            ("bash", json!({"command": "timeout 5 nc -zv -w1 10.0.4.7 22"}), Some("nc 10.0.4.7 22")),
            ("bash", json!({"command": "ping -c 1 10.0.4.7"}), Some("ping 10.0.4.7")),
            ("bash", json!({"command": "ssh -o Timeout=3 root@web7 uptime"}), Some("ssh root@web7 uptime")),
            ("bash", json!({"command": "ssh -o A=1 -i key3 root@web7 uptime"}), Some("ssh root@web7 uptime")),
            ("bash", json!({"command": "LANG=C sleep 3; psql -c 'select 1'"}), None),
            ("send_mail", json!({"to": "ida@quay.example", "body": "x"}), Some("to=ida@quay.example")),
            ("send_mail", json!({"to": "ida", "messageId": 3}), Some("messageId=3")),
            ("query", json!({"sql": "SELECT a FROM \"Orders\" WHERE b = 1"}), Some("table=orders")),
            ("query", json!({"sql": " select a\nfrom (select b from x.carts) c"}), Some("table=x.carts")),
            ("query", json!({"statement": "INSERT INTO seats(a) VALUES (1)"}), Some("table=seats")),
            ("query", json!({"statement": "UPDATE seats SET a = 1"}), Some("table=seats")),
            ("query", json!({"statement": "DELETE FROM seats WHERE a = 1"}), Some("table=seats")),
            ("query", json!({"sql": "create table if not exists Crates (a int)"}), Some("table=crates")),
            ("query", json!({"sql": "DROP TABLE crates;"}), Some("table=crates")),
            ("query", json!({"sql": "CREATE INDEX a ON crates (b)"}), None),
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

    #[test]
    fn a_file_that_an_error_names() {
        let edit = |path: &str| ToolCall { args: Some(json!({"path": path})), ..ToolCall::default() };
        for (error, path) in [
            ("error[E0308]: mismatched types\n  --> src/a.rs:20:9\n  in b.rs", "/repo/src/a.rs"),
            ("src/a.ts(12,5): error TS2322", "src/a.ts"),
            ("src/a.ts:12:5 - error TS2322", "./src/a.ts"),
            ("  File \"/srv/quay/a.py\", line 3, in f\nKeyError: 'b.py'", "/srv/quay/a.py"),
            ("/repo/src/a.js\n  3:7  error  no-unused-vars", "src/a.js"),
            ("C:/repo/src/a.cs(3,1): error CS0103", "src/a.cs"),
            ("a.c:3: undeclared", "a.c"),
        ] {
            let named = super::named_file(error, 0);
            assert!(named.is_some() && named == target(&edit(path)), "{error}");
        }
        for other in ["error at 3.14: no such quay", "quay.berth: undefined", "", &"word ".repeat(400)] {
            assert_eq!(super::named_file(other, 0), None, "{other}");
        }
    }
}
