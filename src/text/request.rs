//! What a call asks for: a search, a model or another agent in natural language, a page, or a list.

use super::canonical::named_arguments;
use super::ends::head;
use super::goal::{Goal, beside, goal_words};
use super::mutation::command;
use super::named::{ToolName, action};
use super::programs::line_searches;
use super::sql;
use super::words::{Sieve, Word, any_in, dense, hashes_of, is_name_in, spaced, words};
use super::{Key, combine};
use crate::codec::codec;
use crate::model::ToolCall;
use crate::write::written;
use alloc::{borrow::Cow, format, string::String, string::ToString, vec::Vec};
use serde_json::Value;

/// Arguments that hold what is asked, in the languages in which tools are named; accented letters do not count.
const ASKED: &str = "query prompt question message task q input description anfrage bsqueda busqueda consulta domanda \
    frage goal instruction instructions objective pergunta pesquisa pregunta request requete requte ricerca \
    searchquery suchanfrage suchbegriff topic";

/// Arguments that hold it if the tool's name says that it asks, and the words that say so.
const SOUGHT: &str = "keywords searchterm searchterms terms text";
pub(super) const SEEKS: &str = "ask buscar cercare chercher find lookup query recherche retrieve search suche";

/// Arguments of a handover that give the reason rather than the task.
pub(crate) const REASONS: &str = "context message notes rationale reason summary";

/// Whether an argument of a handover gives the reason: by its name, or because it has three words or more.
pub(crate) fn is_reason(name: &str, value: &Value) -> bool {
    let sentence = |text: &str| spaced(text).nth(2).is_some();
    is_name_in(REASONS, name) || value.as_str().is_some_and(sentence)
}

/// Words of tools that hand work to another agent.
pub(super) const DELEGATES: &str = "agent delegate delegation dispatch handoff spawn subagent subtask";

/// Bytes of a request that are read.
const LONGEST: usize = 4096;

/// What a call asks in words: the longest of its asking arguments. `None` if that has only one word or is a query or
/// code, and for tools that run code.
pub(crate) fn prose<'a>(call: &'a ToolCall, named: &ToolName) -> Option<&'a str> {
    if named.runs_code() { None } else { asked(call, named) }
}

/// Whether an argument of this name holds what is asked for.
pub(super) fn is_asked(name: &str) -> bool {
    const SIEVE: Sieve = Sieve::of(&[ASKED]);
    SIEVE.passes_name(name) && is_name_in(ASKED, name)
}

/// [`prose`], whatever the tool.
fn asked<'a>(call: &'a ToolCall, named: &ToolName) -> Option<&'a str> {
    let map = named_arguments(call)?;
    let sought = |name: &str| named.seeks && is_name_in(SOUGHT, name);
    let asks = |name: &str| is_asked(name) || sought(name);
    let asked = map.iter().filter(|(name, _)| asks(name)).filter_map(|(_, value)| value.as_str());
    let text = asked.map(str::trim).max_by_key(|text| text.len())?;
    let text = head(text, LONGEST);
    words(text).nth(1)?;
    (!is_query(text)).then_some(text)
}

/// Whether a text is a database query or code: two that differ in one word ask for different things.
fn is_query(text: &str) -> bool {
    // `execute[SELECT …]`, `run(SELECT …)`: the name of an action before its argument.
    let name = |at: &usize| text.bytes().take(*at).all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let inner = text.find(['[', '(']).filter(name).and_then(|at| text.get(at + 1..)).unwrap_or(text);
    sql::is_query(inner) || is_code(text)
}

/// Whether a text is code: it has at least three characters that are rare in prose, in a quarter of its words or more.
/// These are brackets other than parentheses, pipes, comparison and equals signs, semicolons, and an opening
/// parenthesis directly after a letter or digit.
fn is_code(text: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'=' | b'|' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b';');
    // Fast path: most requests have none.
    if !text.bytes().fold(false, |some, byte| some | is_mark(byte) | (byte == b'(')) {
        return false;
    }
    let marks = |word: &str| {
        let mut before = b' ';
        let marks = word.bytes().filter(|&byte| {
            let opens = byte == b'(' && before.is_ascii_alphanumeric();
            before = byte;
            opens || is_mark(byte)
        });
        marks.count()
    };
    let (mut all, mut code, mut marked) = (0_usize, 0_usize, 0_usize);
    for word in text.split_ascii_whitespace() {
        let marks = marks(word);
        all += 1;
        marked += marks;
        code += usize::from(marks > 0);
    }
    marked >= 3 && code * 4 >= all
}

