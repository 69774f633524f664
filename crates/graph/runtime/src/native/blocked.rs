//! Images in blocks of channels (NCHWc): selects the convolutions and pools that use them, and
//! inserts the layout conversions.
//!
//! One pass over the dispatches tracks in which layouts each tensor exists. A dispatch requests its
//! operands in the layout that it needs; a `reorder` before it creates a missing one. Which
//! convolutions are worth the conversions is decided before the pass.

use std::collections::HashMap;

use roci_kernels::native::{Level, pack_blocked};
use roci_kernels::params::{BlockedLayout, Conv, ConvBlocked, Params, Pool, PoolBlocked, Reorder};

use super::{WeightLayout, WeightPacker};
use crate::Error;
use crate::fuse::editor::AccessIndex;
use crate::fuse::elementwise::{DecodedProgram, Input};
use crate::fuse::elementwise_params;
use crate::segment::{Dispatch, Segment, TensorId};

/// Multiply-adds that a convolution needs per reordered element to be worth the conversion: about
/// as many as blocks save in the time of one reorder.
const MIN_MULTIPLY_ADDS_PER_REORDERED: u64 = 128;
/// The number of elements that can be copied row by row, to add a border only, in the time of
/// reordering one.
const COPIED_PER_REORDERED: u64 = 8;

