//! The workflow as a graph of keys, declared by the host or learned from handovers, and its cycles.

use crate::codec::codec;
use crate::model::{self, Error, ErrorCode};
use crate::text::{Key, combine, evidence, key, printable, sorted};
use alloc::{format, string::String, vec::Vec};

/// Nodes and edges of a declared graph.
const NODES: usize = 256;
const EDGES: usize = 1024;
/// Nodes and edges of a learned graph.
const LEARNED_NODES: usize = 64;
const LEARNED_EDGES: usize = 256;
/// Most bytes of an id given by the host.
const ID: usize = 256;
/// Characters kept of a node's name, for reports.
const NAME: usize = 48;

/// The nodes that can be reached from a node along edges, itself only on a cycle, as bits.
fn reached(next: &[Vec<usize>], from: usize) -> [u64; NODES / 64] {
    let (mut reached, mut open) = ([0; NODES / 64], Vec::from([from]));
    while let Some(nodes) = open.pop().and_then(|node| next.get(node)) {
        for node in nodes {
            if !holds(&reached, *node) {
                set(&mut reached, *node);
                open.push(*node);
            }
        }
    }
    reached
}

fn holds(bits: &[u64; NODES / 64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
}

fn set(bits: &mut [u64; NODES / 64], at: usize) {
    if let Some(bits) = bits.get_mut(at / 64) {
        *bits |= 1 << (at % 64);
    }
}

/// A workflow and its cycles, which are recomputed only when the workflow changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    /// In the order of declaration or first appearance.
    nodes: Vec<Node>,
    /// In a learned graph, the least recently used first.
    edges: Vec<Edge>,
    cycles: Vec<Cycle>,
    declared: bool,
}
codec!(struct Graph { nodes, edges, cycles, declared });

#[derive(Clone, Debug, PartialEq)]
struct Node {
    key: Key,
    name: String,
    driver: bool,
}
codec!(struct Node { key, name, driver });

#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    key: Key,
    from: Key,
    to: Key,
}
codec!(struct Edge { key, from, to });

/// A strongly connected component of at least two nodes, or a node with an edge to itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cycle {
    /// Key of the sorted ids of its nodes and edges.
    pub(crate) key: Key,
    /// The node at which an iteration ends: an edge of the cycle into it closes the cycle.
    pub(crate) driver: Key,
    /// In the order of the graph's nodes.
    pub(crate) members: Vec<Key>,
}
codec!(struct Cycle { key, driver, members });

impl Cycle {
    /// The cycle's stable id: 16 hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        evidence(self.key).into()
    }
}

/// Key of a node's id.
pub(crate) fn node_key(id: &str) -> Key {
    key("node", id.as_bytes())
}

fn edge_key(id: Option<&str>, from: Key, to: Key) -> Key {
    id.map_or_else(|| combine("edge", &[from, to]), |id| key("edge", id.as_bytes()))
}

