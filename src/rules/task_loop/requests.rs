//! Who asked whom for what: the latest requests of a run, compared.

use crate::codec::codec;
use crate::model::{Collaboration, Context, Error, ErrorCode};
use crate::rules::{Cx, States};
use crate::state::{KEY_BYTES, Onset, Ring, Sighting, agent_key, owner_key};
use crate::text::{Embedding, Key, Request, trimmed};
use alloc::{format, vec::Vec};

/// Requests kept at once over all tasks of a run.
const REQUESTS: usize = 24;
/// Bytes of embeddings kept at once: 8 of 1,536 numbers. A request whose embedding was dropped is compared by its
/// words and by [`PastRequest::signs`].
const EMBEDDED: usize = 12 * 1024;
/// Most signs of 64 in which two embeddings about the same thing differ; unrelated ones differ in about 32.
const APART: u32 = 16;
/// Most agents of a ring.
const RING: usize = 8;
/// Earlier occurrences kept of a request that was made again.
const SEEN: usize = 3;

/// The latest requests, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    asked: Ring<PastRequest>,
    /// Requests dropped at their cap since this was last read.
    lost: u64,
}
codec!(struct Chain { asked, lost });

#[derive(Clone, Debug)]
struct PastRequest {
    /// The task whose counter is used.
    root: Key,
    from: Key,
    to: Key,
    request: Request,
    embedding: Option<Embedding>,
    /// The signs of 64 of its numbers, which are kept; 0 without an embedding.
    signs: u64,
    /// How often progress of the task had been measured before it.
    marks: u64,
    part: RequestPart,
    /// No request like it was made before, and it is not counted yet.
    first: bool,
    sighting: Sighting,
    /// Earlier occurrences of the same request.
    earlier: Ring<Sighting>,
    onset: Onset,
}
codec!(struct PastRequest { root, from, to, request, embedding, signs, marks, part, first, sighting, earlier, onset });

/// A request's part in a ring.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RequestPart {
    None,
    /// One of its steps.
    Link,
    /// The step that closes the ring, once a lap; with the number of agents.
    Close(u8),
}
codec!(enum RequestPart { None: 0, Link: 1, Close(first): 2 });

/// A request that was made before.
pub(super) enum Repetition {
    /// With measured progress in between.
    Progress,
    /// Without any progress.
    Loop {
        /// Agents of the ring; 0 for a pair.
        ring: usize,
        onset: Onset,
        /// The earlier one was not counted yet.
        first: bool,
        sightings: Vec<Sighting>,
    },
}

impl PastRequest {
    fn alike(&self, other: &Self, per_mille: u32) -> bool {
        match (&self.embedding, &other.embedding) {
            (Some(one), Some(two)) => one.alike(two, per_mille),
            _ => {
                let known = self.signs != 0 && other.signs != 0;
                let apart = known && (self.signs ^ other.signs).count_ones() > APART;
                !apart && self.request.alike(&other.request, per_mille)
            }
        }
    }
}

/// Rejects an embedding whose length differs from what the same pair of agents used before for this task.
///
/// # Errors
/// `invalid-event` at `embedding`.
pub(crate) fn mismatch(states: &States, context: &Context, asking: &Collaboration) -> Result<(), Error> {
    let Some(embedding) = &asking.embedding else { return Ok(()) };
    let (from, to) = (agent_key(&asking.from), agent_key(&asking.to));
    let task = owner_key(context.task.as_deref(), context.parent_task.as_deref());
    let root = states.task_loop.root(task);
    let chain = states.task_loop.chain();
    let pair = chain.asked.iter().rev().filter(|asked| asked.root == root && asked.from == from && asked.to == to);
    let known = pair.filter_map(|asked| asked.embedding.as_ref()).map(Embedding::len).next();
    match known {
        Some(known) if known != embedding.len() => {
            let message = format!("expected {known} numbers, as in the earlier request of the same pair");
            Err(Error::new(ErrorCode::InvalidEvent, message).at("embedding").with(embedding.len()))
        }
        _ => Ok(()),
    }
}

