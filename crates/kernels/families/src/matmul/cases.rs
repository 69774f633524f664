//! Test cases of `matmul`.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, packed, untouched};
use crate::{Matmul, MatmulForm};

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let form = MatmulForm::of(kernel).expect("every product has a form");
    let element = if kernel.ends_with("_f16") { Element::F16 } else { Element::F32 };
    let tolerance = if element == Element::F16 { Tolerance::Half } else { Tolerance::Approximate };
    let shapes = [(1, 1, 1), (64, 64, 64), (65, 63, 17), (5, 130, 33), (2, 3, 100), (3, 4, 0), (0, 4, 4), (4, 0, 4)];
    let mut problems: Vec<_> = shapes.into_iter().map(|(m, n, k)| Matmul::dense(m, n, k)).collect();
    let padded = Matmul { lda: 25, ldb: 71, ldc: 80, ..Matmul::dense(67, 70, 20) };
    problems.push(padded);
    problems.push(Matmul { batches: 3, batch_a: 67 * 25, batch_b: 0, batch_c: 67 * 80, ..padded });
    problems.push(Matmul { batches: 2, batch_a: 5 * 6, batch_b: 6 * 7, batch_c: 5 * 7, ..Matmul::dense(5, 7, 6) });
    // For the vec4 variants: smaller than a tile, partial tiles, one step and many, batches.
    problems.extend(
        [(1, 4, 64), (130, 260, 64), (3, 268, 128), (129, 132, 192), (33, 36, 8), (140, 12, 40)]
            .map(|(m, n, k)| Matmul::dense(m, n, k)),
    );
    let strided = Matmul { lda: 72, ldb: 40, ldc: 44, ..Matmul::dense(35, 36, 64) };
    problems.push(Matmul { batches: 3, batch_a: 35 * 72, batch_b: 0, batch_c: 35 * 44, ..strided });
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
