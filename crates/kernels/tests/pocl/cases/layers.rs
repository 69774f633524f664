//! Layers that are more than a product: linear ones with all that may follow, and attention.

use roci_kernels::MatmulForm;
use roci_kernels::params::{Attention, Linear, Matmul, Params as _};
use roci_testkit::Tolerance;

use super::{Case, Element, Random, case, packed, untouched, words};

/// Nothing, and all that may follow a product.
const ENDS: [u32; 7] = [
    0,
    Linear::BIAS,
    Linear::BIAS | Linear::ADD | Linear::CLAMP,
    Linear::BIAS | Linear::GELU,
    Linear::ADD | Linear::SILU,
    Linear::CLAMP,
    Linear::BIAS | Linear::ADD | Linear::GELU,
];

fn weights_of(kernel: &str) -> Element {
    if kernel.ends_with("_f16") { Element::F16 } else { Element::F32 }
}

pub(super) fn linear(random: &mut Random, kernel: &str) -> Vec<Case> {
    let form = if kernel.contains("_large") { MatmulForm::Large } else { MatmulForm::General };
    let shapes = [(1, 1, 1), (64, 64, 64), (65, 63, 17), (5, 130, 33), (2, 3, 100), (3, 4, 0), (0, 4, 4), (4, 0, 4)];
    let mut problems: Vec<Matmul> = shapes.into_iter().map(|(m, n, k)| Matmul::dense(m, n, k)).collect();
    let padded = Matmul { lda: 25, ldb: 71, ldc: 80, ..Matmul::dense(67, 70, 20) };
    problems.push(Matmul { batches: 3, batch_a: 67 * 25, batch_b: 0, batch_c: 67 * 80, ..padded });
    problems.extend([(1, 4, 64), (130, 260, 24), (33, 36, 8), (140, 12, 40)].map(|(m, n, k)| Matmul::dense(m, n, k)));
    let apart = Matmul { lda: 72, ldb: 40, ldc: 44, ..Matmul::dense(35, 36, 64) };
    problems.push(Matmul { batches: 3, batch_a: 35 * 72, batch_b: 64 * 40, batch_c: 35 * 44, ..apart });
    problems.retain(|problem| form.takes(problem));
    // Each end at some size, for forms that take few as well.
    let count = problems.len().max(ENDS.len());
    let mut make = |(at, &flags): (usize, &u32)| {
        let problem = problems[at % problems.len()];
        let Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c } = problem;
        let extent = |rows: u32, pitch: u32, batch: u32| (rows * pitch + (batches - 1) * batch) as usize;
        let a = random.floats(extent(m, lda, batch_a), -1.0, 1.0);
        let b = random.floats(extent(k, ldb, batch_b), -1.0, 1.0);
        let bias = random.floats(n as usize, -2.0, 2.0);
        let params = Linear { flags, low: -0.5, high: 1.5, ..Linear::of(&problem) };
        let buffers = vec![words(&a), packed(weights_of(kernel), &b), words(&bias), untouched(extent(m, ldc, batch_c))];
        let label = format!("{m} x {n} x {k}, {batches} batches, flags {flags}");
        Case { grid: form.grid(&problem), ..case(params, buffers, Element::F32, Tolerance::Approximate, label) }
    };
    ENDS.iter().cycle().enumerate().take(count).map(&mut make).collect()
}

pub(super) fn row(random: &mut Random, kernel: &str) -> Vec<Case> {
    let shapes = [(1, 1), (4, 1024), (7, 1030), (5, 3), (3, 0), (9, 17), (0, 5), (258, 20)];
    let mut make = |((m, k), &flags): ((u32, u32), &u32)| {
        let a = random.floats((m * k) as usize, -1.0, 1.0);
        let x = random.floats(k as usize, -1.0, 1.0);
        let bias = random.floats(m as usize, -2.0, 2.0);
        let params = Linear { flags, low: -0.5, high: 1.5, ..Linear::row(m, k) };
        let buffers = vec![packed(weights_of(kernel), &a), words(&x), words(&bias), untouched(m as usize)];
        let label = format!("{m} x {k}, flags {flags}");
        let case = case(params, buffers, Element::F32, Tolerance::Approximate, label);
        Case { grid: params.row_grid(), ..case }
    };
    let mut cases: Vec<_> = shapes.into_iter().zip(ENDS.iter().cycle()).map(&mut make).collect();
    cases.push(make(((21, 40), &Linear::BIAS)).with_one_group());
    cases
}

/// Batches, heads, heads that share keys, rows, keys, elements of a key and of a value.
type Sizes = [u32; 7];

pub(super) fn attention(random: &mut Random) -> Vec<Case> {
    const MASKED: u32 = Attention::MASK;
    const CAUSAL: u32 = Attention::CAUSAL;
    const STRICT: u32 = Attention::STRICT;
    let problems: [(Sizes, u32); 11] = [
        ([1, 1, 1, 1, 1, 1, 1], 0),
        ([1, 1, 1, 32, 64, 16, 64], 0),
        ([2, 3, 1, 33, 65, 17, 65], MASKED),
        ([1, 4, 2, 5, 130, 32, 32], CAUSAL),
        ([2, 2, 2, 40, 7, 5, 3], CAUSAL | MASKED),
        ([1, 1, 1, 3, 200, 128, 128], MASKED | STRICT),
        ([1, 2, 1, 4, 20, 3, 256], 0),
        ([1, 1, 1, 2, 9, 300, 130], STRICT),
        ([1, 2, 1, 0, 9, 4, 4], 0),
        ([0, 2, 1, 3, 9, 4, 4], 0),
        ([1, 1, 1, 70, 70, 8, 1], CAUSAL | MASKED | STRICT),
    ];
    let mut make = |([batch, heads, shared_by, rows, keys, size, width], flags): (Sizes, u32)| {
        let groups = heads / shared_by;
        // Heads lie within rows, as a linear layer leaves them; those of the result before rows.
        let within = |heads: u32, count: u32, size: u32| [count * heads * size, size, heads * size];
        let q = random.floats((batch * rows * heads * size) as usize, -2.0, 2.0);
        let k = random.floats((batch * keys * groups * size) as usize, -2.0, 2.0);
        let v = random.floats((batch * keys * groups * width) as usize, -1.0, 1.0);
        let mut mask = random.floats((batch * rows * keys) as usize, -3.0, 3.0);
        mask.iter_mut().step_by(3).for_each(|one| *one = f32::NEG_INFINITY);
        // The first row sees nothing.
        mask.iter_mut().take(keys as usize).for_each(|one| *one = f32::NEG_INFINITY);
        let params = Attention {
            batch,
            heads,
            shared_by,
            rows,
            keys,
            size,
            width,
            past: 3,
            q: within(heads, rows, size),
            k: within(groups, keys, size),
            v: within(groups, keys, width),
            y: [heads * rows * width, rows * width, width],
            mask: if flags & MASKED == 0 { [0; 4] } else { [rows * keys, 0, keys, 1] },
            scale: 1.0 / (size as f32).sqrt(),
            flags,
        };
        let made = untouched((batch * heads * rows * width) as usize);
        let buffers = vec![words(&q), words(&k), words(&v), words(&mask), made];
        let label = format!("{rows} rows, {keys} keys of {size} for {width}, {batch} x {heads} heads, flags {flags}");
        Case { grid: params.grid(), ..case(params, buffers, Element::F32, Tolerance::Approximate, label) }
    };
    problems.into_iter().map(&mut make).collect()
}