/// Minimum number of words of an argument that is read as a request although its name does not say so.
const SENTENCE: usize = 5;
/// Maximum number of bytes of a value beside a request; a longer one is a text of its own.
const BESIDE: usize = 200;
/// Maximum number of values beside a request that are read.
const MOST_BESIDE: usize = 8;
/// Shell operators.
const OPERATORS: [&str; 7] = ["&&", "||", "|", ">", ">>", "<<", "2>&1"];

/// What a call asks for, to be compared with other requests: the text of its request and the short values beside it.
pub(crate) fn request_goal(call: &ToolCall, named: &ToolName) -> Option<Goal> {
    let (asked, scalars) = request(call, named)?;
    Some(Goal::with(asked, &mut scalars.map(|(name, value)| beside(name, &value))))
}

/// The same, and for people the words and values that it consists of, each with its hash.
pub(crate) fn request_words(call: &ToolCall, named: &ToolName) -> Option<(Goal, Vec<(u32, String)>)> {
    let (asked, scalars) = request(call, named)?;
    let scalars: Vec<_> = scalars.collect();
    let mut words = goal_words(asked);
    words.extend(scalars.iter().map(|(name, value)| (beside(name, value), format!("{name}={value}"))));
    Some((Goal::with(asked, &mut scalars.iter().map(|(name, value)| beside(name, value))), words))
}

/// The text of a request and the short values beside it.
fn request<'a>(
    call: &'a ToolCall,
    named: &ToolName,
) -> Option<(&'a str, impl Iterator<Item = (&'a str, Cow<'a, str>)>)> {
    if named.runs_code() {
        return None;
    }
    let map = named_arguments(call)?;
    let asked = prose(call, named).or_else(|| {
        // An action to perform is not a question.
        let asks = |name: &str| !matches!(name, "action" | "command");
        let texts = map.iter().filter(|(name, _)| asks(name)).filter_map(|(_, value)| value.as_str()).map(str::trim);
        texts.max_by_key(|text| text.len()).filter(|text| is_sentence(text))
    })?;
    let scalars = map.iter().filter_map(move |(name, value)| match value {
        Value::String(text) if !text.is_empty() && text.len() <= BESIDE && text.trim() != asked => {
            Some((name.as_str(), Cow::Borrowed(text.as_str())))
        }
        Value::Number(number) => Some((name.as_str(), Cow::Owned(number.to_string()))),
        _ => None,
    });
    Some((asked, scalars.take(MOST_BESIDE)))
}

/// Words of tools that send a message.
const SENDS: &str = "comment email mail message notify remind reply respond send sms";

/// Arguments that hold the heading of a text.
const HEADINGS: &str = "heading subject title";

/// What a call sends in words, and a digest of its other arguments except for a heading: the recipient and the subject
/// matter.
pub(crate) fn sent(call: &ToolCall) -> Option<(Goal, Key)> {
    if !any_in(SENDS, &call.tool) {
        return None;
    }
    let map = named_arguments(call)?;
    let (said, text) =
        map.iter().filter_map(|(name, value)| Some((name, value.as_str()?))).max_by_key(|(_, text)| text.len())?;
    let rest = map.iter().filter(|(name, _)| *name != said && !is_name_in(HEADINGS, name));
    let rest: Vec<Key> = rest.map(|(name, value)| beside(name, &written(value)).into()).collect();
    is_sentence(text).then(|| (Goal::of(text), combine("beside", &rest)))
}

/// Whether a text reads as a sentence rather than as code or a command.
fn is_sentence(text: &str) -> bool {
    let (mut all, mut plain) = (0_usize, 0_usize);
    let text = head(text, LONGEST);
    for word in spaced(text) {
        let option = word.starts_with('-') && word.trim_start_matches('-').starts_with(char::is_alphabetic);
        if option || OPERATORS.contains(&word) {
            return false;
        }
        all += 1;
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        plain += usize::from(bare.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '\'' | '’')));
    }
    all >= SENTENCE && plain * 4 >= all * 3 && !is_query(text)
}

/// Words of tools that search, in addition to those asked in natural language.
pub(super) const SEARCHES: &str = "browse busca buscar cerca google lookup pesquisa recherche rechercher research \
    ricerca search suche suchen websearch";

/// Words of tools that act on a page or a screen and answer with what it shows.
pub(super) const INTERFACES: &str = "browser clic clicar click cliquer computer drag hacerclic hover keyboard \
    klick klicken mouse navegador navigate navigateur press presser pulsar screenshot scroll swipe tap";