impl Graph {
    /// A graph as declared by the host, in a field `graph`. `code` is the class of errors.
    ///
    /// # Errors
    /// If an id is empty, too long or given twice, if an edge ends at an unknown node, or if there are too many of
    /// anything.
    pub(crate) fn declare(graph: &model::Graph, code: ErrorCode) -> Result<Self, Error> {
        let fail = |field: String, message: String| Error::new(code, message).at(format!("graph.{field}"));
        let id_fits = |id: &str| (1..=ID).contains(&id.len());
        if !(1..=NODES).contains(&graph.nodes.len()) {
            return Err(fail("nodes".into(), format!("expected 1 to {NODES}")).with(graph.nodes.len()));
        }
        if graph.edges.len() > EDGES {
            return Err(fail("edges".into(), format!("expected at most {EDGES}")).with(graph.edges.len()));
        }
        let mut built = Self { declared: true, ..Self::default() };
        for (index, node) in graph.nodes.iter().enumerate() {
            let id = node.id();
            let key = node_key(id);
            if !id_fits(id) {
                return Err(fail(format!("nodes[{index}]"), format!("expected an id of 1 to {ID} bytes")));
            }
            if built.node(key).is_some() {
                return Err(fail(format!("nodes[{index}]"), "given twice".into()).with(id));
            }
            built.nodes.push(Node { key, name: printable(id, NAME).into_owned(), driver: node.is_driver() });
        }
        for (index, id) in graph.drivers.iter().enumerate() {
            let key = node_key(id);
            let Some(node) = built.nodes.iter_mut().find(|node| node.key == key) else {
                return Err(fail(format!("drivers[{index}]"), "no such node".into()).with(id));
            };
            node.driver = true;
        }
        for (index, edge) in graph.edges.iter().enumerate() {
            let end = |field: &str, id: &str| {
                let key = node_key(id);
                let known = built.node(key).map(|_| key);
                known.ok_or_else(|| fail(format!("edges[{index}].{field}"), "no such node".into()).with(id))
            };
            let (from, to) = (end("from", &edge.from)?, end("to", &edge.to)?);
            let id = edge.id.as_deref();
            if id.is_some_and(|id| !id_fits(id)) {
                return Err(fail(format!("edges[{index}].id"), format!("expected an id of 1 to {ID} bytes")));
            }
            let key = edge_key(id, from, to);
            if built.edges.iter().any(|known| known.key == key) {
                return Err(fail(format!("edges[{index}]"), "given twice".into()).with(id.unwrap_or(&edge.from)));
            }
            built.edges.push(Edge { key, from, to });
        }
        built.find_cycles();
        Ok(built)
    }

    /// Learns that `from` hands something to `to`; true if that is new.
    pub(crate) fn learn(&mut self, from: &str, to: &str, id: Option<&str>) -> bool {
        let (from_key, to_key) = (node_key(from), node_key(to));
        let key = edge_key(id, from_key, to_key);
        if let Some(index) =
            self.edges.iter().position(|edge| edge.key == key && edge.from == from_key && edge.to == to_key)
        {
            let edge = self.edges.remove(index);
            self.edges.push(edge);
            return false;
        }
        for (key, name) in [(from_key, from), (to_key, to)] {
            if self.node(key).is_none() {
                self.nodes.push(Node { key, name: printable(name, NAME).into_owned(), driver: false });
            }
        }
        self.edges.push(Edge { key, from: from_key, to: to_key });
        while self.edges.len() > LEARNED_EDGES || self.nodes.len() > LEARNED_NODES {
            self.edges.remove(0);
            let edges = &self.edges;
            self.nodes.retain(|node| edges.iter().any(|edge| edge.from == node.key || edge.to == node.key));
        }
        self.find_cycles();
        true
    }

    /// Two nodes are on one cycle if each reaches the other. A graph is small and seldom changes.
    fn find_cycles(&mut self) {
        let index_of = |key: Key| self.nodes.iter().position(|node| node.key == key);
        let mut next: Vec<Vec<usize>> = self.nodes.iter().map(|_| Vec::new()).collect();
        for edge in &self.edges {
            if let (Some(from), Some(to)) = (index_of(edge.from), index_of(edge.to))
                && let Some(next) = next.get_mut(from)
            {
                next.push(to);
            }
        }
        let reached: Vec<[u64; NODES / 64]> = (0..next.len()).map(|from| reached(&next, from)).collect();
        let mut found = [0; NODES / 64];
        let mut cycles = Vec::new();
        for (at, from) in reached.iter().enumerate().filter(|(at, from)| holds(from, *at)) {
            if !holds(&found, at) {
                let on = |(other, back): &(usize, &[u64; NODES / 64])| holds(from, *other) && holds(back, at);
                let component: Vec<usize> = reached.iter().enumerate().filter(on).map(|(other, _)| other).collect();
                component.iter().for_each(|node| set(&mut found, *node));
                cycles.extend(self.cycle(&component));
            }
        }
        self.cycles = cycles;
    }

