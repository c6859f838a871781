//! Whether two requests ask for the same thing, when there are no embeddings to tell.
//!
//! A request is reduced to its *concepts*: its words without those that only add politeness or repeat, lightly stemmed,
//! with abbreviations expanded and everyday synonyms of asking, mending and making merged. Two requests are the same if
//! one set of concepts contains the other (neither replaces something the other names), the cosine of the sets is above
//! the threshold used for embeddings, and neither the object nor the roles differ:
//! - more detail does not make a different request, but another object does, however long the rest:
//!   `review the auth code` and `review the payment code` stay apart, and so do `implement the export` and
//!   `implement tests of the export`, where the addition is what the work is done on;
//! - `A asks B` and `B asks A`, `copy staging to production` and the reverse stay apart: the names on either side of
//!   the same words, or of the same prepositions, have swapped places. Lists have no order.
//!
//! The table of pairs in the tests shows the limit: the same thing said in entirely different words.
//!
//! Only hashes of the concepts are kept, and only the lowest of a long request: if a set is contained in another, each
//! of its hashes up to the other's highest kept one is among the other's kept ones.

use super::case::lower_text;
use super::digest::{key, salted};
use super::words::{Lexicon, entry, is_in};
use crate::codec::codec;
use crate::text::sorted;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};

/// Maximum number of concepts kept of a request.
const CONCEPTS: usize = 128;
/// Maximum number of words whose order is kept; of a longer request no order is kept.
const ORDERED: usize = 64;
/// Maximum number of words of a name that may have swapped places.
const PHRASE: usize = 4;
/// Maximum number of words of the object that the work is done on.
const OBJECT: usize = 6;
/// Bytes of a request that are read; the digest of the whole also covers the rest.
const CLIP: usize = 64 * 1024;

/// What precedes a word.
const NONE: u8 = 0;
const LIST: u8 = 1;
const CLAUSE: u8 = 2;
const OWNER: u8 = 3;
/// The first of [`PREPOSITIONS`]; the others follow.
const PREPOSITION: u8 = 8;

/// Words that give a role to what follows them.
const PREPOSITIONS: &[&str] = &[
    "about", "after", "against", "as", "at", "before", "between", "by", "for", "from", "in", "inside", "into", "of",
    "on", "onto", "over", "than", "through", "to", "towards", "under", "until", "via", "with", "within", "without",
];

/// A request in a comparable form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// Hash of all concepts (of the normalised text if there are none) and of the part that was not read.
    whole: u64,
    /// How many distinct concepts there are.
    count: u32,
    /// Hashes of the concepts, sorted; the lowest [`CONCEPTS`] of them.
    concepts: Vec<u32>,
    /// For each word in order, its index in `concepts` and what precedes it; empty if there are more than [`ORDERED`].
    order: Vec<(u8, u8)>,
    /// What the work is done on.
    head: Option<u32>,
    /// It is negated.
    turned: bool,
}
codec!(struct Request { whole, count, concepts, order, head, turned });

/// A concept, and what precedes it.
type Word = (u32, u8);

impl Request {
    pub(crate) fn of(text: &str, salt: u64) -> Self {
        let (looked, rest) = text.split_at_checked(text.floor_char_boundary(CLIP)).unwrap_or((text, ""));
        let words = words(looked);
        let mut concepts: Vec<u32> = sorted(words.iter().map(|(concept, _)| *concept).collect());
        concepts.dedup();
        let mut bytes: Vec<u8> = concepts.iter().flat_map(|concept| concept.to_le_bytes()).collect();
        if concepts.is_empty() {
            bytes = lower_text(looked).split_whitespace().collect::<Vec<_>>().join(" ").into_bytes();
        }
        bytes.extend_from_slice(rest.as_bytes());
        let count = u32::try_from(concepts.len()).unwrap_or(u32::MAX);
        let turned = concept("not").is_some_and(|not| concepts.binary_search(&not).is_ok());
        concepts.truncate(CONCEPTS);
        let place = |(concept, before): &Word| {
            let at = concepts.binary_search(concept).ok()?;
            Some((u8::try_from(at).ok()?, *before))
        };
        let order = if words.len() <= ORDERED { words.iter().filter_map(place).collect() } else { Vec::new() };
        Self { whole: salted("request", salt, &bytes), count, order, head: head(&words), turned, concepts }
    }

