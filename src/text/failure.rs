//! What a failure says about itself: its class, where it happened, a digest of its context, how many tests fail.
//!
//! The host's classification takes precedence. Without one, a clipped copy of the text is scanned for the phrases that
//! compilers, runtimes, test runners, HTTP clients and package managers print. What leaves is the signature: class,
//! error class and file, and a digest instead of the message.

use super::{
    digest::{Key, evidence, salted},
    ends::{clip_to, head},
    nature::{Nature, of_message},
    results::{coverage, failing, passing},
    safe::printable,
    signature::{class_name, file_key, location},
};
use crate::model::{ErrorType, Failure};
use alloc::{format, string::String};

/// Bytes read from either end of a message or stack trace.
const CLIP: usize = 2 * 1024;
/// Characters of a location inside a signature.
const PLACE: usize = 48;
/// Characters of an error class inside a signature.
const CLASS: usize = 32;
/// Upper bound of a signature's length in characters: the longest class name, both parts, separators and digest.
pub(crate) const SIGNATURE: usize = 14 + CLASS + PLACE + 16;

/// The comparable features of a failure.
#[derive(Clone, Debug)]
pub(crate) struct FailureFacts {
    /// Key of the whole message; `None` if it is blank and so comparable with nothing.
    pub(crate) message: Option<Key>,
    /// The class of the failure.
    pub(crate) kind: ErrorType,
    /// Not the agent's doing: it takes somebody or something else to resolve it, or just time.
    pub(crate) external: bool,
    /// Key of the stack trace; 0 without one.
    pub(crate) context: Key,
    /// Number of tests reported as failing.
    pub(crate) failing: Option<u32>,
    /// Number of tests reported as passing.
    pub(crate) passing: Option<u32>,
    /// Reported coverage in hundredths of a per cent.
    pub(crate) coverage: Option<u32>,
    /// It is about tests.
    pub(crate) tests: bool,
    /// Printable, without the message: `runtime:TypeError@src/auth.ts:45#1f2e3d4c`.
    pub(crate) signature: String,
}

impl FailureFacts {
    /// Reads a failure, with keys under a detector's salt.
    pub(crate) fn of(failure: &Failure, salt: u64) -> Self {
        let text = clipped(&failure.message);
        let lower = text.to_ascii_lowercase();
        let trace = failure.stack_trace.as_deref().map(clipped);
        let message = (!failure.message.trim().is_empty()).then(|| salted("failure", salt, failure.message.as_bytes()));
        let class = error_class(&text).or_else(|| trace.as_deref().and_then(error_class));
        let (kind, external) = judged(failure.error_type, &lower, class.is_some());
        let given = failure.location.as_deref().filter(|given| !given.trim().is_empty());
        let place = given.and_then(one_place).or_else(|| {
            let found = place(&text).or_else(|| trace.as_deref().and_then(place)).or_else(|| line_alone(&lower))?;
            Some(printable(&found, PLACE).into_owned())
        });
        let failing = failing(&lower);
        let context = trace.as_deref().map_or_else(
            || frames(&text, salt),
            |_| failure.stack_trace.as_deref().map_or(0, |trace| salted("stack", salt, trace.trim().as_bytes())),
        );
        let mut signature = String::from(name(kind));
        if let Some(class) = class {
            signature.push(':');
            signature.push_str(&printable(class, CLASS));
        }
        if let Some(place) = place {
            signature.push('@');
            signature.push_str(&place);
        }
        let digest = evidence(message.unwrap_or(0));
        signature.push('#');
        signature.push_str(digest.get(..8).unwrap_or_default());
        Self {
            message,
            kind,
            external,
            context,
            failing,
            passing: passing(&lower),
            coverage: coverage(&lower),
            tests: failing.is_some() || is_assertion(&lower) || of_a_test(&lower),
            signature,
        }
    }
}

impl FailureFacts {
    /// Whether the class rests on wording so general that the failure may be a passing one.
    pub(crate) fn is_unnamed(&self) -> bool {
        matches!(self.kind, ErrorType::Unknown | ErrorType::Network | ErrorType::Timeout | ErrorType::Resource)
    }
}

