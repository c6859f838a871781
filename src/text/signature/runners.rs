//! Test runners: which tests failed, and for each its error class as far as the runner says it beside the name.

use super::{
    compilers::diagnostics,
    traces::{panic_class, panic_message, panicked, trace},
    words::{file_key, has_extension, headline, hyphenated, joined, listed, shortened, strip_timing},
};
use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String, vec::Vec};

/// Failures told apart in one output.
const MOST_ITEMS: usize = 256;

/// The failing tests of an output, and for each its error class as far as the runner says it beside the name.
#[derive(Default)]
struct Failing {
    tests: BTreeMap<String, String>,
    current: Option<String>,
}

impl Failing {
    fn add(&mut self, name: &str, class: &str) {
        let name = hyphenated(strip_timing(name.trim()));
        if name.is_empty() || self.tests.len() >= MOST_ITEMS {
            return;
        }
        let known = self.tests.entry(name.clone()).or_default();
        if known.is_empty() {
            class.clone_into(known);
        }
        self.current = Some(name);
    }

    /// Gives the last test named the first class printed under it.
    fn class(&mut self, class: &str) {
        if let Some(known) = self.current.as_ref().and_then(|name| self.tests.get_mut(name))
            && known.is_empty()
        {
            class.clone_into(known);
        }
    }

    fn signature(self) -> Option<String> {
        // Go reports a parent for every failing subtest; the subtests say more.
        let (mut items, mut rest) = (Vec::new(), self.tests.iter());
        while let Some((name, class)) = rest.next() {
            // In their order, all names that begin with this one follow it.
            let mut behind = rest.clone().map_while(|(next, _)| next.strip_prefix(name.as_str()));
            if !behind.any(|behind| behind.starts_with('/')) {
                items.push(joined(&[&shortened(name), class]));
            }
        }
        listed("test-fail", items)
    }
}

pub(super) fn failing_tests(lines: &[&str]) -> Option<String> {
    let mut named = Failing::default();
    let mut marked = Failing::default(); // `✕ name` lines: less than the runner says elsewhere, used when it does not
    let mut headed = Failing::default(); // pytest's `____ name ____` headers, likewise
    let mut packages = Failing::default(); // go packages and test files that failed as a whole
    let mut panics: Vec<(&str, String)> = Vec::new();
    let mut file = String::new();
    let (mut listing, mut mocha) = (false, false);
    let mut title: Option<String> = None;
    for (index, raw) in lines.iter().enumerate() {
        let line = raw.trim();
        if let Some(mut open) = title.take() {
            // mocha: the suites and the test, one line each, the last one ends with a colon.
            match line.strip_suffix(':') {
                Some(last) => named.add(&format!("{open}>{last}"), ""),
                None if line.is_empty() || open.len() > 400 => {}
                None => {
                    open.push('>');
                    open.push_str(line);
                    title = Some(open);
                }
            }
            continue;
        }
        if line.is_empty() {
            listing = false;
            continue;
        }
        if listing {
            if raw.starts_with("    ") && !line.contains(char::is_whitespace) {
                named.add(line, "");
                continue;
            }
            listing = false;
        }
        if line == "failures:" {
            listing = true;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            named.add(name.split(" (line ").next().unwrap_or(name), "");
        } else if let Some((name, rest)) = panicked(line) {
            let message = panic_message(rest, lines.get(index + 1).copied());
            // The first class that is given for a test stays.
            if panics.len() < MOST_ITEMS {
                panics.push((name, panic_class(message)));
            }
        } else if let Some(rest) = line.strip_prefix("--- FAIL: ") {
            named.add(rest.split(" (").next().unwrap_or(rest), "");
        } else if let Some(package) = raw.strip_prefix("FAIL\t") {
            packages.add(package.split(['\t', ' ']).next().unwrap_or(package), "");
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            let rest = rest.trim_start();
            if rest.starts_with('[') {
                // nextest: `FAIL [   0.004s] (1/9) crate tests::name`
                let name = rest.rsplit(char::is_whitespace).next().unwrap_or(rest);
                named.add(name, "");
            } else {
                let rest = if rest.starts_with('|') { rest.splitn(3, '|').last().unwrap_or(rest).trim() } else { rest };
                let path = rest.split([' ', '\t']).next().unwrap_or(rest);
                if has_extension(path) {
                    file = file_key(path);
                    match rest.split_once(" > ") {
                        Some((_, test)) => named.add(&format!("{file}>{}", test.replace(" > ", ">")), ""),
                        None => packages.add(&file, ""),
                    }
                }
            }
        } else if let Some(rest) = line.strip_prefix("● ") {
            if rest.starts_with("Test suite failed") {
                named.add(&format!("{file}>suite"), "");
            } else if !rest.starts_with("Console") && (rest.contains(" › ") || !file.is_empty()) {
                named.add(&format!("{file}>{}", rest.replace(" › ", ">")), "");
            }
        } else if let Some((name, class)) = pytest(line) {
            named.add(&name, &class);
        } else if let Some(name) = unittest(line).or_else(|| tap(line)).or_else(|| jvm(line)) {
            named.add(&name, "");
        } else if let Some(count) = line.split(' ').next().filter(|_| line.split(' ').nth(1) == Some("failing")) {
            mocha |= count.parse::<u32>().is_ok_and(|count| count > 0);
        } else if let Some((_, rest)) =
            line.split_once(") ").filter(|(n, _)| mocha && n.bytes().all(|b| b.is_ascii_digit()))
        {
            match rest.strip_suffix(':') {
                Some(name) => named.add(name, ""),
                None => title = Some(rest.to_owned()),
            }
        } else if let Some(name) = ["✕ ", "× ", "✗ ", "✖ "].iter().find_map(|mark| line.strip_prefix(mark)) {
            if !name.contains(" problem") && !name.ends_with(':') {
                marked.add(name, "");
            }
        } else if line.starts_with("____") && line.ends_with("____") {
            headed.add(line.trim_matches(['_', ' ']), "");
        } else {
            let class = if line.starts_with("expect(") {
                Some("expect")
            } else {
                headline(line.strip_prefix("E ").map_or(line, str::trim_start)).map(|(class, _)| class)
            };
            if let Some(class) = class {
                for failing in [&mut named, &mut headed, &mut marked, &mut packages] {
                    failing.class(class);
                }
            }
        }
    }
    for (name, class) in panics {
        if named.tests.contains_key(name) {
            named.add(name, &class);
        }
    }
    // A package that failed beside named tests is their package; without them compilers say more than its name.
    named
        .signature()
        .or_else(|| headed.signature())
        .or_else(|| marked.signature())
        .or_else(|| packages.signature().filter(|_| diagnostics(lines).is_none() && trace(lines).is_none()))
}

