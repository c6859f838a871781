//! Whether two requests ask for the same thing, where no embeddings say so.
//!
//! A request is reduced to the set of its *concepts*: words without the ones that only make it polite or say it again,
//! stemmed lightly, abbreviations spelled out, everyday synonyms of asking, mending and making folded together. Two
//! requests are the same when neither names anything that the other replaces by something else (one set contains the
//! other) and the cosine of the sets is above the threshold that embeddings are held to. So more detail does not make
//! another request of it, and another object does, however long the rest: `review the auth code` and `review the
//! payment code` stay apart. The table of pairs in the tests shows where this ends: what is said in wholly other words, and
//! what differs only in the order of the same words.
//!
//! Only hashes of the concepts are kept.

use super::digest::key;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::{Deserialize, Serialize};

/// Concepts kept of a request; a longer one is compared as a whole.
pub(crate) const CONCEPTS: usize = 48;
/// Bytes of a request that are looked at; the digest of the whole covers the rest.
const CLIP: usize = 16 * 1024;

/// A request, comparable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Hash of all concepts and of what was not looked at; of the folded text where there are no concepts.
    whole: u64,
    /// Hashes of the concepts, sorted; empty for none and for too many.
    concepts: Vec<u32>,
}

impl Request {
    pub(crate) fn of(text: &str) -> Self {
        let (head, rest) = text.split_at_checked(text.floor_char_boundary(CLIP)).unwrap_or((text, ""));
        let mut concepts: Vec<u32> = words(head).filter_map(|word| concept(&word)).collect();
        concepts.sort_unstable();
        concepts.dedup();
        let mut bytes: Vec<u8> = concepts.iter().flat_map(|concept| concept.to_le_bytes()).collect();
        if concepts.is_empty() {
            bytes = head.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ").into_bytes();
        }
        bytes.extend_from_slice(rest.as_bytes());
        if concepts.len() > CONCEPTS || !rest.is_empty() {
            concepts.clear();
        }
        Self { whole: key("request", &bytes), concepts }
    }

    /// Whether both ask for the same thing, at a threshold in per mille.
    pub(crate) fn alike(&self, other: &Self, per_mille: u32) -> bool {
        if self.whole == other.whole {
            return true;
        }
        let (short, long) = if self.concepts.len() <= other.concepts.len() { (self, other) } else { (other, self) };
        // `short` is inside `long`, so the cosine of the two sets is √(|short| / |long|).
        let (fewer, more) = (short.concepts.len() as u64, long.concepts.len() as u64);
        let threshold = u64::from(per_mille);
        // One word more is more detail, unless it turns the request round.
        let turned = |request: &Self| concept("not").is_some_and(|not| request.concepts.binary_search(&not).is_ok());
        fewer > 0
            && turned(short) == turned(long)
            && short.concepts.iter().all(|concept| long.concepts.binary_search(concept).is_ok())
            && fewer * 1_000_000 > threshold * threshold * more
    }

    /// What the digests of evidence are made of.
    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    pub(crate) fn fits(&self) -> bool {
        self.concepts.len() <= CONCEPTS
    }
}

/// Lower-cased runs of letters, digits and what holds names together; every CJK character is a word.
fn words(text: &str) -> impl Iterator<Item = String> {
    let holds = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | '#' | '@' | '\'' | '’');
    let cjk = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    text.split(move |c: char| !holds(c)).flat_map(move |run| {
        let run = run.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '#' | '@'));
        let mut words: Vec<String> = Vec::new();
        if run.chars().any(cjk) {
            words.extend(run.chars().map(|c| c.to_string()));
        } else if !run.is_empty() {
            let lower = run.to_lowercase();
            let bare = lower.trim_end_matches("'s").trim_end_matches("’s");
            // `re-check` is one word, `sign-in form` is written with and without its hyphen; a path stays whole.
            if bare.contains(['/', '.', '_', '#', '@']) {
                words.push(bare.into());
            } else {
                words.extend(bare.split('-').filter(|part| !part.is_empty()).map(Into::into));
            }
        }
        words
    })
}

/// The hash of what a word stands for; `None` for words that ask, soften or repeat.
fn concept(word: &str) -> Option<u32> {
    if FILLERS.binary_search(&word).is_ok() {
        return None;
    }
    let full = lookup(ABBREVIATIONS, word).unwrap_or(word);
    let stem = stem(full);
    let folded = lookup(SYNONYMS, &stem).unwrap_or(&stem);
    u32::try_from(key("concept", folded.as_bytes()) & u64::from(u32::MAX)).ok()
}

