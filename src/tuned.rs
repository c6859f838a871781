//! The constants of the rules about goals, effects and talk that were chosen by looking at recorded runs, each with the
//! values that it was tried with.
//!
//! They are constants. With the feature `tuning`, which `cargo xtask score --leave-out` alone builds with, they can be
//! set, so that each can be chosen without the collection of runs that it is then scored on.

/// One of them.
#[derive(Debug)]
#[cfg_attr(not(feature = "tuning"), expect(unreachable_pub, reason = "public where it can be set"))]
pub struct Constant(#[cfg(not(feature = "tuning"))] u32, #[cfg(feature = "tuning")] core::sync::atomic::AtomicU32);

impl Constant {
    /// What it is.
    #[cfg(not(feature = "tuning"))]
    #[inline]
    pub(crate) const fn get(&self) -> u32 {
        self.0
    }

    /// What it is now.
    #[cfg(feature = "tuning")]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }

    /// Changes it, for every detector of the process.
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

        /// Every one: its name, itself, its value and those that it was tried with.
        #[cfg(feature = "tuning")]
        pub static ALL: &[(&str, &Constant, u32, &[u32])] = &[$((stringify!($name), &$name, $value, &$tried)),*];
    };
}

tuned! {
    /// Two requests share a goal from this share of the weight of both, in per cent …
    GOAL_ALIKE = 44, tried [36, 40, 48, 52];
    /// … or from this share of the lighter one and that of both.
    GOAL_WITHIN = 70, tried [60, 65, 75, 80];
    GOAL_WITHIN_ALIKE = 40, tried [32, 36, 44];
    /// A rewording is worth a point for each so many per cent beyond [`REWORDED_FROM`] that are shared.
    REWORDED_STEP = 4, tried [5, 6, 7];
    REWORDED_FROM = 10, tried [5, 15, 20];
    /// Of which so many twelfths are left where it names something more …
    REWORDED_PLUS = 8, tried [4, 6, 10, 12];
    /// … and so many after an answer with hardly a new word, another action to no effect, an answer or another error,
    /// and a new place.
    CAME_STALE = 8, tried [5, 6, 10, 12];
    CAME_ACTED = 6, tried [4, 8, 10];
    CAME_TEXT = 4, tried [3, 5, 6, 7];
    CAME_ELSEWHERE = 4, tried [2, 3, 5, 6];
    CAME_MOVED = 0, tried [1, 2, 3];
    /// Requests that a new one is compared with.
    REQUESTS_KEPT = 12, tried [6, 8, 10];
    /// An answer has news where one in so many of its words is new.
    ANSWER_NEWS = 4, tried [3, 5, 6];
    /// Two messages are about one thing from this share of the weight of both, or of the lighter one, in per cent.
    TALK_ALIKE = 30, tried [25, 35, 40];
    TALK_WITHIN = 55, tried [45, 50, 60, 65];
    /// Longer messages, in bytes, are plans, reports or code.
    TALK_LONGEST = 400, tried [300, 500, 700, 900, 1200, 1600];
    /// A message says something from this share of new words, in per cent, and is then worth so many twelfths …
    TALK_FRESH = 22, tried [16, 19, 25, 28];
    TALK_NEWS = 5, tried [2, 3, 4, 6];
    /// … and so many where the user named something.
    TALK_USER_NEWS = 1, tried [0, 2, 3];
    /// Share of tokens from which two attempts are one, in per cent.
    ATTEMPT_ALIKE = 70, tried [60, 65, 75, 80];
    /// Share of the words of a reaction from which it is one that was made before, in per cent.
    REACTION_ALIKE = 80, tried [65, 70, 75, 85, 90];
    /// Of so many calls half must have been turned away for a stock reaction to stand for all of those.
    REJECTED_AMONG = 6, tried [4, 8, 10];
    /// Of what two delegated prompts are about, the share from which they are one, in per cent.
    DELEGATION_ALIKE = 50, tried [44, 60, 70];
    /// A step that is new undoes as many that are not, in a long lap.
    LAP_NEW = 5, tried [3, 4, 7, 9];
    /// Steps of the shortest lap that is looked for so: shorter ones are followed step by step.
    LAP_SHORTEST = 11, tried [5, 15, 20];
    /// So many steps in a row that were all made shortly before, with the same outcomes, are told of …
    ROW_STEPS = 5, tried [4, 6, 7];
    /// … each of them at most so many steps ago.
    ROW_LATE = 10, tried [6, 8, 12, 16];
}
