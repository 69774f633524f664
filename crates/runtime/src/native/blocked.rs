//! Pictures in blocks of channels: which convolutions and pools work on them, and what is brought from one order into the
//! other in between.
//!
//! One walk through the steps keeps, for every tensor, the orders in which it is there. A step asks for its operands in
//! the order that it wants; what is missing is made by a `reorder` in front of it. Whether a convolution is worth that
//! is decided ahead.

use std::collections::HashMap;

use roci_kernels::native::{Level, pack_blocked};
use roci_kernels::params::{Conv, ConvBlocked, Params, Picture, Pool, PoolBlocked, Reorder};

use super::{Form, Packer};
use crate::Error;
use crate::fuse::chain_of;
use crate::fuse::program::{Input, Program};
use crate::fuse::work::Touches;
use crate::segment::{Segment, Slot, Step};

/// Multiplications that a convolution must have for each element that is reordered for its sake: about what the blocks
/// save of them takes as long.
const WORTH: u64 = 128;
/// How many elements are copied row by row, for the sake of a border alone, while one is reordered.
const COPIED: u64 = 8;

/// What a step is to blocks.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Conv(Conv),
    /// A pool: its figures, and the kernel that does it between blocks.
    Pool(Pool, &'static str),
    /// An element-wise program that walks through everything in order, whatever the order is.
    Each,
    Other,
}

/// Uses blocks where they pay.
pub(super) fn block(segment: &mut Segment, packer: &mut Packer<'_>) -> Result<(), Error> {
    let lanes = Level::best().lanes() as u32;
    // Narrower vectors gain nothing by it.
    if lanes < 8 {
        return Ok(());
    }
    let mut kinds: Vec<Kind> = segment.steps.iter().map(|step| kind(segment, step, lanes)).collect();
    choose(segment, &mut kinds, lanes);
    if !kinds.iter().any(|kind| matches!(kind, Kind::Conv(_))) {
        return Ok(());
    }
    let steps = std::mem::take(&mut segment.steps);
    let borders = borders(&steps, &kinds);
    let mut walk = Walk { segment, packer, lanes, borders, orders: HashMap::new(), steps: Vec::new() };
    for (index, step) in steps.into_iter().enumerate() {
        walk.step(step, kinds[index])?;
    }
    for slot in walk.segment.kept() {
        walk.plain(slot, "output");
    }
    walk.segment.steps = walk.steps;
    Ok(())
}

