//! How often a user has ordered something to be done (`run it 20 times`, `ten cycles`, `every five minutes`), whether
//! many things are to be gone through (`one by one`), and whether something is to be waited for.
//!
//! An agent that does what was ordered goes round in circles on purpose.

use super::words::{is_in, place_in, same};
use crate::codec::codec;
use alloc::{borrow::Cow, vec::Vec};

/// Bytes of the longest message that is read: a longer one is a brief with figures of its own.
const LONGEST: usize = 1500;
/// The highest count that is returned; a watch has no end and counts as this.
const MOST: u32 = 100;
const WATCH: u32 = MOST;
/// Words after `every` within which a span of time makes it a watch: `every half minute`.
const WITHIN: u32 = 4;

/// What is counted when something is repeated. Like all lists here, words separated by single spaces.
const TIMES: &str = "attempts cycles defa durchgänge durchläufe ejecuciones essais fois gange ganger gånger iterations keer kere \
    kertaa kez krát lecturas läufe maal mal measurements messungen mesures passes razy readings repeats repetitions reps \
    rondas rounds runden runs times trials veces vezes volte x раз раза";
/// The same in scripts without spaces, directly after the number, and what makes a span of time a watch there.
const COUNTED: [char; 4] = ['回', '次', '遍', '번'];
const EACH: [char; 3] = ['每', '毎', '隔'];
const EACH_BEHIND: [&str; 3] = ["ごと", "おき", "마다"];
/// Bytes of a unit of time there.
const UNIT: usize = 7;
/// Numbers in words, and the value of each.
const NUMBERS: &str = "acht cinco cinq cuatro diez dix douze dozen drei dreißig eight eleven fifteen fifty five four \
    fünf fünfzehn huit hundred neuf neun nine nueve ocho quatre quince quinze sechs seis sept seven sieben siete \
    six ten thirty three tres trois twelve twenty veinte venti vier vingt zehn zwanzig zwölf";
const VALUES: [u8; 49] = [
    8, 5, 5, 4, 10, 10, 12, 12, 3, 30, 8, 11, 15, 50, 5, 4, 5, 15, 8, 100, 9, 9, 9, 9, 8, 4, 15, 15, 6, 6, 7, 7, 7, 7,
    6, 10, 30, 3, 3, 3, 12, 20, 20, 20, 4, 20, 10, 20, 12,
];
/// Words before a number that make it a limit.
const LIMITS: &str = "bis exceed höchstens limit max maximal maximum most máximo only than to up within";
/// Words that introduce a frequency, and the spans of time that may follow them.
const EVERY: &str = "alle cada chaque each einmal elke every fois her hver hvert jede ogni once toutes varje vez volta каждую каждые \
    каждый раз";
const SPANS: &str = "abend dakika dakikada day days dia evening giorni giorno h heure heures hora horas hour hours jour jours m mattina min mins \
    minute minuten minutes minuti minuto minutos morgen morning night noche s sec seconde secondes seconds \
    segundos minut minuter sekunde sekunden semaine semana sera soir stunde stunden tag tage timme uur week woche день минут минуту \
    минуты секунд час часа часов";
/// Words after which a sentence reports what happened and orders nothing.
const TOLD: &str = "already been did failed had has have repeated was were";
/// Words after `3 times` that make it a comparison, and words that do so after `3 times as`.
const COMPARE: &str = "a an faster greater her his its larger less longer more plus that the";
const AS: &str = "big fast heavy high large long many much old";

/// Words that order to wait if one of the second list directly follows.
const WAIT: &str = "aspetta aspettare attendez attends attendre attendi espera esperar espere hold wait warte warten";
const FOR: &str = "a auf bis che finché for hasta jusqu'à on que till til until";
/// Words that order to look repeatedly after `keep` or `continue`, and words that do so if `until` follows.
const LOOK: &str = "checking looking monitoring pinging polling probing refreshing watching";
const LOOK_UNTIL: &str = "ask check look monitor observe ping probe query refresh watch";
const UNTIL: &str = "til till until";
/// Verbs of looking on, and what may follow after them to end it: `tell me when`, `let us know once`.
const WATCHES: &str = "monitor observe watch";
const ME: &str = "know me us";
const WHEN: &str = "once when";
/// Verbs of what is done again and again until something happens, the words for that, and verbs of what may happen.
const AGAIN: &str = "call ejecuta ejecute esegui execute exécute führe lance launch loop relance repeat repeating repita repite \
    répète rerun ripeti rode run running start starte teste wiederhole";