fn lookup<'a>(table: &[(&str, &'a str)], word: &str) -> Option<&'a str> {
    let index = table.binary_search_by_key(&word, |(from, _)| from).ok()?;
    table.get(index).map(|(_, to)| *to)
}

/// An English word without its commonest endings. Names with digits or marks are left alone.
fn stem(word: &str) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.into();
    }
    // Longest first; each leaves at least this many letters.
    const ENDINGS: [(&str, usize, &str); 24] = [
        ("izations", 4, ""),
        ("ization", 4, ""),
        ("ications", 4, ""),
        ("ication", 4, ""),
        ("icating", 4, ""),
        ("icated", 4, ""),
        ("icates", 4, ""),
        ("icate", 4, ""),
        ("ations", 4, ""),
        ("ation", 4, ""),
        ("ating", 4, ""),
        ("ated", 4, ""),
        ("ates", 4, ""),
        ("ments", 4, "ment"),
        ("ings", 4, ""),
        ("ing", 3, ""),
        ("ions", 4, ""),
        ("ion", 4, ""),
        ("ies", 3, "y"),
        ("sses", 3, "ss"),
        ("ed", 3, ""),
        ("es", 3, ""),
        ("ate", 4, ""),
        ("s", 3, ""),
    ];
    let ending = ENDINGS.iter().find_map(|(ending, least, put)| {
        let head = word.strip_suffix(ending)?;
        (head.len() >= *least && !(*ending == "s" && head.ends_with(['s', 'u', 'i']))).then_some((head, *put))
    });
    let mut stem = ending.map_or_else(|| String::from(word), |(head, put)| [head, put].concat());
    // `stopp` of `stopping`, `cach` and `cache`.
    let doubled = {
        let mut last = stem.bytes().rev();
        let (one, two) = (last.next(), last.next());
        one == two && !matches!(one, Some(b's' | b'l' | b'z' | b'e' | b'o'))
    };
    if (ending.is_some() && doubled) || (stem.len() > 3 && stem.ends_with('e')) {
        stem.pop();
    }
    stem
}

/// Words that ask, soften, point or repeat. What turns a request round (`not`, `without`, `before`) is none of them.
const FILLERS: &[&str] = &[
    "a", "about", "again", "all", "also", "am", "an", "and", "another", "any", "are", "as", "at", "be", "been", "but",
    "by", "can", "could", "do", "does", "for", "give", "hello", "help", "hey", "hi", "how", "i", "i'd", "i'm", "if",
    "in", "into", "is", "it", "its", "just", "kindly", "like", "look's", "may", "me", "more", "my", "need", "now",
    "of", "ok", "okay", "on", "once", "one", "our", "out", "please", "pls", "quick", "quickly", "really", "same",
    "second", "should", "so", "some", "soon", "still", "take", "thank", "thanks", "that", "the", "their", "them",
    "then", "there", "these", "this", "those", "time", "to", "too", "us", "want", "was", "we", "were", "what", "when",
    "whether", "which", "will", "with", "would", "yet", "you", "your",
];

/// Short forms of the trade, spelled out.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("admin", "administrator"),
    ("api's", "api"),
    ("app", "application"),
    ("apps", "application"),
    ("arg", "argument"),
    ("args", "argument"),
    ("async", "asynchronous"),
    ("auth", "authentication"),
    ("authn", "authentication"),
    ("authz", "authorization"),
    ("calc", "calculation"),
    ("cfg", "configuration"),
    ("cmd", "command"),
    ("config", "configuration"),
    ("configs", "configuration"),
    ("conn", "connection"),
    ("creds", "credential"),
    ("ctx", "context"),
    ("db", "database"),
    ("dbs", "database"),
    ("dep", "dependency"),
    ("deps", "dependency"),
    ("dev", "development"),
    ("dir", "directory"),
    ("dirs", "directory"),
    ("doc", "documentation"),
    ("docs", "documentation"),
    ("env", "environment"),
    ("err", "error"),
    ("fn", "function"),
    ("fns", "function"),
    ("func", "function"),
    ("funcs", "function"),
    ("hw", "hardware"),
    ("id", "identifier"),
    ("ids", "identifier"),
    ("impl", "implementation"),
    ("info", "information"),
    ("init", "initialization"),
    ("js", "javascript"),
    ("k8s", "kubernetes"),
    ("lib", "library"),
    ("libs", "library"),
    ("login", "signin"),
    ("logon", "signin"),
    ("max", "maximum"),
    ("mem", "memory"),
    ("min", "minimum"),
    ("mod", "module"),
    ("msg", "message"),
    ("msgs", "message"),
    ("num", "number"),
    ("opt", "option"),
    ("org", "organization"),
    ("param", "parameter"),
    ("params", "parameter"),
    ("perf", "performance"),
    ("perm", "permission"),
    ("perms", "permission"),
    ("pkg", "package"),
    ("pr", "pullrequest"),
    ("prod", "production"),
    ("prs", "pullrequest"),
    ("ref", "reference"),
    ("refs", "reference"),
    ("regex", "regularexpression"),
    ("repo", "repository"),
    ("repos", "repository"),
    ("req", "request"),
    ("reqs", "requirement"),
    ("resp", "response"),
    ("spec", "specification"),
    ("specs", "specification"),
    ("sync", "synchronization"),
    ("temp", "temporary"),
    ("tmp", "temporary"),
    ("ts", "typescript"),
    ("util", "utility"),
    ("utils", "utility"),
    ("val", "value"),
    ("var", "variable"),
    ("vars", "variable"),
];