    /// The cycle of a component given by node indexes; `None` if it has no edge inside.
    fn cycle(&self, component: &[usize]) -> Option<Cycle> {
        let nodes: Vec<&Node> = component.iter().filter_map(|index| self.nodes.get(*index)).collect();
        let members: Vec<Key> = nodes.iter().map(|node| node.key).collect();
        let inside = |edge: &&Edge| members.contains(&edge.from) && members.contains(&edge.to);
        let edges: Vec<Key> = self.edges.iter().filter(inside).map(|edge| edge.key).collect();
        if edges.is_empty() {
            return None;
        }
        let (edges, nodes_in_order) = (sorted(edges), sorted(members.clone()));
        let driver = nodes.iter().find(|node| node.driver).or_else(|| nodes.first())?.key;
        let key = combine("cycle", &[combine("cycle-nodes", &nodes_in_order), combine("cycle-edges", &edges)]);
        Some(Cycle { key, driver, members })
    }

    fn node(&self, key: Key) -> Option<&Node> {
        self.nodes.iter().find(|node| node.key == key)
    }

    pub(crate) fn is_declared(&self) -> bool {
        self.declared
    }

    pub(crate) fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    pub(crate) fn has_cycle(&self, key: Key) -> bool {
        self.cycles.iter().any(|cycle| cycle.key == key)
    }

    /// The cycle that a node is on; there is never more than one.
    pub(crate) fn cycle_of(&self, node: Key) -> Option<&Cycle> {
        self.cycles.iter().find(|cycle| cycle.members.contains(&node))
    }

    /// The cycle that an edge belongs to.
    pub(crate) fn cycle_through(&self, from: Key, to: Key, id: Option<&str>) -> Option<&Cycle> {
        let cycle = self.cycle_of(from).filter(|cycle| cycle.members.contains(&to))?;
        let key = edge_key(id, from, to);
        // An edge is also known by its ends: not every host names the edge with each delivery.
        self.edges.iter().any(|edge| edge.key == key || (edge.from == from && edge.to == to)).then_some(cycle)
    }

    /// Whether the default budgets apply to a node.
    pub(crate) fn binds(&self, node: Key) -> bool {
        if self.declared { self.node(node).is_some() } else { self.cycle_of(node).is_some() }
    }

