//! Payload -> something comparable.
//!
//! Nothing above this layer looks at a payload: calls, results and messages become fixed-size keys, flags and short
//! printable names here, in single passes over the bytes. Digests are what windows hold, so that no payload is kept.

mod again;
mod answer;
mod artifact;
mod canonical;
mod complaint;
mod digest;
mod digits;
mod echo;
mod edge;
mod effect;
mod embedding;
mod envelope;
mod failure;
mod fields;
mod frame;
mod glance;
mod goal;
mod late;
mod left;
mod lines;
pub(crate) mod markdown;
mod mask;
mod money;
mod mutation;
mod nature;
mod nearest;
mod novelty;
mod order;
mod orders;
mod outcome;
mod pattern;
mod refusal;
mod request;
mod results;
mod root;
mod rows;
mod safe;
mod said;
mod scan;
mod shapes;
mod shell;
mod signature;
mod similar;
mod similarity;
mod sketch;
mod stream;
mod tape;
mod target;
mod terminal;
mod token;
mod unread;
mod vocabulary;
mod volatile_json;
mod words;

pub(crate) use answer::{is_hopeless, may_change, narrows};
pub(crate) use artifact::{document, failing_tests, patch};
pub(crate) use canonical::{CallKey, arguments, call_key, canonical_json, depth_within};
pub(crate) use complaint::complains;
pub(crate) use digest::{Digests, Key, combine, evidence, key, mark, salt, salted, shown, veil};
pub(crate) use digits::number;
pub(crate) use echo::Echo;
pub(crate) use edge::{Edge, edges};
pub(crate) use effect::{Moved, State as Effect};
pub(crate) use embedding::{Embedding, LONGEST as LONGEST_EMBEDDING};
pub(crate) use envelope::{opened, with_output};
pub(crate) use failure::{FailureFacts, SIGNATURE as FAILURE_SIGNATURE, name as failure_name};
pub(crate) use frame::{call_frame, frame, heading};
pub(crate) use goal::{Goal, Kinship, beside, figures, goal_words, named_things, plain_words, quoted};
pub(crate) use late::Late;
pub(crate) use left::Left;
pub(crate) use lines::trimmed;
pub(crate) use mask::{Span, Strength, normalise};
pub(crate) use money::{cost_of, millionths};
pub(crate) use mutation::{Edit, Named, edit, keeps_notes, kind, kind_of, limit, mutates, quiet};
pub(crate) use nature::{Nature, mistake, nature, told, transient, waited};
pub(crate) use nearest::nearest;
pub(crate) use novelty::{BLOCK_WORDS, Novelty};
pub(crate) use order::{ordered, sort_few};
pub(crate) use orders::{ordered_times, orders_sweep, orders_wait};
pub(crate) use outcome::{
    Empty, Figures, Glance, OutcomeFacts, Scratch, Seen, Volatile, glance, outcome, progress, seen,
};
pub(crate) use refusal::Refusal;
pub(crate) use request::{
    Asks, REASONS, Waits, asked_wait, asks, backoff, delegated, ends, enters, has_digit, is_reason, pages,
    reads_as_prose, records, request_goal, request_words, scrolls, waits, word_hashes,
};
pub(crate) use results::all_pass;
pub(crate) use root::{Tokens, down, first_mark, rejects, root_place, tells_trouble};
pub(crate) use safe::printable;
pub(crate) use said::said;
pub(crate) use signature::Signatures;
pub(crate) use similar::{Pattern, gist, is_gist};
pub(crate) use similarity::Request;
pub(crate) use sketch::{Sketch, Words};
pub(crate) use stream::{Periods, Repetition};
pub(crate) use target::target;
pub(crate) use unread::Unread;
pub(crate) use vocabulary::Vocabulary;
