//! Test runners: which tests failed, and the error class of each if the runner prints it next to the name.

use super::{
    compilers::diagnostics,
    traces::{panic_class, panic_message, panicked, trace},
    words::{file_key, has_extension, headline, hyphenated, joined, listed, shortened, strip_timing},
};
use crate::model::ByName;
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

/// Maximum number of failures of one output that are told apart.
const MOST_ITEMS: usize = 256;

/// The failing tests of an output by name, each with its error class (empty if unknown), and the test named last.
#[derive(Default)]
struct Failing {
    tests: ByName<String>,
    current: Option<String>,
}

impl Failing {
    fn add(&mut self, name: &str, class: &str) {
        let name = hyphenated(strip_timing(name.trim()));
        if name.is_empty() || self.tests.len() >= MOST_ITEMS {
            return;
        }
        let known = self.tests.or_default(&name);
        if known.is_empty() {
            class.clone_into(known);
        }
        self.current = Some(name);
    }

    /// Gives the last test named the first class printed below it.
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
            // Sorted, all names that begin with this one follow it.
            let mut behind = rest.clone().map_while(|(next, _)| next.strip_prefix(name.as_str()));
            if !behind.any(|behind| behind.starts_with('/')) {
                items.push(joined(&[&shortened(name), class]));
            }
        }
        listed("test-fail", items)
    }
}

/// The signature of the tests that an output says failed.
pub(super) fn failing_tests(lines: &[&str]) -> Option<String> {
    let mut report = Report::default();
    for (index, raw) in lines.iter().enumerate() {
        report.read(raw, lines.get(index + 1).copied());
    }
    let Report { mut named, marked, headed, packages, panics, .. } = report;
    for (name, class) in panics {
        if named.tests.contains_key(name) {
            named.add(name, &class);
        }
    }
    // Named tests say more than their package; without any, compilers say more than its name.
    named
        .signature()
        .or_else(|| headed.signature())
        .or_else(|| marked.signature())
        .or_else(|| packages.signature().filter(|_| diagnostics(lines).is_none() && trace(lines).is_none()))
}

/// What the lines of an output have said so far.
#[derive(Default)]
struct Report<'a> {
    named: Failing,
    /// `✕ name` lines: say less than the runner's summary, used without one.
    marked: Failing,
    /// pytest's `____ name ____` headers, likewise.
    headed: Failing,
    /// Go packages and test files that failed as a whole.
    packages: Failing,
    /// Rust threads that panicked, each with its class.
    panics: Vec<(&'a str, String)>,
    /// The test file of the latest `FAIL` line.
    file: String,
    /// Reading Rust's list of failures.
    listing: bool,
    /// mocha has reported failing tests.
    mocha: bool,
    /// mocha's suites above the current test.
    title: Option<String>,
}

