//! Layers with matrix products: linear layers and attention.

use roci_kernels::MatmulForm;
use roci_kernels::params::{Attention, Linear, Matmul};

use super::super::input::{Element, Input};
use super::super::reference::Expected;
use super::{CaseData, LayerCase, LayerCaseBuilder, floats, join_sizes};
use crate::Tolerance;
use crate::WorkAmount;

/// A linear layer with bias and ReLU.
pub(super) fn linear(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let form = if builder.kernel.contains("_large") { MatmulForm::Large } else { MatmulForm::General };
    let (params, grid) = if builder.kernel.contains("_matvec") {
        let params = Linear::row(builder.size(67, 2051), builder.size(1030, 4098));
        (params, params.row_grid())
    } else {
        let [m, n, k] = match form {
            MatmulForm::General => [builder.size(67, 769), builder.size(70, 770), builder.size(73, 773)],
            MatmulForm::Large | MatmulForm::Matrix => {
                [builder.size(67, 769), builder.size(68, 772), builder.size(64, 768)]
            }
        };
        let product = Matmul::dense(m, n, k);
        (Linear::of(&product), form.grid(&product))
    };
    let params = Linear { flags: Linear::BIAS | Linear::CLAMP, high: f32::INFINITY, ..params };
    let sizes = [params.m, params.n, params.k];
    let work = WorkAmount::Operations(2 * sizes.iter().map(|&size| u64::from(size)).product::<u64>());
    builder.with_grid(grid, params, join_sizes(&sizes), work, (Element::F32, Tolerance::Sum), linear_data)
}

fn linear_data(kernel: &str, p: &Linear) -> CaseData {
    let [m, n, k] = [p.m, p.n, p.k].map(|size| size as usize);
    let is_row = kernel.contains("_matvec");
    let narrow = |is_weights: bool| if is_weights && kernel.ends_with("_f16") { Element::F16 } else { Element::F32 };
    let a = Input::spread(narrow(is_row), m * k, -1.0, 1.0, 1);
    let b = Input::spread(narrow(!is_row), k * n, -1.0, 1.0, 2);
    let bias = floats(if is_row { p.m } else { p.n }, (-1.0, 1.0), 3);
    let sum = |at: usize| {
        let (row, column) = (at / n, at % n);
        let first = bias.values[if is_row { row } else { column }];
        let terms = || (0..k).map(|i| a.values[row * k + i] * b.values[i * n + column]);
        let value = (first + terms().sum::<f64>()).max(f64::from(p.low));
        Expected { value, magnitude: first.abs() + terms().map(f64::abs).sum::<f64>() }
    };
    let expected = (0..m * n).map(sum).collect();
    (vec![a, b, bias], expected)
}

/// Causal attention with two query heads that share one key/value head.
pub(super) fn attention(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (length, size, heads) = (builder.size(67, 515), 64, 2);
    let params = Attention {
        batch: 1,
        heads,
        gqa_ratio: heads,
        rows: length,
        keys: length,
        size,
        width: size,
        past: 0,
        q: [0, size, heads * size],
        k: [0, 0, size],
        v: [0, 0, size],
        y: [0, size, heads * size],
        mask: [0, 0, 0, 1],
        scale: 0.125,
        flags: Attention::CAUSAL | Attention::MASK,
    };
    let work =
        WorkAmount::Operations(4 * [heads, length, length, size].iter().map(|&size| u64::from(size)).product::<u64>());
    let text = format!("{heads} heads, {length}x{length}x{size}");
    builder.case(params, text, work, (Element::F32, Tolerance::Sum), |_, p| attention_data(p))
}

fn attention_data(p: &Attention) -> CaseData {
    let [heads, rows, size] = [p.heads, p.rows, p.size].map(|size| size as usize);
    let q = floats(p.heads * p.rows * p.size, (-1.0, 1.0), 1);
    let [k, v] = [2, 3].map(|seed| floats(p.keys * p.size, (-1.0, 1.0), seed));
    let mask = floats(p.keys, (-1.0, 1.0), 4);
    let mut expected = Vec::new();
    for query in q.values.chunks(size).zip((0..rows).flat_map(|row| std::iter::repeat_n(row, heads))) {
        let (query, row) = query;
        let score = |key: usize| {
            let product: f64 = query.iter().zip(&k.values[key * size..]).map(|(q, k)| q * k).sum();
            (product * f64::from(p.scale) + mask.values[key]).exp()
        };
        let weights: Vec<f64> = (0..=row).map(score).collect();
        let sum: f64 = weights.iter().sum();
        expected.extend((0..size).map(|d| {
            let terms = || weights.iter().enumerate().map(|(key, weight)| weight / sum * v.values[key * size + d]);
            Expected { value: terms().sum(), magnitude: terms().map(f64::abs).sum() }
        }));
    }
    (vec![q, k, v, mask], expected)
}
