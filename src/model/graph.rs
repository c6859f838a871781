use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A workflow graph: which nodes hand work to which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Graph {
    /// The nodes, 1 to 256. In a cycle without a named driver, the first of them is the driver.
    pub nodes: Vec<GraphNode>,
    /// The edges, at most 1,024.
    #[serde(default)]
    pub edges: Vec<GraphEdge>,
    /// Ids of the nodes that drive their cycle; equivalent to `driver` on the node itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
}

/// A node: its id, or an object with its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum GraphNode {
    /// Just the id.
    Id(String),
    /// The id with further properties.
    Node(DrivingNode),
}

/// A node with its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DrivingNode {
    /// The id, 1 to 256 bytes, unique within the graph.
    pub id: String,
    /// Whether the node drives its cycle: a delivery into it completes an iteration.
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

    /// Whether the node itself is marked as the driver of its cycle.
    #[must_use]
    pub const fn is_driver(&self) -> bool {
        matches!(self, Self::Node(node) if node.driver)
    }
}

impl<'de> Deserialize<'de> for GraphNode {
    /// Written by hand, because an untagged enum could not report which field of the object is wrong.
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
    /// The id, unique within the graph. An edge without one is identified by its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
}

/// What to do about a stalled or oscillating loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnStall {
    /// A gate: the run waits for a human.
    Pause,
    /// A gate: a human takes over interactively.
    #[default]
    SwitchToInteractive,
    /// A block that recommends a review by another agent; the run goes on by itself.
    SpawnReviewer,
    /// A block that recommends another model; the run goes on by itself.
    RetryWithNewProvider,
}
