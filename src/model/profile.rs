use alloc::{string::String, vec::Vec};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Error as _},
};

/// One or several detectors whose settings are applied in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Extends {
    /// A single detector.
    One(Profile),
    /// Several detectors; later ones take precedence.
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

/// Defines the profiles: each variant with its name.
macro_rules! profiles {
    ($($(#[$about:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// A detector whose way of counting can be adopted; `docs/migrating.md` describes each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Profile {
            $($(#[$about])* #[cfg_attr(feature = "schema", schemars(rename = $name))] $variant),*
        }

        impl Profile {
            /// All profiles, in the order of their names.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The profile with this name, if there is one.
            pub(crate) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|profile| profile.name() == name)
            }

            /// The name used in a configuration.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
    };
}

/// Written by hand, like `Deserialize` below: the derived code would be as large as all of the profiles.
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
    /// Written by hand: the derive for untagged enums would pull in a second JSON reader.
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
    /// Agent Shepherd: visits of phases, transitions, and going back and forth.
    AgentShepherd = "agent-shepherd",
    /// Cline: the third and the fifth identical call in a row.
    Cline = "cline",
    /// gemini-cli: the fifth identical call in a row, and passages repeated while streaming.
    GeminiCli = "gemini-cli",
    /// goose: identical calls in a row; without a limit, as shipped.
    Goose = "goose",
    /// gptme: turns with the same calls in a row.
    Gptme = "gptme",
    /// Hermes in attended use: nudges only.
    Hermes = "hermes",
    /// Hermes in unattended use: with blocks and halts.
    HermesUnattended = "hermes-unattended",
    /// nanobot: repeated failures on one target, and repeated requests.
    Nanobot = "nanobot",
    /// open-multi-agent: turns with the same calls or the same text in a row.
    OpenMultiAgent = "open-multi-agent",
    /// OpenClaw: the same call among the latest thirty, polls, ping-pong, tools that do not exist.
    Openclaw = "openclaw",
    /// opencode: the third identical call in a row.
    Opencode = "opencode",
    /// OpenHands, the software agent SDK.
    Openhands = "openhands",
    /// OpenHands' first detector, with a user in the conversation.
    OpenhandsV0 = "openhands-v0",
    /// OpenHands' first detector, headless.
    OpenhandsV0Headless = "openhands-v0-headless",
    /// OpenRouter's agent SDK: the same call in consecutive rounds, and repeated texts.
    Openrouter = "openrouter",
    /// The stuck-loop detection of pydantic-deepagents.
    PydanticDeepagents = "pydantic-deepagents",
    /// Ralph: an output that is 90 % the same as one of the last five.
    Ralph = "ralph",
    /// Roo Code: the fourth identical call in a row.
    RooCode = "roo-code",
    /// theappapp: the third identical failure of a task.
    Theappapp = "theappapp",
    /// Tolokaforge: ten identical steps in a row.
    Tolokaforge = "tolokaforge",
    /// WeatherVane: attempts at a task.
    Weathervane = "weathervane",
    /// ZeroClaw: the same call, two alternating tools, the same result.
    Zeroclaw = "zeroclaw",
}