/// The location given by the host, reduced to one word: a sentence might be an instruction, and the agent is shown the
/// location.
fn one_place(given: &str) -> Option<String> {
    let shown = printable(given, PLACE);
    let mut words = shown.split(' ');
    let word = match (words.next(), words.next()) {
        (Some(only), None) => only,
        _ => shown.split(' ').find(|word| word.trim_end_matches(['.', '…']).contains(['/', '\\', '.']))?,
    };
    let plain = |char: char| char.is_alphanumeric() || "'./\\:_-@#()+,…".contains(char);
    word.chars().all(plain).then(|| word.into())
}

/// The kebab-case name of a class of failure.
pub(crate) const fn name(kind: ErrorType) -> &'static str {
    match kind {
        ErrorType::Syntax => "syntax",
        ErrorType::Runtime => "runtime",
        ErrorType::Logic => "logic",
        ErrorType::Dependency => "dependency",
        ErrorType::Network => "network",
        ErrorType::Authentication => "authentication",
        ErrorType::Timeout => "timeout",
        ErrorType::Resource => "resource",
        ErrorType::Unknown => "unknown",
    }
}

/// The class of a failure and whether it is external: as the host says, else as the text suggests.
fn judged(given: Option<ErrorType>, lower: &str, class: bool) -> (ErrorType, bool) {
    let (told, from_text) = recognised(lower, class);
    match given {
        None | Some(ErrorType::Unknown) => (told, from_text),
        Some(kind @ (ErrorType::Dependency | ErrorType::Network | ErrorType::Authentication)) => (kind, true),
        // Wrong code stays wrong, whatever status it prints.
        Some(kind @ (ErrorType::Syntax | ErrorType::Logic)) => (kind, false),
        Some(ErrorType::Timeout) => (ErrorType::Timeout, !of_a_test(lower)),
        // A host that calls every exception a runtime error has not looked at it.
        Some(ErrorType::Runtime) => (ErrorType::Runtime, from_text && status(lower).is_some()),
        // Memory and disks are the agent's own, quotas and rate limits are not.
        Some(ErrorType::Resource) => (ErrorType::Resource, from_text),
    }
}

/// The class that the text suggests, and whether it is external; `class` is whether an error class was found.
fn recognised(lower: &str, class: bool) -> (ErrorType, bool) {
    let says = |phrases| says(lower, phrases);
    // `ENOTFOUND` must not match inside `ModuleNotFoundError`.
    let begins = |phrases: &str| {
        phrases.split('|').any(|phrase| {
            let mut found = lower.match_indices(phrase);
            found.any(|(at, _)| !lower.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric)))
        })
    };
    // A test that expected a 503 and a parser that met one are the agent's own.
    if is_assertion(lower) {
        return (ErrorType::Logic, false);
    }
    if says(SYNTAX) {
        return (ErrorType::Syntax, false);
    }
    if says(AUTHENTICATION) {
        return (ErrorType::Authentication, true);
    }
    if says(SPENT) {
        return (ErrorType::Resource, true);
    }
    if let Some(kind) = status(lower) {
        return (kind, true);
    }
    if begins(UNAVAILABLE) {
        return (ErrorType::Network, true);
    }
    if says(TIMEOUT) {
        return (ErrorType::Timeout, !of_a_test(lower));
    }
    if begins(RESOURCE) {
        return (ErrorType::Resource, false);
    }
    if begins(DEPENDENCY) || missing_package(lower) {
        return (ErrorType::Dependency, true);
    }
    if failing(lower).is_some() || of_a_test(lower) {
        return (ErrorType::Logic, false);
    }
    if says(RUNTIME) || class {
        return (ErrorType::Runtime, false);
    }
    // Unknown, unless the message says that only a person can resolve it.
    match of_message(lower) {
        Nature::Permanent => (ErrorType::Authentication, true),
        Nature::Ordinary | Nature::Transient => (ErrorType::Unknown, false),
    }
}

/// Whether a text contains one of the phrases, which are separated by `|`.
fn says(lower: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| lower.contains(phrase))
}

const SYNTAX: &str = "syntaxerror|syntax error|unexpected token|unexpected end of|unexpected eof|parse error|\
    parsing error|parseerror|indentationerror|unterminated string|unclosed delimiter|error ts1";
const AUTHENTICATION: &str = "unauthorized|unauthorised|authentication failed|authentication required|\
    not authenticated|invalid api key|incorrect api key|invalid x-api-key|invalid credentials|bad credentials|\
    token expired|expired token|permission denied (publickey|403 forbidden|access denied for user|login failed|\
    login refused|login denied|logon failure|failed to log in|failed to authenticate|could not authenticate|\
    authentication error|authenticationerror|invalid access token|token has expired|invalid username or password|\
    invalid password|wrong password|unauthenticated|permission denied for account|credentials have expired|\
    credentials expired|expired credentials|missing credentials|no credentials";