/// Words in the name of a tool or action that takes a picture.
const PICTURES: &str = "screenshot snapshot";

/// Words of tools that enter a value into a field.
const ENTERS: &str = "ausfüllen compila eingeben enter escribir fill input llenar preencher rellenar remplir saisir \
    select set type";

/// Whether a tool of this name enters a value into a field.
pub(crate) fn enters(tool: &str) -> bool {
    any_in(ENTERS, tool)
}

/// Words of tools that move through a page or a list.
const SCROLLS: &str = "scroll swipe";

/// Whether a tool of this name moves through a page or a list.
pub(crate) fn scrolls(tool: &str) -> bool {
    any_in(SCROLLS, tool)
}

/// Words of tools that press keys.
const KEYS: &str = "key keypress keys press";

/// Whether a tool of this name presses keys or makes gestures that scroll.
pub(crate) fn steers(tool: &str) -> bool {
    any_in(KEYS, tool) || scrolls(tool)
}

/// Words of tools that end the work.
const ENDS: &str = "complete completion done end finish submit terminate";

/// Whether a tool of this name ends the work.
pub(crate) fn ends(tool: &str) -> bool {
    any_in(ENDS, tool)
}

/// What a call asks for, as far as its answers are comparable across different arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Nothing comparable.
    #[default]
    Nothing,
    /// What a page or a screen shows.
    View,
    /// What is known about something.
    Search,
    /// The same, in natural language.
    Prose,
    /// The same, by the values of several fields: a different value is not just different wording.
    Record,
    /// Nothing: it hands over control.
    Handover,
    /// A picture of a page or a screen.
    Picture,
    /// Nothing: it writes down a plan, as a list, of which something has begun.
    Plan,
    /// What a page or a screen shows, after a key or a gesture.
    Gesture,
    /// Nothing: it writes down a plan of which nothing has begun.
    Draft,
}
impl Asks {
    /// What a page or a screen shows, in words or as a picture.
    pub(crate) const fn shows(self) -> bool {
        matches!(self, Self::View | Self::Picture | Self::Gesture)
    }

    pub(crate) const fn plans(self) -> bool {
        matches!(self, Self::Plan | Self::Draft)
    }
}

codec!(enum Asks { Nothing: 0, View: 1, Search: 2, Prose: 3, Record: 4, Handover: 5, Picture: 6, Plan: 7, Gesture: 8, Draft: 9 });

/// Whether the arguments are several fields and none of them holds words: the call asks for a record by identifier.
fn by_fields(call: &ToolCall) -> bool {
    let fields = named_arguments(call);
    let in_words = |name: &str, text: &str| {
        let asked = is_asked(name) && !text.bytes().any(|byte| byte.is_ascii_digit());
        asked || text.chars().any(|char| char.is_whitespace() || dense(char))
    };
    fields.is_some_and(|map| {
        map.len() > 1 && !map.iter().any(|(name, value)| value.as_str().is_some_and(|text| in_words(name, text.trim())))
    })
}

/// Whether one of the arguments is a list of several items, or a text that is one: `- [x] build\n- [ ] test`.
fn lists(call: &ToolCall) -> bool {
    let is_item = |line: &&str| line.trim_start().starts_with(['-', '*', '•', '[']);
    named_arguments(call).is_some_and(|map| {
        map.values().any(|value| match value {
            Value::Array(items) => items.len() > 1,
            Value::String(text) => text.lines().filter(is_item).nth(1).is_some(),
            _ => false,
        })
    })
}

/// States of an item of a plan that has begun, and marks of one in a text.
const BEGUN: &str = "active complete completed doing done finished inprogress started";
const TICKED: [&str; 3] = ["[x]", "[X]", "[-]"];

/// Whether something in a plan is being done or has been done.
fn has_begun(plan: &Value) -> bool {
    match plan {
        Value::Bool(done) => *done,
        Value::String(text) => is_name_in(BEGUN, text) || TICKED.iter().any(|mark| text.contains(mark)),
        Value::Array(items) => items.iter().any(has_begun),
        Value::Object(fields) => fields.values().any(has_begun),
        Value::Null | Value::Number(_) => false,
    }
}