impl<'a> Report<'a> {
    /// Reads a line; `next` is the one below it.
    fn read(&mut self, raw: &'a str, next: Option<&'a str>) {
        let line = raw.trim();
        if let Some(title) = self.title.take() {
            return self.continue_title(title, line);
        }
        if self.listing && raw.starts_with("    ") && !line.is_empty() && !line.contains(char::is_whitespace) {
            return self.named.add(line, "");
        }
        self.listing = line == "failures:";
        if line.is_empty() || self.listing {
            return;
        }
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.named.add(name.split(" (line ").next().unwrap_or(name), "");
        } else if let Some((name, rest)) = panicked(line) {
            // The first class given for a test stays.
            if self.panics.len() < MOST_ITEMS {
                self.panics.push((name, panic_class(panic_message(rest, next))));
            }
        } else if let Some(rest) = line.strip_prefix("--- FAIL: ") {
            self.named.add(rest.split(" (").next().unwrap_or(rest), "");
        } else if let Some(package) = raw.strip_prefix("FAIL\t") {
            self.packages.add(package.split(['\t', ' ']).next().unwrap_or(package), "");
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            self.failed(rest.trim_start());
        } else if let Some(rest) = line.strip_prefix("● ") {
            self.jest(rest);
        } else if let Some((name, class)) = pytest(line) {
            self.named.add(&name, &class);
        } else if let Some(name) = unittest(line).or_else(|| tap(line)).or_else(|| jvm(line)) {
            self.named.add(&name, "");
        } else if !self.mocha(line) && !self.mark(line) {
            self.class(line);
        }
    }

    /// mocha: the suites and the test, one per line; the last line ends with a colon.
    fn continue_title(&mut self, mut title: String, line: &str) {
        match line.strip_suffix(':') {
            Some(last) => self.named.add(&format!("{title}>{last}"), ""),
            None if line.is_empty() || title.len() > 400 => {}
            None => {
                title.push('>');
                title.push_str(line);
                self.title = Some(title);
            }
        }
    }

    /// nextest's `FAIL [   0.004s] (1/9) crate tests::name`, a test file, or a test in one.
    fn failed(&mut self, rest: &str) {
        if rest.starts_with('[') {
            return self.named.add(rest.rsplit(char::is_whitespace).next().unwrap_or(rest), "");
        }
        let rest = if rest.starts_with('|') { rest.splitn(3, '|').last().unwrap_or(rest).trim() } else { rest };
        let path = rest.split([' ', '\t']).next().unwrap_or(rest);
        if !has_extension(path) {
            return;
        }
        self.file = file_key(path);
        match rest.split_once(" > ") {
            Some((_, test)) => self.named.add(&format!("{}>{}", self.file, test.replace(" > ", ">")), ""),
            None => self.packages.add(&self.file, ""),
        }
    }

    /// jest's `● suite › test`.
    fn jest(&mut self, rest: &str) {
        if rest.starts_with("Test suite failed") {
            self.named.add(&format!("{}>suite", self.file), "");
        } else if !rest.starts_with("Console") && (rest.contains(" › ") || !self.file.is_empty()) {
            self.named.add(&format!("{}>{}", self.file, rest.replace(" › ", ">")), "");
        }
    }

    /// mocha's `2 failing`, and `1) name:` or the first suite of a test; whether the line is one of those.
    fn mocha(&mut self, line: &str) -> bool {
        let mut words = line.split(' ');
        if let (Some(count), Some("failing")) = (words.next(), words.next()) {
            self.mocha |= count.parse::<u32>().is_ok_and(|count| count > 0);
            return true;
        }
        let Some((number, rest)) = line.split_once(") ").filter(|_| self.mocha) else { return false };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        match rest.strip_suffix(':') {
            Some(name) => self.named.add(name, ""),
            None => self.title = Some(rest.to_owned()),
        }
        true
    }

    /// `✕ name`, `____ name ____`; whether the line is one of those.
    fn mark(&mut self, line: &str) -> bool {
        if let Some(name) = ["✕ ", "× ", "✗ ", "✖ "].iter().find_map(|mark| line.strip_prefix(mark)) {
            if !name.contains(" problem") && !name.ends_with(':') {
                self.marked.add(name, "");
            }
            return true;
        }
        let heads = line.starts_with("____") && line.ends_with("____");
        if heads {
            self.headed.add(line.trim_matches(['_', ' ']), "");
        }
        heads
    }

    /// An error class below the tests named last.
    fn class(&mut self, line: &str) {
        let class = if line.starts_with("expect(") {
            Some("expect")
        } else {
            headline(line.strip_prefix("E ").map_or(line, str::trim_start)).map(|(class, _)| class)
        };
        if let Some(class) = class {
            for failing in [&mut self.named, &mut self.headed, &mut self.marked, &mut self.packages] {
                failing.class(class);
            }
        }
    }
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
    // Parameters may contain blanks: a name ends at ` - ` or before the status.
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

/// `not ok 3 - name # time=1ms`, unless marked as skipped or to do.
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
