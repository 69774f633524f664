//! Problems of many sizes for every kernel: empty, one, odd, larger than the grid, broadcast, padded, batched.

// By their paths, since some tests take this file from another folder.
#[path = "cases/chain.rs"]
mod chain;
#[path = "cases/indexing.rs"]
mod indexing;
#[path = "cases/language.rs"]
mod language;
#[path = "cases/layers.rs"]
mod layers;
#[path = "cases/rows.rs"]
mod rows;
#[path = "cases/window.rs"]
mod window;

use half::f16;
use roci_kernels::MatmulForm;
use roci_kernels::params::{self, Binary, Matmul, Matvec, Params, Softmax, Unary};
use roci_testkit::Tolerance;

/// What an output buffer holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Element {
    Word,
    F32,
    F16,
}

/// One launch of one kernel.
pub(crate) struct Case {
    pub(crate) label: String,
    pub(crate) grid: [u32; 3],
    pub(crate) constants: Vec<u8>,
    /// By binding number. The last one is the output, filled with a pattern that must survive where nothing is written.
    pub(crate) buffers: Vec<Vec<u32>>,
    pub(crate) output: Element,
    pub(crate) tolerance: Tolerance,
}

/// Numbers without a pattern, the same in every run.
struct Random(u32);

impl Random {
    fn word(&mut self) -> u32 {
        // Numerical Recipes' linear congruence, upper bits folded down.
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 ^ (self.0 >> 16)
    }

    fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| low + (high - low) * (self.word() >> 8) as f32 / (1 << 24) as f32).collect()
    }
}

