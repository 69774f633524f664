//! Cases of the kernels that move words, by strides and by indices: below zero, outside, twice the same.

use roci_kernels::params::{
    Arrange, Combine, Numbers, Params, Resample, ScatterElements, ScatterNd, Take, TakeElements, TakeNd,
};
use roci_testkit::Tolerance;

use super::{Case, Element, Random, case, untouched, words};

/// Indices of an axis, some of them below zero and a few outside.
fn indices(random: &mut Random, count: usize, axis: u32) -> Vec<u32> {
    let mut index = || match random.word() % 16 {
        0 => axis + random.word() % 3,
        1 => (-(axis as i32) - 1 - (random.word() % 3) as i32) as u32,
        2..6 => (-1 - (random.word() % axis) as i32) as u32,
        _ => random.word() % axis,
    };
    (0..count).map(|_| index()).collect()
}

/// Words without meaning.
fn any(random: &mut Random, count: usize) -> Vec<u32> {
    (0..count).map(|_| random.word()).collect()
}

fn moved<P: Params>(params: P, buffers: Vec<Vec<u32>>, label: String) -> Case {
    case(params, buffers, Element::Word, Tolerance::Exact, label)
}

pub(super) fn arrange(random: &mut Random) -> Vec<Case> {
    // The shape, the strides in the source, the rows of the target: how long, how far apart.
    let mut make = |shape: [u32; 5], strides: [i32; 5], run: u32, pitch: u32| {
        let count: u32 = shape.iter().product();
        let way = |(&size, stride): (&u32, i32)| i64::from(size.saturating_sub(1)) * i64::from(stride);
        let ways: Vec<i64> = shape.iter().zip(strides).map(way).collect();
        // Strides below zero start at the end of what they reach.
        let low: i64 = ways.iter().filter(|&&way| way < 0).sum();
        let high: i64 = ways.iter().filter(|&&way| way > 0).sum();
        let (source_offset, target_offset) = (3 + low.unsigned_abs() as u32, 2);
        let rows = count.checked_div(run).unwrap_or(0);
        let params = Arrange { count, source_offset, shape, strides, target_offset, run, pitch };
        let target = target_offset + rows.saturating_sub(1) * pitch + if rows > 0 { run } else { 0 };
        let source = any(random, 4 + (high - low) as usize);
        let label = format!("{shape:?} of strides {strides:?} in rows of {run}, {pitch} apart");
        moved(params, vec![source, untouched(target as usize)], label)
    };
    let mut cases = vec![
        make([1; 5], [0; 5], 1, 1),
        // As it is, repeated, backwards, every third.
        make([1, 1, 1, 1, 1000], [0, 0, 0, 0, 1], 1000, 1000),
        make([1, 1, 1, 1, 300], [0; 5], 300, 300),
        make([1, 1, 1, 1, 300], [0, 0, 0, 0, -1], 300, 300),
        make([1, 1, 1, 40, 20], [0, 0, 0, 60, 3], 20, 25),
        // Transposed: two dimensions, and five in another order, of which one runs backwards.
        make([1, 1, 1, 33, 70], [0, 0, 0, 1, 33], 33 * 70, 33 * 70),
        make([2, 3, 4, 5, 6], [3, 1, 180, -36, 6], 720, 720),
        // Into a part of each row of a wider target, rows longer and shorter than the last dimension.
        make([1, 2, 3, 4, 5], [0, 60, 20, 5, 1], 20, 31),
        make([1, 2, 3, 4, 6], [0, 1, 2, 6, 0], 3, 4),
        make([1, 1, 1, 5, 7], [0, 0, 0, 7, 1], 35, 0),
        make([2, 0, 5, 7, 1], [1; 5], 1, 1),
    ];
    cases.push(make([1, 3, 2, 20, 10], [0, 200, 0, 1, 20], 20, 23).with_one_group());
    cases
}

pub(super) fn take(random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner, count): (u32, u32, u32, u32)| {
        let index = indices(random, count as usize, axis);
        let buffers =
            vec![any(random, (outer * axis * inner) as usize), index, untouched((outer * count * inner) as usize)];
        moved(Take { outer, axis, inner, count }, buffers, format!("{count} of {outer} x {axis} x {inner}"))
    };
    let shapes = [(1, 1, 1, 1), (1, 50, 7, 9), (3, 5, 1, 300), (2, 4, 3, 5), (2, 3, 4, 0), (0, 3, 4, 2), (2, 3, 0, 2)];
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((4, 6, 5, 30)).with_one_group());
    cases
}

