//! Constants of the rules about goals, effects and talk that were tuned on recorded runs, each with the alternative
//! values that were tried.
//!
//! Normally they are compile-time constants. With the feature `tuning`, which only `cargo xtask score --leave-out`
//! enables, they can be changed, so that each can be chosen without the collection of runs that it is then scored on.

/// A tuned constant.
#[derive(Debug)]
#[cfg_attr(not(feature = "tuning"), expect(unreachable_pub, reason = "public where it can be set"))]
pub struct Constant(#[cfg(not(feature = "tuning"))] u32, #[cfg(feature = "tuning")] core::sync::atomic::AtomicU32);

impl Constant {
    /// Its value.
    #[cfg(not(feature = "tuning"))]
    #[inline]
    pub(crate) const fn get(&self) -> u32 {
        self.0
    }

    /// Its current value.
    #[cfg(feature = "tuning")]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }

    /// Changes it for every detector of the process.
    #[cfg(feature = "tuning")]
    pub fn set(&self, value: u32) {
        self.0.store(value, core::sync::atomic::Ordering::Relaxed);
    }
}

macro_rules! tuned {
    ($($(#[$about:meta])* $name:ident = $value:literal, tried $tried:expr;)*) => {
        $($(#[$about])*
        #[cfg(not(feature = "tuning"))]
        pub(crate) const $name: Constant = Constant($value);
        $(#[$about])*
        #[cfg(feature = "tuning")]
        pub(crate) static $name: Constant = Constant(core::sync::atomic::AtomicU32::new($value));)*

        /// All constants: name, constant, value and the alternatives tried.
        #[cfg(feature = "tuning")]
        pub static ALL: &[(&str, &Constant, u32, &[u32])] = &[$((stringify!($name), &$name, $value, &$tried)),*];
    };
}

tuned! {
    /// Two requests share a goal if they share at least this percentage of their combined weight …
    GOAL_ALIKE = 44, tried [36, 40, 48, 52];
    /// … or at least these percentages of the lighter one's weight and of the combined weight.
    GOAL_WITHIN = 70, tried [60, 65, 75, 80];
    GOAL_WITHIN_ALIKE = 40, tried [32, 36, 44];
    /// A rewording earns one point per this many percent shared beyond [`REWORDED_FROM`] percent.
    REWORDED_STEP = 4, tried [5, 6, 7];
    REWORDED_FROM = 10, tried [5, 15, 20];
    /// Twelfths of these points that remain if the request names something more …
    REWORDED_PLUS = 8, tried [4, 6, 10, 12];
    /// … and after, in this order: an answer with hardly a new word; another action without effect; an answer with new
    /// words, or another error; a place not seen before; a change of place or figures.
    CAME_STALE = 8, tried [5, 6, 10, 12];
    CAME_ACTED = 6, tried [4, 8, 10];
    CAME_TEXT = 4, tried [3, 5, 6, 7];
    CAME_ELSEWHERE = 4, tried [2, 3, 5, 6];
    CAME_MOVED = 0, tried [1, 2, 3];
    /// Earlier requests that a new one is compared with.
    REQUESTS_KEPT = 12, tried [6, 8, 10];
    /// An answer is news if at least one in this many of its words is new.
    ANSWER_NEWS = 4, tried [3, 5, 6];
    /// Two messages are about one thing if they share this percentage of their combined weight, or of the lighter
    /// one's.
    TALK_ALIKE = 30, tried [25, 35, 40];
    TALK_WITHIN = 55, tried [45, 50, 60, 65];
    /// Messages longer than this, in bytes, count as plans, reports or code.
    TALK_LONGEST = 400, tried [300, 500, 700, 900, 1200, 1600];
    /// A message with more than this percentage of new words says something new; the second constant is the twelfths of
    /// its points that remain then …
    TALK_FRESH = 22, tried [16, 19, 25, 28];
    TALK_NEWS = 5, tried [2, 3, 4, 6];
    /// … and this one the twelfths that remain if the user has named something.
    TALK_USER_NEWS = 0, tried [2, 3];
    /// A report says again what those before said if at most this percentage of its words is new.
    REPORT_FRESH = 28, tried [20, 24, 32, 36];
    /// Percentage of equal tokens at which two attempts count as the same.
    ATTEMPT_ALIKE = 70, tried [60, 65, 75, 80];
    /// Percentage of the lighter one's weight shared with an earlier reaction at which it counts as a stock reaction.
    REACTION_ALIKE = 80, tried [65, 70, 75, 85, 90];
    /// If half of this many recent calls were turned away, a stock reaction counts for all of those.
    REJECTED_AMONG = 6, tried [4, 8, 10];
    /// Percentage of the combined weight at which two delegated prompts are about the same.
    DELEGATION_ALIKE = 50, tried [44, 60, 70];
    /// In a long lap, one new step cancels this many repeated ones.
    LAP_NEW = 5, tried [3, 4, 7, 9];
    /// Steps of the shortest lap detected this way; shorter ones are followed step by step.
    LAP_SHORTEST = 11, tried [5, 15, 20];
    /// This many steps in a row are reported if all were made shortly before, with the same outcomes …
    ROW_STEPS = 5, tried [4, 6, 7];
    /// … each of them at most this many steps ago.
    ROW_LATE = 10, tried [6, 8, 12, 16];
}