/// `FAILED tests/test_a.py::test_b - Class: message`, `ERROR tests/test_a.py`, `tests/test_a.py::test_b FAILED [ 50%]`.
fn pytest(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    if !line.contains("FAILED") && !line.contains("ERROR") {
        return None;
    }
    let failed = |word: &str| word == "FAILED" || word == "ERROR";
    let node = |word: &str| word.contains(".py::") || word.ends_with(".py");
    if !words.clone().any(failed) || line.ends_with(':') {
        return None;
    }
    let before = words.clone().take(4).any(failed);
    let id = words.find(|word| node(word)).filter(|id| before || line.contains(&format!("{id} FAILED")))?;
    let (path, test) = id.split_once("::").map_or((id, ""), |(path, test)| (path, test));
    if test.is_empty() && !line.starts_with("ERROR ") {
        return None;
    }
    // Parameters may hold blanks: a name ends at ` - ` or before the status.
    let rest = line.split_once(id).map_or("", |(_, rest)| rest);
    let (more, reason) = rest.split_once(" - ").unwrap_or((rest, ""));
    let more = more.split(" FAILED").next().unwrap_or_default().split(" ERROR").next().unwrap_or_default();
    let more = if id.contains('[') && !id.ends_with(']') { more } else { "" };
    let name = if test.is_empty() { file_key(path) } else { format!("{}::{test}{more}", file_key(path)) };
    let class = match headline(reason) {
        Some((class, _)) => class.to_owned(),
        None if reason.starts_with("assert ") => "AssertionError".to_owned(),
        None => String::new(),
    };
    Some((name, class))
}

/// `FAIL: test_x (tests.test_auth.AuthTest.test_x)`
fn unittest(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let (test, place) = rest.split_once(" (")?;
    let place = place.split(')').next()?;
    if test.contains(' ') || !place.contains('.') {
        return None;
    }
    let suite = place.strip_suffix(test).map_or(place, |suite| suite.trim_end_matches('.'));
    Some(format!("{}.{test}", suite.rsplit('.').next().unwrap_or(suite)))
}

/// `not ok 3 - name # time=1ms`, unless skipped or still to do.
fn tap(line: &str) -> Option<String> {
    let rest = line.strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().trim_start_matches("- ");
    let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
    let directive = directive.get(..4).unwrap_or(directive).to_ascii_lowercase();
    (directive != "todo" && directive != "skip").then(|| name.to_owned())
}

/// Gradle's `AuthTest > login() FAILED` and Maven's `[ERROR] com.x.AuthTest.login -- Time elapsed: … <<< FAILURE!`.
fn jvm(line: &str) -> Option<String> {
    if let Some(name) = line.strip_suffix(" FAILED") {
        return (name.contains(" > ") && !name.starts_with('>')).then(|| name.replace(" > ", ">"));
    }
    let head = line.strip_suffix("<<< FAILURE!").or_else(|| line.strip_suffix("<<< ERROR!"))?;
    let name = head.trim_start_matches("[ERROR] ").split([' ', '(']).next()?;
    (name.contains('.')).then(|| {
        let mut last: Vec<&str> = name.rsplit('.').take(2).collect();
        last.reverse();
        last.join(".")
    })
}