/// What a step is, by itself.
fn kind(segment: &Segment, step: &Step, lanes: u32) -> Kind {
    match step.kernel {
        "conv" | "conv_tiled" => {
            let p: Conv = bytemuck::pod_read_unaligned(&step.constants);
            let depthwise = p.groups > 1 && p.groups == p.in_channels && p.groups == p.out_channels;
            let [_, (w, _), (bias, _), _] = step.bindings[..] else { return Kind::Other };
            let known = segment.known(w).is_some() && (p.flags & Conv::BIAS == 0 || segment.known(bias).is_some());
            let fits = p.is_flat() && p.stride[2] <= 2 && p.pad.iter().all(|&pad| pad >= 0);
            let wide = p.out_channels >= lanes / 2 && (p.groups == 1 || depthwise);
            if known && fits && wide && border(&p).is_some() { Kind::Conv(p) } else { Kind::Other }
        }
        "pool_max" | "pool_average" => {
            let p: Pool = bytemuck::pod_read_unaligned(&step.constants);
            let flat = [p.input[0], p.output[0], p.kernel[0]] == [1; 3] && p.pad[0] == 0;
            let counted = p.flags & Pool::COUNT_PAD == 0 || p.pad == [0; 3] && p.pad_end == [0; 3];
            let kernel = if step.kernel == "pool_max" { "pool_blocked_max" } else { "pool_blocked_average" };
            let fits = flat && p.pad.iter().all(|&pad| pad >= 0) && (counted || step.kernel == "pool_max");
            if fits { Kind::Pool(p, kernel) } else { Kind::Other }
        }
        "chain" => match Program::of(step) {
            Some(program)
                if !program.inputs.is_empty()
                    && !program.has_coordinates()
                    && program.inputs.iter().all(|input| program.is_dense(input)) =>
            {
                Kind::Each
            }
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// How many times as large a border may make a picture, and how many pixels are too few to count.
const MOST_BORDER: u64 = 4;
const SMALL_PICTURE: u64 = 256;

/// The border that a convolution needs around its input; none where it would make a picture several times as large, as one around a single row does.
fn border(p: &Conv) -> Option<u32> {
    let side = |d: usize| {
        let reach = (i64::from(p.output[d]) - 1) * i64::from(p.stride[d])
            + (i64::from(p.kernel[d]) - 1) * i64::from(p.dilation[d]);
        i64::from(p.pad[d]).max(reach + 1 - i64::from(p.pad[d]) - i64::from(p.input[d])).max(0)
    };
    let sizes = [p.input[1], p.input[2]].map(u64::from);
    let fits = |border: u32| {
        let [rows, columns] = sizes.map(|size| size + 2 * u64::from(border));
        border < 64 && rows * columns <= sizes[0] * sizes[1] * MOST_BORDER + SMALL_PICTURE
    };
    u32::try_from(side(1).max(side(2))).ok().filter(|&border| fits(border))
}

/// Whether channels are so few that they are read as they lie.
fn as_it_is(p: &Conv, lanes: u32) -> bool {
    p.groups == 1 && p.in_channels < lanes
}

fn elements(batch: u32, channels: u32, sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(u64::from(batch) * u64::from(channels), |all, &size| all * u64::from(size))
}

/// Leaves convolutions alone for whose sake too much would be reordered. One that is left alone may be what its neighbours
/// counted on, which are looked at again.
fn choose(segment: &Segment, kinds: &mut [Kind], lanes: u32) {
    let steps = &segment.steps;
    let touches = Touches::new(steps);
    let suits = |kind: &Kind| !matches!(kind, Kind::Other);
    // By step: whether its input comes in blocks, and whether all want its output in blocks.
    let mut fits = vec![[false; 2]; steps.len()];
    let mut waiting: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate().filter(|(index, _)| matches!(kinds[*index], Kind::Conv(_))) {
        let (x, y) = (step.bindings[0].0, step.bindings[3].0);
        let made = touches.maker(x, index).is_some_and(|at| suits(&kinds[at]));
        let read = touches.readers_until_written(y, index).all(|at| suits(&kinds[at]));
        fits[index] = [made, read && segment.is_temporary(y)];
        waiting.push(index);
    }
    while let Some(index) = waiting.pop() {
        let Kind::Conv(p) = kinds[index] else { continue };
        let [made, read] = fits[index];
        let mut reordered = 0;
        if !made && border(&p) != Some(0) {
            let all = elements(p.batch, p.in_channels, p.input);
            reordered += if as_it_is(&p, lanes) { all / COPIED } else { all };
        }
        if !read {
            reordered += elements(p.batch, p.out_channels, p.output);
        }
        let work =
            elements(p.batch, p.out_channels, p.output) * u64::from(p.in_channels / p.groups) * u64::from(p.taps());
        if reordered * WORTH <= work {
            continue;
        }
        kinds[index] = Kind::Other;
        let (x, y) = (steps[index].bindings[0].0, steps[index].bindings[3].0);
        if let Some(at) = touches.maker(x, index).filter(|&at| fits[at][1]) {
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

/// By tensor: the widest border that a convolution wants around it.
fn borders(steps: &[Step], kinds: &[Kind]) -> HashMap<Slot, u32> {
    let mut borders = HashMap::new();
    for (step, kind) in steps.iter().zip(kinds) {
        if let Kind::Conv(p) = kind {
            let wanted = borders.entry(step.bindings[0].0).or_insert(0);
            *wanted = (*wanted).max(border(p).unwrap_or(0));
        }
    }
    borders
}

/// A tensor in one order.
#[derive(Clone, Copy, Debug)]
struct Order {
    slot: Slot,
    batch: u32,
    picture: Picture,
}

struct Walk<'a, 'b> {
    segment: &'a mut Segment,
    packer: &'a mut Packer<'b>,
    lanes: u32,
    borders: HashMap<Slot, u32>,
    /// The other orders in which a tensor is there, and whether it is there as it was.
    orders: HashMap<Slot, (Vec<Order>, bool)>,
    steps: Vec<Step>,
}

impl Walk<'_, '_> {
    fn step(&mut self, step: Step, kind: Kind) -> Result<(), Error> {
        match kind {
            Kind::Conv(p) => self.conv(step, &p),
            Kind::Pool(p, kernel) if self.has_blocks(step.bindings[0].0) => {
                self.pool(step, &p, kernel);
                Ok(())
            }
            Kind::Each if self.each(&step) => Ok(()),
            _ => {
                for &(slot, _) in &step.bindings {
                    self.plain(slot, &step.label);
                }
                for &(slot, written) in &step.bindings {
                    if written {
                        self.orders.remove(&slot);
                    }
                }
                self.steps.push(step);
                Ok(())
            }
        }
    }

    /// Whether a tensor is there in blocks.
    fn has_blocks(&self, slot: Slot) -> bool {
        self.orders.get(&slot).is_some_and(|(orders, _)| orders.iter().any(|order| order.picture.block == self.lanes))
    }

    /// Sees to it that a tensor is there as it was.
    fn plain(&mut self, slot: Slot, label: &str) {
        let Some((orders, false)) = self.orders.get(&slot) else { return };
        let Some(from) = orders.first().copied() else { return };
        let to = Order { slot, picture: Picture { block: 1, border: 0, ..from.picture }, ..from };
        self.reorder(from, to, label);
        if let Some((_, plain)) = self.orders.get_mut(&slot) {
            *plain = true;
        }
    }

    fn reorder(&mut self, from: Order, to: Order, label: &str) {
        let params = Reorder { batch: from.batch, x: from.picture, y: to.picture };
        self.push("reorder", format!("{label}, reordered"), &params, vec![(from.slot, false), (to.slot, true)]);
    }

    fn push<P: Params>(&mut self, kernel: &'static str, label: String, params: &P, bindings: Vec<(Slot, bool)>) {
        let constants = bytemuck::bytes_of(params).to_vec();
        self.steps.push(Step { kernel, label, grid: params.grid(), constants, bindings });
    }

    /// A new place for a picture.
    fn place(&mut self, batch: u32, picture: Picture) -> Order {
        let slot = self.segment.allocate(batch as usize * picture.elements());
        Order { slot, batch, picture }
    }

    /// A tensor in blocks of so many channels, with a border at least as wide as the picture's.
    fn ordered(&mut self, slot: Slot, batch: u32, wanted: Picture, label: &str) -> Order {
        let plain = Picture { block: 1, border: 0, ..wanted };
        let is_plain = self.orders.get(&slot).is_none_or(|(_, plain)| *plain);
        let there = self.orders.get(&slot).map(|(orders, _)| orders.clone()).unwrap_or_default();
        let all = there.into_iter().chain(is_plain.then_some(Order { slot, batch, picture: plain }));
        let same = |order: &Order| {
            let Order { batch: own, picture, .. } = order;
            *own == batch
                && [picture.channels, picture.size[0], picture.size[1]]
                    == [wanted.channels, wanted.size[0], wanted.size[1]]
        };
        let all: Vec<Order> = all.filter(same).collect();
        let fits = |order: &&Order| order.picture.block == wanted.block && order.picture.border >= wanted.border;
        if let Some(order) = all.iter().find(fits) {
            return *order;
        }
        let from = match all.first() {
            Some(order) => *order,
            // It was there as another shape.
            None => {
                self.plain(slot, label);
                Order { slot, batch, picture: plain }
            }
        };
        let border = wanted.border.max(self.borders.get(&slot).copied().unwrap_or(0));
        let to = self.place(batch, Picture { border, ..wanted });
        self.reorder(from, to, label);
        self.orders.entry(slot).or_insert((Vec::new(), is_plain)).0.push(to);
        to
    }

    /// A new order of a tensor that is written now.
    fn written(&mut self, slot: Slot, batch: u32, channels: u32, size: [u32; 2]) -> Order {
        let border = self.borders.get(&slot).copied().unwrap_or(0);
        let to = self.place(batch, Picture { channels, size, block: self.lanes, border });
        self.orders.insert(slot, (vec![to], false));
        to
    }

    fn conv(&mut self, step: Step, p: &Conv) -> Result<(), Error> {
        let [(x, _), (w, _), (bias, _), (y, _)] = step.bindings[..] else { return Ok(()) };
        let depthwise = p.groups > 1;
        let needed = border(p).unwrap_or(0);
        let size = [p.input[1], p.input[2]];
        // So is what needs no border and is there in no other order.
        let as_it_is = as_it_is(p, self.lanes) || !depthwise && needed == 0 && !self.has_blocks(x);
        let block = if as_it_is { 1 } else { self.lanes };
        let from =
            self.ordered(x, p.batch, Picture { channels: p.in_channels, size, block, border: needed }, &step.label);
        let form = Form::Blocked { block: block as usize, depthwise };
        let sizes = [p.out_channels as usize, (p.in_channels / p.groups) as usize, p.taps() as usize];
        let bias = (p.flags & Conv::BIAS != 0).then_some(bias);
        let pack =
            |w: &[f32], bias: Option<&[f32]>| pack_blocked(Level::best(), w, bias, sizes, block as usize, depthwise);
        let elements = sizes[0].next_multiple_of(self.lanes as usize) * (1 + sizes[1] * sizes[2]);
        let weights = self.packer.pack(self.segment, form, (w, bias), elements, pack)?;
        let Some(weights) = weights else { return Ok(()) };
        let size = [p.output[1], p.output[2]];
        let to = if p.flags & Conv::ADD != 0 {
            let picture = Picture { channels: p.out_channels, size, block: self.lanes, border: 0 };
            let to = self.ordered(y, p.batch, picture, &step.label);
            self.orders.insert(y, (vec![to], false));
            to
        } else {
            self.written(y, p.batch, p.out_channels, size)
        };
        let two = |sizes: [u32; 3]| [sizes[1], sizes[2]];
        let params = ConvBlocked {
            batch: p.batch,
            x: from.picture,
            y: to.picture,
            kernel: two(p.kernel),
            stride: two(p.stride),
            dilation: two(p.dilation),
            pad: [p.pad[1] as u32, p.pad[2] as u32],
            flags: p.flags & (Conv::ADD | Conv::CLAMP) | if depthwise { ConvBlocked::DEPTHWISE } else { 0 },
            low: p.low,
            high: p.high,
        };
        self.push("conv_blocked", step.label, &params, vec![(from.slot, false), (weights, false), (to.slot, true)]);
        Ok(())
    }

    fn pool(&mut self, step: Step, p: &Pool, kernel: &'static str) {
        let ((x, _), (y, _)) = (step.bindings[0], step.bindings[1]);
        let two = |sizes: [u32; 3]| [sizes[1], sizes[2]];
        let there =
            self.orders.get(&x).and_then(|(orders, _)| orders.iter().find(|order| order.picture.block == self.lanes));
        // All of a plane may be told as one long row.
        let whole = p.output == [1; 3] && p.kernel == p.input && p.pad == [0; 3] && p.dilation == [1; 3];
        let pixels = |size: [u32; 2]| u64::from(size[0]) * u64::from(size[1]);
        let fits = there.copied().filter(|order| {
            let size = order.picture.size;
            (size == two(p.input) || whole && pixels(size) == pixels(two(p.input)))
                && order.batch.checked_mul(order.picture.channels) == Some(p.planes)
        });
        let Some(from) = fits else {
            self.plain(x, &step.label);
            self.orders.remove(&y);
            return self.steps.push(step);
        };
        let to = self.written(y, from.batch, from.picture.channels, two(p.output));
        let params = PoolBlocked {
            batch: from.batch,
            x: from.picture,
            y: to.picture,
            kernel: if whole { from.picture.size } else { two(p.kernel) },
            stride: two(p.stride),
            dilation: two(p.dilation),
            pad: [p.pad[1] as u32, p.pad[2] as u32],
        };
        self.push(kernel, step.label, &params, vec![(from.slot, false), (to.slot, true)]);
    }

    /// An element-wise program over tensors that are all there in the same blocks; tells whether it was done.
    fn each(&mut self, step: &Step) -> bool {
        let Some((chain, program)) = chain_of(step).zip(Program::of(step)) else { return false };
        let blocks = |slot: Slot| {
            let (orders, _) = self.orders.get(&slot)?;
            orders.iter().find(|order| order.picture.block == self.lanes && order.picture.border == 0).copied()
        };
        let mut found = Vec::new();
        for input in &program.inputs {
            let Some(order) = blocks(input.slot) else { return false };
            found.push(order);
        }
        let Some(first) = found.first().copied() else { return false };
        let Picture { channels, size, .. } = first.picture;
        let count = elements(first.batch, channels, [1, size[0], size[1]]);
        let same = found.iter().all(|order| (order.batch, order.picture) == (first.batch, first.picture));
        let all = first.batch as usize * first.picture.elements();
        if !same || count != u64::from(chain.count) || u32::try_from(all).is_err() {
            return false;
        }
        let Some(&(y, _)) = step.bindings.last() else { return false };
        // A border would not hold zeros.
        let to = self.place(first.batch, Picture { border: 0, ..first.picture });
        let moved = Program {
            sizes: vec![all as u32],
            inputs: found.iter().map(|order| Input { slot: order.slot, strides: vec![1] }).collect(),
            code: program.code.clone(),
        };
        let Some(made) = moved.step(step.label.clone(), to.slot) else { return false };
        self.orders.insert(y, (vec![to], false));
        self.steps.push(made);
        true
    }
}
