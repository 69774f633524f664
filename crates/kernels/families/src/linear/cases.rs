//! Linear layers with every epilogue.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, packed, untouched, words};
use crate::{Linear, Matmul, MatmulForm};

/// Flags: no epilogue, and every epilogue.
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

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    if kernel.starts_with("linear_matvec_") { row(random, kernel) } else { matrix(random, kernel) }
}

fn matrix(random: &mut Random, kernel: &str) -> Vec<Case> {
    let form = if kernel.contains("_large") { MatmulForm::Large } else { MatmulForm::General };
    let shapes = [(1, 1, 1), (64, 64, 64), (65, 63, 17), (5, 130, 33), (2, 3, 100), (3, 4, 0), (0, 4, 4), (4, 0, 4)];
    let mut problems: Vec<Matmul> = shapes.into_iter().map(|(m, n, k)| Matmul::dense(m, n, k)).collect();
    let padded = Matmul { lda: 25, ldb: 71, ldc: 80, ..Matmul::dense(67, 70, 20) };
    problems.push(Matmul { batches: 3, batch_a: 67 * 25, batch_b: 0, batch_c: 67 * 80, ..padded });
    problems.extend([(1, 4, 64), (130, 260, 24), (33, 36, 8), (140, 12, 40)].map(|(m, n, k)| Matmul::dense(m, n, k)));
    let strided = Matmul { lda: 72, ldb: 40, ldc: 44, ..Matmul::dense(35, 36, 64) };
    problems.push(Matmul { batches: 3, batch_a: 35 * 72, batch_b: 64 * 40, batch_c: 35 * 44, ..strided });
    problems.retain(|problem| form.takes(problem));
    // Each epilogue with some size, also for the variants that support few sizes.
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

fn row(random: &mut Random, kernel: &str) -> Vec<Case> {
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