/// What is used up and returns with time or money, not with another attempt.
const SPENT: &str = "too many requests|rate limit|rate-limit|ratelimit|quota exceeded|insufficient_quota|\
    exceeded your current quota|quota has been|out of quota|usage limit|spending limit|monthly limit|daily limit|\
    payment required|credit balance|insufficient balance|insufficient credit|insufficient funds|out of credits|\
    billing hard limit|check your billing|plan and billing|subscription has|subscription expired|account suspended|\
    account is suspended|account has been";
const UNAVAILABLE: &str = "econnrefused|econnreset|econnaborted|enotfound|ehostunreach|enetunreach|eai_again|\
    connection refused|connection reset|connection aborted|connection error|connectionerror|connection failed|\
    failed to connect|could not connect|network is unreachable|network error|no route to host|could not resolve host|\
    name resolution|getaddrinfo|socket hang up|service unavailable|bad gateway|temporarily unavailable|overloaded|\
    certificate verify failed";
const TIMEOUT: &str = "timed out|timeout|time-out|etimedout|deadline exceeded";
const RESOURCE: &str = "out of memory|memoryerror|cannot allocate memory|no space left|enospc|disk full|\
    too many open files|oomkilled|stack overflow|maximum call stack|recursion depth";
const DEPENDENCY: &str = "no matching distribution|could not resolve dependency|unable to resolve dependency|eresolve|\
    unable to locate package|missing dependency|package not found|no matching package";
const RUNTIME: &str = "panicked|exception|traceback|segmentation fault|null pointer|cannot read propert|\
    is not a function|is not defined|undefined|uncaught|core dumped";

/// A test or contract that did not hold: what it compares is the agent's work, even if that is an HTTP status.
fn is_assertion(lower: &str) -> bool {
    lower.contains("assert")
        || lower.split_once("expected").is_some_and(|(_, rest)| says(rest, "got|received|but |to equal|to be|actual"))
}

/// Whether a test or one of its hooks failed.
fn of_a_test(lower: &str) -> bool {
    const TESTS: &str = "test failed|test timed out|tests failed|tests failing|test failing|async callback|\
        hook timed out|timeout of test";
    says(lower, TESTS) || (lower.contains("test") && says(lower, TIMEOUT) && !lower.contains("http"))
}

/// The class of the first HTTP status that takes somebody else or time to resolve, at the beginning of the text or
/// behind a word such as `status`.
fn status(lower: &str) -> Option<ErrorType> {
    const BESIDE: &str = "http status code error response returned got failed";
    let mut before = "";
    for word in lower.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '[' | ']' | '"' | '=')) {
        // `auth.ts:503` is a line number; `error: 503` and `http 503:` are statuses.
        let bare = word.trim_end_matches([':', '.', ';']);
        let kind = match bare {
            "429" => Some(ErrorType::Resource),
            "502" | "503" | "504" | "529" => Some(ErrorType::Network),
            "401" | "402" | "403" | "407" => Some(ErrorType::Authentication),
            _ => None,
        };
        if kind.is_some() && (before.is_empty() || BESIDE.split(' ').any(|beside| before.starts_with(beside))) {
            return kind;
        }
        if !bare.is_empty() {
            before = bare.rsplit([':', '/']).next().filter(|_| !bare.starts_with("http")).unwrap_or(bare);
        }
    }
    None
}

/// Whether a package is not installed; a missing module of the agent's own, such as `./auth`, is the agent's mistake.
fn missing_package(lower: &str) -> bool {
    ["no module named ", "cannot find module ", "cannot find package ", "can't find crate for "].iter().any(|phrase| {
        lower.split_once(phrase).is_some_and(|(_, rest)| {
            let name = rest.trim_start_matches(['\'', '"', '`']);
            // `@scope/name` is a package, `@/name` an alias of the agent's own folder.
            !name.starts_with(['.', '/', '@', '~'])
                || name.starts_with('@') && !name.starts_with("@/") && name.contains('/')
        })
    })
}