    /// Keys and printable names of the nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (Key, &str)> {
        self.nodes.iter().map(|node| (node.key, node.name.as_str()))
    }

    /// Printable name of a node; empty if it is unknown.
    pub(crate) fn name(&self, node: Key) -> &str {
        self.node(node).map_or("", |node| &node.name)
    }

    pub(crate) fn fits(&self) -> bool {
        let (nodes, edges) = if self.declared { (NODES, EDGES) } else { (LEARNED_NODES, LEARNED_EDGES) };
        self.nodes.len() <= nodes
            && self.edges.len() <= edges
            && self.cycles.len() <= nodes
            && self.nodes.iter().all(|node| node.name.len() <= NAME * 4)
            && self.cycles.iter().all(|cycle| cycle.members.len() <= nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, LEARNED_EDGES, LEARNED_NODES, node_key};
    use crate::model::{self, ErrorCode};
    use alloc::{format, string::String, vec::Vec};

    fn declare(text: &str) -> Graph {
        let graph: model::Graph = serde_json::from_str(text).unwrap();
        Graph::declare(&graph, ErrorCode::InvalidConfig).unwrap()
    }

    /// The cycles as names, the driver first.
    fn cycles(graph: &Graph) -> Vec<String> {
        let show = |cycle: &super::Cycle| {
            let members: Vec<&str> = cycle.members.iter().map(|member| graph.name(*member)).collect();
            format!("{}: {}", graph.name(cycle.driver), members.join(" "))
        };
        graph.cycles().iter().map(show).collect()
    }

    #[test]
    fn components_of_two_nodes_and_self_loops_are_cycles() {
        let edges = |pairs: &str| {
            let edges = pairs.split_whitespace().map(|pair| {
                let (from, to) = pair.split_once('>').unwrap();
                format!(r#"{{"from":"{from}","to":"{to}"}}"#)
            });
            let edges: Vec<String> = edges.collect();
            declare(&format!(r#"{{"nodes":["a","b","c","d"],"edges":[{}]}}"#, edges.join(",")))
        };
        for (pairs, expected) in [
            ("", &[][..]),
            ("a>b b>c c>d", &[]),
            ("a>b b>a", &["a: a b"]),
            ("c>c", &["c: c"]),
            ("a>b b>c c>a c>d", &["a: a b c"]),
            ("a>b b>a c>d d>c b>c", &["a: a b", "c: c d"]),
            ("d>a a>d a>b b>d c>c", &["a: a b d", "c: c"]),
        ] {
            assert_eq!(cycles(&edges(pairs)), expected, "{pairs}");
        }
    }

    #[test]
    fn the_driver_is_named_or_first() {
        let edges = r#""edges":[{"from":"a","to":"b"},{"from":"b","to":"a"}]"#;
        assert_eq!(cycles(&declare(&format!(r#"{{"nodes":["a",{{"id":"b","driver":true}}],{edges}}}"#))), ["b: a b"]);
        assert_eq!(cycles(&declare(&format!(r#"{{"nodes":["a","b"],"drivers":["b"],{edges}}}"#))), ["b: a b"]);
        assert_eq!(cycles(&declare(&format!(r#"{{"nodes":["b",{{"id":"a"}}],{edges}}}"#))), ["b: b a"]);
    }

    #[test]
    fn the_id_of_a_cycle_depends_on_nothing_but_its_ids() {
        let id = |text: &str| declare(text).cycles()[0].id();
        let one = id(r#"{"nodes":["a","b"],"edges":[{"id":"x","from":"a","to":"b"},{"id":"y","from":"b","to":"a"}]}"#);
        let turned =
            id(r#"{"nodes":["z","b","a"],"edges":[{"id":"y","from":"b","to":"a"},{"id":"x","from":"a","to":"b"}]}"#);
        let other =
            id(r#"{"nodes":["a","b"],"edges":[{"id":"x","from":"a","to":"b"},{"id":"z","from":"b","to":"a"}]}"#);
        assert_eq!(one, turned);
        assert_ne!(one, other);
        assert_eq!(one, "8ddb007952bd2781", "golden: ids are kept by hosts");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, field) in [
            (r#"{"nodes":[]}"#, "graph.nodes"),
            (r#"{"nodes":["a","a"]}"#, "graph.nodes[1]"),
            (r#"{"nodes":["a",""]}"#, "graph.nodes[1]"),
            (r#"{"nodes":["a"],"drivers":["b"]}"#, "graph.drivers[0]"),
            (r#"{"nodes":["a"],"edges":[{"from":"a","to":"b"}]}"#, "graph.edges[0].to"),
            (r#"{"nodes":["a"],"edges":[{"from":"a","to":"a"},{"from":"a","to":"a"}]}"#, "graph.edges[1]"),
            (r#"{"nodes":["a"],"edges":[{"id":"","from":"a","to":"a"}]}"#, "graph.edges[0].id"),
        ] {
            let graph: model::Graph = serde_json::from_str(text).unwrap();
            let error = Graph::declare(&graph, ErrorCode::InvalidConfig).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field), "{text}");
        }
    }

    #[test]
    fn a_learned_graph_is_bounded_and_forgets_what_is_not_used() {
        let mut graph = Graph::default();
        graph.learn("a", "b", None);
        graph.learn("b", "a", None);
        assert!(!graph.learn("a", "b", None));
        for index in 0..1000 {
            graph.learn(&format!("n{index}"), &format!("m{index}"), None);
            graph.learn("a", "b", None);
            assert!(graph.nodes.len() <= LEARNED_NODES && graph.edges.len() <= LEARNED_EDGES && graph.fits());
        }
        // `b → a` was unused for so long that it is gone; `a → b` is still there.
        assert!(graph.cycles().is_empty());
        assert!(graph.node(node_key("a")).is_some());
        assert!(graph.learn("b", "a", None));
        assert_eq!(cycles(&graph), ["a: a b"]);
    }
}
