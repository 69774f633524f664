//! Fuses attention: a product, a scale, a mask, softmax and a second product, with the permutations
//! around them, become one kernel that reads and writes all tensors through strides.

use roci_kernels::params::{Attention, ElementwiseOp, Matmul, Params as _, Softmax, StridedCopy};

use super::editor::SegmentEditor;
use super::elementwise::{DecodedProgram, Instruction, Operand};
use crate::segment::{Dispatch, TensorId};

/// Loops of a strided copy, innermost first: size and stride of each.
type CopyLoops = Vec<(u32, u32)>;

/// Fuses every attention pattern. The GPU kernel limits head sizes; native code does not.
pub(super) fn join(editor: &mut SegmentEditor<'_>, is_native: bool) {
    for index in 0..editor.dispatches.len() {
        if editor.dispatches[index].kernel == "softmax"
            && let Some(found) = find(editor, index).filter(|found| is_native || found.params.fits_groups())
        {
            let label = editor.dispatches[index].label.clone();
            found.replaced.iter().for_each(|&step| editor.remove(step));
            let step = Dispatch {
                kernel: "attention",
                label,
                grid: found.params.grid(),
                constants: bytemuck::bytes_of(&found.params).to_vec(),
                bindings: found.bindings,
            };
            editor.set(found.last, step);
        }
    }
    editor.remove_dead();
}

struct FusedAttention {
    params: Attention,
    bindings: Vec<(TensorId, bool)>,
    /// The replaced dispatches, and the last of them, whose index the fused one takes.
    replaced: Vec<usize>,
    last: usize,
}

/// The operations between the products: the first product, the scale, and the mask with its loops.
struct ScaledScores {
    product: TensorId,
    scale: f32,
    mask: Option<(TensorId, CopyLoops)>,
}

/// Finds the attention whose softmax is the dispatch `index`.
fn find(editor: &SegmentEditor<'_>, index: usize) -> Option<FusedAttention> {
    let steps = &editor.dispatches;
    let softmax: Softmax = bytemuck::pod_read_unaligned(&steps[index].constants);
    let (input, weights) = (steps[index].bindings[0].0, steps[index].bindings[1].0);
    let mut replaced = vec![index];
    // Backward, to the product of queries and keys.
    let mut scores = ScaledScores { product: input, scale: 1.0, mask: None };
    let mut maker = sole_writer(editor, input, index)?;
    let masker = maker;
    if steps[maker].kernel == "elementwise_program" {
        scores = masked(&DecodedProgram::of(&steps[maker])?)?;
        replaced.push(maker);
        maker = sole_writer(editor, scores.product, maker)?;
    }
    let first = batched(&steps[maker])?;
    replaced.push(maker);
    let (units, rows, keys, size) = (first.batches, first.m, first.n, first.k);
    if softmax.columns != keys || softmax.rows != units.checked_mul(rows)? {
        return None;
    }
    // Forward, to the product with the values.
    let second_at = editor.only_reader(index)?;
    let second = batched(&steps[second_at])?;
    let width = second.n;
    if steps[second_at].bindings[0].0 != weights || [second.batches, second.m, second.k] != [units, rows, keys] {
        return None;
    }
    replaced.push(second_at);
    let mut last = second_at;
    // Tensors that are read, each with the first dispatch that reads it. Nothing may write them
    // between that dispatch and the last.
    let mut read: Vec<(TensorId, usize)> = Vec::new();
    let mut source = |tensor_id: TensorId, reader: usize, count: u32| {
        let (tensor_id, walk, step) =
            permuted_source(editor, tensor_id, reader).unwrap_or((tensor_id, vec![(count, 1)], None));
        replaced.extend(step);
        read.push((tensor_id, step.unwrap_or(reader)));
        (tensor_id, walk)
    };
    let (q, queries) = source(steps[maker].bindings[0].0, maker, units.checked_mul(rows)?.checked_mul(size)?);
    let (k, turned) = source(steps[maker].bindings[1].0, maker, units.checked_mul(keys)?.checked_mul(size)?);
    let (v, values) = source(steps[second_at].bindings[1].0, second_at, units.checked_mul(keys)?.checked_mul(width)?);
    let (_, rest) = split(queries.clone(), &[size, rows])?;
    let heads = rest.first().map_or(units, |(size, _)| *size);
    let batch = units.checked_div(heads).filter(|batch| batch * heads == units)?;
    let strides = |walk: CopyLoops, order: [u32; 4]| split(walk, &order).map(|(strides, _)| strides);
    let queries = strides(queries, [size, rows, heads, batch])?;
    let turned = strides(turned, [keys, size, heads, batch])?;
    let values = strides(values, [width, keys, heads, batch])?;
    if (queries[0], turned[1], values[0]) != (1, 1, 1) {
        return None;
    }
    let mask = match scores.mask {
        None => None,
        Some((tensor_id, walk)) => {
            let own = strides(walk, [keys, rows, heads, batch])?;
            Some((tensor_id, [own[3], own[2], own[1], own[0]]))
        }
    };
    // If a permutation follows, write the result in the permuted order.
    let mut result = steps[second_at].bindings[2].0;
    let mut to = [heads * rows * width, rows * width, width];
    if let Some(reader) = editor.only_reader(second_at)
        && let Some(walk) = permutation_loops(&steps[reader])
        && let Some(own) = strides(walk, [width, heads, rows, batch])
        && own[..3] == [1, rows * width, width]
        && (batch == 1 || own[3] == heads * rows * width)
    {
        result = steps[reader].bindings[1].0;
        to = [rows * heads * width, width, heads * width];
        replaced.push(reader);
        last = reader;
    }
    read.extend(mask.map(|(tensor_id, _)| (tensor_id, masker)));
    if read.iter().any(|&(tensor_id, at)| tensor_id == result || editor.written_between(tensor_id, at, last)) {
        return None;
    }
    let params = Attention {
        batch,
        heads,
        gqa_ratio: 1,
        rows,
        keys,
        size,
        width,
        past: 0,
        q: [queries[3], queries[2], queries[1]],
        k: [turned[3], turned[2], turned[0]],
        v: [values[3], values[2], values[1]],
        y: to,
        mask: mask.map_or([0; 4], |(_, strides)| strides),
        scale: scores.scale,
        flags: Attention::STRICT | if mask.is_some() { Attention::MASK } else { 0 },
    };
    let mut bindings: Vec<(TensorId, bool)> = [q, k, v].map(|tensor_id| (tensor_id, false)).to_vec();
    bindings.extend([(mask.map_or(q, |(tensor_id, _)| tensor_id), false), (result, true)]);
    Some(FusedAttention { params, bindings, replaced, last })
}

