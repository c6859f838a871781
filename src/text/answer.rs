//! What a short answer says: that there is nothing, or that it is too early to tell.
//!
//! Only short texts are trusted, and the ends of longer ones: a file that contains the word `pending` is not waiting
//! for anything.

use super::ends::{behind_last, clip_to, head};
use super::lines::{Lines, trimmed};
use super::scan::{BLOCK, any, parts};
use super::states::{ENDED, is_partly_done, is_under_way, is_waiting_state};
use super::words::{Lexicon, any_in, is_in, name_words, runs, same, same_end, same_start};

/// Bytes from which an answer says more than a mere acknowledgement, and from which even one of few words does.
const ACKNOWLEDGED: usize = 16;
const FEW_WORDS: usize = 64;
/// Letters from which a word of a tool's name may begin what it answers.
const LONG_WORD: usize = 4;

/// Whether an answer merely acknowledges: `ok`, `Pressed ArrowDown`.
pub(crate) fn acknowledges(answer: &str) -> bool {
    let few = || answer.len() < FEW_WORDS && answer.split_whitespace().nth(3).is_none();
    answer.len() < ACKNOWLEDGED || few() && !answer.bytes().any(|byte| byte.is_ascii_digit())
}

/// Bytes of an answer within which it says that the work goes on elsewhere.
const BEGUN: usize = 400;
/// What says so: where something works, after a word for working; or that news of it will come.
const BEHIND: [&str; 2] = [" in the background", " in background"];
const WORKS: &str = "continues continuing executing launched processing run running runs started working works";
const NEWS: &str = "be notified";

/// Whether an answer merely says that somebody else works on what was asked for, and will report.
pub(crate) fn is_begun(answer: &str) -> bool {
    let answer = head(answer, BEGUN);
    let works = |before: &str| before.rsplit(' ').next().is_some_and(|word| is_in(WORKS, word));
    // Looking whether it is there at all takes a tenth of finding it.
    let goes_on =
        |place: &&str| answer.contains(*place) && answer.split_once(*place).is_some_and(|(before, _)| works(before));
    answer.contains(NEWS) || BEHIND.iter().any(goes_on)
}

/// Whether an answer merely says that the named tool did what it was asked to: `Scrolled down the page by one page`.
pub(crate) fn echoes(tool: &str, answer: &str) -> bool {
    let first = || answer.split(|char: char| !char.is_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    answer.len() < FEW_WORDS
        && !answer.bytes().any(|byte| byte.is_ascii_digit())
        && name_words(tool).any(|word| (LONG_WORD..first().len()).contains(&word.len()) && same_start(first(), word))
}

/// Words for what a log leaves out, and the longest note that does.
const LEFT_OUT: &str = "binary image omitted photo picture redacted screenshot";
const NOTE: usize = 40;
/// Ends of the names of pictures, and how many words may stand beside such names.
const PICTURES: &str = "gif jpeg jpg png webp";
const BESIDE: usize = 3;
/// Length limit in bytes of an answer that does nothing but name pictures.
const PICTURED: usize = 1024;

/// Whether an answer only notes that something was left out (`[image]`, `(screenshot omitted)`) or where pictures are
/// (`screenshots: a/0012.png, a/0013.png`).
pub(crate) fn is_left_out(answer: &str) -> bool {
    let answer = trimmed(answer);
    let notes = || {
        answer.len() <= NOTE
            && answer.starts_with(['[', '(', '<'])
            && answer.ends_with([']', ')', '>'])
            && answer.bytes().all(|byte| !byte.is_ascii_digit())
            && any_in(LEFT_OUT, answer)
    };
    notes() || names_pictures(answer)
}

/// Whether a text names pictures, one at its end, and hardly anything else.
fn names_pictures(text: &str) -> bool {
    let is_picture = |word: &&str| word.rsplit_once('.').is_some_and(|(_, end)| is_in(PICTURES, end));
    let words = || text.split([' ', ',', '\n', '"', '[', ']', ')', '(']).filter(|word| !word.is_empty());
    text.len() <= PICTURED
        && words().next_back().as_ref().is_some_and(is_picture)
        && words().filter(|word| !is_picture(word)).count() <= BESIDE
}

/// What searches find, and how many words may stand between a number and it.
const FOUND: &str = "articles chunks documents entries files hits items links matches pages records results rows";
const KINDS: usize = 2;

/// Whether an answer only counts what was found, and shows nothing of it: `Successfully retrieved 5 organic results.`
pub(crate) fn tallies(answer: &str) -> bool {
    let answer = trimmed(answer);
    let mut words = runs::<b'\''>(answer).filter_map(|(from, to)| answer.get(from..to));
    answer.len() < FEW_WORDS
        && !answer.contains('\n')
        && words.any(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && word != "0")
        && words.take(KINDS + 1).any(|word| is_in(FOUND, word))
}

/// What an answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerMeaning {
    /// Nothing of the requested kind exists.
    pub(super) negative: bool,
    /// Something is still in progress.
    pub(super) waiting: bool,
    /// The same, in words that mean it even in an error.
    pub(super) certainly_waiting: bool,
    /// It names what prevents progress.
    pub(super) stuck: bool,
}