const TILL: &str = "até bis finché hasta jusqu'à til till until";
const FAILS: &str = "abstürzt break breaks bricht crash crashes échoue fail fails failure falha falla fallisce fehlschlägt plante \
    scheitert";
/// Words after which `poll` is a noun; and verbs of work that is repeated until it succeeds, which is not looking.
const ARTICLES: &str = "a an another opinion our straw that the their this your";
const WORK: &str = "change correct debug edit fix implement improve make mend refactor repair rewrite write";
/// Words after `wait for` that name a person or something only a person gives, and words that negate an order.
const NOBODY: &str =
    "any approval confirmation feedback further input instructions me my permission us user user's your";
const NEVER: &str = "cannot can't don't dont never no not without";

/// Words of a sentence in which `from 8000 to 8020` names things to go through one by one, and the words around such
/// a range.
const RANGED: &str = "all any check each every ids numbers pages ports scan try which";
const FROM: &str = "between from";
const TO: &str = "and through to";

/// The sentences of a text, and clauses up to a semicolon.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    // A dot within a name, `tests/tide.py`, ends nothing.
    text.split(['!', '?', ';', '\n']).flat_map(|part| part.split(". "))
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split(|char| !is_of_word(char)).filter(|word| !word.is_empty())
}

/// Whether a text orders to wait for something, or to look at it until it is in some state.
pub(crate) fn orders_wait(text: &str) -> bool {
    text.len() <= LONGEST && sentences(text).any(waits_in)
}

fn waits_in(sentence: &str) -> bool {
    let words: Vec<&str> = words(sentence).collect();
    let (mut before, mut last, mut looks, mut watches) = ("", "", false, false);
    for (at, word) in words.iter().enumerate() {
        let ordered = is_in(FOR, word) && is_in(WAIT, last) && !is_in(NEVER, before)
            || same(word, "poll") && !is_in(NEVER, last) && !is_in(ARTICLES, last)
            || is_in(LOOK, word) && (same(last, "keep") || same(last, "continue"))
            || is_in(UNTIL, word) && looks
            // `Watch the log and tell me when an error appears`.
            || is_in(WHEN, word) && watches && is_in(ME, last);
        if ordered {
            // `wait for the user's approval`, `wait for my go-ahead`
            let mut next = words.iter().skip(at + 1).take(3);
            return !next.any(|next| is_in(NOBODY, next));
        }
        watches |= is_in(WATCHES, word);
        looks = (looks || is_in(LOOK_UNTIL, word) && !is_in(NEVER, last)) && !is_in(WORK, word);
        (before, last) = (last, word);
    }
    false
}

/// Phrases that say that many things are to be gone through, separated by bars.
const SWEEPS: &str = "brute force|brute-force|einer nach dem anderen|eins nach dem anderen|go through them\
    |jeden po drugim|nacheinander|one after another|one after the other|one by one|try all|try each|try them all\
    |um a um|um por um|un par un|un à un|una por una|une par une|uno a uno|uno por uno|which of these|één voor één\
    |один за другим|一つずつ|逐一|逐个|하나씩";

/// Whether an order is about many things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sweep {
    #[default]
    No,
    /// It is about several things, perhaps many: for some of them, nothing may be found.
    Several,
    /// They are to be gone through one after the other.
    Many,
}
codec!(enum Sweep { No: 0, Several: 1, Many: 2 });