/// How a dispatch can use blocks.
#[derive(Clone, Copy, Debug)]
enum StepKind {
    Conv(Conv),
    /// A pool: its parameters, and its kernel for blocks.
    Pool(Pool, &'static str),
    /// An elementwise program over contiguous tensors, which works in any layout.
    Elementwise,
    Other,
}

/// Uses blocked layouts where they are faster.
pub(super) fn block(segment: &mut Segment, packer: &mut WeightPacker<'_>) -> Result<(), Error> {
    let lanes = Level::best().lanes() as u32;
    // Narrower vectors do not benefit from blocks.
    if lanes < 8 {
        return Ok(());
    }
    let mut kinds: Vec<StepKind> = segment.dispatches.iter().map(|step| kind(segment, step, lanes)).collect();
    choose(segment, &mut kinds, lanes);
    if !kinds.iter().any(|kind| matches!(kind, StepKind::Conv(_))) {
        return Ok(());
    }
    let steps = std::mem::take(&mut segment.dispatches);
    let borders = borders(&steps, &kinds);
    let mut pass = LayoutPass { segment, packer, lanes, borders, orders: HashMap::new(), dispatches: Vec::new() };
    for (index, step) in steps.into_iter().enumerate() {
        pass.step(step, kinds[index])?;
    }
    for tensor_id in pass.segment.outliving_tensors() {
        pass.plain(tensor_id, "output");
    }
    pass.segment.dispatches = pass.dispatches;
    Ok(())
}

/// Classifies a dispatch, without its neighbors.
fn kind(segment: &Segment, step: &Dispatch, lanes: u32) -> StepKind {
    match step.kernel {
        "conv" | "conv_tiled" => {
            let p: Conv = bytemuck::pod_read_unaligned(&step.constants);
            let depthwise = p.groups > 1 && p.groups == p.in_channels && p.groups == p.out_channels;
            let [_, (w, _), (bias, _), _] = step.bindings[..] else { return StepKind::Other };
            let known =
                segment.constant(w).is_some() && (p.flags & Conv::BIAS == 0 || segment.constant(bias).is_some());
            let fits = p.is_flat() && p.stride[2] <= 2 && p.pad.iter().all(|&pad| pad >= 0);
            let wide = p.out_channels >= lanes / 2 && (p.groups == 1 || depthwise);
            if known && fits && wide && border(&p).is_some() { StepKind::Conv(p) } else { StepKind::Other }
        }
        "pool_max" | "pool_average" => {
            let p: Pool = bytemuck::pod_read_unaligned(&step.constants);
            let flat = [p.input[0], p.output[0], p.kernel[0]] == [1; 3] && p.pad[0] == 0;
            let counted = p.flags & Pool::COUNT_PAD == 0 || p.pad == [0; 3] && p.pad_end == [0; 3];
            let kernel = if step.kernel == "pool_max" { "pool_blocked_max" } else { "pool_blocked_average" };
            let fits = flat && p.pad.iter().all(|&pad| pad >= 0) && (counted || step.kernel == "pool_max");
            if fits { StepKind::Pool(p, kernel) } else { StepKind::Other }
        }
        "elementwise_program" => match DecodedProgram::of(step) {
            Some(program)
                if !program.inputs.is_empty()
                    && !program.has_coordinates()
                    && program.inputs.iter().all(|input| program.is_dense(input)) =>
            {
                StepKind::Elementwise
            }
            _ => StepKind::Other,
        },
        _ => StepKind::Other,
    }
}

/// Maximum factor by which a border may enlarge an image, and the number of pixels below which this
/// does not matter.
const MAX_BORDER: u64 = 4;
const SMALL_PICTURE: u64 = 256;

/// The border that a convolution needs around its input; `None` if the border would make the image
/// several times as large, as around a single row.
fn border(p: &Conv) -> Option<u32> {
    let side = |d: usize| {
        let reach = (i64::from(p.output[d]) - 1) * i64::from(p.stride[d])
            + (i64::from(p.kernel[d]) - 1) * i64::from(p.dilation[d]);
        i64::from(p.pad[d]).max(reach + 1 - i64::from(p.pad[d]) - i64::from(p.input[d])).max(0)
    };
    let sizes = [p.input[1], p.input[2]].map(u64::from);
    let fits = |border: u32| {
        let [rows, columns] = sizes.map(|size| size + 2 * u64::from(border));
        border < 64 && rows * columns <= sizes[0] * sizes[1] * MAX_BORDER + SMALL_PICTURE
    };
    u32::try_from(side(1).max(side(2))).ok().filter(|&border| fits(border))
}

/// Whether there are so few channels that the convolution reads the plain layout.
fn as_it_is(p: &Conv, lanes: u32) -> bool {
    p.groups == 1 && p.in_channels < lanes
}

fn elements(batch: u32, channels: u32, sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(u64::from(batch) * u64::from(channels), |all, &size| all * u64::from(size))
}

/// Drops convolutions that would need too many conversions. A dropped one may make its neighbors
/// not worth it either, so these are checked again.
fn choose(segment: &Segment, kinds: &mut [StepKind], lanes: u32) {
    let steps = &segment.dispatches;
    let touches = AccessIndex::new(steps);
    let suits = |kind: &StepKind| !matches!(kind, StepKind::Other);
    // For each dispatch, whether its input is already in blocks, and whether all readers of its
    // output take blocks.
    let mut fits = vec![[false; 2]; steps.len()];
    let mut waiting: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate().filter(|(index, _)| matches!(kinds[*index], StepKind::Conv(_))) {
        let (x, y) = (step.bindings[0].0, step.bindings[3].0);
        let result = touches.last_writer(x, index).is_some_and(|at| suits(&kinds[at]));
        let read = touches.readers_until_written(y, index).all(|at| suits(&kinds[at]));
        fits[index] = [result, read && segment.is_temporary(y)];
        waiting.push(index);
    }
    while let Some(index) = waiting.pop() {
        let StepKind::Conv(p) = kinds[index] else { continue };
        let [result, read] = fits[index];
        let mut reordered = 0;
        if !result && border(&p) != Some(0) {
            let all = elements(p.batch, p.in_channels, p.input);
            reordered += if as_it_is(&p, lanes) { all / COPIED_PER_REORDERED } else { all };
        }
        if !read {
            reordered += elements(p.batch, p.out_channels, p.output);
        }
        let editor =
            elements(p.batch, p.out_channels, p.output) * u64::from(p.in_channels / p.groups) * u64::from(p.taps());
        if reordered * MIN_MULTIPLY_ADDS_PER_REORDERED <= editor {
            continue;
        }
        kinds[index] = StepKind::Other;
        let (x, y) = (steps[index].bindings[0].0, steps[index].bindings[3].0);
        if let Some(at) = touches.last_writer(x, index).filter(|&at| fits[at][1]) {
            fits[at][1] = false;
            waiting.push(at);
        }
        for at in touches.readers_until_written(y, index) {
            if steps[at].bindings[0].0 == y && fits[at][0] {
                fits[at][0] = false;
                waiting.push(at);
            }
        }
    }
}

/// The widest border that a convolution needs around each tensor.
fn borders(steps: &[Dispatch], kinds: &[StepKind]) -> HashMap<TensorId, u32> {
    let mut borders = HashMap::new();
    for (step, kind) in steps.iter().zip(kinds) {
        if let StepKind::Conv(p) = kind {
            let expected = borders.entry(step.bindings[0].0).or_insert(0);
            *expected = (*expected).max(border(p).unwrap_or(0));
        }
    }
    borders
}

/// A copy of a tensor in one layout.
#[derive(Clone, Copy, Debug)]
struct LayoutCopy {
    tensor_id: TensorId,
    batch: u32,
    layout: BlockedLayout,
}

struct LayoutPass<'a, 'b> {
    segment: &'a mut Segment,
    packer: &'a mut WeightPacker<'b>,
    lanes: u32,
    borders: HashMap<TensorId, u32>,
    /// The copies of each tensor in other layouts, and whether the plain one is valid.
    orders: HashMap<TensorId, (Vec<LayoutCopy>, bool)>,
    dispatches: Vec<Dispatch>,
}

impl LayoutPass<'_, '_> {
    fn step(&mut self, step: Dispatch, kind: StepKind) -> Result<(), Error> {
        match kind {
            StepKind::Conv(p) => self.conv(step, &p),
            StepKind::Pool(p, kernel) if self.has_blocks(step.bindings[0].0) => {
                self.pool(step, &p, kernel);
                Ok(())
            }
            StepKind::Elementwise if self.each(&step) => Ok(()),
            _ => {
                for &(tensor_id, _) in &step.bindings {
                    self.plain(tensor_id, &step.label);
                }
                for &(tensor_id, written) in &step.bindings {
                    if written {
                        self.orders.remove(&tensor_id);
                    }
                }
                self.dispatches.push(step);
                Ok(())
            }
        }
    }