/// Stems that mean the same in a request between agents. `disable` and `enable`, `add` and `remove` are apart.
const SYNONYMS: &[(&str, &str)] = &[
    ("alter", "change"),
    ("assess", "review"),
    ("audit", "review"),
    ("bug", "problem"),
    ("can't", "not"),
    ("cannot", "not"),
    ("chang", "change"),
    ("check", "review"),
    ("correct", "fix"),
    ("delet", "remove"),
    ("describ", "explain"),
    ("don't", "not"),
    ("edit", "change"),
    ("eliminat", "remove"),
    ("eras", "remove"),
    ("evalu", "review"),
    ("examin", "review"),
    ("execut", "run"),
    ("implement", "code"),
    ("implementation", "code"),
    ("inspect", "review"),
    ("issu", "problem"),
    ("locat", "find"),
    ("look", "review"),
    ("mend", "fix"),
    ("modifi", "change"),
    ("modify", "change"),
    ("never", "not"),
    ("no", "not"),
    ("recheck", "review"),
    ("remov", "remove"),
    ("repair", "fix"),
    ("resolv", "fix"),
    ("search", "find"),
    ("sourc", "code"),
    ("updat", "change"),
    ("verify", "review"),
    ("without", "not"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        let (a, b) = (Request::of(a), Request::of(b));
        let one = a.alike(&b, 850);
        assert_eq!(one, b.alike(&a, 850), "both ways");
        one
    }

    #[test]
    fn lists_are_sorted() {
        super::super::words::assert_sorted(FILLERS);
        let keys = |table: &[(&'static str, &'static str)]| table.iter().map(|(from, _)| *from).collect::<Vec<_>>();
        super::super::words::assert_sorted(&keys(ABBREVIATIONS));
        super::super::words::assert_sorted(&keys(SYNONYMS));
        for (_, full) in ABBREVIATIONS {
            assert!(concept(full).is_some(), "{full} means something");
        }
    }

    /// Two requests, whether they ask for the same thing, and whether the lexical measure can tell.
    const PAIRS: [(&str, &str, bool, bool); 57] = [
        // The same, and found.
        ("Can you review this authentication code?", "Can you review this auth code again?", true, true),
        ("review the auth code", "Review the auth code!", true, true),
        ("Please review the auth code", "could you review the auth code once more, please", true, true),
        ("Take another look at the login form", "Please check the login form", true, true),
        ("Fix the failing test in parser.rs", "fix the failing tests in parser.rs", true, true),
        ("Repair the broken config loader", "Please fix the broken configuration loader", true, true),
        ("Explain the database schema", "Can you describe the DB schema to me?", true, true),
        ("Delete the tmp directory", "remove the temporary dir", true, true),
        ("Update the docs", "Please update the documentation", true, true),
        ("Run the integration tests", "can you execute the integration tests again", true, true),
        ("Check the env vars", "Inspect the environment variables", true, true),
        ("Verify the API params", "verify the API parameters", true, true),
        ("Review PR #42", "please review PR #42 again", true, true),
        ("Search the repo for TODO markers", "find TODO markers in the repository", true, true),
        ("Validate the checkout flow for guest users", "validate the checkout flow for guest users now", true, true),
        ("Review the auth code", "review the auth code's implementation", true, true),
        ("Review the auth module tests", "Please review the tests of the auth module today", true, true),
        ("Resolve the merge conflict in main.go", "fix the merge conflicts in main.go", true, true),
        ("Caching is broken, fix it", "fix the broken cache", true, true),
        ("検証してください", "検証してください", true, true),
        ("go on", "Go  on", true, true),
        ("Modify the retry limits", "change the retry limit", true, true),
        // Different, and kept apart.
        ("review the auth code", "review the payment code", false, true),
        ("Review PR #42", "Review PR #43", false, true),
        ("Fix the failing test in parser.rs", "Fix the failing test in lexer.rs", false, true),
        ("enable logging in the worker", "disable logging in the worker", false, true),
        ("delete the user table", "do not delete the user table", false, true),
        (
            "run the slow unit tests of the parser",
            "run the slow unit tests of the parser without the cache",
            false,
            true,
        ),
        ("run the unit tests", "run the integration tests", false, true),
        ("add the index to the orders table", "remove the index from the orders table", false, true),
        ("review the login code", "review the log code", false, true),
        ("review authentication", "review authorization", false, true),
        ("deploy to staging", "deploy to production", false, true),
        ("write tests for the parser", "review tests for the parser", false, true),
        ("review the code", "review the code of the payment gateway and its retries", false, true),
        ("summarise chapter 1", "summarise chapter 2", false, true),
        ("translate the page into French", "translate the page into German", false, true),
        ("check the build before the release", "check the build after the release", false, true),
        (
            "Please review the auth module for correctness, style, security and speed before tonight's release",
            "Please review the payment module for correctness, style, security and speed before tonight's release",
            false,
            true,
        ),
        ("Is the cache warm?", "Is the queue empty?", false, true),
        ("install requests 2.31", "install requests 2.32", false, true),
        ("help", "continue", false, true),
        ("更新文件", "删除文件", false, true),
        ("compile src/a.rs", "compile src/b.rs", false, true),
        ("read the payload", "read the payment", false, true),
        // The same, and missed: other words for it. Embeddings are needed.
        ("Can you review this authentication code?", "Is the way we sign people in safe?", true, false),
        ("The build is red, please look into it", "Compilation fails, can you investigate?", true, false),
        ("Make the tests green", "Fix the failing tests", true, false),
        ("Speed up the query", "The query is too slow", true, false),
        ("What does this function return?", "Which value comes out of this function?", true, false),
        ("Review the auth code", "Überprüfe den Anmeldecode", true, false),
        ("Reduce memory use of the importer", "The importer eats too much RAM", true, false),
        ("review the code", "review the auth code", true, false),
        // Different, and taken for the same: only the order differs. Embeddings do little better here.
        ("copy staging to production", "copy production to staging", false, false),
        ("convert JSON to YAML", "convert YAML to JSON", false, false),
        ("does the client call the server?", "does the server call the client?", false, false),
        // Different by one more condition.
        ("review the auth middleware code", "review the auth middleware code on mobile", false, false),
    ];

    #[test]
    fn pairs() {
        for (a, b, same, found) in PAIRS {
            assert_eq!(alike(a, b), same == found, "{a:?} and {b:?}");
        }
    }

    #[test]
    fn stems() {
        for words in [
            &["authentication", "authenticate", "authenticating", "authenticated"][..],
            &["configuration", "configurations"],
            &["test", "tests", "testing", "tested"],
            &["cache", "caching", "cached", "caches"],
            &["query", "queries"],
            &["stop", "stopping", "stopped"],
            &["class", "classes"],
            &["dependency", "dependencies"],
        ] {
            let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|stem| Some(stem) == stems.first()), "{words:?}: {stems:?}");
        }
        for (a, b) in [("authentication", "authorization"), ("payment", "payload"), ("status", "state")] {
            assert_ne!(stem(a), stem(b));
        }
    }

    #[test]
    fn long_requests_are_compared_as_a_whole() {
        let long = |last: &str| {
            let mut text: String = (0..200).map(|word| alloc::format!("item{word} ")).collect();
            text.push_str(last);
            text
        };
        assert!(alike(&long("please"), &long("again")));
        assert!(!alike(&long("alpha"), &long("beta")));
        assert!(Request::of(&long("x")).fits());
        let huge = "word ".repeat(100_000);
        assert!(alike(&huge, &huge) && !alike(&huge, &(huge.clone() + "more")));
    }

    proptest::proptest! {
        #[test]
        fn any_text_equals_itself(text in "\\PC{0,80}") {
            let request = Request::of(&text);
            proptest::prop_assert!(request.alike(&Request::of(&text), 1000) && request.fits());
        }
    }
}