/// What a call asks for.
pub(crate) fn asks(call: &ToolCall, named: &ToolName) -> Asks {
    if named.hands_over {
        Asks::Handover
    } else if named.notes && lists(call) {
        if call.args.as_ref().is_some_and(has_begun) { Asks::Plan } else { Asks::Draft }
    } else if named.search && by_fields(call) {
        Asks::Record
    } else if !named.runs_code() && asked(call, named).is_some() {
        Asks::Prose
    } else if named.interface {
        match action(call).unwrap_or(&call.tool) {
            name if any_in(PICTURES, name) => Asks::Picture,
            name if steers(name) => Asks::Gesture,
            _ => Asks::View,
        }
    } else if named.search || command(call, named).is_some_and(|line| line_searches(&line)) {
        Asks::Search
    } else {
        Asks::Nothing
    }
}

/// Names of arguments and URL parameters that say which page of a list is wanted.
const PAGES: &str = "after cursor nextpagetoken offset page pageindex pageno pagenum pagenumber pagetoken skip \
    startat startindex";

/// Whether a call asks for one page of a list, by an argument or a URL parameter.
pub(crate) fn pages(call: &ToolCall) -> bool {
    let fields = named_arguments(call);
    let named = |name: &str| is_name_in(PAGES, name);
    let parameters = |url: &str| {
        let mut query = url.split_once('?').into_iter().flat_map(|(_, query)| query.split('&'));
        query.any(|parameter| parameter.split_once('=').is_some_and(|(name, _)| named(name)))
    };
    fields.into_iter().flatten().any(|(name, value)| match value {
        Value::Number(_) => named(name),
        // A name without a digit is not a place in a list.
        Value::String(text) => parameters(text) || text.bytes().any(|byte| byte.is_ascii_digit()) && named(name),
        _ => false,
    })
}

/// The records in a JSON answer's list, from its first `[` to its last `]`; what surrounds them is about the page.
/// `None` with fewer than two.
pub(crate) fn records(answer: &str) -> Option<&str> {
    let list = answer.find('[').zip(answer.rfind(']')).and_then(|(from, to)| answer.get(from..to))?;
    // A single one may be the acknowledgement of a page that is being worked on.
    (list.get(1..)?.trim_start().starts_with('{') && list.matches('{').nth(1).is_some()).then_some(list)
}

/// Words that say nothing about what is asked.
const FILLERS: [&str; 24] = [
    "a", "about", "an", "and", "are", "at", "by", "for", "from", "how", "in", "is", "me", "of", "on", "or", "please",
    "that", "the", "this", "to", "was", "what", "with",
];

/// Bytes of the longest of them.
const LONGEST_FILLER: usize = 6;

/// Fields that a search reports anew for each question: how well a hit matches, and how long it took.
const MEASURES: [&str; 7] = ["distance", "elapsed", "latency", "relevance", "score", "similarity", "took"];
/// What an id of the answer itself belongs to.
const ASKINGS: [&str; 4] = ["query", "request", "search", "trace"];

/// Hashes of the words that carry meaning, in order, ignoring case. The lowest bit says whether the word has a digit
/// (see [`has_digit`]). Left out are the fraction of a number below one, and a figure after the name of a measure.
pub(crate) fn word_hashes(text: &str) -> impl Iterator<Item = u32> {
    const FILLER: [u32; 24] = hashes_of(FILLERS);
    const MEASURE: [u32; 7] = hashes_of(MEASURES);
    const ASKING: [u32; 4] = hashes_of(ASKINGS);
    let [nought, id, unit] = const { hashes_of(["0", "id", "ms"]) };
    // The hashes of the two words before, 0 for figures; whether the one before is `0`, and whether it is a figure that
    // was left out.
    let (mut last, mut earlier, mut zero, mut left) = (0, 0, false, false);
    let tells = move |word: &Word| {
        let measures = || {
            let unit = last == unit && MEASURE.contains(&earlier);
            unit || MEASURE.contains(&last) || last == id && ASKING.contains(&earlier)
        };
        // A score differs with each question.
        left = word.figure && (word.dotted && (zero || left) || measures());
        zero = word.hash == nought;
        (earlier, last) = (last, if word.figure { 0 } else { word.hash });
        !left && (word.length > LONGEST_FILLER || !FILLER.contains(&word.hash))
    };
    words(text).filter(tells).map(|word| word.hash & !1 | u32::from(word.figure))
}

/// Whether a hash of [`word_hashes`] is of a word with a digit.
pub(crate) const fn has_digit(hash: u32) -> bool {
    hash & 1 == 1
}

/// Whether a text is natural language: at least twelve words, and nine of ten characters are letters or blanks.
pub(crate) fn reads_as_prose(text: &str) -> bool {
    let (mut all, mut plain) = (0_usize, 0_usize);
    for char in text.chars().take(LONGEST) {
        all += 1;
        plain += usize::from(char.is_alphabetic() || char.is_whitespace());
    }
    plain * 10 >= all * 9 && words(text).nth(11).is_some()
}

