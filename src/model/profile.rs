use alloc::{string::String, vec::Vec};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Error as _},
};

/// Another detector, or several: their settings one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Extends {
    /// One.
    One(Profile),
    /// Several: what a later one says counts.
    Several(Vec<Profile>),
}

impl Extends {
    pub(crate) fn profiles(&self) -> &[Profile] {
        match self {
            Self::One(profile) => core::slice::from_ref(profile),
            Self::Several(profiles) => profiles,
        }
    }
}

/// Names, each with its variant.
macro_rules! profiles {
    ($($(#[$about:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// A detector whose way of counting a configuration can have: `docs/migrating.md` tells of each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Profile {
            $($(#[$about])* #[cfg_attr(feature = "schema", schemars(rename = $name))] $variant),*
        }

        impl Profile {
            /// Every profile, by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The profile of a name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|profile| profile.name() == name)
            }

            /// The name that a configuration calls it by.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
    };
}

/// By name. By hand, as the derives' code would be as long as all of the profiles.
impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::custom(format_args!("unknown detector `{name}`")))
    }
}

impl<'de> Deserialize<'de> for Extends {
    /// By hand: what the derive reads an untagged enum with is a second reader of JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Extends;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("the name of a detector, or a list of names")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Extends, E> {
                Profile::deserialize(de::value::StrDeserializer::new(name)).map(Extends::One)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, names: A) -> Result<Extends, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(names)).map(Extends::Several)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

profiles! {
    /// Agent Shepherd: visits of phases, transitions, and walks back and forth.
    AgentShepherd = "agent-shepherd",
    /// Cline: the same call three and five times in a row.
    Cline = "cline",
    /// gemini-cli: the same call five times in a row, and passages that are chanted.
    GeminiCli = "gemini-cli",
    /// goose: the same call in a row; as shipped without a limit.
    Goose = "goose",
    /// gptme: turns with the same calls in a row.
    Gptme = "gptme",
    /// Hermes where somebody attends: notices alone.
    Hermes = "hermes",
    /// Hermes on platforms where nobody attends: with hard stops.
    HermesUnattended = "hermes-unattended",
    /// nanobot: failures at one target, requests made again.
    Nanobot = "nanobot",
    /// open-multi-agent: turns with the same calls or the same text in a row.
    OpenMultiAgent = "open-multi-agent",
    /// OpenClaw: the same call among the latest thirty, polls, ping-pong, tools that there are not.
    Openclaw = "openclaw",
    /// opencode: the same call three times in a row.
    Opencode = "opencode",
    /// OpenHands, the software agent SDK.
    Openhands = "openhands",
    /// OpenHands' first detector, with a user in the conversation.
    OpenhandsV0 = "openhands-v0",
    /// OpenHands' first detector, without one.
    OpenhandsV0Headless = "openhands-v0-headless",
    /// OpenRouter's agent SDK: the same call round after round, and texts.
    Openrouter = "openrouter",
    /// The stuck-loop detection of pydantic-deepagents.
    PydanticDeepagents = "pydantic-deepagents",
    /// Ralph: an output that is nine tenths one of the last five.
    Ralph = "ralph",
    /// Roo Code: the fourth equal call in a row.
    RooCode = "roo-code",
    /// theappapp: the third equal failure of a task.
    Theappapp = "theappapp",
    /// Tolokaforge: ten equal steps.
    Tolokaforge = "tolokaforge",
    /// WeatherVane: attempts at a task.
    Weathervane = "weathervane",
    /// ZeroClaw: the same call, two tools in turn, one result.
    Zeroclaw = "zeroclaw",
}
