//! Cases of the kernels that look at whole rows or lines: short and long ones, ties, NaN.

use roci_kernels::params::{ArgReduce, Normalize, Numbers, Reduce, Scan, Softmax, TopK};
use roci_testkit::Tolerance;

use super::{Case, Element, Random, case, untouched, words};

/// Shapes with few elements behind the axis and with many, and with none at all.
const SHAPES: [(u32, u32, u32); 10] = [
    (1, 1, 1),
    (3, 5, 1),
    (2, 300, 1),
    (4, 7, 3),
    (2, 9, 40),
    (3, 17, 100),
    (5, 1000, 1),
    (2, 0, 3),
    (2, 0, 50),
    (0, 5, 1),
];

/// The numbers of a reduction by the end of its name.
fn numbers_of(op: &str) -> (&str, Numbers) {
    match op.rsplit_once('_') {
        Some((op, "i32")) => (op, Numbers::I32),
        Some((op, "u32")) => (op, Numbers::U32),
        _ => (op, Numbers::F32),
    }
}

pub(super) fn reduce(op: &str, random: &mut Random) -> Vec<Case> {
    let (op, numbers) = numbers_of(op);
    let is_extreme = matches!(op, "max" | "min");
    let mut make = |(outer, axis, inner): (u32, u32, u32)| {
        let count = (outer * axis * inner) as usize;
        let x = match numbers {
            Numbers::F32 => {
                let mut x = if op == "prod" { random.floats(count, 0.9, 1.1) } else { random.floats(count, -3.0, 3.0) };
                if is_extreme {
                    let special = [-0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN];
                    x.iter_mut().skip(2).step_by(7).zip(special).for_each(|(x, special)| *x = special);
                }
                words(&x)
            }
            _ => (0..count).map(|_| random.word()).collect(),
        };
        let (element, tolerance) = match numbers {
            Numbers::F32 if is_extreme => (Element::F32, Tolerance::Exact),
            Numbers::F32 => (Element::F32, Tolerance::Approximate),
            _ => (Element::Word, Tolerance::Exact),
        };
        let buffers = vec![x, untouched((outer * inner) as usize)];
        case(Reduce { outer, axis, inner }, buffers, element, tolerance, format!("{outer} x {axis} x {inner}"))
    };
    let mut cases: Vec<_> = SHAPES.into_iter().map(&mut make).collect();
    cases.push(make((9, 20, 2)).with_one_group());
    cases.push(make((9, 20, 60)).with_one_group());
    cases
}

/// Numbers among which many are equal.
fn few(random: &mut Random, count: usize, numbers: Numbers) -> Vec<u32> {
    let special =
        [-0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1.5, -1.5, 1e-40, 2.0, 1.0, 3.0, 4.0];
    let mut word = || match numbers {
        // NaN in a few lines only, as nothing else counts there.
        Numbers::F32 if random.word().is_multiple_of(64) => special[random.word() as usize % special.len()].to_bits(),
        Numbers::F32 => ((random.word() % 40) as f32 - 20.0).to_bits(),
        Numbers::I32 | Numbers::U32 => (random.word() % 40).wrapping_sub(20),
    };
    (0..count).map(|_| word()).collect()
}

const NUMBERS: [Numbers; 3] = [Numbers::F32, Numbers::I32, Numbers::U32];

pub(super) fn arg_reduce(random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner): (u32, u32, u32), numbers: Numbers, last: u32| {
        let buffers = vec![few(random, (outer * axis * inner) as usize, numbers), untouched((outer * inner) as usize)];
        let label = format!("{outer} x {axis} x {inner}, {numbers:?}, last {last}");
        let params = ArgReduce { outer, axis, inner, numbers: numbers.word(), last };
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let mut cases = Vec::new();
    for shape in SHAPES.into_iter().filter(|&(_, axis, _)| axis > 0) {
        cases.extend([make(shape, Numbers::F32, 0), make(shape, Numbers::F32, 1)]);
    }
    for numbers in [Numbers::I32, Numbers::U32] {
        cases.extend([make((3, 500, 2), numbers, 0), make((2, 30, 40), numbers, 1)]);
    }
    cases.push(make((9, 20, 2), Numbers::F32, 0).with_one_group());
    cases.push(make((9, 20, 60), Numbers::F32, 1).with_one_group());
    cases
}

