use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A workflow: who hands work to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Graph {
    /// The nodes, 1 to 256; of a cycle without a named driver the first of them is the driver.
    pub nodes: Vec<GraphNode>,
    /// The edges, at most 1,024.
    #[serde(default)]
    pub edges: Vec<GraphEdge>,
    /// Ids of the nodes that drive their cycle, as `driver` on the node itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
}

/// A node: its id, or an object with its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum GraphNode {
    /// The id alone.
    Id(String),
    /// The id and what is said about the node.
    Node(DrivingNode),
}

/// A node with what is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DrivingNode {
    /// The id, 1 to 256 bytes, unique.
    pub id: String,
    /// Whether an edge into the node closes the cycle it is on.
    #[serde(default)]
    pub driver: bool,
}

impl GraphNode {
    /// The node's id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Id(id) => id,
            Self::Node(node) => &node.id,
        }
    }

    /// Whether the node itself says that it drives its cycle.
    #[must_use]
    pub const fn is_driver(&self) -> bool {
        matches!(self, Self::Node(node) if node.driver)
    }
}

impl<'de> Deserialize<'de> for GraphNode {
    /// By hand, because an untagged enum could not say which field of the object is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = GraphNode;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("the id of a node, or an object with `id` and `driver`")
            }

            fn visit_str<E: de::Error>(self, id: &str) -> Result<GraphNode, E> {
                Ok(GraphNode::Id(id.into()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<GraphNode, A::Error> {
                DrivingNode::deserialize(de::value::MapAccessDeserializer::new(map)).map(GraphNode::Node)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// An edge: the first node hands work to the second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GraphEdge {
    /// The id, unique; an edge without one is known by its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
}

/// What a stalled or oscillating loop leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnStall {
    /// A gate: the run waits for a human.
    Pause,
    /// A gate: a human steers.
    #[default]
    SwitchToInteractive,
    /// A block, with the advice to let another agent review; the run goes on by itself.
    SpawnReviewer,
    /// A block, with the advice to use another model; the run goes on by itself.
    RetryWithNewProvider,
}
