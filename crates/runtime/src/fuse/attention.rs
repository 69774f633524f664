//! Attention that is spelt in kernels: a product, a scale, a mask, softmax and another product, with the changes of order
//! around them, as one kernel that reads and writes everything where it lies.

use roci_kernels::params::{Arrange, Attention, ChainOp, Matmul, Params as _, Softmax};

use super::program::{Instruction, Operand, Program};
use super::work::Work;
use crate::segment::{Slot, Step};

/// A walk: sizes and strides, the innermost first.
type Walk = Vec<(u32, u32)>;

/// Replaces all that is found; where it is for groups of invocations, what they take.
pub(super) fn join(work: &mut Work<'_>, is_native: bool) {
    for index in 0..work.steps.len() {
        if work.steps[index].kernel == "softmax"
            && let Some(found) = find(work, index).filter(|found| is_native || found.params.fits_groups())
        {
            let label = work.steps[index].label.clone();
            found.gone.iter().for_each(|&step| work.remove(step));
            let step = Step {
                kernel: "attention",
                label,
                grid: found.params.grid(),
                constants: bytemuck::bytes_of(&found.params).to_vec(),
                bindings: found.bindings,
            };
            work.set(found.last, step);
        }
    }
    work.sweep();
}

struct Found {
    params: Attention,
    bindings: Vec<(Slot, bool)>,
    /// Steps that it does the work of, and the last of them, in whose place it stands.
    gone: Vec<usize>,
    last: usize,
}

/// What is scaled and masked: the product, the scale, and the mask with its walk.
struct Scores {
    product: Slot,
    scale: f32,
    mask: Option<(Slot, Walk)>,
}