pub(super) fn take_elements(random: &mut Random) -> Vec<Case> {
    let mut make = |shape: [u32; 5], along: usize, axis: u32| {
        let mut full = shape;
        full[along] = axis;
        let mut strides = [1; 5];
        (0..4).rev().for_each(|at| strides[at] = strides[at + 1] * full[at + 1]);
        let axis_stride = std::mem::replace(&mut strides[along], 0);
        let count = shape.iter().product();
        let params = TakeElements { count, shape, strides, axis, axis_stride };
        let index = indices(random, count as usize, axis);
        let buffers = vec![any(random, full.iter().product::<u32>() as usize), index, untouched(count as usize)];
        moved(params, buffers, format!("{shape:?} of {axis} along {along}"))
    };
    let mut cases = vec![
        make([1, 1, 1, 1, 1], 4, 1),
        make([1, 1, 1, 1, 300], 4, 17),
        make([1, 1, 3, 4, 5], 3, 9),
        make([2, 3, 2, 4, 5], 0, 7),
        make([2, 3, 2, 4, 5], 2, 3),
        make([1, 1, 3, 0, 5], 4, 3),
    ];
    cases.push(make([2, 3, 2, 5, 12], 1, 4).with_one_group());
    cases
}

pub(super) fn take_nd(random: &mut Random) -> Vec<Case> {
    // Batches, tuples, the indexed sizes, words of a slice.
    let mut make = |batches: u32, count: u32, indexed: &[u32], slice: u32| {
        let depth = indexed.len();
        let (mut sizes, mut strides) = ([0; 5], [0; 5]);
        let mut stride = slice;
        for (d, &size) in indexed.iter().enumerate().rev() {
            (sizes[d], strides[d]) = (size, stride);
            stride *= size;
        }
        let params = TakeNd { batches, count, slice, depth: depth as u32, sizes, strides, batch_stride: stride };
        let tuples = (batches * count) as usize;
        let index =
            (0..tuples).flat_map(|_| indexed.iter().flat_map(|&size| indices(random, 1, size)).collect::<Vec<_>>());
        let index = index.collect();
        let buffers = vec![any(random, (batches * stride) as usize), index, untouched(tuples * slice as usize)];
        moved(params, buffers, format!("{batches} x {count} tuples of {indexed:?}, {slice} words"))
    };
    let mut cases = vec![
        make(1, 1, &[1], 1),
        make(1, 30, &[4, 5], 1),
        make(1, 7, &[6], 50),
        make(3, 5, &[4], 3),
        make(2, 40, &[2, 3, 2, 3, 2], 1),
        make(2, 0, &[3], 4),
        make(2, 3, &[3], 0),
    ];
    cases.push(make(2, 30, &[3, 4], 10).with_one_group());
    cases
}

/// Every way to combine with the numbers that it knows.
fn ways() -> impl Iterator<Item = (Combine, Numbers)> {
    let ways = [Combine::Replace, Combine::Add, Combine::Mul, Combine::Min, Combine::Max];
    ways.into_iter().flat_map(|way| [Numbers::F32, Numbers::I32, Numbers::U32].map(|numbers| (way, numbers)))
}

/// Numbers near one, some of them NaN and zeros of both signs.
fn values(random: &mut Random, count: usize, numbers: Numbers) -> Vec<u32> {
    if numbers != Numbers::F32 {
        return any(random, count);
    }
    let mut values = random.floats(count, -2.0, 2.0);
    let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    values.iter_mut().step_by(11).zip(special.into_iter().cycle()).for_each(|(value, special)| *value = special);
    words(&values)
}

/// The case of a scatter; with the same words, but sums whose order of rounding may differ are still the same.
fn scattered<P: Params>(
    params: P,
    numbers: Numbers,
    combine: Combine,
    index: Vec<u32>,
    counts: [usize; 2],
    random: &mut Random,
    label: String,
) -> Case {
    let [updates, target] = counts;
    let buffers = vec![index, values(random, updates, numbers), values(random, target + 1, numbers)];
    // NaN has many words.
    let element = if numbers == Numbers::F32 { Element::F32 } else { Element::Word };
    case(params, buffers, element, Tolerance::Exact, format!("{label}, {combine:?} {numbers:?}"))
}

