//! Sequences and optional values.

use roci_graph::DType;
use roci_graph::graph::DeclaredType;
use roci_graph::ops::Sequence;

use super::NodeContext;
use crate::Error;
use crate::proto::AttributeType;
use crate::tensor::declared;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = match node.op().as_str() {
        "SequenceConstruct" => Sequence::Construct,
        "SequenceEmpty" => Sequence::Empty { dtype: node.dtype("dtype")?.unwrap_or(DType::F32) },
        "SequenceAt" => Sequence::At,
        "SequenceInsert" => Sequence::Insert,
        "SequenceErase" => Sequence::Erase,
        "SequenceLength" => Sequence::Length,
        "SplitToSequence" => Sequence::Split { axis: node.int_or("axis", 0)?, keep: node.flag("keepdims", true)? },
        "ConcatFromSequence" => {
            let axis = node.int("axis")?.ok_or_else(|| Error::invalid("attribute `axis` is missing"))?;
            Sequence::Concat { axis, new: node.flag("new_axis", false)? }
        }
        "Optional" => {
            let kind = node.of("type", AttributeType::TypeProto)?.and_then(|one| one.tp.as_ref());
            let kind = kind.map_or(Ok(None), declared)?;
            Sequence::Optional { dtype: kind.map_or(DType::F32, element) }
        }
        "OptionalHasElement" => Sequence::Has,
        "OptionalGetElement" => Sequence::Get,
        _ => return Ok(false),
    };
    node.emit(op)
}

/// The element type of a value.
fn element(kind: DeclaredType) -> DType {
    match kind {
        DeclaredType::Tensor { dtype, .. } => dtype,
        DeclaredType::Sequence(inner) | DeclaredType::Optional(inner) => element(*inner),
    }
}