    /// Whether both ask for the same thing, at a cosine threshold in per mille.
    pub(crate) fn alike(&self, other: &Self, per_mille: u32) -> bool {
        if self == other {
            return true;
        }
        let (short, long) = if self.count <= other.count { (self, other) } else { (other, self) };
        if short.count == 0 || short.turned != long.turned || !short.is_inside(long) {
            return short.count == 0 && self.whole == other.whole;
        }
        // `short` is inside `long`, so the cosine of the two sets is √(|short| / |long|).
        let (fewer, more) = (u64::from(short.count), u64::from(long.count));
        let threshold = u64::from(per_mille);
        let close = fewer == more || fewer * 1_000_000 > threshold * threshold * more;
        // What the longer one adds must not be what the work is done on.
        let is_added = |head: u32| long.may_have(head) && !short.may_have(head);
        close && !long.head.is_some_and(is_added) && !swapped(&short.words_in(long), &long.words_in(short))
    }

    /// Whether every concept that can be compared is also one of the other's.
    fn is_inside(&self, other: &Self) -> bool {
        self.concepts.iter().all(|concept| other.may_have(*concept))
    }

    /// Whether a concept is, or may be, one of its own: above the highest one kept nothing is known.
    fn may_have(&self, concept: u32) -> bool {
        let beyond =
            self.count as usize > self.concepts.len() && self.concepts.last().is_some_and(|last| concept > *last);
        beyond || self.concepts.binary_search(&concept).is_ok()
    }

    /// Its words, in order, that the other has as well.
    fn words_in(&self, other: &Self) -> Vec<Word> {
        let word = |(place, before): &(u8, u8)| Some((*self.concepts.get(usize::from(*place))?, *before));
        self.order.iter().filter_map(word).filter(|(concept, _)| other.may_have(*concept)).collect()
    }

    /// Input for the digests of evidence.
    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    /// An upper bound of the bytes it takes.
    pub(crate) fn weight(&self) -> usize {
        24 + 5 * self.concepts.len() + 2 * self.order.len()
    }

    pub(crate) fn fits(&self) -> bool {
        self.concepts.len() <= CONCEPTS
            && self.order.len() <= ORDERED
            && self.order.iter().all(|(place, _)| usize::from(*place) < self.concepts.len())
    }
}

/// What the work is done on: among the words after the first, which is the verb, the last one before a preposition, a
/// comma or a full stop. `None` if it is longer than [`OBJECT`] words.
fn head(words: &[Word]) -> Option<u32> {
    let object = words.iter().skip(1).enumerate();
    let object = object.take_while(|(index, (_, before))| *index == 0 || matches!(*before, NONE | OWNER));
    let object: Vec<u32> = object.map(|(_, (concept, _))| *concept).take(OBJECT + 1).collect();
    object.last().copied().filter(|_| object.len() <= OBJECT)
}

/// Whether two names have swapped places, in two texts of the same words.
fn swapped(one: &[Word], two: &[Word]) -> bool {
    roles_swapped(one, two) || sides_swapped(one, two)
}

/// `from A to B` and `from B to A`, `A to B` and `B to A`.
fn roles_swapped(one: &[Word], two: &[Word]) -> bool {
    let (one, two) = (roles(one), roles(two));
    let role_in_two = |concept: u32| two.iter().find(|(known, _)| *known == concept).map(|(_, role)| *role);
    let moved: Vec<(u8, u8)> = one
        .iter()
        .filter_map(|(concept, role)| Some((*role, role_in_two(*concept)?)))
        .filter(|(a, b)| a != b)
        .collect();
    moved.iter().any(|(from, to)| moved.contains(&(*to, *from)))
}

/// Each word that occurs once, with the preposition it belongs to.
fn roles(words: &[Word]) -> Vec<(u32, u8)> {
    let mut role = NONE;
    let mut roles: Vec<(u32, u8)> = Vec::new();
    for (concept, before) in words {
        match *before {
            CLAUSE => role = NONE,
            before if before >= PREPOSITION => role = before,
            _ => {}
        }
        roles.push((*concept, role));
    }
    let all = roles.clone();
    roles.retain(|(concept, _)| all.iter().filter(|(known, _)| known == concept).count() == 1);
    roles
}