/// The attention whose softmax is at `index`.
fn find(work: &Work<'_>, index: usize) -> Option<Found> {
    let steps = &work.steps;
    let softmax: Softmax = bytemuck::pod_read_unaligned(&steps[index].constants);
    let (input, weights) = (steps[index].bindings[0].0, steps[index].bindings[1].0);
    let mut gone = vec![index];
    // Backwards to the product of queries and keys.
    let mut scores = Scores { product: input, scale: 1.0, mask: None };
    let mut maker = made_for(work, input, index)?;
    let masker = maker;
    if steps[maker].kernel == "chain" {
        scores = masked(&Program::of(&steps[maker])?)?;
        gone.push(maker);
        maker = made_for(work, scores.product, maker)?;
    }
    let first = batched(&steps[maker])?;
    gone.push(maker);
    let (units, rows, keys, size) = (first.batches, first.m, first.n, first.k);
    if softmax.columns != keys || softmax.rows != units.checked_mul(rows)? {
        return None;
    }
    // Forwards to the product with the values.
    let second_at = work.only_reader(index)?;
    let second = batched(&steps[second_at])?;
    let width = second.n;
    if steps[second_at].bindings[0].0 != weights || [second.batches, second.m, second.k] != [units, rows, keys] {
        return None;
    }
    gone.push(second_at);
    let mut last = second_at;
    // What is read, and by which step so far: nothing may write it from there on.
    let mut read: Vec<(Slot, usize)> = Vec::new();
    let mut source = |slot: Slot, reader: usize, count: u32| {
        let (slot, walk, step) = arranged(work, slot, reader).unwrap_or((slot, vec![(count, 1)], None));
        gone.extend(step);
        read.push((slot, step.unwrap_or(reader)));
        (slot, walk)
    };
    let (q, queries) = source(steps[maker].bindings[0].0, maker, units.checked_mul(rows)?.checked_mul(size)?);
    let (k, turned) = source(steps[maker].bindings[1].0, maker, units.checked_mul(keys)?.checked_mul(size)?);
    let (v, values) = source(steps[second_at].bindings[1].0, second_at, units.checked_mul(keys)?.checked_mul(width)?);
    let (_, rest) = split(queries.clone(), &[size, rows])?;
    let heads = rest.first().map_or(units, |(size, _)| *size);
    let batch = units.checked_div(heads).filter(|batch| batch * heads == units)?;
    let strides = |walk: Walk, order: [u32; 4]| split(walk, &order).map(|(strides, _)| strides);
    let queries = strides(queries, [size, rows, heads, batch])?;
    let turned = strides(turned, [keys, size, heads, batch])?;
    let values = strides(values, [width, keys, heads, batch])?;
    if (queries[0], turned[1], values[0]) != (1, 1, 1) {
        return None;
    }
    let mask = match scores.mask {
        None => None,
        Some((slot, walk)) => {
            let own = strides(walk, [keys, rows, heads, batch])?;
            Some((slot, [own[3], own[2], own[1], own[0]]))
        }
    };
    // The result goes where a change of order behind it would bring it.
    let mut result = steps[second_at].bindings[2].0;
    let mut to = [heads * rows * width, rows * width, width];
    if let Some(reader) = work.only_reader(second_at)
        && let Some(walk) = walk_of(&steps[reader])
        && let Some(own) = strides(walk, [width, heads, rows, batch])
        && own[..3] == [1, rows * width, width]
        && (batch == 1 || own[3] == heads * rows * width)
    {
        result = steps[reader].bindings[1].0;
        to = [rows * heads * width, width, heads * width];
        gone.push(reader);
        last = reader;
    }
    read.extend(mask.map(|(slot, _)| (slot, masker)));
    if read.iter().any(|&(slot, at)| slot == result || work.written_between(slot, at, last)) {
        return None;
    }
    let params = Attention {
        batch,
        heads,
        shared_by: 1,
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
    let mut bindings: Vec<(Slot, bool)> = [q, k, v].map(|slot| (slot, false)).to_vec();
    bindings.extend([(mask.map_or(q, |(slot, _)| slot), false), (result, true)]);
    Some(Found { params, bindings, gone, last })
}

/// The step that makes a tensor for one reader alone.
fn made_for(work: &Work<'_>, slot: Slot, reader: usize) -> Option<usize> {
    let maker = work.maker(slot, reader)?;
    (work.only_reader(maker) == Some(reader)).then_some(maker)
}

/// The figures of products of many dense matrices.
fn batched(step: &Step) -> Option<Matmul> {
    if !matches!(step.kernel, "matmul_f32" | "matmul_large_f32") {
        return None;
    }
    let p: Matmul = bytemuck::pod_read_unaligned(&step.constants);
    let dense = p.lda == p.k && p.ldb == p.n && p.ldc == p.n;
    let whole = p.batches == 1 || [p.batch_a, p.batch_b, p.batch_c] == [p.m * p.k, p.k * p.n, p.m * p.n];
    (dense && whole).then_some(p)
}

/// The walk of a change of order that fills its target.
fn walk_of(step: &Step) -> Option<Walk> {
    if step.kernel != "arrange" {
        return None;
    }
    let p: Arrange = bytemuck::pod_read_unaligned(&step.constants);
    if [p.source_offset, p.target_offset] != [0, 0] || p.run != p.count {
        return None;
    }
    let sizes = p.shape.iter().zip(p.strides).rev().filter(|(size, _)| **size != 1);
    sizes.map(|(&size, stride)| Some((size, u32::try_from(stride).ok()?))).collect()
}

/// The tensor that a change of order reads to make another for one reader, the walk, and the step.
fn arranged(work: &Work<'_>, slot: Slot, reader: usize) -> Option<(Slot, Walk, Option<usize>)> {
    let maker = made_for(work, slot, reader)?;
    let walk = walk_of(&work.steps[maker])?;
    Some((work.steps[maker].bindings[0].0, walk, Some(maker)))
}

/// The strides of dimensions of these sizes, the innermost first, and what is left of the walk.
fn split(mut walk: Walk, sizes: &[u32]) -> Option<(Vec<u32>, Walk)> {
    let mut strides = Vec::new();
    for &wanted in sizes {
        if wanted == 1 {
            strides.push(u32::from(strides.is_empty()));
            continue;
        }
        let (size, stride) = *walk.first()?;
        if size % wanted != 0 {
            return None;
        }
        strides.push(stride);
        if size == wanted {
            walk.remove(0);
        } else {
            walk[0] = (size / wanted, stride.checked_mul(wanted)?);
        }
    }
    Some((strides, walk))
}

/// What a program between product and softmax does, if it is scaling and masking.
fn masked(program: &Program) -> Option<Scores> {
    let mut terms = Vec::new();
    let mut scale = 1.0;
    for (at, &Instruction { op, operand }) in program.code.iter().enumerate() {
        match (op, operand) {
            (ChainOp::Load, Operand::Input(input)) if at == 0 => terms.push(input),
            (ChainOp::Add, Operand::Input(input)) => terms.push(input),
            // The scale is that of the product alone.
            (ChainOp::Mul, Operand::Word(word)) if terms.len() == 1 => scale *= f32::from_bits(word),
            (ChainOp::Div, Operand::Word(word)) if terms.len() == 1 => scale /= f32::from_bits(word),
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
        (own.slot, sizes.map(|(&size, &stride)| (size, stride)).collect())
    });
    Some(Scores { product: input.slot, scale, mask })
}
