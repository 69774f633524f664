//! Matrix products against f64 sums.

use half::f16;
use proptest::prelude::*;
use roci_kernels::native::Level;
use roci_kernels::params;
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, values};

/// A product and the memory layout of its matrices.
#[derive(Clone, Copy, Debug)]
struct Problem {
    p: params::Matmul,
    seed: u32,
}

impl Problem {
    fn extents(&self) -> [usize; 3] {
        let p = &self.p;
        let extent = |stride: u32, rows: u32, row: u32, columns: u32| {
            ((p.batches.max(1) - 1) * stride + (rows.max(1) - 1) * row + columns) as usize
        };
        [extent(p.batch_a, p.m, p.lda, p.k), extent(p.batch_b, p.k, p.ldb, p.n), extent(p.batch_c, p.m, p.ldc, p.n)]
    }

    fn inputs(&self) -> [Vec<f32>; 2] {
        let [a, b, _] = self.extents();
        // Values that f16 represents exactly, so that both element types share one reference.
        let rounded = |v: Vec<f32>| v.into_iter().map(|x| f16::from_f32(x).to_f32()).collect();
        [rounded(values(a, 1.0, self.seed)), rounded(values(b, 1.0, self.seed ^ 0x55))]
    }

    /// Each written element: its index, its exact value, and the sum of magnitudes that scales the
    /// error bound.
    fn exact(&self) -> Vec<(usize, f64, f64)> {
        let (p, [a, b]) = (&self.p, self.inputs());
        let mut all = Vec::new();
        for batch in 0..p.batches {
            for i in 0..p.m {
                for j in 0..p.n {
                    let (mut sum, mut size) = (0.0, 0.0);
                    for k in 0..p.k {
                        let x = f64::from(a[(batch * p.batch_a + i * p.lda + k) as usize]);
                        let y = f64::from(b[(batch * p.batch_b + k * p.ldb + j) as usize]);
                        sum += x * y;
                        size += (x * y).abs();
                    }
                    all.push(((batch * p.batch_c + i * p.ldc + j) as usize, sum, size));
                }
            }
        }
        all
    }

    fn run(&self, level: Level, workers: usize) -> Vec<f32> {
        let [mut a, mut b] = self.inputs();
        let mut c = vec![UNTOUCHED; self.extents()[2]];
        let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c)];
        launch_at(level, "matmul_f32", &mut buffers, bytemuck::bytes_of(&self.p), workers)
            .expect("the launch is valid");
        c
    }

    fn run_f16(&self, level: Level, workers: usize) -> Vec<f32> {
        let [mut a, mut b] = self.inputs().map(|v| v.into_iter().map(f16::from_f32).collect::<Vec<_>>());
        let mut c = vec![f16::from_f32(UNTOUCHED); self.extents()[2]];
        let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c)];
        launch_at(level, "matmul_f16", &mut buffers, bytemuck::bytes_of(&self.p), workers)
            .expect("the launch is valid");
        c.into_iter().map(f16::to_f32).collect()
    }

    /// Compares a result with the exact one; padding is untouched.
    fn check(&self, level: Level, c: &[f32], tolerance: Tolerance) {
        let mut gaps = vec![true; c.len()];
        for (at, sum, size) in self.exact() {
            gaps[at] = false;
            let bound = tolerance.allowed(sum, size);
            let off = (f64::from(c[at]) - sum).abs();
            assert!(off <= bound, "{self:?} at {level}: c[{at}] = {}, exactly {sum}, off {off:e} > {bound:e}", c[at]);
        }
        assert!(c.iter().zip(gaps).all(|(&c, gap)| !gap || c == UNTOUCHED), "{self:?} at {level} wrote between rows");
    }
}

const UNTOUCHED: f32 = 77.0;