/// The first word that is spelled like an error class.
fn error_class(text: &str) -> Option<&str> {
    let split = |c: char| c.is_whitespace() || matches!(c, ':' | '(' | ')' | ',' | '[' | ']' | '\'' | '"' | '`');
    // Only a class that says more than that there was an error.
    text.split(split).take(256).filter_map(class_name).find(|class| !matches!(*class, "Error" | "Exception"))
}

/// The first `file.ext:12`, `File "file.ext", line 12` or `file.ext(12,5)`, as its last two path components and the
/// line.
fn place(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once("File \"")
        && let Some((path, rest)) = rest.split_once('"')
        && path.len() < 512
    {
        let line: String = rest.trim_start_matches(", line ").chars().take_while(char::is_ascii_digit).collect();
        return Some(if line.is_empty() { file_key(path) } else { format!("{}:{line}", file_key(path)) });
    }
    text.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '[')).take(512).find_map(|word| {
        let word = word.trim_start_matches(['(', '<']).trim_start_matches("file://");
        // With a trailing blank, so that a location at the very end is delimited too.
        let word = format!("{} ", head(word, 512));
        let (path, rest) = location(&word)?;
        let numbers = word.get(path.len()..word.len() - rest.len())?;
        let line: String = numbers.trim_start_matches([':', '(']).chars().take_while(char::is_ascii_digit).collect();
        Some(format!("{}:{line}", file_key(path)))
    })
}