/// `A reviews B` and `B reviews A`: the same words in the same order, but for two names on either side of what stays.
fn sides_swapped(one: &[Word], two: &[Word]) -> bool {
    if one.len() != two.len() {
        return false;
    }
    let same = |(one, two): &(&Word, &Word)| one.0 == two.0;
    let first = one.iter().zip(two).take_while(same).count();
    let last = one.iter().rev().zip(two.iter().rev()).take_while(same).count();
    let end = one.len().saturating_sub(last);
    let (Some(one), Some(two)) = (one.get(first..end), two.get(first..end)) else { return false };
    // Lists have no order, and of two texts with a different structure only the words can be compared.
    let built = one.iter().zip(two).skip(1).all(|(one, two)| one.1 == two.1 && one.1 != LIST);
    let length = one.len();
    let concepts = |words: &[Word]| words.iter().map(|(concept, _)| *concept).collect::<Vec<u32>>();
    let (one, two) = (concepts(one), concepts(two));
    let part = |words: &[u32], from: usize, to: usize| words.get(from..to).map(<[u32]>::to_vec);
    let longest = PHRASE.min(length);
    let swaps = |left: usize, right: usize| {
        left + right < length
            && part(&one, 0, left) == part(&two, length - left, length)
            && part(&one, length - right, length) == part(&two, 0, right)
            && part(&one, left, length - right) == part(&two, right, length - left)
    };
    built && length >= 3 && (1..=longest).any(|left| (1..=longest).any(|right| swaps(left, right)))
}

/// The concepts of a text in order, with what precedes each. A word is a lower-cased run of letters, digits and
/// characters that join names; every CJK character is a word.
fn words(text: &str) -> Vec<Word> {
    let holds = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | '#' | '@' | '\'' | '’');
    let cjk = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    let edge = |c: char| !c.is_alphanumeric() && !matches!(c, '#' | '@');
    // Next to other single letters, `A` is a name like them.
    let letter = |run: &str| matches!(run.trim_matches(edge).as_bytes(), [b'B'..=b'H' | b'J'..=b'Z'] | [b'A'..=b'Z', b'\'', b's']);
    let lettered = text.split(|c: char| !holds(c)).any(letter);
    let mut words: Vec<Word> = Vec::new();
    let mut before = NONE;
    let mut rest = text;
    while !rest.is_empty() {
        let gap = rest.find(holds).unwrap_or(rest.len());
        let (between, tail) = rest.split_at_checked(gap).unwrap_or((rest, ""));
        for mark in between.chars() {
            match mark {
                ',' | '&' | '+' if before == NONE || before == OWNER => before = LIST,
                ';' | ':' | '?' | '!' | '\n' => before = CLAUSE,
                _ => {}
            }
        }
        let end = tail.find(|c: char| !holds(c)).unwrap_or(tail.len());
        let (raw, tail) = tail.split_at_checked(end).unwrap_or((tail, ""));
        rest = tail;
        let run = raw.trim_matches(edge);
        let mut push = |word: &str, before: &mut u8| {
            let named = lettered && word == "a" && run.starts_with('A');
            let preposition = PREPOSITIONS.binary_search(&word).ok().and_then(|at| u8::try_from(at).ok());
            if let Some(concept) = if named { Some(hash("name/a")) } else { concept(word) } {
                words.push((concept, core::mem::replace(before, NONE)));
            }
            if let Some(at) = preposition {
                *before = PREPOSITION.saturating_add(at);
            } else if matches!(word, "and" | "or") && *before < PREPOSITION && *before != CLAUSE {
                *before = LIST;
            }
        };
        if run.chars().any(cjk) {
            for c in run.chars() {
                push(&c.to_string(), &mut before);
            }
        } else if !run.is_empty() {
            let lower = lower_text(run);
            let bare = lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s")).unwrap_or(&lower);
            // `re-check` is one word, `sign-in form` is written with and without its hyphen; a path stays whole.
            if bare.contains(['/', '.', '_', '#', '@']) {
                push(bare, &mut before);
            } else {
                bare.split('-').filter(|part| !part.is_empty()).for_each(|part| push(part, &mut before));
            }
            if bare.len() < lower.len() && before == NONE {
                before = OWNER;
            }
        }
        if raw.ends_with('.') {
            before = CLAUSE;
        }
    }
    words
}