pub(super) fn scan(op: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner): (u32, u32, u32), numbers: Numbers, exclusive: u32, reverse: u32| {
        let count = (outer * axis * inner) as usize;
        let x = match (numbers, op) {
            (Numbers::F32, "prod") => words(&random.floats(count, 0.9, 1.1)),
            (Numbers::F32, _) => words(&random.floats(count, -3.0, 5.0)),
            _ => (0..count).map(|_| random.word() | 1).collect(),
        };
        let (element, tolerance) = match numbers {
            Numbers::F32 => (Element::F32, Tolerance::Approximate),
            _ => (Element::Word, Tolerance::Exact),
        };
        let params = Scan { outer, axis, inner, numbers: numbers.word(), exclusive, reverse };
        let label = format!("{outer} x {axis} x {inner}, {numbers:?}, exclusive {exclusive}, reverse {reverse}");
        case(params, vec![x, untouched(count)], element, tolerance, label)
    };
    let mut cases: Vec<_> = SHAPES.into_iter().map(|shape| make(shape, Numbers::F32, 0, 0)).collect();
    for (exclusive, reverse) in [(0, 1), (1, 0), (1, 1)] {
        cases.push(make((2, 300, 3), Numbers::F32, exclusive, reverse));
        cases.push(make((2, 20, 50), Numbers::I32, exclusive, reverse));
        cases.push(make((3, 600, 2), Numbers::U32, exclusive, reverse));
    }
    cases.push(make((9, 20, 2), Numbers::I32, 0, 0).with_one_group());
    cases.push(make((9, 20, 60), Numbers::F32, 0, 0).with_one_group());
    cases
}

pub(super) fn log_softmax(random: &mut Random) -> Vec<Case> {
    let mut make = |(rows, columns): (u32, u32)| {
        let mut x = random.floats((rows * columns) as usize, -5.0, 5.0);
        x.iter_mut().take(columns as usize).for_each(|x| *x += 1000.0);
        if let [_, second, ..] = &mut x[..] {
            *second = f32::NEG_INFINITY;
        }
        let buffers = vec![words(&x), untouched(x.len())];
        case(Softmax { rows, columns }, buffers, Element::F32, Tolerance::Close, format!("{rows} x {columns}"))
    };
    let mut cases: Vec<_> =
        [(3, 7), (2, 256), (5, 257), (1, 1000), (0, 4), (4, 0)].into_iter().map(&mut make).collect();
    cases.push(make((7, 30)).with_one_group());
    cases
}

/// Cases of `normalize_rows`, or of `moments` with its two outputs of one number a row.
pub(super) fn normalize(random: &mut Random, is_moments: bool) -> Vec<Case> {
    let mut make = |(rows, columns): (u32, u32), centred: u32, offset: f32| {
        let x = random.floats((rows * columns) as usize, offset - 2.0, offset + 2.0);
        let mut buffers = vec![words(&x)];
        if is_moments {
            // All words of the first output are compared, so the mean is one of few digits: that of ones and twos.
            let rounded: Vec<f32> = x.iter().map(|x| x.round()).collect();
            buffers = vec![words(&rounded), vec![0; rows as usize]];
        }
        buffers.push(untouched(if is_moments { rows as usize } else { x.len() }));
        let params = Normalize { rows, columns, epsilon: 1e-5, centred };
        let label = format!("{rows} x {columns}, centred {centred}, about {offset}");
        case(params, buffers, Element::F32, Tolerance::Approximate, label)
    };
    let mut cases = vec![make((3, 1), 1, 0.0), make((2, 256), 1, 3.0), make((2, 256), 0, 1.0), make((0, 4), 1, 0.0)];
    if is_moments {
        // Sums of powers of two of small numbers are exact in any order.
        cases.extend([make((4, 16), 1, 9.0), make((1, 32768), 1, 100.0), make((1, 512), 0, 0.0)]);
        cases.push(make((7, 32), 1, 0.0).with_one_group());
    } else {
        cases.extend([
            make((5, 257), 1, 0.0),
            make((1, 20_000), 1, 100.0),
            make((3, 77), 0, 0.0),
            make((4, 0), 1, 0.0),
        ]);
        cases.push(make((7, 30), 1, 0.0).with_one_group());
    }
    cases
}

pub(super) fn top_k(random: &mut Random) -> Vec<Case> {
    let mut make = |(rows, columns, k): (u32, u32, u32), numbers: Numbers, largest: u32| {
        let x = few(random, (rows * columns) as usize, numbers);
        let outputs = (rows * k) as usize;
        let buffers = vec![x, untouched(outputs), untouched(outputs)];
        let label = format!("{k} of {rows} x {columns}, {numbers:?}, largest {largest}");
        let params = TopK { rows, columns, k, numbers: numbers.word(), largest };
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let shapes = [(1, 1, 1), (3, 10, 10), (2, 700, 5), (3, 300, 1), (2, 100, 64), (1, 600, 600), (2, 5, 0), (0, 5, 2)];
    let mut cases: Vec<_> = shapes
        .into_iter()
        .flat_map(|shape| [0, 1].map(|largest| (shape, largest)))
        .map(|(shape, largest)| make(shape, Numbers::F32, largest))
        .collect();
    for numbers in NUMBERS {
        cases.extend([make((2, 90, 4), numbers, 0), make((2, 90, 50), numbers, 1)]);
    }
    cases.push(make((9, 20, 2), Numbers::I32, 1).with_one_group());
    cases.push(make((9, 70, 40), Numbers::I32, 0).with_one_group());
    cases
}