/// Whether a text orders to go through many things one after the other, or to check that they fail.
pub(crate) fn orders_sweep(text: &str) -> Sweep {
    let sweeps = |text: &str| {
        let lower = text.to_ascii_lowercase();
        SWEEPS.split('|').any(|sweep| lower.contains(sweep))
    };
    if text.len() > LONGEST {
        Sweep::No
    } else if sweeps(text) || wants_failures(text) {
        Sweep::Many
    } else {
        sentences(text).map(chooses).max().unwrap_or_default()
    }
}

/// Words that ask for some of a number of things, if one of the second list directly follows.
const WHICH: &str = "cuál cuáles quais qual quale quali welche welcher welches which";
const OF: &str = "das de dei delle den der di dos of";
/// Words that may follow them before the things themselves.
const OURS: &str = "my our the their these those your";
/// Words after those within which the number stands: `which of our 24 shards`.
const BEFORE_NUMBER: usize = 3;

/// Whether a sentence asks which of several things is meant, says how many they are, or has each of them looked at.
fn chooses(sentence: &str) -> Sweep {
    let words: Vec<&str> = words(sentence).collect();
    let of = words.windows(2).position(|pair| matches!(*pair, [which, of] if is_in(WHICH, which) && is_in(OF, of)));
    let some = |of: usize| words.iter().skip(of).take(BEFORE_NUMBER);
    let many =
        |of: usize| some(of).next().is_some_and(|word| is_in(OURS, word)) && some(of + 1).any(|word| is_many(word));
    match (words.as_slice(), of) {
        // `Check if any of the links are dead`: some may well be.
        ([first, second, third, ..], _) if is_in(SEE, first) && is_in("if whether", second) && is_in(THAT, third) => {
            Sweep::Many
        }
        (_, Some(of)) if some(of + 2).any(|word| number(word).is_some()) => Sweep::Many,
        (_, Some(of)) if many(of + 2) => Sweep::Several,
        // `For each harbour, find its master`.
        ([first, second, ..], _) if same(first, "for") && is_in("each every", second) => Sweep::Several,
        _ => Sweep::No,
    }
}

/// Whether an English word is a plural by its end.
fn is_many(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
}

/// Words that order to check whether something holds, words that follow them, and words for being refused.
const SEE: &str = "check compruebe comprueba confirm prove prüfe prüfen test teste verify verifica vérifie vérifiez";
const THAT: &str = "all any che dass each every que that";
const REFUSED: &str = "abgelehnt abgewiesen blocked denied fail fails forbidden rechaza rechazado rechazados refuse refused refusé \
    refusés refuses reject rejected rejects rifiutato rifiutati verweigert";
/// Words that, before one of [`REFUSED`], make it a complaint or something that must not happen.
const WHY: &str = "can't cannot don't how if never no not nor warum what when where which why without";
/// Nouns that after `negative` name something that is to fail.
const CASES: &str = "case cases check checks path paths test tests";

/// Whether a text is about checking failures, by its first sentence: `check that a guest is refused everywhere`,
/// `run the negative cases`. In later sentences, it is a side condition of other work.
fn wants_failures(text: &str) -> bool {
    let sentence = sentences(text).next().unwrap_or_default();
    let words = || sentence.split(|char: char| !(is_of_word(char) || char == '_')).filter(|word| !word.is_empty());
    let mut first = words().skip_while(|word| is_in("bitte please", word));
    let sees = first.next().is_some_and(|word| is_in(SEE, word)) && first.next().is_some_and(|word| is_in(THAT, word));
    let refused = || words().take_while(|word| !is_in(WHY, word)).any(|word| is_in(REFUSED, word));
    sees && refused() || words().zip(words().skip(1)).any(|(word, next)| same(word, "negative") && is_in(CASES, next))
}

/// The highest number of times that a text orders something, up to [`MOST`]; 0 if it orders no repetition.
pub(crate) fn ordered_times(text: &str) -> u32 {
    if text.len() > LONGEST {
        return 0;
    }
    let plain = if text.contains('×') { Cow::Owned(text.replace('×', "x")) } else { Cow::Borrowed(text) };
    sentences(&plain).map(of_sentence).max().unwrap_or(0).min(MOST)
}