impl AnswerMeaning {
    /// An answer that is stuck is not waiting.
    pub(super) fn settled(self) -> Self {
        if self.stuck { Self { waiting: false, certainly_waiting: false, ..self } } else { self }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Negative,
    Waiting,
    CertainlyWaiting,
    /// A state of what was asked about; but at the head of a longer answer it acknowledges the request.
    Taken,
    /// The next word is a state, which may be an ongoing one.
    Named,
    /// A share follows: how many of how many are ready.
    Ready,
}
use Meaning::{CertainlyWaiting, Named, Negative, Ready, Taken, Waiting};

impl Meaning {
    const fn of(sign: u8) -> Self {
        match sign {
            b'-' => Negative,
            b'~' => Waiting,
            b'!' => CertainlyWaiting,
            b'+' => Taken,
            b'=' => Named,
            _ => Ready,
        }
    }
}

/// Phrases separated by `|`, of words separated by single blanks; the character before each says what it means
/// ([`Meaning::of`]). English, then other languages in Latin letters; for other scripts see [`OTHER_SCRIPTS`]. They are in
/// the order of the lowest five bits of their first byte.
const PHRASES: &str = "\
    ~aguardando|~ainda não|-aucun fichier|-aucun résultat|-aucune correspondance|~ausstehend|~bekleniyor|~building|\
    -bulunamadı|-cannot be found|-cannot find|!check back|~containercreating|-could not be found|-could not find|\
    -couldn't find|-did not appear|-did not find|-does not exist|-doesn't exist|~Đang chờ|~đang chờ|~em andamento|~em processamento|\
    ~en attente|~en cours|~en curso|~en espera|~en file|~en trámite|~esperando|-existiert nicht|-found 0|-found no|-found nothing|\
    -geen resultaten|=health|-hittades inte|~in attesa|~in bearbeitung|!in progress|~in queue|~in wachtrij|-inga resultat|\
    ~init 0|~init 1|~initializing|-introuvable|-kein treffer|-keine daten|-keine ergebnisse|-keine treffer|\
    -không tìm thấy|-matches 0|~menunggu|-n'existe pas|-nada encontrado|-nenalezeno|-nenhum resultado|\
    -nessun risultato|-nessuna corrispondenza|~nicht bereit|-nicht gefunden|-nichts gefunden|-nie znaleziono|\
    -niet gevonden|-no data|-no documents|-no encontrado|-no entries|-no existe|-no figure|-no figures|-no files|\
    -no hits|-no information|-no items|-no match|-no matches|-no matching|-no more items|-no more matches|\
    -no more results|-no occurrences|-no public|-no records|-no references|-no relevant|-no replacement|\
    -no replacements|-no results|-no rows|-no se encontraron|-no se encontró|-no search results|-no such|\
    ~noch nicht|-non esiste|-non trovato|-not available publicly|-not disclosed|-not exist|~not finished|-not found|\
    -not public|-not publicly|-not publish|-not published|!not ready|!not yet|-nothing found|-nothing happens|\
    -nothing matched|-não encontrada|-não encontrado|-não existe|~oczekuje|-0 documents|-0 entries|-0 files|-0 hits|\
    -0 items|-0 matches|-0 records|-0 replacements|-0 results|-0 rows|~pas encore|~pendente|~pendiente|~pending|\
    =phase|~please wait|~podinitializing|~processing|~provisioning|~queue position|+queued|~queued for|\
    ~202 accepted|%ready|-results 0|~retry after|~running for|+scheduled|-sin resultados|=state|=status|=still|\
    !still being|!still building|!still pending|!still processing|!still running|!still waiting|-tidak ditemukan|\
    ~todavía no|~under review|~under way|~väntar|~wachten op|~waiting|~warte auf|~wartet|~wordt verwerkt|-zero results";

/// [`PHRASES`], each behind its length instead of a `|`.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
static COUNTED: [u8; PHRASES.len() + 1] = {
    let phrases = PHRASES.as_bytes();
    let mut counted = [0; PHRASES.len() + 1];
    let (mut at, mut length) = (phrases.len(), 0);
    while at > 0 {
        at -= 1;
        if phrases[at] == b'|' {
            counted[at + 1] = length;
            length = 0;
        } else {
            counted[at + 1] = phrases[at];
            length += 1;
        }
    }
    counted[0] = length;
    counted
};

/// Where the phrases begin in it whose first byte has these lowest five bits; its length if there are none.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
static RUNS: [u16; 32] = {
    let mut runs = [COUNTED.len() as u16; 32];
    let mut at = 0;
    while at < COUNTED.len() {
        let run = (COUNTED[at + 2] & 31) as usize;
        if runs[run] as usize == COUNTED.len() {
            runs[run] = at as u16;
        }
        at += 1 + COUNTED[at] as usize;
    }
    runs
};

/// Phrases of scripts without ASCII letters or without blanks, matched anywhere in a text.
const OTHER_SCRIPTS: &str = "\
    -не найден|-ничего не найдено|-нет результатов|~ожидани|~выполняется|~обработке|-не знайдено|-未找到|-没有找到|\
    -没有结果|-找不到|~等待中|~处理中|~排队|~正在处理|~進行中|~进行中|-見つかりません|-該当なし|~待機中|~処理中|-찾을 수 없|-결과가 없|~대기 중|-δεν βρέθηκ|\
    -לא נמצא|-لم يتم العثور|-غير موجود|-नहीं मिल|-ไม่พบ|~قيد الانتظار|~قيد التنفيذ|~प्रतीक्षा|~実行中|\
    ~正在运行|~очікуван";

/// Status codes which, as the whole answer, mean that there is none yet: nothing took the request, or it came too soon.
const NOT_REACHED: [&str; 4] = ["000", "502", "503", "504"];

/// Length limit in bytes of a negative answer.
const SHORT_ANSWER: usize = 240;
/// Length in bytes up to which the whole text is trusted when it says to wait; up to [`LONG`], only its ends of [`END`]
/// bytes are.
pub(super) const SHORT: usize = 600;
const LONG: usize = 4 * 1024;
const END: usize = 200;

/// Length limit in bytes of an answer that is read line by line.
const FEW_LINES: usize = 1200;

/// Labels under which nothing is good news.
const TROUBLES: &str = "changed changes conflict conflicts diff differences error errors failed failing failure \
    failures issue issues outdated pending problem problems regressions stderr todo todos violations \
    vulnerabilities warning warnings";

/// Whether every line of `text` says that there is nothing: `Files: []`, `Found 0 matches`, a heading with nothing
/// below. Scripts that look for several things answer like this.
pub(super) fn nothing_in(text: &str) -> bool {
    if text.len() > FEW_LINES {
        return false;
    }
    let mut told = false;
    let mut about_trouble = false;
    for line in Lines(text) {
        let line = outside_tags(line);
        if line.is_empty() {
            continue;
        }
        if let Some(heading) = line.strip_suffix([':', '：']) {
            about_trouble = troubling(heading);
            told |= !about_trouble && denies(heading);
        } else if is_nothing(line) {
            if about_trouble {
                return false;
            }
            told = true;
        } else if let Some((label, value)) = labelled(line)
            && is_nothing(trimmed(value))
            && !label.contains(';')
        {
            if troubling(label) {
                return false;
            }
            told = true;
        } else if none_found(line) || denies(line) {
            told = true;
        } else {
            return false;
        }
    }
    told
}

/// Whether a line says in words that there is nothing.
fn denies(line: &str) -> bool {
    let mut said = AnswerMeaning::default();
    if line.len() <= SHORT_ANSWER {
        scan(line, &STARTS, &mut said);
    }
    said.negative
}

/// The parts of a line before and after its first colon.
fn labelled(line: &str) -> Option<(&str, &str)> {
    if line.is_ascii() { line.split_once(':') } else { line.split_once([':', '：']) }
}

/// A line without its enclosing tags: `<output>`, `<code>[]</code>`.
fn outside_tags(line: &str) -> &str {
    let mut line = trimmed(line);
    while let Some((tag, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && !tag.contains(char::is_whitespace)
    {
        line = rest.trim_start();
    }
    while let Some((rest, tag)) = line.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'))
        && !tag.contains(char::is_whitespace)
    {
        line = rest.trim_end();
    }
    line
}

fn troubling(label: &str) -> bool {
    any_in(TROUBLES, label)
}

/// Bytes at the beginning of a tagged text that are searched for its status.
const TAGGED: usize = 240;

/// Words for nothing, and all the ways in which programs print an empty value.
const NOTHING: &str = "empty nil none nothing null undefined";
const EMPTY_VALUES: [&str; 13] =
    ["\"\"", "''", "()", "[]", "empty", "n/a", "nil", "none", "nothing", "null", "set()", "undefined", "{}"];

/// Whether a value is one of [`EMPTY_VALUES`].
fn is_nothing(value: &str) -> bool {
    const LONGEST: usize = "undefined".len();
    let value = value.trim_end_matches(['.', '!']);
    // Most values are longer than every one of these, which rejects them faster than a binary search.
    value.len() <= LONGEST && EMPTY_VALUES.iter().any(|empty| same(empty, value))
}

/// Whether a line says that nothing was found, and what was not found is not trouble: `No references to it were found.`
fn none_found(line: &str) -> bool {
    let line = line.trim_end_matches(|char: char| !char.is_alphanumeric());
    same_start(line, "no ") && same_end(line, " found") && line.len() <= SHORT_ANSWER && !troubling(line)
}

/// What `text`, in which blanks are single, says.
pub(super) fn says(text: &str) -> AnswerMeaning {
    let mut says = AnswerMeaning::default();
    if text.len() <= SHORT {
        scan(text, &STARTS, &mut says);
    } else if text.len() <= LONG {
        let (head, tail) = clip_to(text, END);
        scan(head, &END_STARTS, &mut says);
        scan(tail, &END_STARTS, &mut says);
    }
    if tells_running(text) {
        (says.waiting, says.certainly_waiting) = (true, true);
    }
    if text.len() > SHORT_ANSWER {
        // A longer text is not a negative answer.
        return AnswerMeaning { negative: false, ..says };
    }
    let whole = text.trim_matches(|char: char| !char.is_alphanumeric());
    // `Build 88: running`, `Order 77 has not been shipped yet`, `No reply yet`.
    let state = behind_last(whole, ": ");
    let more = state.contains([',', '(']) && is_waiting_state(state);
    if more || is_under_way(state) || is_partly_done(whole) || is_not_yet(text) || NOT_REACHED.contains(&whole) {
        says.waiting = true;
        // An error of several words may be about what was waited for.
        says.certainly_waiting |= !whole.contains(' ');
    }
    says.negative |= is_in(NOTHING, whole);
    says
}

/// Words that deny what follows them.
const DENIES: &str = "never no nobody none not nothing";

/// Whether the last line of a text says that something is not there yet: `There are no replies yet.` Below a heading it
/// is what a document says.
fn is_not_yet(text: &str) -> bool {
    let last = text.lines().next_back().unwrap_or_default();
    let last = last.trim_matches(|char: char| !char.is_alphanumeric());
    let denies = |word: &str| is_in(DENIES, word) || word.ends_with("n't") || word.ends_with("n’t");
    let word = |char: char| !(char.is_alphanumeric() || matches!(char, '\'' | '’'));
    same_end(last, " yet") && !text.starts_with('#') && last.split(word).any(denies)
}

/// Whether a tagged text begins with the status of something that is still going on, as coding agents report a
/// background command: `<status>running</status>`, followed by its log.
fn tells_running(text: &str) -> bool {
    text.starts_with('<')
        && head(text, TAGGED)
            .split_once("<status>")
            .is_some_and(|(_, status)| is_waiting_state(status.split('<').next().unwrap_or_default()))
}

/// The first words of all phrases.
static BEGINNINGS: Lexicon = Lexicon::of(&[]).with_beginnings(PHRASES, 1);

/// Whether a byte belongs to a word: here `_` separates words (`in_progress`) and an apostrophe does not (`couldn't`).
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
static IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 128 || (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'\'';
        byte += 1;
    }
    table
};

fn in_word(byte: u8) -> bool {
    IN_WORD.get(usize::from(byte)).copied().unwrap_or(false)
}

/// A selection of the phrases.
#[derive(Clone, Copy)]
enum PhraseSet {
    All,
    /// Those that say wait whatever word follows.
    Wait,
}

/// A Bloom filter over the first four bytes of the phrases, one of 2,048 bits each: it rejects nearly every word by its
/// beginning, without a search for its end.
#[derive(Clone, Copy, Debug)]
struct Starts([u64; Self::WORDS]);

impl Starts {
    const WORDS: usize = 32;
    /// Separators allowed between the words of a phrase.
    const BETWEEN: &[u8] = b" _-:=";

    /// A filter of a selection of the phrases.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    const fn of_phrases(which: PhraseSet) -> Self {
        let phrases = PHRASES.as_bytes();
        let mut starts = Self([0; Self::WORDS]);
        let mut at = 0;
        while at < phrases.len() {
            let meaning = Meaning::of(phrases[at]);
            let left = match which {
                PhraseSet::All => false,
                PhraseSet::Wait => matches!(meaning, Negative | Named | Ready),
            };
            if !left {
                starts = starts.with_phrase(phrases.split_at(at + 1).1);
            }
            while at < phrases.len() && phrases[at] != b'|' {
                at += 1;
            }
            at += 1;
        }
        starts
    }

    /// With the phrase that a text begins with; a blank between words stands for any separator.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    const fn with_phrase(mut self, phrase: &[u8]) -> Self {
        let start = [phrase[0], phrase[1], phrase[2], phrase[3]];
        let mut blank = 0;
        while blank < 4 && start[blank] != b' ' {
            blank += 1;
        }
        if blank == 4 {
            return self.with(start);
        }
        let mut between = 0;
        while between < Self::BETWEEN.len() {
            let mut start = start;
            start[blank] = Self::BETWEEN[between];
            self = self.with(start);
            between += 1;
        }
        match blank {
            1 => self.with([phrase[0], b':', b' ', phrase[2]]),
            2 => self.with([phrase[0], phrase[1], b':', b' ']),
            _ => self,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    const fn with(mut self, start: [u8; 4]) -> Self {
        let place = Self::place(start);
        self.0[place >> 6] |= 1 << (place & 63);
        self
    }

    /// The index of a bit, ignoring ASCII case.
    #[inline]
    const fn place(start: [u8; 4]) -> usize {
        ((u32::from_le_bytes(start) | 0x2020_2020).wrapping_mul(0x9e37_79b1) >> 21) as usize
    }

    /// Whether a phrase may begin with these bytes; false positives are possible.
    #[inline]
    fn may_begin(&self, start: [u8; 4]) -> bool {
        let place = Self::place(start);
        self.0.get(place >> 6).is_some_and(|bits| bits >> (place & 63) & 1 == 1)
    }
}

static STARTS: Starts = Starts::of_phrases(PhraseSet::All);
/// What is looked for at the ends of a longer text.
static END_STARTS: Starts = Starts::of_phrases(PhraseSet::Wait);

fn other_scripts() -> impl Iterator<Item = (Meaning, &'static str)> {
    OTHER_SCRIPTS.split('|').filter_map(|phrase| Some((Meaning::of(*phrase.as_bytes().first()?), phrase.get(1..)?)))
}

/// Notes the meanings of the phrases in a text whose beginnings pass the filter `phrases`.
fn scan(text: &str, phrases: &Starts, says: &mut AnswerMeaning) {
    let (mut at, mut inside, mut beyond) = (0, false, false);
    any(text.as_bytes(), |block: &[u8; BLOCK + 3]| {
        let (letters, wide) = block.first_chunk().map_or((0, 0), parts::<b'\''>);
        let words = letters | wide;
        let mut starts = words & !(words << 1 | u64::from(inside));
        inside = words >> (BLOCK - 1) != 0;
        beyond |= wide != 0;
        while starts != 0 {
            let from = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            if block.get(from..).and_then(<[u8]>::first_chunk).is_some_and(|start| phrases.may_begin(*start)) {
                take_phrase(text, at + from, says);
            }
        }
        at += BLOCK;
        false
    });
    if beyond {
        for (meaning, phrase) in other_scripts() {
            if text.contains(phrase) {
                note(meaning, says, || false);
            }
        }
    }
}

/// Notes the meaning of the phrase that begins with the word at `from`, if there is one.
#[inline(never)]
fn take_phrase(text: &str, from: usize, says: &mut AnswerMeaning) {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let length = rest.iter().take_while(|byte| in_word(**byte)).count();
    let (word, after) = rest.split_at_checked(length).unwrap_or_default();
    if BEGINNINGS.may_hold(rest, length) {
        for meaning in meanings(word, after) {
            if meaning != Taken || from > 0 || after.is_empty() {
                note(meaning, says, || text.get(..from).is_some_and(ended));
            }
        }
    }
}

fn note(meaning: Meaning, says: &mut AnswerMeaning, ended: impl Fn() -> bool) {
    match meaning {
        Negative => says.negative = true,
        CertainlyWaiting | Waiting | Taken | Named | Ready if ended() => {}
        CertainlyWaiting => (says.waiting, says.certainly_waiting) = (true, true),
        Waiting | Taken | Named | Ready => says.waiting = true,
    }
}

/// The meanings of the phrases with first word `word` that `after` completes.
fn meanings(word: &[u8], after: &[u8]) -> impl Iterator<Item = Meaning> {
    let run = |first: &u8| usize::from(first & 31);
    let from = word.first().and_then(|first| RUNS.get(run(first))).copied().unwrap_or(u16::MAX);
    let mut rest = COUNTED.get(usize::from(from)..).unwrap_or_default();
    let phrases = core::iter::from_fn(move || {
        let (length, behind) = rest.split_first()?;
        let (phrase, behind) = behind.split_at_checked(usize::from(*length))?;
        rest = behind;
        phrase.get(1).filter(|own| word.first().is_some_and(|first| run(first) == run(own))).map(|_| phrase)
    });
    phrases.filter_map(move |phrase| {
        let (sign, phrase) = phrase.split_first()?;
        let (first, rest) = phrase.split_at_checked(word.len())?;
        if !first.eq_ignore_ascii_case(word) {
            return None;
        }
        let beyond = match rest {
            [] => after,
            [b' ', rest @ ..] => continued(after, rest)?,
            _ => return None,
        };
        match Meaning::of(*sign) {
            Named => state_of(after).is_some_and(is_under_way).then_some(Waiting),
            Ready => too_few(after).then_some(Waiting),
            meaning => (meaning != Negative || !is_good_news(beyond)).then_some(meaning),
        }
    })
}

/// The next word, as a state: `status: progressing`, `(health: starting)`.
fn state_of(text: &[u8]) -> Option<&str> {
    let text = text.strip_prefix(b": ").or_else(|| text.split_first().map(|(_, rest)| rest))?;
    let end = text.iter().position(|byte| !(byte.is_ascii_alphabetic() || *byte == b'_')).unwrap_or(text.len());
    core::str::from_utf8(text.get(..end)?).ok()
}

/// Parts of words that explain why not all is ready: `ImagePullBackOff`, `Error`, `Failed`.
const WHY: [&[u8]; 5] = [b"backoff", b"crash", b"error", b"evict", b"fail"];

/// Bytes behind `READY` in which the share and the explanation are looked for.
const SHARE: usize = 160;

/// Whether the first share that follows is below the whole, with no explanation: `READY 0/3`.
fn too_few(text: &[u8]) -> bool {
    let near = text.get(..SHARE).unwrap_or(text);
    let share = |word: &[u8]| {
        let (some, all) = core::str::from_utf8(word).ok()?.split_once('/')?;
        Some((some.parse::<u32>().ok()?, all.parse::<u32>().ok()?))
    };
    near.contains(&b'/')
        && near.split(|byte| *byte == b' ').find_map(share).is_some_and(|(some, all)| some < all)
        && !WHY.iter().any(|why| near.windows(why.len()).any(|part| part.eq_ignore_ascii_case(why)))
}

/// What follows `phrase` if `text` goes on with one separator, then `phrase` as whole words. So `in_progress` and
/// `in-progress` match too, and so does `found: 0`.
fn continued<'a>(text: &'a [u8], phrase: &[u8]) -> Option<&'a [u8]> {
    let text = text
        .strip_prefix(b": ")
        .or_else(|| text.split_first().filter(|(first, _)| b" _-:=".contains(first)).map(|(_, rest)| rest))?;
    let (start, beyond) = text.split_at_checked(phrase.len())?;
    (start.eq_ignore_ascii_case(phrase) && !beyond.first().is_some_and(|next| in_word(*next))).then_some(beyond)
}

