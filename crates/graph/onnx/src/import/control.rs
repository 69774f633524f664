//! Control flow: nodes with subgraphs.

use std::sync::Arc;

use roci_graph::ops::control::{Control, Scan};
use roci_graph::{Graph, ValueId};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "If" => {
            let condition = node.required(0)?;
            let (then, first) = node.subgraph("then_branch")?;
            let (otherwise, second) = node.subgraph("else_branch")?;
            enough(&then, node.outputs())?;
            enough(&otherwise, node.outputs())?;
            let operands: Vec<_> = [condition].into_iter().chain(first).chain(second).map(Some).collect();
            node.emit_with(Control::If { then: Arc::new(then), otherwise: Arc::new(otherwise) }, &operands)
        }
        "Loop" => {
            let (body, around) = node.subgraph("body")?;
            let own = input_count(&body, &around)?;
            let carried = own.checked_sub(2).ok_or_else(|| Error::invalid("the loop body has too few inputs"))?;
            let operands = operands(node, own, around)?;
            enough(&body, node.outputs() + 1)?;
            node.emit_with(Control::Loop { body: Arc::new(body), carried }, &operands)
        }
        "Scan" => scan(node),
        "SequenceMap" => {
            let (body, around) = node.subgraph("body")?;
            let own = input_count(&body, &around)?;
            let operands = operands(node, own, around)?;
            enough(&body, node.outputs())?;
            node.emit_with(Control::Map { body: Arc::new(body), own }, &operands)
        }
        _ => Ok(false),
    }
}

/// The number of a subgraph's inputs that are not captured values.
fn input_count(body: &Graph, around: &[ValueId]) -> Result<usize, Error> {
    body.inputs.len().checked_sub(around.len()).ok_or_else(|| Error::invalid("the subgraph has too few inputs"))
}

/// The node's operands, whose number must match the subgraph's inputs, and the captured values.
fn operands(node: &NodeContext<'_, '_>, own: usize, around: Vec<ValueId>) -> Result<Vec<Option<ValueId>>, Error> {
    let mut operands = node.inputs().to_vec();
    if operands.len() > own {
        return Err(Error::invalid(format!(
            "{} operands do not match the {own} inputs of the subgraph",
            operands.len()
        )));
    }
    operands.resize(own, None);
    operands.extend(around.into_iter().map(Some));
    Ok(operands)
}

/// Fails if a subgraph has fewer outputs than the node.
fn enough(body: &Graph, outputs: usize) -> Result<(), Error> {
    if body.outputs.len() < outputs {
        let has = body.outputs.len();
        return Err(Error::invalid(format!("the subgraph has {has} outputs, expected {outputs}")));
    }
    Ok(())
}

fn scan(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let batched = node.version() < 9;
    let first = usize::from(batched);
    let (body, around) = node.subgraph("body")?;
    let read = node.int("num_scan_inputs")?.and_then(|count| usize::try_from(count).ok());
    let own = input_count(&body, &around)?;
    let fits = |read: &usize| *read > 0 && *read <= own;
    let read = read.filter(fits).ok_or_else(|| Error::invalid("`num_scan_inputs` does not match the scan body"))?;
    let carried = own - read;
    let collected = body.outputs.len().checked_sub(carried);
    let collected = collected.ok_or_else(|| Error::invalid("the scan body has too few outputs"))?;
    let list = |name: &str, count: usize| -> Result<Vec<i64>, Error> {
        let given = node.ints(name)?.unwrap_or_else(|| vec![0; count]);
        if given.len() != count {
            return Err(Error::invalid(format!("attribute `{name}` has {} entries, expected {count}", given.len())));
        }
        Ok(given)
    };
    let pairs =
        |axes: Vec<i64>, reverse: Vec<i64>| axes.into_iter().zip(reverse.into_iter().map(|one| one != 0)).collect();
    let (read, collected) = if batched {
        (pairs(vec![0; read], list("directions", read)?), pairs(vec![0; collected], vec![0; collected]))
    } else {
        (
            pairs(list("scan_input_axes", read)?, list("scan_input_directions", read)?),
            pairs(list("scan_output_axes", collected)?, list("scan_output_directions", collected)?),
        )
    };
    let operands = operands(node, own + first, around)?;
    enough(&body, node.outputs())?;
    node.emit_with(Control::Scan(Scan { body: Arc::new(body), carried, read, collected, batched }), &operands)
}
