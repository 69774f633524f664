//! `attention` and `linear_*` against naive f64 sums.

use bytemuck::bytes_of;
use half::f16;
use roci_kernels::native::Level;
use roci_kernels::params::{Attention, Linear, Matmul};
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, values};

fn close(got: &[f32], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len());
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let is_close = Tolerance::Approximate.error_ratio(got.into(), expected) <= 1.0;
        assert!(is_close, "{what}: [{at}] is {got}, not {expected}");
    }
}

/// Naive attention by definition; all layouts have heads within rows.
fn attended(p: &Attention, q: &[f32], k: &[f32], v: &[f32], mask: &[f32]) -> Vec<f64> {
    let [batch, heads, shared, rows, keys, size, width] =
        [p.batch, p.heads, p.gqa_ratio, p.rows, p.keys, p.size, p.width].map(|size| size as usize);
    let groups = heads / shared;
    let mut output = Vec::new();
    for at in 0..batch * rows * heads {
        let (b, row, head) = (at / (rows * heads), at / heads % rows, at % heads);
        let score = |key: usize| {
            if p.flags & Attention::CAUSAL != 0 && key > row + p.past as usize {
                return f64::NEG_INFINITY;
            }
            let query = &q[at * size..][..size];
            let key_row = &k[((b * keys + key) * groups + head / shared) * size..][..size];
            let product: f64 = query.iter().zip(key_row).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
            let added = if p.flags & Attention::MASK != 0 { f64::from(mask[b * keys + key]) } else { 0.0 };
            product * f64::from(p.scale) + added
        };
        let weights: Vec<f64> = (0..keys).map(|key| score(key).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let value = |key: usize, d: usize| f64::from(v[((b * keys + key) * groups + head / shared) * width + d]);
        output.extend((0..width).map(|d| match sum == 0.0 {
            true if p.flags & Attention::STRICT != 0 => f64::NAN,
            true => 0.0,
            false => (0..keys).map(|key| weights[key] * value(key, d)).sum::<f64>() / sum,
        }));
    }
    output
}

#[test]
fn attention_is_softmax_between_products() {
    let [batch, rows, keys, size, width] = [2u32, 11, 50, 20, 33];
    for (heads, gqa_ratio, flags) in [
        (3, 1, Attention::MASK),
        (4, 2, Attention::CAUSAL),
        (2, 2, Attention::CAUSAL | Attention::MASK | Attention::STRICT),
        (1, 1, 0),
    ] {
        let groups = heads / gqa_ratio;
        let mut q = values((batch * rows * heads * size) as usize, 1.0, 1);
        let mut k = values((batch * keys * groups * size) as usize, 1.0, 2);
        let mut v = values((batch * keys * groups * width) as usize, 1.0, 3);
        let mut mask = values((batch * keys) as usize, 2.0, 4);
        mask[3] = f32::NEG_INFINITY;
        // The second batch is fully masked.
        mask[keys as usize..].fill(f32::NEG_INFINITY);
        let strides = |heads: u32, count: u32, width: u32| [count * heads * width, width, heads * width];
        let p = Attention {
            batch,
            heads,
            gqa_ratio,
            rows,
            keys,
            size,
            width,
            past: 2,
            q: strides(heads, rows, size),
            k: strides(groups, keys, size),
            v: strides(groups, keys, width),
            y: strides(heads, rows, width),
            mask: [keys, 0, 0, 1],
            scale: 0.3,
            flags,
        };
        let expected = attended(&p, &q, &k, &v, &mask);
        for &level in Level::available() {
            let mut output = vec![f32::NAN; expected.len()];
            let mut buffers = [bytes(&mut q), bytes(&mut k), bytes(&mut v), bytes(&mut mask), bytes(&mut output)];
            launch_at(level, "attention", &mut buffers, bytes_of(&p), 3).expect("the launch is valid");
            close(&output, &expected, &format!("flags {flags} at {level}"));
        }
        let mut short = vec![0.0f32; expected.len() - 1];
        let mut buffers = [bytes(&mut q), bytes(&mut k), bytes(&mut v), bytes(&mut mask), bytes(&mut short)];
        let error = launch_at(Level::best(), "attention", &mut buffers, bytes_of(&p), 3).expect_err("too short");
        assert!(error.contains("`y`"), "{error}");
    }
}

#[test]
fn a_linear_layer_is_a_product_with_its_epilogue() {
    let [m, n, k] = [5u32, 7, 9];
    let a = values((m * k) as usize, 1.0, 1);
    let weights: Vec<f16> = values((k * n) as usize, 1.0, 2).into_iter().map(f16::from_f32).collect();
    let bias = values(n as usize, 1.0, 3);
    let there = values((m * n) as usize, 1.0, 4);
    for flags in [0, Linear::BIAS, Linear::ADD | Linear::CLAMP, Linear::BIAS | Linear::ADD | Linear::SILU] {
        let expected: Vec<f64> = (0..(m * n) as usize)
            .map(|at| {
                let (row, column) = (at / n as usize, at % n as usize);
                let term = |i: usize| {
                    f64::from(a[row * k as usize + i]) * f64::from(weights[i * n as usize + column].to_f32())
                };
                let mut sum: f64 = (0..k as usize).map(term).sum();
                sum += if flags & Linear::BIAS != 0 { f64::from(bias[column]) } else { 0.0 };
                sum += if flags & Linear::ADD != 0 { f64::from(there[at]) } else { 0.0 };
                match flags {
                    _ if flags & Linear::CLAMP != 0 => sum.clamp(-0.25, 0.5),
                    _ if flags & Linear::SILU != 0 => sum / (1.0 + (-sum).exp()),
                    _ => sum,
                }
            })
            .collect();
        let p = Linear { flags, low: -0.25, high: 0.5, ..Linear::of(&Matmul::dense(m, n, k)) };
        let (mut left, mut bias, mut wide) =
            (a.clone(), bias.clone(), weights.iter().map(|w| w.to_f32()).collect::<Vec<_>>());
        // Padded to whole words.
        let mut halves = weights.clone();
        halves.push(f16::ZERO);
        for kernel in ["linear_f32", "linear_large_f16"] {
            let mut output = there.clone();
            let right = if kernel.ends_with("f16") { bytes(&mut halves) } else { bytes(&mut wide) };
            let mut buffers = [bytes(&mut left), right, bytes(&mut bias), bytes(&mut output)];
            launch_at(Level::best(), kernel, &mut buffers, bytes_of(&p), 2).expect("the launch is valid");
            close(&output, &expected, &format!("{kernel}, flags {flags}"));
        }
    }
}