    /// Whether a tensor exists in blocks.
    fn has_blocks(&self, tensor_id: TensorId) -> bool {
        self.orders
            .get(&tensor_id)
            .is_some_and(|(orders, _)| orders.iter().any(|order| order.layout.block == self.lanes))
    }

    /// Makes the plain layout of a tensor valid.
    fn plain(&mut self, tensor_id: TensorId, label: &str) {
        let Some((orders, false)) = self.orders.get(&tensor_id) else { return };
        let Some(from) = orders.first().copied() else { return };
        let to = LayoutCopy { tensor_id, layout: BlockedLayout { block: 1, border: 0, ..from.layout }, ..from };
        self.reorder(from, to, label);
        if let Some((_, plain)) = self.orders.get_mut(&tensor_id) {
            *plain = true;
        }
    }

    fn reorder(&mut self, from: LayoutCopy, to: LayoutCopy, label: &str) {
        let params = Reorder { batch: from.batch, x: from.layout, y: to.layout };
        self.push(
            "reorder",
            format!("{label}, reordered"),
            &params,
            vec![(from.tensor_id, false), (to.tensor_id, true)],
        );
    }

    fn push<P: Params>(&mut self, kernel: &'static str, label: String, params: &P, bindings: Vec<(TensorId, bool)>) {
        let constants = bytemuck::bytes_of(params).to_vec();
        self.dispatches.push(Dispatch { kernel, label, grid: params.grid(), constants, bindings });
    }

    /// Allocates a copy for an image.
    fn place(&mut self, batch: u32, layout: BlockedLayout) -> LayoutCopy {
        let tensor_id = self.segment.allocate(batch as usize * layout.elements());
        LayoutCopy { tensor_id, batch, layout }
    }

