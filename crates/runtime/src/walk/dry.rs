//! A walk that only tells what would happen: the same decisions, with nothing sent to a device.

use roci_graph::ops::Facts;
use roci_graph::{Fact, Graph, Node, Op, Operation, ValueId, shape};

use super::held::{Held, Home, OnDevice};
use super::{Shelf, Walk};
use crate::Error;
use crate::error::Refusal;
use crate::plan::Placement;

/// Results of more elements than this are not computed to tell what would happen.
const LITTLE: usize = 1 << 20;

/// Walks through a graph, of whose inputs this is known: where each of its nodes would run.
pub(crate) fn dry(shelf: &mut Shelf, graph: &Graph, inputs: &[Option<Fact>]) -> Result<Vec<Placement>, Error> {
    let mut walk = Walk::new(shelf, graph, &[], 0);
    for (id, fact) in graph.inputs.iter().zip(inputs) {
        walk.held[id.index()].told.clone_from(fact);
    }
    let mut places = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        let made = match walk.results(node) {
            Ok(made) => {
                places.push(std::mem::replace(&mut walk.place, Placement::Ahead));
                made
            }
            Err(error) => {
                places.push(match error {
                    Error::Untold(_) => Placement::Unknown(error.to_string()),
                    Error::Unsupported { reason, .. } => Placement::Refused(reason),
                    Error::Run(error) => Placement::Refused(error.error.to_string()),
                    other => Placement::Refused(other.to_string()),
                });
                walk.outputs(node)
            }
        };
        walk.hold(index, node, made);
    }
    walk.imagine()?;
    Ok(places)
}

impl Walk<'_> {
    /// An error where the shape of an operand is not known in a walk that only tells.
    pub(super) fn must_know(&self, node: &Node) -> Result<(), Refusal> {
        if self.shelf.dry.is_none() {
            return Ok(());
        }
        let untold = |id: &&ValueId| self.fact(**id).is_none_or(|fact| fact.shape.is_none());
        node.inputs.iter().flatten().find(untold).map_or(Ok(()), |id| Err(Refusal::Untold(*id)))
    }

    /// Whether a node is computed even where nothing runs: its operands are known, and it makes little.
    pub(super) fn is_little(&self, node: &Node) -> bool {
        let known = node.inputs.iter().flatten().all(|id| self.held[id.index()].host.is_some());
        if !known || node.op.is_random() || matches!(node.op, Op::Control(_)) {
            return false;
        }
        let little =
            |fact: &Fact| fact.shape.as_ref().is_none_or(|one| shape::count(one).is_ok_and(|all| all <= LITTLE));
        self.inferred(node).iter().all(little)
    }

    /// What a node would make on the host.
    pub(super) fn imagined(&mut self, node: &Node) -> Result<Vec<Held>, Error> {
        let is_collected = |id: &ValueId| {
            matches!(self.held[id.index()].device.as_ref().map(|device| &device.home), Some(Home::Slot(_)))
        };
        let ahead = self.place == Placement::Ahead;
        // The host would have to see them.
        if !ahead && node.inputs.iter().flatten().any(is_collected) {
            self.imagine()?;
        }
        Ok(self.outputs(node).into_iter().map(|held| Held { ahead, ..held }).collect())
    }

    /// Plans the memory of what was collected.
    pub(super) fn imagine(&mut self) -> Result<(), Error> {
        let mut segment = self.collected();
        self.shelf.settle(&mut segment, self.graph)?;
        let Some(dry) = &mut self.shelf.dry else { return Ok(()) };
        dry.dispatches += segment.steps.len();
        for id in self.collected.drain(..) {
            let held = &mut self.held[id.index()];
            match &mut held.device {
                Some(OnDevice { home: Home::Slot(slot), .. }) if segment.is_gone(*slot) => held.device = None,
                Some(device) => device.home = Home::Range(dry.nowhere.clone()),
                None => {}
            }
        }
        Ok(())
    }

    /// What is known of a node's outputs.
    fn outputs(&self, node: &Node) -> Vec<Held> {
        let held = |fact: Fact| Held { told: Some(Fact { value: None, ..fact }), ..Held::default() };
        self.inferred(node).into_iter().map(held).collect()
    }

    fn inferred(&self, node: &Node) -> Vec<Fact> {
        let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| id.and_then(|id| self.fact(id))).collect();
        node.op.infer(&Facts::new(&facts, node.outputs.len())).unwrap_or_default()
    }
}