/// The number of things in a range that is to be gone through: `which port between 8000 and 8020 is open?`.
fn ranged(words: &[&str]) -> u32 {
    let range = |window: &[&str]| match *window {
        [from, first, to, last] if is_in(FROM, from) && is_in(TO, to) => {
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)
        }
        _ => None,
    };
    let most = words.windows(4).filter_map(range).max().unwrap_or(0);
    if most > 2 && words.iter().any(|word| is_in(RANGED, word)) { most.saturating_add(1) } else { 0 }
}

/// Apostrophes belong to words, so that the `s` of `each dog's` is not a second.
fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '\'' | '’')
}

fn of_sentence(sentence: &str) -> u32 {
    // The four words before, the latest one last; the highest count; and for how many more words a span of time makes a
    // watch.
    let words: Vec<&str> = words(sentence).collect();
    let has = |list: &str| words.iter().any(|word| is_in(list, word));
    // `Run it until it fails, at most 40 times`: as often as it takes.
    let repeats = has(AGAIN) && has(TILL) && !has(WORK);
    let provokes = repeats && has(FAILS) && !has(NEVER);
    let (mut before, mut most, mut every) = ([""; 4], ranged(&words), 0_u32);
    for (at, word) in words.iter().enumerate() {
        if is_in(TOLD, word) {
            break;
        }
        every = if is_in(EVERY, word) { WITHIN } else { every.saturating_sub(1) };
        let compares = match words.get(at + 1..).unwrap_or_default() {
            [first, second, ..] if same(first, "as") => is_in(AS, second),
            [first, ..] => is_in(COMPARE, first),
            [] => false,
        };
        let count = match word.strip_suffix('x').or_else(|| word.strip_suffix("mal")).and_then(number) {
            Some(count) => Some(count),
            None if !word.is_ascii() && word.contains(|char: char| char.is_ascii_digit()) => Some(counted(word)),
            // A count for each of several things is at least twice as many: `five runs each`, `five of each`,
            // `5 times per setting`.
            None if same(word, "each") || same(word, "per") && is_in(TIMES, before[3]) => {
                let [.., other, latest] = before;
                let counted = if same(latest, "of") || is_in(TIMES, latest) { other } else { latest };
                number(counted).map(|count| count.saturating_mul(2))
            }
            None if is_in(TIMES, word) && !compares => before.iter().rev().take(2).find_map(|word| number(word)),
            None if every > 0 && is_in(SPANS, word) => Some(WATCH),
            None => None,
        };
        let limit = || !repeats && before.iter().any(|word| is_in(LIMITS, word));
        if let Some(count) = count.filter(|count| *count > most && !limit()) {
            most = count;
        }
        before = [before[1], before[2], before[3], word];
    }
    if provokes && most == 0 { WATCH } else { most }
}

/// Words at the beginning of an order within which the number of what is to be made or done stands: `Take 10 photos`,
/// `Give each of the 12 plants a squirt`; and words that may follow the number before the things themselves.
const ORDERS: usize = 6;
const BEHIND: usize = 2;

/// The highest number of things that a text orders to be made or done, up to [`MOST`]; 0 if it orders none.
pub(crate) fn ordered_things(text: &str) -> u32 {
    let of_sentence = |sentence: &str| {
        let words: Vec<&str> = words(sentence).collect();
        let counted = words.iter().enumerate().take(ORDERS).filter_map(|(at, word)| {
            let many = |word: &&str| is_many(word) && !is_in(SPANS, word);
            let things = words.iter().skip(at + 1).take(BEHIND).any(many);
            number(word).filter(|_| things)
        });
        let told = words.iter().any(|word| is_in(TOLD, word));
        if told { 0 } else { counted.max().unwrap_or(0) }
    };
    if text.len() > LONGEST { 0 } else { sentences(text).map(of_sentence).max().unwrap_or(0).min(MOST) }
}