/// What a call hands to another agent.
pub(crate) fn delegated<'a>(call: &'a ToolCall, named: &ToolName) -> Option<&'a str> {
    if named.delegates { prose(call, named) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use serde_json::{Value, json};

    fn call(tool: &str, args: Value) -> ToolCall {
        ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() }
    }

    #[test]
    fn longest_filler() {
        assert_eq!(FILLERS.iter().map(|word| word.len()).max(), Some(LONGEST_FILLER));
    }

    #[test]
    fn numbers_below_one() {
        let count = |text: &str| word_hashes(text).count();
        assert_eq!(count("ratio 0.594 beside 10.594, .5"), 6);
        assert_eq!(count("0. 594 10.5"), 4);
        assert_eq!(count(r#"{"query_id":"2c9f5fb2","took_ms":730,"hits":[{"score":13.25,"id":7}]}"#), 8);
        let words = |text: &str| word_hashes(text).collect::<Vec<_>>();
        assert_eq!(words("mud 0.81, clay 0.4"), words("mud 0.7, clay 0.93"));
        assert_ne!(words("mud 1.81"), words("mud 1.7"));
    }

    #[test]
    fn what_is_asked() {
        for (tool, args, expected) in [
            ("web_search", json!({"query": "weather in Paris"}), Some("weather in Paris")),
            ("Task", json!({"description": "a b", "prompt": "find the cause"}), Some("find the cause")),
            ("web_search", json!({"query": "weather"}), None),
            ("bash", json!({"input": "ls -l src"}), None),
            ("read", json!({"path": "a b"}), None),
            ("db", json!({"query": "SELECT name FROM trams WHERE line = 4"}), None),
            ("db", json!({"query": "explain (analyze, buffers) select name from trams"}), None),
            ("db", json!({"query": "explain analyze \\i trams.sql"}), None),
            ("db", json!({"query": "explain select name from trams"}), None),
            ("db", json!({"query": "SHOW REPLICA STATUS"}), None),
            ("db", json!({"query": "Show me how trams are named"}), Some("Show me how trams are named")),
            ("ask", json!({"query": "explain how a tram gets its power"}), Some("explain how a tram gets its power")),
            ("db", json!({"query": "with t as (select 1) select * from t"}), None),
            ("db", json!({"query": "execute[SELECT name, colour FROM trams ORDER BY name]"}), None),
            ("graph", json!({"query": "MATCH (s:Stop)-[:NEXT]->(t:Stop) RETURN t.name"}), None),
            ("logs", json!({"query": "Rides | where delay > 5 | summarize count() by line"}), None),
            ("api", json!({"query": "{ line(id: 4) { stops { name } } }"}), None),
            (
                "ask",
                json!({"query": "which lines (4 or 7) stop [today] here"}),
                Some("which lines (4 or 7) stop [today] here"),
            ),
            ("ask", json!({"input": "go(al) is what"}), Some("go(al) is what")),
            ("db", json!({"query": "with whom did she sing"}), Some("with whom did she sing")),
            ("ask", json!({"query": "with the sums from May, plan June"}), Some("with the sums from May, plan June")),
        ] {
            assert_eq!(prose(&call(tool, args.clone()), &ToolName::of(tool)), expected, "{tool} {args}");
        }
        let prompt = json!({"prompt": "find the cause"});
        for (tool, delegates) in [("Task", true), ("spawn_agent", true), ("delegate:x", true), ("ask", false)] {
            assert_eq!(delegated(&call(tool, prompt.clone()), &ToolName::of(tool)).is_some(), delegates, "{tool}");
        }
    }

    #[test]
    fn hashes_of_words() {
        let hashes = |text: &str| word_hashes(text).collect::<Vec<_>>();
        assert_eq!(hashes("The Weather, in PARIS"), hashes("weather paris"));
        assert_ne!(hashes("weather"), hashes("whether"));
        assert_eq!(hashes("mp3 player").iter().map(|hash| has_digit(*hash)).collect::<Vec<_>>(), [true, false]);
    }

    proptest::proptest! {
        #[test]
        fn fillers_tell_nothing(text in "((the|Please|OF|what|whats|thee|2|Öl) ?){0,9}") {
            let filler = |word: &&str| FILLERS.contains(&word.to_ascii_lowercase().as_str());
            let told = text.split(' ').filter(|word| !word.is_empty() && !filler(word));
            proptest::prop_assert_eq!(word_hashes(&text).count(), told.count());
        }
    }
}