    /// The copy of a tensor in the requested layout, with at least the requested border; converted
    /// if necessary.
    fn ordered(&mut self, tensor_id: TensorId, batch: u32, expected: BlockedLayout, label: &str) -> LayoutCopy {
        let plain = BlockedLayout { block: 1, border: 0, ..expected };
        let is_plain = self.orders.get(&tensor_id).is_none_or(|(_, plain)| *plain);
        let there = self.orders.get(&tensor_id).map(|(orders, _)| orders.clone()).unwrap_or_default();
        let all = there.into_iter().chain(is_plain.then_some(LayoutCopy { tensor_id, batch, layout: plain }));
        let same = |order: &LayoutCopy| {
            let LayoutCopy { batch: own, layout, .. } = order;
            *own == batch
                && [layout.channels, layout.size[0], layout.size[1]]
                    == [expected.channels, expected.size[0], expected.size[1]]
        };
        let all: Vec<LayoutCopy> = all.filter(same).collect();
        let fits = |order: &&LayoutCopy| order.layout.block == expected.block && order.layout.border >= expected.border;
        if let Some(order) = all.iter().find(fits) {
            return *order;
        }
        let from = match all.first() {
            Some(order) => *order,
            // The tensor has another shape in blocks.
            None => {
                self.plain(tensor_id, label);
                LayoutCopy { tensor_id, batch, layout: plain }
            }
        };
        let border = expected.border.max(self.borders.get(&tensor_id).copied().unwrap_or(0));
        let to = self.place(batch, BlockedLayout { border, ..expected });
        self.reorder(from, to, label);
        self.orders.entry(tensor_id).or_insert((Vec::new(), is_plain)).0.push(to);
        to
    }

    /// Allocates the blocked copy of a tensor that is being written.
    fn written(&mut self, tensor_id: TensorId, batch: u32, channels: u32, size: [u32; 2]) -> LayoutCopy {
        let border = self.borders.get(&tensor_id).copied().unwrap_or(0);
        let to = self.place(batch, BlockedLayout { channels, size, block: self.lanes, border });
        self.orders.insert(tensor_id, (vec![to], false));
        to
    }

    fn conv(&mut self, step: Dispatch, p: &Conv) -> Result<(), Error> {
        let [(x, _), (w, _), (bias, _), (y, _)] = step.bindings[..] else { return Ok(()) };
        let depthwise = p.groups > 1;
        let needed = border(p).unwrap_or(0);
        let size = [p.input[1], p.input[2]];
        // The plain layout also works without a border, if no blocked copy exists.
        let as_it_is = as_it_is(p, self.lanes) || !depthwise && needed == 0 && !self.has_blocks(x);
        let block = if as_it_is { 1 } else { self.lanes };
        let from = self.ordered(
            x,
            p.batch,
            BlockedLayout { channels: p.in_channels, size, block, border: needed },
            &step.label,
        );
        let form = WeightLayout::Blocked { block: block as usize, depthwise };
        let sizes = [p.out_channels as usize, (p.in_channels / p.groups) as usize, p.taps() as usize];
        let bias = (p.flags & Conv::BIAS != 0).then_some(bias);
        let pack =
            |w: &[f32], bias: Option<&[f32]>| pack_blocked(Level::best(), w, bias, sizes, block as usize, depthwise);
        let elements = sizes[0].next_multiple_of(self.lanes as usize) * (1 + sizes[1] * sizes[2]);
        let weights = self.packer.pack(self.segment, form, (w, bias), elements, pack)?;
        let Some(weights) = weights else { return Ok(()) };
        let size = [p.output[1], p.output[2]];
        let to = if p.flags & Conv::ADD != 0 {
            let layout = BlockedLayout { channels: p.out_channels, size, block: self.lanes, border: 0 };
            let to = self.ordered(y, p.batch, layout, &step.label);
            self.orders.insert(y, (vec![to], false));
            to
        } else {
            self.written(y, p.batch, p.out_channels, size)
        };
        let two = |sizes: [u32; 3]| [sizes[1], sizes[2]];
        let params = ConvBlocked {
            batch: p.batch,
            x: from.layout,
            y: to.layout,
            kernel: two(p.kernel),
            stride: two(p.stride),
            dilation: two(p.dilation),
            pad: [p.pad[1] as u32, p.pad[2] as u32],
            flags: p.flags & (Conv::ADD | Conv::CLAMP) | if depthwise { ConvBlocked::DEPTHWISE } else { 0 },
            low: p.low,
            high: p.high,
        };
        self.push(
            "conv_blocked",
            step.label,
            &params,
            vec![(from.tensor_id, false), (weights, false), (to.tensor_id, true)],
        );
        Ok(())
    }