impl Chain {
    /// Records a request; `None` if it is new, a step within a ring that was found already, or asks for nothing: then
    /// only the turn is given.
    pub(super) fn take(&mut self, asking: &Collaboration, root: Key, marks: u64, cx: &Cx<'_>) -> Option<Repetition> {
        if asking.embedding.is_none() && trimmed(&asking.request).is_empty() {
            return None;
        }
        let request = Request::of(&asking.request, cx.salt);
        let embedding = asking.embedding.as_deref().and_then(Embedding::of);
        let mut asked = PastRequest {
            root,
            from: agent_key(&asking.from),
            to: agent_key(&asking.to),
            signs: embedding.as_ref().map_or(0, Embedding::signs),
            embedding,
            marks,
            part: RequestPart::None,
            first: true,
            sighting: Sighting { key: request.whole(), ..cx.here },
            earlier: Ring::default(),
            onset: cx.onset,
            request,
        };
        let threshold = cx.config.collaboration.similarity;
        let answers = self.answers(&asked, threshold);
        let known = self.asked.iter().rposition(|before| {
            before.root == root && before.from == asked.from && before.to == asked.to && before.alike(&asked, threshold)
        });
        let again = match known.and_then(|at| self.asked.remove(at)) {
            Some(before) => {
                asked.part = before.part;
                asked.earlier = before.earlier.clone();
                asked.earlier.push(before.sighting, SEEN);
                if before.marks != marks {
                    asked.part = RequestPart::None;
                    Some(Repetition::Progress)
                } else if answers {
                    None
                } else if before.part == RequestPart::Link {
                    // A lap of a ring counts once, where it closes.
                    asked.first = false;
                    None
                } else {
                    let ring = if let RequestPart::Close(agents) = before.part { usize::from(agents) } else { 0 };
                    asked.first = false;
                    let sightings = asked.earlier.iter().copied().chain([asked.sighting]).collect();
                    Some(Repetition::Loop { ring, onset: before.onset, first: before.first, sightings })
                }
            }
            None => self.ring(&mut asked, threshold),
        };
        self.lost = self.lost.saturating_add(self.asked.push_counted(asked, REQUESTS));
        self.trim();
        again
    }

    /// Whether a request only answers the latest one, which was new: work that is handed out piece by piece comes back
    /// in the same words each time.
    fn answers(&self, asked: &PastRequest, threshold: u32) -> bool {
        let latest = self.asked.iter().rev().find(|before| before.root == asked.root);
        latest.is_some_and(|latest| {
            let is_new = latest.first && latest.part == RequestPart::None && latest.earlier.len() == 0;
            is_new && latest.from == asked.to && latest.to == asked.from && !latest.alike(asked, threshold)
        })
    }

    /// The ring that a request closes, if any: walks back from the asking agent, along similar requests, to the agent
    /// that is asked.
    fn ring(&mut self, asked: &mut PastRequest, threshold: u32) -> Option<Repetition> {
        let mut path: Vec<usize> = Vec::new();
        let mut agents = alloc::vec![asked.to, asked.from];
        let mut to = asked.from;
        let mut latest = self.asked.len();
        while agents.len() <= RING {
            let earlier = self.asked.iter().enumerate().take(latest).rev().find(|(_, before)| {
                before.to == to
                    && before.root == asked.root
                    && before.marks == asked.marks
                    && before.alike(asked, threshold)
                    && (before.from == asked.to || !agents.contains(&before.from))
            });
            let (at, before) = earlier?;
            path.push(at);
            if before.from == asked.to {
                break;
            }
            agents.push(before.from);
            (to, latest) = (before.from, at);
        }
        let first = *path.last()?;
        if agents.len() > RING || agents.len() < 3 {
            return None;
        }
        let onset = self.asked.iter().nth(first)?.onset;
        for (at, before) in self.asked.iter_mut().enumerate() {
            if path.contains(&at) {
                before.part = RequestPart::Link;
            }
        }
        asked.part = RequestPart::Close(u8::try_from(agents.len()).unwrap_or(u8::MAX));
        asked.first = false;
        let mut sightings: Vec<Sighting> =
            path.iter().rev().filter_map(|at| Some(self.asked.iter().nth(*at)?.sighting)).collect();
        sightings.push(asked.sighting);
        Some(Repetition::Loop { ring: agents.len(), onset, first: false, sightings })
    }

    /// Drops the oldest embeddings beyond the cap.
    fn trim(&mut self) {
        let held = |asked: &PastRequest| asked.embedding.as_ref().map_or(0, Embedding::bytes);
        let mut bytes: usize = self.asked.iter().map(held).sum();
        for asked in self.asked.iter_mut() {
            if bytes <= EMBEDDED {
                break;
            }
            bytes -= held(asked);
            asked.embedding = None;
        }
    }

    pub(super) fn forget(&mut self, root: Key) {
        self.asked.retain(|asked| asked.root != root);
    }

    /// Upper bound of its encoded size in bytes.
    pub(super) fn weight(&self) -> usize {
        let asked = |asked: &PastRequest| {
            let embedded = asked.embedding.as_ref().map_or(0, |embedding| embedding.bytes() + 4);
            let earlier: usize = asked.earlier.iter().map(Sighting::weight).sum();
            4 * KEY_BYTES
                + 24
                + asked.request.weight()
                + embedded
                + asked.sighting.weight()
                + earlier
                + asked.onset.weight()
        };
        self.asked.iter().map(asked).sum()
    }

    pub(super) fn shed(&mut self) -> u64 {
        self.asked.halve()
    }

    pub(super) fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    pub(super) fn fits(&self) -> bool {
        let bytes: usize = self.asked.iter().filter_map(|asked| asked.embedding.as_ref()).map(Embedding::bytes).sum();
        self.asked.len() <= REQUESTS
            && bytes <= EMBEDDED
            && self.asked.iter().all(|asked| asked.request.fits() && asked.earlier.len() <= SEEN)
    }
}