/// Whether what was not found is trouble, judged by the next two words: `Found 0 errors`, `no matching open issues`.
fn is_good_news(text: &[u8]) -> bool {
    // Only up to the end of the sentence or line.
    let line = text.split(|byte| b".,;!?\n".contains(byte)).next().unwrap_or_default();
    let words = line.split(|byte| !in_word(*byte)).filter(|word| !word.is_empty()).take(2);
    words.filter_map(|word| core::str::from_utf8(word).ok()).any(|word| is_in(TROUBLES, word))
}

/// Whether the last word before a phrase negates or ends it: `nothing queued`, `done waiting`.
fn ended(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '_', '-']);
    let start = before.bytes().rev().take_while(|byte| in_word(*byte)).count();
    before.get(before.len() - start..).is_some_and(|word| is_in(ENDED, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn what_shows_nothing() {
        for left_out in
            ["[image]", "(screenshot omitted)", "views: q/view_0012.png, q/view_0013.png", "Saved as q/7.JPG"]
        {
            assert!(is_left_out(left_out), "{left_out}");
        }
        for told in
            ["[3 images]", "quay.txt", "The lamp in q/7.png is red and the mole is dark", "a.png 12 kB 9:41 ok red"]
        {
            assert!(!is_left_out(told), "{told}");
        }
        for (tool, answer) in
            [("page_scroll", "🔍 Scrolled down the page by one screen"), ("typeText", "Typed it all into the field")]
        {
            assert!(echoes(tool, answer), "{answer}");
        }
        for (tool, answer) in [
            ("page_scroll", "Scrolled to 1200 of 5000"),
            ("look", "The scroll is on the table"),
            ("go", "Gone now"),
            ("page_scroll", "Scroll failed: a dialog covers the page"),
        ] {
            assert!(!echoes(tool, answer), "{answer}");
        }
    }

    /// [`scan`], word by word and without the filter.
    fn slowly(text: &str) -> AnswerMeaning {
        let mut says = AnswerMeaning::default();
        let mut at = 0;
        while let Some(found) = text.bytes().skip(at).position(in_word) {
            let from = at + found;
            let to = from + text.bytes().skip(from).take_while(|byte| in_word(*byte)).count();
            at = to;
            for meaning in meanings(&text.as_bytes()[from..to], &text.as_bytes()[to..]) {
                if meaning != Taken || from > 0 || to == text.len() {
                    note(meaning, &mut says, || text.get(..from).is_some_and(ended));
                }
            }
        }
        for (meaning, phrase) in other_scripts() {
            if text.contains(phrase) {
                note(meaning, &mut says, || false);
            }
        }
        says
    }

    fn scanned(text: &str) -> AnswerMeaning {
        let mut says = AnswerMeaning::default();
        scan(text, &STARTS, &mut says);
        says
    }

    #[test]
    fn work_that_has_begun_elsewhere() {
        for begun in [
            "The helper was started as k3d8 and works in the background.",
            "Agent launched. You will be notified when it completes.",
            "Command running in background with ID: b7",
        ] {
            assert!(is_begun(begun), "{begun}");
        }
        let late = alloc::format!("{}It runs in the background.", "The tide turns at noon. ".repeat(20));
        let seen = "A quay with two cranes; in the background a lamp, and behind it the mole.";
        for answer in ["The lamp on the mole is lit again.", "", seen, &late] {
            assert!(!is_begun(answer), "{answer}");
        }
    }

    #[test]
    fn counts_of_what_was_found() {
        for counted in ["Successfully retrieved 5 organic results.", "12 rows", "Found 240 matching files in docs"] {
            assert!(tallies(counted), "{counted}");
        }
        for told in
            ["0 results", "No results", "5 results:\n1. The tide", "results of 5 May", "12 degrees, all is well", ""]
        {
            assert!(!tallies(told), "{told}");
        }
    }

    #[test]
    fn every_phrase_at_every_place() {
        let run = |phrase: &str| phrase.as_bytes()[1] & 31;
        assert!(PHRASES.split('|').is_sorted_by_key(run));
        for phrase in PHRASES.split('|').filter_map(|phrase| phrase.get(1..)) {
            let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
            assert!(phrase.len() >= 4, "{phrase}");
            for between in if rest.is_empty() { &[""][..] } else { &[" ", "_", "-", ":", "=", ": "] } {
                for place in [0, 1, 30, 60, 61, 62, 63, 64, 65, 127] {
                    for tail in ["", ".", " and more", "x"] {
                        let phrase = alloc::format!("{first}{between}{rest}");
                        for phrase in [phrase.to_uppercase(), phrase] {
                            let text = alloc::format!("{}{phrase}{tail}", ".".repeat(place));
                            assert_eq!(scanned(&text), slowly(&text), "{text}");
                        }
                    }
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text(text in "[ -~é日\\n]{0,100}|((no|not|in|0|still|zero|don't|Đang|not yet|done|files|found)[ _:=.é-]{0,2}){0,20}") {
            proptest::prop_assert_eq!(scanned(&text), slowly(&text));
        }
    }

    #[test]
    fn negative_answers() {
        for text in [
            "not found",
            "File not found: a.txt",
            "No results.",
            "no matches found",
            "0 matches",
            "Found 0 files",
            "None",
            "null",
            "Nothing found",
            "results: 0",
            "error_code NOT_FOUND",
            "No such file or directory",
            "It does not exist",
            "Keine Treffer",
            "aucun résultat",
            "没有结果",
            "ничего не найдено",
        ] {
            assert!(says(text).negative, "{text}");
        }
        let long = alloc::format!("{} not found", "word ".repeat(60));
        for text in [
            "Found 0 errors. Watching for changes.",
            "found 0 vulnerabilities",
            "found no broken problems",
            "No matching issues",
            "10 matches",
            "0 errors",
            "no errors",
            "no issues found",
            "found 01 file",
            "nonexistent",
            "one result",
            "none of the tests failed",
            "found: notes.txt",
            "1.0 kg",
            &long,
        ] {
            assert!(!says(text).negative, "{text}");
        }
    }

    #[test]
    fn other_languages() {
        for text in [
            "No se encontraron resultados",
            "El archivo no existe",
            "Arquivo não encontrado",
            "Fichier introuvable",
            "Le fichier n'existe pas",
            "Kein Treffer",
            "Es wurde nichts gefunden",
            "Il file non esiste",
            "Nessun risultato",
            "Dosya bulunamadı",
            "Nie znaleziono pliku",
            "Bestand niet gevonden",
            "Filen hittades inte",
            "Berkas tidak ditemukan",
            "Không tìm thấy tệp",
            "Файл не найден",
            "Файл не знайдено",
            "Το αρχείο δεν βρέθηκε",
            "הקובץ לא נמצא",
            "لم يتم العثور على الملف",
            "फ़ाइल नहीं मिली",
            "ไม่พบไฟล์",
            "找不到文件",
            "ファイルが見つかりません",
            "파일을 찾을 수 없습니다",
        ] {
            assert!(says(text).negative, "{text}");
        }
        for text in [
            "Der Auftrag ist in Bearbeitung",
            "La tâche est en cours",
            "Trabajo en curso",
            "Aguardando aprovação",
            "In attesa di conferma",
            "Wachten op goedkeuring",
            "İşlem bekleniyor",
            "Oczekuje na zatwierdzenie",
            "Väntar på svar",
            "Menunggu persetujuan",
            "Đang chờ xử lý",
            "В ожидании",
            "قيد التنفيذ",
            "प्रतीक्षा करें",
            "処理中です",
            "正在运行",
            "대기 중입니다",
        ] {
            assert!(says(text).waiting, "{text}");
        }
        for text in
            ["Archivo guardado", "Datei gespeichert", "Fichier trouvé", "Файл найден", "文件已保存", "保存しました"]
        {
            assert!(!says(text).negative && !says(text).waiting, "{text}");
        }
    }

    #[test]
    fn line_by_line() {
        for text in [
            "Files about users: []",
            "Logs:\nFiles about users: []\nFiles about roles: None\nLast value:\nNone",
            "Found 0 classes:\n\n\nFound 0 functions:",
            "No direct references to Parser3 found.",
            "<code>0 matches</code>",
            "Could not find the heading\nLast value:\nNone",
            "Treffer:\nkeine Treffer",
            "結果：None",
        ] {
            assert!(nothing_in(text), "{text}");
        }
        let long = "Found 0 files\n".repeat(100);
        for text in [
            "",
            "Files:",
            "Files:\nsrc/users.rs",
            "Files about users: []\nFiles about roles: ['roles.rs']",
            "Errors: []",
            "water before 18.0; pumps used: []",
            "Warnings:\nNone",
            "No errors found",
            "Found 0 files\nFound 3 functions",
            "Total: 7",
            "<missing x>",
            &long,
        ] {
            assert!(!nothing_in(text), "{text}");
        }
    }

    #[test]
    fn a_status_in_a_tag() {
        let log = |status: &str| alloc::format!("<status>{status}</status> <stdout> {} </stdout>", "row ".repeat(900));
        assert!(says(&log("running")).waiting && says(&log("running")).certainly_waiting);
        assert!(says("<task_id>b4</task_id> <status>in_progress</status> <output> 12").waiting);
        assert!(!says(&log("completed")).waiting && !says(&log("failed")).waiting);
        assert!(!says("<note> the status> running").waiting && !says("<status>").waiting);
    }

    #[test]
    fn waiting() {
        for (text, certainly) in [
            ("Build is still running", true),
            ("status: in_progress", true),
            ("In progress (3/10)", true),
            ("not ready yet", true),
            ("Waiting for pods", false),
            ("job PENDING", false),
            ("[10%] Building CXX object", false),
            ("queued", false),
            ("job 7 is queued", false),
            ("en attente", false),
            ("处理中", false),
            ("Starting...", true),
            ("activating", true),
            ("000", true),
            ("Warming up", false),
            ("still being rolled out", true),
            ("name: shop status: progressing replicas: 3", false),
            ("db Up 12 seconds (health: starting) db", false),
            ("NAME READY STATUS shop 0/1 ContainerCreating", false),
            ("NAME READY STATUS shop 0/3 Running", false),
            ("HTTP 202 Accepted Retry-After: 5", false),
            ("queued for 45 seconds", false),
            ("Position 3 in queue", false),
            ("Queue position: 4", false),
            ("nothing yet", false),
            ("Parcel 9 has not been handed over yet.", false),
            ("It hasn't been handed over yet", false),
            ("No reply from Ida yet", false),
            ("Build 88: no log yet", false),
            ("There are no replies yet", false),
            ("You have no messages yet!", false),
            ("Still no reply yet", false),
            ("Nobody has replied yet", false),
            ("Reply: none yet", false),
            ("Inbox for Ida\n- nothing yet", false),
            ("Ida hasn’t replied yet", false),
            ("NOT SHIPPED YET", false),
            ("Noch nicht da", false),
            ("Build 88: running", false),
            ("Please wait", false),
        ] {
            let says = says(text);
            assert!(says.waiting, "{text}");
            assert_eq!(says.certainly_waiting, certainly, "{text}");
        }
        let file = |word: &str| alloc::format!("{0} {word} {0}", "word ".repeat(100));
        let huge = alloc::format!("pending {}", "word ".repeat(2000));
        let texts: [String; 21] = [
            "yet another page".into(),
            "# Notes\nNothing yet.".into(),
            "the best one yet".into(),
            "No. 7 is the best one yet\nand it is moored".into(),
            "Build 88: finished, the rest: nothing".into(),
            "NAME READY STATUS shop 3/3 Running".into(),
            "status: missing".into(),
            "state: Bavaria".into(),
            "not running".into(),
            "Nothing".into(),
            "503 was the answer".into(),
            "queued b3f365e0".into(),
            "Scheduled for tomorrow".into(),
            "no pending migrations".into(),
            "0 pending".into(),
            "done waiting".into(),
            "nothing queued".into(),
            "buildings are awaiting".into(),
            "in progression".into(),
            file("pending"),
            huge,
        ];
        for text in &texts {
            assert!(!says(text).waiting, "{text}");
        }
        let tail = alloc::format!("{} pending", "word ".repeat(300));
        assert!(says(&tail).waiting);
    }
}