/// The hash of what a word stands for; `None` for words that ask, soften or repeat.
fn concept(word: &str) -> Option<u32> {
    if may_be_listed(word) && is_in(FILLERS, word) || is_adverb(word) {
        return None;
    }
    let full = lookup(ABBREVIATIONS, word).unwrap_or(word);
    let stem = stem(full);
    let folded = lookup(SYNONYMS, &stem).unwrap_or(&stem);
    Some(hash(folded))
}

fn hash(concept: &str) -> u32 {
    u32::try_from(key("concept", concept.as_bytes()) & u64::from(u32::MAX)).unwrap_or_default()
}

/// `carefully`, `thoroughly`: how something is to be done.
fn is_adverb(word: &str) -> bool {
    const NONE: &str = "anomaly apply assembly comply family imply multiply only rely reply supply weekly";
    word.len() > 4 && word.ends_with("ly") && !is_in(NONE, word)
}

/// Whether a word may be in one of the lists.
fn may_be_listed(word: &str) -> bool {
    static LISTED: Lexicon = Lexicon::of(&[FILLERS]).with_beginnings(ABBREVIATIONS, 0).with_beginnings(SYNONYMS, 0);
    LISTED.may_hold(word.as_bytes(), word.len())
}

/// What a list has for a word.
fn lookup(list: &'static str, word: &str) -> Option<&'static str> {
    if may_be_listed(word) { entry(list, word) } else { None }
}

/// An English word without its most common endings. Names with digits or punctuation are left as they are.
fn stem(word: &str) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.into();
    }
    // Longest first; those in `CLOSE` may leave three letters, the others must leave four.
    const ENDINGS: [&str; 22] = [
        "izations", "ization", "ications", "ication", "icating", "icated", "icates", "icate", "ations", "ation",
        "ating", "ated", "ates", "ings", "ing", "ions", "ion", "ies", "ed", "es", "ate", "s",
    ];
    const CLOSE: &str = "ing ies ed es s";
    let ending = ENDINGS.into_iter().find_map(|ending| {
        let head = word.strip_suffix(ending)?;
        let least = if is_in(CLOSE, ending) { 3 } else { 4 };
        let put = if ending == "ies" { "y" } else { "" };
        (head.len() >= least && !(ending == "s" && head.ends_with(['s', 'u', 'i']))).then_some((head, put))
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

/// Words that ask, soften, point or repeat, the most frequent ones first. Words that reverse a request (`not`,
/// `without`, `before`) are not among them.
const FILLERS: &str = "the to a and of in is it for you on i that with be this as are can about again all already also \
    am an another any asap at been but by could do does either ever give hello help here hey hi how i'd i'm if into \
    its just kindly later let let's like look's may maybe me more my need now ok okay once one our out perhaps please \
    pls quick quickly quite really same second should so some soon still take thank thanks their them then there these \
    those time today tomorrow tonight too us very want was we were what when whether which will would yet your";

/// Technical abbreviations and what they stand for, in order.
const ABBREVIATIONS: &str = "admin administrator|api's api|app application|apps application|arg argument|args argument|\
    async asynchronous|auth authentication|authn authentication|authz authorization|calc calculation|cfg configuration|\
    cmd command|config configuration|configs configuration|conn connection|creds credential|ctx context|db database|\
    dbs database|dep dependency|deps dependency|dev development|dir directory|dirs directory|doc documentation|\
    docs documentation|env environment|err error|fn function|fns function|func function|funcs function|hw hardware|\
    id identifier|ids identifier|impl implementation|info information|init initialization|js javascript|k8s kubernetes|\
    lib library|libs library|login signin|logon signin|max maximum|mem memory|min minimum|mod module|msg message|\
    msgs message|num number|opt option|org organization|param parameter|params parameter|perf performance|\
    perm permission|perms permission|pkg package|pr pullrequest|prod production|prs pullrequest|ref reference|\
    refs reference|regex regularexpression|repo repository|repos repository|req request|reqs requirement|resp response|\
    spec specification|specs specification|sync synchronization|temp temporary|tmp temporary|ts typescript|\
    util utility|utils utility|val value|var variable|vars variable";

/// Stems, in order, and what they mean in a request between agents. `disable` and `enable`, `add` and `remove` stay apart.
const SYNONYMS: &str = "alter change|assess review|audit review|bug problem|can't not|cannot not|chang change|\
    check review|cod code|correct fix|delet remove|describ explain|don't not|edit change|eliminat remove|eras remove|\
    evalu review|examin review|execut run|implement code|implementation code|inspect review|issu problem|locat find|\
    look review|mend fix|modifi change|modify change|never not|no not|recheck review|remov remove|repair fix|\
    resolv fix|search find|sourc code|updat change|verify review|without not";

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;

    fn alike(a: &str, b: &str) -> bool {
        let (a, b) = (Request::of(a, 0), Request::of(b, 0));
        let one = a.alike(&b, 850);
        assert_eq!(one, b.alike(&a, 850), "both ways");
        one
    }

    #[test]
    fn lists_are_sorted() {
        assert_sorted(ABBREVIATIONS);
        assert_sorted(SYNONYMS);
        for (_, full) in ABBREVIATIONS.split('|').filter_map(|entry| entry.split_once(' ')) {
            assert!(concept(full).is_some(), "{full} means something");
        }
    }

    /// Two requests, whether they ask for the same thing, and whether this lexical measure can tell.
    const PAIRS: [(&str, &str, bool, bool); 71] = [
        // The same, and recognised.
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
        // The same, but missed: expressed in different words. These need embeddings.
        ("Can you review this authentication code?", "Is the way we sign people in safe?", true, false),
        ("The build is red, please look into it", "Compilation fails, can you investigate?", true, false),
        ("Make the tests green", "Fix the failing tests", true, false),
        ("Speed up the query", "The query is too slow", true, false),
        ("What does this function return?", "Which value comes out of this function?", true, false),
        ("Review the auth code", "Überprüfe den Anmeldecode", true, false),
        ("Reduce memory use of the importer", "The importer eats too much RAM", true, false),
        ("review the code", "review the auth code", true, false),
        // Different in which part plays which role.
        ("copy staging to production", "copy production to staging", false, true),
        ("convert JSON to YAML", "convert YAML to JSON", false, true),
        ("does the client call the server?", "does the server call the client?", false, true),
        ("A reviews B's code", "B reviews A's code", false, true),
        ("Alice reviews Bob's patch", "Bob reviews Alice's patch", false, true),
        ("the billing agent asks the search agent", "the search agent asks the billing agent", false, true),
        (
            "import rows from the old table into the new view",
            "import rows from the new view into the old table",
            false,
            true,
        ),
        ("Please let Alice review Bob's patch today", "let Bob review Alice's patch", false, true),
        ("A reviews B's code", "A reviews B's code again, please", true, true),
        ("review the auth and payment code", "review the payment and auth code", true, true),
        ("check the parser, the lexer and the printer", "check the printer, the lexer and the parser", true, true),
        ("review the database schema docs", "review the docs of the schema of the database", true, true),
        // Different in what the work is done on.
        ("Implement the CSV export", "Implement tests of the CSV export", false, true),
        ("Implement the CSV export", "Implement the CSV export tests", false, true),
        ("Write the user guide for admins", "Write examples for the user guide for admins", false, true),
        ("Implement the CSV export", "Please implement the CSV export carefully today", true, true),
        ("Implement the CSV export now", "Implement the CSV export for invoices", true, true),
        // Different in one more condition.
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
    fn long_requests_are_compared_too() {
        let long = |count: usize, last: &str| {
            let mut text: String = (0..count).map(|word| alloc::format!("item{word} ")).collect();
            text.push_str(last);
            text
        };
        for count in [40, 47, 48, 49, 60, 127, 128, 129, 200, 1000] {
            let plain = long(count, "");
            assert!(alike(&long(count, "please"), &long(count, "again")), "{count}");
            // One more sentence is detail, wherever counting the words stops.
            assert!(alike(&plain, &long(count, "Mind the weather in Bremen.")), "{count}");
            assert!(Request::of(&plain, 0).fits());
        }
        for count in [40, 60, 100] {
            assert!(!alike(&long(count, "alpha"), &long(count, "beta")), "{count}");
        }
        // Half as much again is a different request.
        assert!(!alike(&long(200, ""), &long(300, "")));
        let huge = "word ".repeat(100_000);
        assert!(alike(&huge, &huge));
    }

    proptest::proptest! {
        #[test]
        fn any_text_equals_itself(text in "\\PC{0,80}") {
            let request = Request::of(&text, 0);
            proptest::prop_assert!(request.alike(&Request::of(&text, 0), 1000) && request.fits());
        }
    }
}