    fn pool(&mut self, step: Dispatch, p: &Pool, kernel: &'static str) {
        let ((x, _), (y, _)) = (step.bindings[0], step.bindings[1]);
        let two = |sizes: [u32; 3]| [sizes[1], sizes[2]];
        let there =
            self.orders.get(&x).and_then(|(orders, _)| orders.iter().find(|order| order.layout.block == self.lanes));
        // The dispatch may describe a whole plane as one long row.
        let whole = p.output == [1; 3] && p.kernel == p.input && p.pad == [0; 3] && p.dilation == [1; 3];
        let pixels = |size: [u32; 2]| u64::from(size[0]) * u64::from(size[1]);
        let fits = there.copied().filter(|order| {
            let size = order.layout.size;
            (size == two(p.input) || whole && pixels(size) == pixels(two(p.input)))
                && order.batch.checked_mul(order.layout.channels) == Some(p.planes)
        });
        let Some(from) = fits else {
            self.plain(x, &step.label);
            self.orders.remove(&y);
            return self.dispatches.push(step);
        };
        let to = self.written(y, from.batch, from.layout.channels, two(p.output));
        let params = PoolBlocked {
            batch: from.batch,
            x: from.layout,
            y: to.layout,
            kernel: if whole { from.layout.size } else { two(p.kernel) },
            stride: two(p.stride),
            dilation: two(p.dilation),
            pad: [p.pad[1] as u32, p.pad[2] as u32],
        };
        self.push(kernel, step.label, &params, vec![(from.tensor_id, false), (to.tensor_id, true)]);
    }

    /// Runs an elementwise program on tensors that are all in the same blocks. Returns whether it
    /// could.
    fn each(&mut self, step: &Dispatch) -> bool {
        let Some((chain, program)) = elementwise_params(step).zip(DecodedProgram::of(step)) else { return false };
        let blocks = |tensor_id: TensorId| {
            let (orders, _) = self.orders.get(&tensor_id)?;
            orders.iter().find(|order| order.layout.block == self.lanes && order.layout.border == 0).copied()
        };
        let mut found = Vec::new();
        for input in &program.inputs {
            let Some(order) = blocks(input.tensor_id) else { return false };
            found.push(order);
        }
        let Some(first) = found.first().copied() else { return false };
        let BlockedLayout { channels, size, .. } = first.layout;
        let count = elements(first.batch, channels, [1, size[0], size[1]]);
        let same = found.iter().all(|order| (order.batch, order.layout) == (first.batch, first.layout));
        let all = first.batch as usize * first.layout.elements();
        if !same || count != u64::from(chain.count) || u32::try_from(all).is_err() {
            return false;
        }
        let Some(&(y, _)) = step.bindings.last() else { return false };
        // The program would overwrite the zeros of a border.
        let to = self.place(first.batch, BlockedLayout { border: 0, ..first.layout });
        let moved = DecodedProgram {
            sizes: vec![all as u32],
            inputs: found.iter().map(|order| Input { tensor_id: order.tensor_id, strides: vec![1] }).collect(),
            code: program.code.clone(),
        };
        let Some(result) = moved.step(step.label.clone(), to.tensor_id) else { return false };
        self.orders.insert(y, (vec![to], false));
        self.dispatches.push(result);
        true
    }
}