/// The dispatch that writes a tensor, if `reader` is its only reader.
fn sole_writer(editor: &SegmentEditor<'_>, tensor_id: TensorId, reader: usize) -> Option<usize> {
    let maker = editor.last_writer(tensor_id, reader)?;
    (editor.only_reader(maker) == Some(reader)).then_some(maker)
}

/// The parameters of a product of dense matrices, batched or not.
fn batched(step: &Dispatch) -> Option<Matmul> {
    if !matches!(step.kernel, "matmul_f32" | "matmul_large_f32") {
        return None;
    }
    let p: Matmul = bytemuck::pod_read_unaligned(&step.constants);
    let dense = p.lda == p.k && p.ldb == p.n && p.ldc == p.n;
    let whole = p.batches == 1 || [p.batch_a, p.batch_b, p.batch_c] == [p.m * p.k, p.k * p.n, p.m * p.n];
    (dense && whole).then_some(p)
}

/// The loops of a permutation that fills its whole target.
fn permutation_loops(step: &Dispatch) -> Option<CopyLoops> {
    if step.kernel != "strided_copy" {
        return None;
    }
    let p: StridedCopy = bytemuck::pod_read_unaligned(&step.constants);
    if [p.source_offset, p.target_offset] != [0, 0] || p.run != p.count {
        return None;
    }
    let sizes = p.shape.iter().zip(p.strides).rev().filter(|(size, _)| **size != 1);
    sizes.map(|(&size, stride)| Some((size, u32::try_from(stride).ok()?))).collect()
}

/// If a permutation writes `tensor_id` and `reader` is the only reader: the tensor that the
/// permutation reads, its loops, and its index.
fn permuted_source(
    editor: &SegmentEditor<'_>,
    tensor_id: TensorId,
    reader: usize,
) -> Option<(TensorId, CopyLoops, Option<usize>)> {
    let maker = sole_writer(editor, tensor_id, reader)?;
    let walk = permutation_loops(&editor.dispatches[maker])?;
    Some((editor.dispatches[maker].bindings[0].0, walk, Some(maker)))
}

/// Splits loops into dimensions of these sizes, innermost first. Returns their strides and the
/// remaining loops.
fn split(mut walk: CopyLoops, sizes: &[u32]) -> Option<(Vec<u32>, CopyLoops)> {
    let mut strides = Vec::new();
    for &expected in sizes {
        if expected == 1 {
            strides.push(u32::from(strides.is_empty()));
            continue;
        }
        let (size, stride) = *walk.first()?;
        if size % expected != 0 {
            return None;
        }
        strides.push(stride);
        if size == expected {
            walk.remove(0);
        } else {
            walk[0] = (size / expected, stride.checked_mul(expected)?);
        }
    }
    Some((strides, walk))
}

/// Decodes the elementwise program between product and softmax, if it only scales and masks.
fn masked(program: &DecodedProgram) -> Option<ScaledScores> {
    let mut terms = Vec::new();
    let mut scale = 1.0;
    for (at, &Instruction { op, operand }) in program.code.iter().enumerate() {
        match (op, operand) {
            (ElementwiseOp::Load, Operand::Input(input)) if at == 0 => terms.push(input),
            (ElementwiseOp::Add, Operand::Input(input)) => terms.push(input),
            // Only the product is scaled, not the mask.
            (ElementwiseOp::Mul, Operand::Word(word)) if terms.len() == 1 => scale *= f32::from_bits(word),
            (ElementwiseOp::Div, Operand::Word(word)) if terms.len() == 1 => scale /= f32::from_bits(word),
            _ => return None,
        }
    }
    let &[product, ref masks @ ..] = &terms[..] else { return None };
    let input = &program.inputs[product];
    if masks.len() > 1 || !program.is_dense(input) {
        return None;
    }
    let mask = masks.first().map(|&mask| {
        let own = &program.inputs[mask];
        let sizes = program.sizes.iter().zip(&own.strides).rev().filter(|(size, _)| **size != 1);
        (own.tensor_id, sizes.map(|(&size, &stride)| (size, stride)).collect())
    });
    Some(ScaledScores { product: input.tensor_id, scale, mask })
}