pub(super) fn scatter_elements(random: &mut Random) -> Vec<Case> {
    // Lines of the updates, steps along the axis, lines of the target that are not updated beside each dimension, its
    // axis.
    let mut make =
        |shape: [u32; 4], steps: u32, more: u32, axis: u32, apart: bool, (combine, numbers): (Combine, Numbers)| {
            // The axis is the second dimension of three or more; both are row-major.
            let dense = |shape: [u32; 4], axis: u32| {
                let axis_stride = shape[2] * shape[3];
                ([shape[1] * axis * axis_stride, axis * axis_stride, shape[3], 1], axis_stride)
            };
            let full = shape.map(|size| size + more);
            let (strides, axis_stride) = dense(full, axis);
            let (update_strides, step_stride) = dense(shape, steps);
            let lines = shape.iter().product();
            let params = ScatterElements {
                lines,
                shape,
                strides,
                update_strides,
                axis,
                axis_stride,
                steps,
                step_stride,
                combine: combine.word(),
                numbers: numbers.word(),
                apart: apart.into(),
            };
            let updates = (lines * steps) as usize;
            let index = if apart {
                // Each step has a place of its own.
                (0..updates as u32).map(|at| (at / step_stride % steps * 7 + 3) % axis).collect()
            } else {
                indices(random, updates, axis)
            };
            let target = (full.iter().product::<u32>() * axis) as usize;
            let label = format!("{shape:?} lines of {steps} into {axis}");
            scattered(params, numbers, combine, index, [updates, target], random, label)
        };
    let replace = (Combine::Replace, Numbers::I32);
    let mut cases: Vec<_> = ways().map(|way| make([1, 2, 3, 4], 9, 1, 5, false, way)).collect();
    cases.extend([
        make([1, 1, 1, 1], 1, 0, 1, false, replace),
        make([1, 1, 1, 1], 40, 0, 30, false, (Combine::Add, Numbers::F32)),
        make([2, 2, 3, 50], 3, 0, 8, true, (Combine::Mul, Numbers::F32)),
        make([2, 2, 3, 50], 8, 0, 8, true, replace),
        make([1, 1, 0, 1], 3, 0, 3, false, replace),
        make([1, 1, 3, 1], 0, 1, 3, false, replace),
        make([2, 3, 10, 10], 3, 1, 8, true, replace).with_one_group(),
        make([2, 3, 10, 10], 3, 1, 8, false, replace).with_one_group(),
    ]);
    cases
}

pub(super) fn scatter_nd(random: &mut Random) -> Vec<Case> {
    let mut make = |count: u32, indexed: &[u32], slice: u32, apart: bool, (combine, numbers): (Combine, Numbers)| {
        let (mut sizes, mut strides) = ([0; 5], [0; 5]);
        let mut stride = slice;
        for (d, &size) in indexed.iter().enumerate().rev() {
            (sizes[d], strides[d]) = (size, stride);
            stride *= size;
        }
        let params = ScatterNd {
            count,
            slice,
            depth: indexed.len() as u32,
            sizes,
            strides,
            combine: combine.word(),
            numbers: numbers.word(),
            apart: apart.into(),
        };
        let mut index = Vec::new();
        for n in 0..count {
            let mut rest = n;
            for &size in indexed {
                // Where all are to be apart, the last index is the slowest, and from the end.
                index.push(if apart { (rest % size).wrapping_sub(size) } else { indices(random, 1, size)[0] });
                rest /= size;
            }
        }
        let label = format!("{count} tuples of {indexed:?}, {slice} words");
        scattered(params, numbers, combine, index, [(count * slice) as usize, stride as usize], random, label)
    };
    let replace = (Combine::Replace, Numbers::U32);
    let mut cases: Vec<_> = ways().map(|way| make(12, &[3, 2], 5, false, way)).collect();
    cases.extend([
        make(1, &[1], 1, false, replace),
        make(30, &[2, 3, 2, 2, 2], 1, false, replace),
        make(30, &[5, 7], 1, true, (Combine::Add, Numbers::F32)),
        make(6, &[3, 4], 70, true, replace),
        make(0, &[3], 4, false, replace),
        make(3, &[3], 0, false, replace),
        make(12, &[20], 60, true, replace).with_one_group(),
        make(12, &[9], 300, false, replace).with_one_group(),
    ]);
    cases
}

pub(super) fn resample(random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner, count, taps): (u32, u32, u32, u32, u32)| {
        let x = random.floats((outer * axis * inner) as usize, -3.0, 3.0);
        let table = (count * taps) as usize;
        let weight = random.floats(table, -0.5, 1.0);
        let buffers =
            vec![words(&x), indices(random, table, axis), words(&weight), untouched((outer * count * inner) as usize)];
        let label = format!("{outer} x {axis} x {inner} to {count} by {taps}");
        case(Resample { outer, axis, inner, count, taps }, buffers, Element::F32, Tolerance::Close, label)
    };
    let shapes =
        [(1, 1, 1, 1, 1), (3, 5, 1, 9, 2), (2, 7, 40, 3, 4), (1, 9, 1, 300, 4), (2, 3, 4, 5, 0), (2, 3, 4, 0, 2)];
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((3, 6, 10, 14, 2)).with_one_group());
    cases
}