fn problem(limit: u32) -> impl Strategy<Value = Problem> {
    let sizes = (0..limit, 0..limit, 0..limit, 1..3u32);
    (sizes, (0..5u32, 0..5u32, 0..5u32), (any::<bool>(), 0..9u32), any::<u32>()).prop_map(
        |((m, n, k, batches), (pad_a, pad_b, pad_c), (share, gap), seed)| {
            let (lda, ldb, ldc) = (k + pad_a, n + pad_b, n + pad_c);
            let batch_a = if share { 0 } else { m * lda + gap };
            let (batch_b, batch_c) = (k * ldb + gap, m * ldc + gap);
            Problem { p: params::Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c }, seed }
        },
    )
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_match_at_every_level(problem in problem(70)) {
        for &level in Level::available() {
            problem.check(level, &problem.run(level, 3), Tolerance::Sum);
            problem.check(level, &problem.run_f16(level, 3), Tolerance::SumF16);
        }
    }

    #[test]
    fn matvec_matches_at_every_level(m in 0u32..40, k in 0u32..300, pad in 0u32..5, seed: u32, workers in 1usize..5) {
        let p = params::Matvec { m, k, lda: k + pad };
        let extent = (m.max(1) - 1) * (k + pad) + k;
        let a: Vec<f32> = values(extent as usize, 1.0, seed).iter().map(|&x| f16::from_f32(x).to_f32()).collect();
        let x = values(k as usize, 1.0, !seed);
        for &level in Level::available() {
            let (mut wide, mut x) = (a.clone(), x.clone());
            let mut narrow: Vec<f16> = a.iter().map(|&x| f16::from_f32(x)).collect();
            let (mut y, mut z) = (vec![UNTOUCHED; m as usize], vec![UNTOUCHED; m as usize]);
            let constants = bytemuck::bytes_of(&p);
            let mut buffers = [bytes(&mut wide), bytes(&mut x), bytes(&mut y)];
            launch_at(level, "matvec_f32", &mut buffers, constants, workers).unwrap();
            let mut buffers = [bytes(&mut narrow), bytes(&mut x), bytes(&mut z)];
            launch_at(level, "matvec_f16", &mut buffers, constants, workers).unwrap();
            for (i, (&y, &z)) in y.iter().zip(&z).enumerate() {
                let row = &a[i * p.lda as usize..][..k as usize];
                let terms = || row.iter().zip(&x).map(|(&a, &x)| f64::from(a) * f64::from(x));
                let exact: f64 = terms().sum();
                let bound = Tolerance::Sum.allowed(exact, terms().map(f64::abs).sum());
                prop_assert!((f64::from(y) - exact).abs() <= bound, "{} at {}: {} {}", i, level, y, exact);
                prop_assert_eq!(y.to_bits(), z.to_bits(), "f16 holds these values exactly");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_parts() {
    for (m, n, k) in [(300, 280, 600), (1030, 40, 30), (8, 1500, 100), (9, 130, 520), (40, 1100, 270), (200, 1, 300)] {
        let problem = Problem { p: params::Matmul::dense(m, n, k), seed: 5 };
        for &level in Level::available() {
            let one = problem.run(level, 1);
            problem.check(level, &one, Tolerance::Sum);
            let one_f16 = problem.run_f16(level, 1);
            problem.check(level, &one_f16, Tolerance::SumF16);
            for workers in [2, 4, 7] {
                assert_eq!(bits(&one), bits(&problem.run(level, workers)), "{problem:?} at {level}, {workers} workers");
                assert_eq!(bits(&one_f16), bits(&problem.run_f16(level, workers)), "{problem:?} at {level}");
            }
        }
    }
}

#[test]
fn a_long_sum_in_f16_keeps_f32_accuracy() {
    // Between 2048 and 4096, f16 only represents even integers: if partial sums were stored as f16
    // between passes, the halves would be lost.
    let (k, p) = (2048, params::Matmul::dense(1, 1, 2048));
    let mut a = vec![f16::ONE; k];
    let mut b = vec![f16::from_f32(0.5); k];
    (b[0], b[k - 1]) = (f16::from_f32(2048.0), f16::from_f32(-2048.0));
    let mut c = vec![f16::ZERO];
    let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c)];
    launch_at(Level::best(), "matmul_f16", &mut buffers, bytemuck::bytes_of(&p), 1).unwrap();
    assert_eq!(c[0], f16::from_f32(1023.0));
}

#[test]
fn mismatched_sizes_are_rejected_with_the_reason() {
    let good = params::Matmul::dense(4, 4, 4);
    let cases = [
        (params::Matmul { m: 5, ldc: 4, ..good }, "reads 20 elements of `a`, but 16 are bound"),
        (params::Matmul { k: 5, ..good }, "reads 17 elements of `a`, but 16 are bound"),
        (params::Matmul { ldb: 5, ..good }, "reads 19 elements of `b`, but 16 are bound"),
        (params::Matmul { ldc: 5, ..good }, "writes 19 elements of `c`, but 16 are bound"),
        (params::Matmul { ldc: 3, ..good }, "rows of `c` overlap: ldc is 3, but a row has 4 elements"),
        (params::Matmul { batches: 2, ..good }, "batches of `c` overlap: batch_c is 0, but a matrix spans 16 elements"),
        (
            params::Matmul { m: u32::MAX, lda: u32::MAX, batches: u32::MAX, batch_a: u32::MAX, ..good },
            "reads 36893488121649299464 elements of `a`, but 16 are bound",
        ),
    ];
    for (p, reason) in cases {
        let [mut a, mut b, mut c] = [1.0f32, 2.0, UNTOUCHED].map(|x| vec![x; 16]);
        let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c)];
        let result = launch_at(Level::best(), "matmul_f32", &mut buffers, bytemuck::bytes_of(&p), 2);
        assert_eq!(result, Err(reason.to_owned()), "{p:?}");
        assert!(c.iter().all(|&c| c == UNTOUCHED));
    }
}