/// What a text in a script without spaces orders: `テストを15回`, `每5分钟`. `第3次` is an ordinal and does not count.
fn counted(text: &str) -> u32 {
    let (mut most, mut rest) = (0, text);
    while let Some((before, number_on)) = rest.find(|char: char| char.is_ascii_digit()).map(|at| rest.split_at(at)) {
        let end = number_on.find(|char: char| !char.is_ascii_digit()).unwrap_or(number_on.len());
        let (count, behind) = number_on.split_at(end);
        // The unit stands between: `5分ごとに`, `2時間おきに`.
        let spans = |each: &&str| behind.find(*each).is_some_and(|at| at <= UNIT);
        if before.ends_with(EACH) || EACH_BEHIND.iter().any(spans) {
            return WATCH;
        }
        let times = behind.starts_with(COUNTED) && !before.ends_with('第');
        most = most.max(number(count).filter(|_| times).unwrap_or(0));
        rest = behind;
    }
    most
}

/// A number above 2, in digits or in words.
fn number(word: &str) -> Option<u32> {
    let named = || Some(u32::from(*VALUES.get(place_in(NUMBERS, word)?)?));
    word.parse().ok().or_else(named).filter(|count| *count > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits() {
        for text in [
            "Deploy the shop and wait until the pod runs",
            "Start it, then watch the log until the server is up.",
            "Watch the log and tell me when an error appears",
            "Wait for the database to come up; then migrate",
            "poll the name server, please",
            "Keep checking the queue",
            "Check the page until the tickets are there",
            "Warte bis der Dienst läuft",
            "Please wait on the build",
        ] {
            assert!(orders_wait(text), "{text}");
        }
        for text in [
            "Do not wait for the build",
            "Wait, that is wrong",
            "Ask before you pay, and wait for my approval",
            "Then wait for the user's confirmation",
            "Look into why the watch is slow",
            "Fix the tests until they pass",
            "Check the tests and fix them until they pass",
            "Make a poll for the crew",
            "Mend it and tell me when it is done",
            "The waiters were paid",
            "",
        ] {
            assert!(!orders_wait(text), "{text}");
        }
    }

    #[test]
    fn things() {
        for (text, count) in [
            ("Take 10 photos for the time lapse, then tell me.", 10),
            ("Give each of the 12 plants a squirt.", 12),
            ("Dispense ten cups of coffee.", 10),
            ("Please send ten test pings", 10),
            ("The door is shut. Ring it with four short rings!", 4),
            ("Take a photo", 0),
            ("Wait 10 minutes", 0),
            ("Write 2 letters", 0),
            ("I have taken 10 photos", 0),
            ("Look at the list that I sent you, it has 10 photos", 0),
        ] {
            assert_eq!(ordered_things(text), count, "{text}");
        }
        for text in ["Drücke den Knopf achtmal.", "Appuie huit fois sur le bouton.", "Pulsa el botón ocho veces"] {
            assert_eq!(ordered_times(text), 8, "{text}");
        }
    }

    #[test]
    fn sweeps() {
        for text in [
            "Which of the harbours sell diesel?",
            "Find which of our lamps are out",
            "For each harbour, find the master. Harbours: Ems, Jade, Elbe",
        ] {
            assert_eq!(orders_sweep(text), Sweep::Several, "{text}");
        }
        for text in [
            "Look at them one after the other",
            "Prüfe die Häfen nacheinander",
            "Try them one by one",
            "Which of these 10 names are free?",
            "Check which of the 20 links are dead",
            "Find which of our twenty lamp lists has Ida's name.",
            "Welche der 12 Häfen antworten nicht?",
            "Open the lock of the exercise, brute force allowed",
            "Check if any of the links on the page are dead",
            "Try each line of words.txt until it opens",
            "One of the keys is still valid. Go through them and find out which.",
        ] {
            assert_eq!(orders_sweep(text), Sweep::Many, "{text}");
        }
        for text in [
            "Check that a guest is refused on all doors of the harbour",
            "Please verify that every door refuses a guest. Each must answer 403.",
            "Run the negative cases of the berth API",
            "Prüfe, dass der Gast überall abgewiesen wird",
        ] {
            assert_eq!(orders_sweep(text), Sweep::Many, "{text}");
        }
        for text in [
            "Check why the guest is refused",
            "The build must not fail",
            "Make sure that no test fails",
            "Every call fails with 403, mend it",
            "cargo check fails in the harbour",
            "test_berths fails since the flood",
            "Test 7 fails again",
            "GET /berths should return 200 and gives 404",
            "It should work but fails",
            "A call without a name must be rejected with 400",
            "Build the door. Check that a guest is refused.",
            "Test the price and ship it. It was rejected twice.",
        ] {
            assert_eq!(orders_sweep(text), Sweep::No, "{text}");
        }
        for text in [
            "Which of them is one?",
            "Which of the glass is thicker?",
            "Check if the build is green",
            "Find out which of the two is wrong",
            "Say which it is. Of the 20 lamps two are lit",
            "Which 20 lamps are lit?",
            "By one and one",
            "",
        ] {
            assert_eq!(orders_sweep(text), Sweep::No, "{text}");
        }
    }

    #[test]
    fn orders() {
        for (text, times) in [
            ("Run the test 20 times and tell me the rate", 20),
            ("switch it on and off ten times", 10),
            ("five runs each, interleaved", 10),
            ("Do it 4294967295 of each", MOST),
            ("Run pytest tests/test_tide.py until it fails, at most 50 times", 50),
            ("Keep running the test until you see a failure", WATCH),
            ("Führe den Test so oft aus, bis er fehlschlägt", WATCH),
            ("Run it until it no longer fails", 0),
            ("Ejecuta la prueba que falla", 0),
            ("Ejecuta la prueba hasta que falla", WATCH),
            ("Run the tests and mend what fails until they pass", 0),
            ("take 3 measurements per setting", 6),
            ("10 km per day", 0),
            ("toss it 12x", 12),
            ("alternate A and B, five of each", 10),
            ("Look at the page every 5 minutes until it opens", WATCH),
            ("ogni sera accendi la luce", WATCH),
            ("take exactly 20 readings", 20),
            ("Show each dog's age and every file’s owner", 0),
            ("Look every 5 s, please", WATCH),
            ("Please look at the tide gauge once a minute for 20 minutes", WATCH),
            ("Einmal pro Stunde nachsehen, bitte", WATCH),
            ("Regarde le quai une fois par heure", WATCH),
            ("Open the lock once the barge is there", 0),
            ("bitte zehnmal, also 10 mal", 10),
            ("It is said to be flaky. Run it 12 times as it is and tell me", 12),
            ("Close sprint 61: for each issue look at the request", 0),
            ("This one is 3 times as long", 0),
            ("Becca owns 3 times the cards of Ida", 0),
            ("Toss it ten times and tell me how often it was heads", 10),
            ("Kör provet 15 gånger utan att ändra något", 15),
            ("Запусти тест 12 раз и посчитай", 12),
            ("テストを15回実行してください", 15),
            ("请把测试运行20次", 20),
            ("每5分钟看一次日志", WATCH),
            ("每隔10秒检查一下", WATCH),
            ("2時間おきに潮位を見て", WATCH),
            ("每天大约有300万人使用", 0),
            ("每天看3次", 3),
            ("테스트를 열 번, 아니 14번 돌려 주세요", 14),
            ("请在第3次会议之前准备好", 0),
            ("You have repeated the same mistake four times", 0),
            ("try at most 5 times", 0),
            ("up to 3 attempts", 0),
            ("a table for 4 at 8", 0),
            ("Find which port between 8000 and 8020 is open", 21),
            ("Check pages from 1 to 30", 30),
            ("a train between 14 and 18 o'clock", 0),
            ("it failed 2 times", 0),
            ("", 0),
        ] {
            assert_eq!(ordered_times(text), times, "{text}");
        }
    }
}