/// The `line 42` of `at line 42`.
fn line_alone(lower: &str) -> Option<String> {
    let (_, rest) = lower.split_once("line ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(9).collect();
    (!digits.is_empty()).then(|| format!("line {digits}"))
}

/// Key of the stack frames inside a message that carries its own trace; 0 without any.
fn frames(text: &str, salt: u64) -> Key {
    let mut all = String::new();
    for line in text.lines().map(str::trim).filter(|line| line.starts_with("at ") || line.starts_with("File \"")) {
        all.push_str(line);
        all.push('\n');
    }
    if all.is_empty() { 0 } else { salted("stack", salt, all.as_bytes()) }
}

/// A text, or only the head and the tail of a long one.
fn clipped(text: &str) -> String {
    match clip_to(text, CLIP) {
        (text, "") => text.into(),
        (head, tail) => format!("{head}\n{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorType::{Authentication, Dependency, Logic, Network, Resource, Runtime, Syntax, Timeout, Unknown};

    fn facts(message: &str) -> FailureFacts {
        FailureFacts::of(&Failure { message: message.into(), ..Failure::default() }, 0)
    }

    #[test]
    fn classes_are_recognised() {
        for (message, kind, external) in [
            ("SyntaxError: Unexpected token '}' at app.js:3:1", Syntax, false),
            ("Syntax error at line 42", Syntax, false),
            ("src/a.ts(3,5): error TS1005: ';' expected.", Syntax, false),
            ("TypeError: cannot read property 'x' of undefined", Runtime, false),
            ("thread 'main' panicked at src/main.rs:2:5", Runtime, false),
            ("Test failed: expected 5, got 3", Logic, false),
            ("AssertionError: expected 503 to equal 200", Logic, false),
            ("AssertionError: rate limit was not enforced", Logic, false),
            ("3 tests failing", Logic, false),
            ("ModuleNotFoundError: No module named 'requests'", Dependency, true),
            ("Error: Cannot find module './auth'", Unknown, false),
            ("Error: Cannot find module '@acme/auth'", Dependency, true),
            ("Error: Cannot find module '@/auth'", Unknown, false),
            ("npm error ERESOLVE could not resolve", Dependency, true),
            ("connect ECONNREFUSED 127.0.0.1:5432", Network, true),
            ("HTTP 503 Service Unavailable", Network, true),
            ("request failed with status code 502", Network, true),
            ("Error: 503", Network, true),
            ("model overloaded, please retry", Network, true),
            ("429 Too Many Requests", Resource, true),
            ("Request failed with status 429", Resource, true),
            ("You exceeded your current quota", Resource, true),
            ("401 Unauthorized", Authentication, true),
            ("invalid api key provided", Authentication, true),
            ("upstream request timed out after 30 s", Timeout, true),
            ("API timeout: no answer", Timeout, true),
            ("login test timed out after 5000 ms", Timeout, false),
            ("JavaScript heap out of memory", Resource, false),
            ("error in auth.ts:503", Unknown, false),
            ("there were 429 lines", Unknown, false),
            ("it does not work", Unknown, false),
            ("", Unknown, false),
        ] {
            let facts = facts(message);
            assert_eq!((facts.kind, facts.external), (kind, external), "{message}");
        }
    }

    #[test]
    fn the_hosts_word_comes_first() {
        let with = |kind: ErrorType, message: &str| {
            let failure = Failure { message: message.into(), error_type: Some(kind), ..Failure::default() };
            let facts = FailureFacts::of(&failure, 0);
            (facts.kind, facts.external)
        };
        assert_eq!(with(Dependency, "API timeout: external service unavailable"), (Dependency, true));
        assert_eq!(with(Logic, "503 Service Unavailable"), (Logic, false));
        assert_eq!(with(Runtime, "HTTP 503 Service Unavailable"), (Runtime, true));
        assert_eq!(with(Runtime, "TypeError: x is undefined"), (Runtime, false));
        assert_eq!(with(Unknown, "connection refused"), (Network, true));
        assert_eq!(with(Timeout, "no answer"), (Timeout, true));
        assert_eq!(with(Timeout, "the login test timed out"), (Timeout, false));
    }

    #[test]
    fn places_and_signatures() {
        for (message, trace, expected) in [
            ("TypeError: x of null at src/auth.ts:45:3", None, "runtime:TypeError@src/auth.ts:45#"),
            ("boom", Some("Error: boom\n    at run (/home/u/app/src/run.js:7:9)"), "unknown@src/run.js:7#"),
            ("  File \"/tmp/x/app/main.py\", line 12, in f\nKeyError: 'a'", None, "unknown:KeyError@app/main.py:12#"),
            ("src/a.ts(3,5): error TS1005", None, "syntax@src/a.ts:3#"),
            ("Syntax error at line 42", None, "syntax@line 42#"),
            ("it broke", None, "unknown#"),
        ] {
            let failure = Failure { message: message.into(), stack_trace: trace.map(Into::into), ..Failure::default() };
            let signature = FailureFacts::of(&failure, 0).signature;
            let (head, digest) = signature.split_at(signature.len() - 8);
            // Code that raised an error class was running.
            let expected = expected.replace("unknown:", "runtime:");
            assert_eq!(head, expected, "{message}");
            assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{signature}");
        }
        let given = Failure { message: "x".into(), location: Some("pay`ments\n".into()), ..Failure::default() };
        assert!(FailureFacts::of(&given, 0).signature.starts_with("unknown@pay'ments#"));
    }

    #[test]
    fn the_context_is_the_trace() {
        let with = |trace: &str| Failure { message: "x".into(), stack_trace: Some(trace.into()), ..Failure::default() };
        assert_eq!(
            FailureFacts::of(&with("at a\nat b"), 0).context,
            FailureFacts::of(&with("at a\nat b\n"), 0).context
        );
        assert_ne!(FailureFacts::of(&with("at a"), 0).context, FailureFacts::of(&with("at b"), 0).context);
        assert_ne!(facts("boom\n  at a (x.js:1)").context, 0);
        assert_eq!(facts("boom").context, 0);
    }

    #[test]
    fn failing_tests_are_counted() {
        for (message, failing) in [
            ("1 test failing", Some(1)),
            ("3 tests failing", Some(3)),
            ("8 tests failed", Some(8)),
            ("2 failed, 5 passed", Some(2)),
            ("Tests: 4 failed, 9 passed", Some(4)),
            ("Tests run: 12, Failures: 3", Some(3)),
            ("FAILED (failures=2)", Some(2)),
            ("build failed", None),
            ("failed after 3 retries", None),
            ("error 42", None),
        ] {
            assert_eq!(facts(message).failing, failing, "{message}");
        }
    }

    #[test]
    fn nothing_of_a_long_message_is_unbounded() {
        let long = "AVeryLongNamedThingError: ".repeat(200_000);
        let facts = facts(&long);
        assert!(facts.signature.chars().count() <= SIGNATURE, "{}", facts.signature);
        assert_ne!(facts.message, self::facts(&(long + "x")).message);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(message in "[ -~\\n\u{e9}\u{65e5}]{0,80}", trace in "[ -~\\n]{0,40}") {
            let failure = Failure { message, stack_trace: Some(trace), ..Failure::default() };
            let facts = FailureFacts::of(&failure, 0);
            proptest::prop_assert!(facts.signature.chars().count() <= SIGNATURE);
        }
    }
}