fn words(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn halves(values: &[f32]) -> Vec<u32> {
    let bits = |value: Option<&f32>| u32::from(value.map_or(0, |&value| f16::from_f32(value).to_bits()));
    values.chunks(2).map(|pair| bits(pair.first()) | bits(pair.get(1)) << 16).collect()
}

/// An output of `count` words that no kernel writes by chance, one longer than needed.
fn untouched(count: usize) -> Vec<u32> {
    vec![0x3f9d_70a4; count + 1]
}

fn case<P: Params>(params: P, buffers: Vec<Vec<u32>>, output: Element, tolerance: Tolerance, label: String) -> Case {
    Case { label, grid: params.grid(), constants: bytemuck::bytes_of(&params).to_vec(), buffers, output, tolerance }
}

impl Case {
    /// The same problem for a single workgroup, which has to stride over all of it.
    fn with_one_group(mut self) -> Self {
        self.grid = self.grid.map(|groups| groups.min(1));
        self.label.push_str(" by one workgroup");
        self
    }

    /// The output as numbers, whatever it holds.
    pub(crate) fn numbers(&self, output: &[u32]) -> Vec<f32> {
        match self.output {
            Element::Word | Element::F32 => output.iter().map(|&word| f32::from_bits(word)).collect(),
            Element::F16 => output
                .iter()
                .flat_map(|&word| [word as u16, (word >> 16) as u16])
                .map(|bits| f16::from_bits(bits).to_f32())
                .collect(),
        }
    }
}

const COUNTS: [u32; 7] = [0, 1, 2, 255, 256, 257, 1000];

/// The cases of a kernel.
pub(crate) fn of(kernel: &str) -> Vec<Case> {
    let mut random = Random(0x0dd_ba11);
    match kernel {
        "fill" => fill(),
        "copy" => copy(&mut random),
        "arrange" => indexing::arrange(&mut random),
        "chain" => chain::chain(&mut random),
        "random" => chain::random(),
        "narrow_f16" | "widen_f16" => convert(&mut random, kernel == "narrow_f16"),
        "softmax" => softmax(&mut random),
        "take" => indexing::take(&mut random),
        "take_elements" => indexing::take_elements(&mut random),
        "take_nd" => indexing::take_nd(&mut random),
        "scatter_elements" => indexing::scatter_elements(&mut random),
        "scatter_nd" => indexing::scatter_nd(&mut random),
        "resample" => indexing::resample(&mut random),
        "arg_max" | "arg_min" => rows::arg_reduce(&mut random),
        "log_softmax" => rows::log_softmax(&mut random),
        "normalize_rows" => rows::normalize(&mut random, false),
        "moments" => rows::normalize(&mut random, true),
        "top_k" => rows::top_k(&mut random),
        "conv" => window::conv("", &mut random),
        "attention" => layers::attention(&mut random),
        "linear_row_f32" | "linear_row_f16" => layers::row(&mut random, kernel),
        "matvec_f32" => matvec(&mut random, Element::F32),
        "matvec_f16" => matvec(&mut random, Element::F16),
        _ => match kernel.split_once('_') {
            Some(("matmul", _)) => matmul(&mut random, kernel),
            Some(("linear", _)) => layers::linear(&mut random, kernel),
            Some(("unary", op)) => unary(op, &mut random),
            Some(("binary", op)) => match op.strip_suffix("_broadcast") {
                Some(op) => broadcast(op, &mut random),
                None => binary(op, &mut random),
            },
            Some(("reduce", op)) => rows::reduce(op, &mut random),
            Some(("scan", op)) => rows::scan(op, &mut random),
            Some(("pool", op)) => window::pool(op, &mut random),
            Some(("conv", form)) => window::conv(form, &mut random),
            Some(("lm", name)) => language::of(name, &mut random),
            _ => Vec::new(),
        },
    }
}

fn fill() -> Vec<Case> {
    let make = |count, offset| {
        let params = params::Fill { count, offset, value: 0xdead_beef };
        let buffers = vec![untouched((count + offset) as usize)];
        case(params, buffers, Element::Word, Tolerance::Exact, format!("{count} words from {offset}"))
    };
    let mut cases: Vec<_> = COUNTS.iter().flat_map(|&count| [make(count, 0), make(count, 3)]).collect();
    cases.push(make(1000, 5).with_one_group());
    cases
}

fn copy(random: &mut Random) -> Vec<Case> {
    let mut make = |count, source_offset, target_offset| {
        let params = params::Copy { count, source_offset, target_offset };
        let source = (0..count + source_offset).map(|_| random.word()).collect();
        let buffers = vec![source, untouched((count + target_offset) as usize)];
        let label = format!("{count} words from {source_offset} to {target_offset}");
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let mut cases: Vec<_> = COUNTS.iter().flat_map(|&count| [make(count, 0, 0), make(count, 2, 7)]).collect();
    cases.push(make(1000, 1, 2).with_one_group());
    cases
}

/// Range of inputs, values to try besides, and how near the result must be.
fn unary_domain(op: &str) -> (f32, f32, &'static [f32], Tolerance) {
    const INFINITE: &[f32] = &[0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    const ALL: &[f32] = &[0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
    match op {
        "neg" | "abs" => (-9.0, 9.0, ALL, Tolerance::Exact),
        "relu" => (-9.0, 9.0, ALL, Tolerance::Exact),
        "exp" => (-80.0, 80.0, INFINITE, Tolerance::FewUlps),
        "log" => (1e-3, 1e6, &[0.0, 1.0, f32::INFINITY], Tolerance::FewUlps),
        "sqrt" => (0.0, 1e6, &[0.0, 4.0, f32::INFINITY], Tolerance::FewUlps),
        "rsqrt" => (1e-3, 1e6, &[4.0, f32::INFINITY], Tolerance::FewUlps),
        "sigmoid" => (-20.0, 20.0, INFINITE, Tolerance::ManyUlps),
        "tanh" => (-12.0, 12.0, INFINITE, Tolerance::ManyUlps),
        "silu" => (-20.0, 20.0, &[0.0, f32::INFINITY], Tolerance::ManyUlps),
        "gelu" => (-9.0, 9.0, &[0.0, f32::INFINITY], Tolerance::Close),
        "sin" | "cos" => {
            const FAR: &[f32] = &[0.0, -0.0, 1.5707964, 100.0, -1000.0, 5000.0, 1e5, -3e9, f32::MAX, f32::INFINITY];
            (-10.0, 10.0, FAR, Tolerance::Close)
        }
        _ => (-9.0, 9.0, &[], Tolerance::Exact),
    }
}

fn unary(op: &str, random: &mut Random) -> Vec<Case> {
    let (low, high, special, tolerance) = unary_domain(op);
    let mut make = |count: u32| {
        let mut x = random.floats(count as usize, low, high);
        x.iter_mut().rev().zip(special).for_each(|(x, &special)| *x = special);
        let buffers = vec![words(&x), untouched(count as usize)];
        case(Unary { count }, buffers, Element::F32, tolerance, format!("{count} elements"))
    };
    let mut cases: Vec<_> = COUNTS.iter().map(|&count| make(count)).collect();
    cases.push(make(1000).with_one_group());
    cases
}

fn convert(random: &mut Random, narrows: bool) -> Vec<Case> {
    let mut make = |count: u32| {
        let mut x = random.floats(count as usize, -9.0, 9.0);
        // Beyond the greatest, below the least, and between two.
        let special = [1e6, -65519.0, 1e-9, 6e-8, 3.3e-8, 1.000_488_3, f32::INFINITY, -0.0];
        x.iter_mut().zip(special).for_each(|(x, special)| *x = special);
        let (from, to, size) = match narrows {
            true => (words(&x), Element::F16, count as usize / 2),
            false => (halves(&x), Element::F32, count as usize),
        };
        let buffers = vec![from, untouched(size)];
        case(params::Convert { count }, buffers, to, Tolerance::Exact, format!("{count} elements"))
    };
    let mut cases: Vec<_> = [0, 2, 8, 254, 256, 258, 1000].map(&mut make).into();
    cases.push(make(1000).with_one_group());
    cases
}

/// Inputs of a binary operation, and how near the result must be.
fn binary_inputs(op: &str, counts: [usize; 2], random: &mut Random) -> ([Vec<f32>; 2], Tolerance) {
    let mut a = random.floats(counts[0], -9.0, 9.0);
    let mut b = random.floats(counts[1], -9.0, 9.0);
    let mut lead = |specials: &[(f32, f32)]| {
        for (&(left, right), (a, b)) in specials.iter().zip(a.iter_mut().zip(b.iter_mut())) {
            (*a, *b) = (left, right);
        }
    };
    let infinity = f32::INFINITY;
    let tolerance = match op {
        "add" | "sub" | "mul" => {
            lead(&[(infinity, 1.0), (f32::NAN, 1.0), (-infinity, 2.0), (f32::MAX, f32::MAX)]);
            Tolerance::Exact
        }
        "min" | "max" => {
            lead(&[(infinity, 1.0), (-infinity, 1.0)]);
            Tolerance::Exact
        }
        "div" => {
            lead(&[(1.0, infinity), (1.0, 0.0), (-1.0, 0.0)]);
            Tolerance::FewUlps
        }
        "pow" => {
            b.iter_mut().step_by(3).for_each(|b| *b = b.round());
            a.iter_mut().skip(1).step_by(3).for_each(|a| *a = a.abs());
            let mut lead = |at: usize, left: f32, right: f32| {
                if let (Some(a), Some(b)) = (a.get_mut(at), b.get_mut(at)) {
                    (*a, *b) = (left, right);
                }
            };
            lead(0, 0.0, 0.0);
            lead(1, 0.0, 2.0);
            lead(2, 0.0, -2.0);
            lead(3, -2.0, 3.0);
            lead(4, -2.0, 0.5);
            Tolerance::ManyUlps
        }
        _ => Tolerance::Exact,
    };
    ([a, b], tolerance)
}

fn binary(op: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |count: u32| {
        let ([a, b], tolerance) = binary_inputs(op, [count as usize; 2], random);
        let buffers = vec![words(&a), words(&b), untouched(count as usize)];
        case(Binary::flat(count), buffers, Element::F32, tolerance, format!("{count} elements"))
    };
    let mut cases: Vec<_> = COUNTS.iter().map(|&count| make(count)).collect();
    cases.push(make(1000).with_one_group());
    cases
}

fn broadcast(op: &str, random: &mut Random) -> Vec<Case> {
    let shapes: [([u32; 4], [u32; 4], [u32; 4]); 8] = [
        ([1, 1, 1, 1], [0; 4], [0; 4]),
        ([1, 1, 1, 300], [0, 0, 0, 1], [0, 0, 0, 1]),
        ([1, 1, 1, 300], [0, 0, 0, 1], [0; 4]),
        ([1, 1, 7, 9], [0, 0, 9, 1], [0, 0, 0, 1]),
        ([1, 1, 7, 9], [0, 0, 1, 0], [0, 0, 9, 1]),
        ([1, 1, 9, 7], [0, 0, 1, 9], [0, 0, 7, 1]),
        ([2, 3, 5, 7], [105, 35, 7, 1], [0, 7, 0, 1]),
        ([2, 0, 5, 7], [1, 1, 1, 1], [1, 1, 1, 1]),
    ];
    let mut make = |(shape, a_strides, b_strides): ([u32; 4], [u32; 4], [u32; 4])| {
        let count = shape.iter().product();
        let extent = |strides: [u32; 4]| {
            let last: u32 = shape.iter().zip(strides).map(|(&size, stride)| size.saturating_sub(1) * stride).sum();
            last as usize + 1
        };
        let ([a, b], tolerance) = binary_inputs(op, [extent(a_strides), extent(b_strides)], random);
        let params = Binary { count, shape, a_strides, b_strides };
        let label = format!("{shape:?} of strides {a_strides:?} and {b_strides:?}");
        case(params, vec![words(&a), words(&b), untouched(count as usize)], Element::F32, tolerance, label)
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make(([4, 6, 5, 7], [0, 35, 0, 1], [210, 35, 7, 1])).with_one_group());
    cases
}

fn softmax(random: &mut Random) -> Vec<Case> {
    let shapes = [(1, 1), (3, 7), (2, 256), (5, 257), (1, 1000), (0, 4), (4, 0)];
    let mut make = |(rows, columns): (u32, u32)| {
        let mut x = random.floats((rows * columns) as usize, -5.0, 5.0);
        // The largest of the first rows is far out of exp()'s range, and one element counts for nothing.
        x.iter_mut().take(columns as usize).for_each(|x| *x += 1000.0);
        if let [_, second, ..] = &mut x[..] {
            *second = f32::NEG_INFINITY;
        }
        let buffers = vec![words(&x), untouched(x.len())];
        case(Softmax { rows, columns }, buffers, Element::F32, Tolerance::Close, format!("{rows} x {columns}"))
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((7, 30)).with_one_group());
    cases
}

/// Words of a buffer with `count` elements, and its content from numbers.
fn packed(element: Element, values: &[f32]) -> Vec<u32> {
    if element == Element::F16 { halves(values) } else { words(values) }
}

fn matmul(random: &mut Random, kernel: &str) -> Vec<Case> {
    let form = MatmulForm::of(kernel).expect("every product has a form");
    let element = if kernel.ends_with("_f16") { Element::F16 } else { Element::F32 };
    let tolerance = if element == Element::F16 { Tolerance::Half } else { Tolerance::Approximate };
    let shapes = [(1, 1, 1), (64, 64, 64), (65, 63, 17), (5, 130, 33), (2, 3, 100), (3, 4, 0), (0, 4, 4), (4, 0, 4)];
    let mut problems: Vec<_> = shapes.into_iter().map(|(m, n, k)| Matmul::dense(m, n, k)).collect();
    let padded = Matmul { lda: 25, ldb: 71, ldc: 80, ..Matmul::dense(67, 70, 20) };
    problems.push(padded);
    problems.push(Matmul { batches: 3, batch_a: 67 * 25, batch_b: 0, batch_c: 67 * 80, ..padded });
    problems.push(Matmul { batches: 2, batch_a: 5 * 6, batch_b: 6 * 7, batch_c: 5 * 7, ..Matmul::dense(5, 7, 6) });
    // For the forms that take fours: less than a tile, edges of several, one step and many, batches.
    problems.extend(
        [(1, 4, 64), (130, 260, 64), (3, 268, 128), (129, 132, 192), (33, 36, 8), (140, 12, 40)]
            .map(|(m, n, k)| Matmul::dense(m, n, k)),
    );
    let apart = Matmul { lda: 72, ldb: 40, ldc: 44, ..Matmul::dense(35, 36, 64) };
    problems.push(Matmul { batches: 3, batch_a: 35 * 72, batch_b: 0, batch_c: 35 * 44, ..apart });
    problems.retain(|problem| form.takes(problem));
    let make = |problem: Matmul| {
        let Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c } = problem;
        let extent = |rows: u32, pitch: u32, batch: u32| (rows * pitch + (batches - 1) * batch) as usize;
        let a = random.floats(extent(m, lda, batch_a), -1.0, 1.0);
        let b = random.floats(extent(k, ldb, batch_b), -1.0, 1.0);
        let buffers = vec![packed(element, &a), packed(element, &b), untouched(extent(m, ldc, batch_c))];
        let label = format!("{m} x {n} x {k}, {batches} batches, rows of {lda}");
        Case { grid: form.grid(&problem), ..case(problem, buffers, element, tolerance, label) }
    };
    problems.into_iter().map(make).collect()
}

fn matvec(random: &mut Random, element: Element) -> Vec<Case> {
    let shapes =
        [(1, 1, 1), (4, 1024, 1024), (7, 1030, 1030), (5, 3, 3), (3, 0, 0), (9, 17, 20), (0, 5, 5), (2, 2500, 2501)];
    let mut make = |(m, k, lda): (u32, u32, u32)| {
        let a = random.floats((m * lda) as usize, -1.0, 1.0);
        let x = random.floats(k as usize, -1.0, 1.0);
        let buffers = vec![packed(element, &a), words(&x), untouched(m as usize)];
        case(Matvec { m, k, lda }, buffers, Element::F32, Tolerance::Approximate, format!("{m} x {k}, rows of {lda}"))
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((21, 40, 40)).with_one_group());
    cases
}
