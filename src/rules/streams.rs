//! Which text belongs to which stream: one stream per agent and channel, from one assistant turn to the next.

use crate::codec::codec;
use crate::model::{Body, Channel, Event, HostKind, Role};
use crate::rules::{Cx, Fact, Facts};
use crate::state::{Onset, Ring, agent_of};
use crate::text::Key;

/// Maximum number of streams followed at once; the one that has been silent longest is dropped.
const STREAMS: usize = 3;
/// Minimum length of a complete message that is analysed like a stream, in characters.
pub(crate) const WHOLE: usize = 480;

/// Analyses the text of one stream.
pub(crate) trait Listener: Default {
    /// A digest of the text heard so far, whatever chunks it came in.
    fn digest(&self) -> Key;
    /// Whether a restored state is within its caps.
    fn fits(&self) -> bool;
}

#[derive(Clone, Debug)]
pub(crate) struct Streams<L> {
    open: Ring<Stream<L>>,
}
codec!(struct Streams<L> { open });

impl<L> Default for Streams<L> {
    fn default() -> Self {
        Self { open: Ring::default() }
    }
}

#[derive(Clone, Debug)]
struct Stream<L> {
    agent: Key,
    channel: Channel,
    /// The event that the stream began with.
    onset: Onset,
    /// The digest of its text once the turn is over: further text on this channel starts another stream.
    ended: Option<Key>,
    /// Empty once the turn is over.
    listener: L,
}
codec!(struct Stream<L> { agent, channel, onset, ended, listener });

/// What a listener returned for an event, and which stream it belongs to.
pub(crate) struct Heard<T> {
    pub(crate) what: T,
    pub(crate) agent: Key,
    pub(crate) channel: Channel,
    /// The event that the stream began with.
    pub(crate) onset: Onset,
}

impl<L: Listener> Streams<L> {
    /// Text, and everything that ends a turn.
    pub(crate) const SEES: Facts = Facts::DELTA
        .and(Facts::MESSAGE)
        .and(Facts::HOST)
        .and(Facts::REPORT)
        .and(Facts::SYNTHETIC)
        .and(Facts::CALL)
        .and(Facts::STEP)
        .and(Facts::OUTPUT);

    /// Whether a fact may be text, or may end the turn of an open stream.
    #[inline]
    pub(crate) fn heeds(&self, fact: &Fact<'_>) -> bool {
        self.open.len() > 0 || !matches!(fact, Fact::Call(..) | Fact::Step(..))
    }

    /// Passes the text of a fact to the listener of its stream. Complete messages are only analysed from `whole`
    /// characters.
    pub(crate) fn hear<T>(
        &mut self,
        fact: &Fact<'_>,
        cx: &Cx<'_>,
        whole: usize,
        listen: impl FnOnce(&mut L, &str) -> Option<T>,
    ) -> Option<Heard<T>> {
        match fact {
            Fact::Event(event) => match &event.body {
                Body::Delta(delta) => {
                    let (agent, channel) = (agent_of(&event.context), delta.channel.unwrap_or_default());
                    let stream = self.listening(agent, channel, cx.onset)?;
                    let what = listen(&mut stream.listener, &delta.text)?;
                    return Some(Heard { what, agent, channel, onset: stream.onset });
                }
                Body::Message(message) if message.role == Role::Assistant => {
                    let (agent, channel) = (agent_of(&event.context), message.channel.unwrap_or_default());
                    let streamed = self.take(agent, channel);
                    self.end(Some(agent));
                    // Check bytes first: their number is known, and there are at least as many bytes as characters.
                    if message.text.len() < whole || message.text.chars().take(whole).count() < whole {
                        return None;
                    }
                    let mut listener = L::default();
                    let what = listen(&mut listener, &message.text)?;
                    // A message that was streamed before is the same text, not another loop.
                    let same = streamed.filter(|stream| stream.digest() == listener.digest());
                    return Some(Heard { what, agent, channel, onset: same.map_or(cx.onset, |stream| stream.onset) });
                }
                _ => self.turn(event),
            },
            Fact::Synthetic(event) => self.turn(event),
            Fact::Call(call, _) => self.end(Some(call.agent)),
            Fact::Step(step, _) => self.end(Some(step.agent)),
            Fact::Output { .. } => self.end(None),
            Fact::NotRun(..) | Fact::Custom(_) | Fact::UserMessage(_) | Fact::Tick => {}
        }
        None
    }

    /// Ends the turn if the event does.
    fn turn(&mut self, event: &Event) {
        let named = event.context.agent.as_ref().map(|_| agent_of(&event.context));
        match &event.body {
            Body::Host(host) if host.kind == HostKind::TurnStart => self.end(named),
            Body::Message(message) if message.role != Role::Assistant => self.end(named),
            Body::Turn(_) => self.end(named),
            _ => {}
        }
    }

    /// Ends the turn of one agent, or of all.
    fn end(&mut self, agent: Option<Key>) {
        let over = self.open.iter_mut().filter(|stream| agent.is_none_or(|agent| stream.agent == agent));
        over.for_each(Stream::end);
    }

    /// The stream that continues here, made the newest; a stream whose turn is over starts afresh.
    fn listening(&mut self, agent: Key, channel: Channel, onset: Onset) -> Option<&mut Stream<L>> {
        let fresh = || Stream { agent, channel, onset, ended: None, listener: L::default() };
        let stream = self.open.renew(STREAMS, |stream| stream.agent == agent && stream.channel == channel, fresh)?;
        if stream.ended.is_some() {
            *stream = fresh();
        }
        Some(stream)
    }

    fn take(&mut self, agent: Key, channel: Channel) -> Option<Stream<L>> {
        self.open.take(|stream| stream.agent == agent && stream.channel == channel)
    }

    /// Listeners of the streams whose turn is not over.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = &L> {
        self.open.iter().filter(|stream| stream.ended.is_none()).map(|stream| &stream.listener)
    }

    pub(crate) fn fits(&self) -> bool {
        self.open.len() <= STREAMS && self.open.iter().all(|stream| stream.listener.fits())
    }
}

impl<L: Listener> Stream<L> {
    fn digest(&self) -> Key {
        self.ended.unwrap_or_else(|| self.listener.digest())
    }

    /// Ends the turn. Of the text, only what a complete message is compared with is kept.
    fn end(&mut self) {
        if self.ended.is_none() {
            self.ended = Some(self.listener.digest());
            self.listener = L::default();
        }
    }
}

/// The channel as a word.
pub(crate) fn channel_words(channel: Channel) -> &'static str {
    match channel {
        Channel::Text => "answer",
        Channel::Reasoning => "reasoning",
    }
}
