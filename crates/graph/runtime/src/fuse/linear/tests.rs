//! Fused products and attention with the kernels that GPUs use, compared with the reference.

use roci_graph::ops::attention::{Attention, Scores};
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::reduction::SoftmaxKind;
use roci_graph::ops::{AttentionOp, Elementwise, Movement, Product, Reduction};
use roci_graph::{DType, Graph, OpError, Tensor, ValueId};

use crate::fuse::tests::{Test, check_as, numbers};

/// Compares with the reference, and returns the GPU kernels that ran.
fn on_gpu(graph: Graph, inputs: &[Tensor]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    check_as(graph, inputs, false)
}

fn dense(graph: &mut Graph, name: &str, x: ValueId, [ins, outs]: [usize; 2], seed: u64) -> Result<ValueId, OpError> {
    let w = graph.constant(format!("{name}.w"), numbers(&[ins, outs], seed)?);
    let b = graph.constant(format!("{name}.b"), numbers(&[outs], seed + 50)?);
    let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let result = graph.node(name, product, &[x, w]);
    Ok(graph.node(&format!("{name}.sum"), Elementwise::Binary(Binary::Add), &[b, result]))
}

/// A transformer layer in small operations, with inputs: sizes are batch, rows, heads and head
/// size.
pub(crate) fn attention_layer([batch, length, heads, size]: [usize; 4]) -> Result<(Graph, Vec<Tensor>), OpError> {
    let width = heads * size;
    let mut graph = Graph::default();
    let [given, mask] = ["given", "mask"].map(|name| graph.value(name));
    graph.inputs.extend([given, mask]);
    let x = graph.node("x", Elementwise::Unary(Unary::Tanh), &[given]);
    let shape = |sizes: [usize; 4]| Tensor::vector(sizes.map(|size| size as i64).to_vec());
    let apart = graph.constant("apart", shape([batch, length, heads, size]));
    let together = graph.constant("together", Tensor::vector(vec![batch as i64, length as i64, width as i64]));
    let root = graph.constant("root", Tensor::scalar((size as f32).sqrt()));
    let head = |graph: &mut Graph, name: &str, seed: u64, perm: [usize; 4]| -> Result<ValueId, OpError> {
        let result = dense(graph, name, x, [width, width], seed)?;
        let result = graph.node(&format!("{name}.apart"), Movement::Reshape { allow_zero: false }, &[result, apart]);
        Ok(graph.node(&format!("{name}.turned"), Movement::Transpose { perm: Some(perm.to_vec()) }, &[result]))
    };
    let q = head(&mut graph, "q", 1, [0, 2, 1, 3])?;
    let k = head(&mut graph, "k", 2, [0, 2, 3, 1])?;
    let v = head(&mut graph, "v", 3, [0, 2, 1, 3])?;
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let scores = graph.node("scores", product(), &[q, k]);
    let scores = graph.node("scaled", Elementwise::Binary(Binary::Div), &[scores, root]);
    let scores = graph.node("masked", Elementwise::Binary(Binary::Add), &[scores, mask]);
    let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
    let weights = graph.node("weights", softmax, &[scores]);
    let result = graph.node("result", product(), &[weights, v]);
    let result = graph.node("back", Movement::Transpose { perm: Some(vec![0, 2, 1, 3]) }, &[result]);
    let result = graph.node("joined", Movement::Reshape { allow_zero: false }, &[result, together]);
    let result = dense(&mut graph, "out", result, [width, width], 4)?;
    let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[result, x]);
    let wide = dense(&mut graph, "wide", sum, [width, 50], 5)?;
    let wide = graph.node("gelu", Elementwise::Unary(Unary::Gelu { tanh: false }), &[wide]);
    let narrow = dense(&mut graph, "narrow", wide, [50, width], 6)?;
    let y = graph.node("y", Elementwise::Binary(Binary::Add), &[narrow, sum]);
    graph.outputs.push(y);
    let inputs = vec![numbers(&[batch, length, width], 7)?, numbers(&[batch, 1, 1, length], 8)?];
    Ok((graph, inputs))
}

#[test]
fn a_transformer_layer_is_a_few_gpu_kernels() -> Test {
    // Within one tile, more than one tile, and heads of one element.
    for sizes in [[2, 9, 3, 12], [1, 70, 2, 33], [3, 5, 4, 1], [1, 1, 1, 1]] {
        let (graph, inputs) = attention_layer(sizes)?;
        let kernels = on_gpu(graph, &inputs)?;
        let count = |name: &str| kernels.iter().filter(|kernel| kernel.starts_with(name)).count();
        // With one element per head the strides are ambiguous, so the number of kernels is not
        // checked.
        if sizes[3] > 1 {
            assert_eq!((count("attention"), count("linear"), kernels.len()), (1, 6, 8), "{sizes:?}: {kernels:?}");
        }
    }
    Ok(())
}

#[test]
fn attention_is_fused_without_surrounding_dispatches() -> Test {
    // Nothing before the first product and nothing after the last.
    let mut graph = Graph::default();
    let [q, k, v] = ["q", "k", "v"].map(|name| graph.value(name));
    graph.inputs.extend([q, k, v]);
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let scores = graph.node("scores", product(), &[q, k]);
    let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
    let weights = graph.node("weights", softmax, &[scores]);
    let result = graph.node("result", product(), &[weights, v]);
    graph.outputs.push(result);
    let inputs = [numbers(&[2, 3, 5], 1)?, numbers(&[2, 5, 4], 2)?, numbers(&[2, 4, 6], 3)?];
    for is_host in [true, false] {
        check_as(graph.clone(), &inputs, is_host)?;
    }
    Ok(())
}

#[test]
fn activations_after_products_are_fused() -> Test {
    let limits = |graph: &mut Graph, x: ValueId| {
        let [low, high] = [0.0f32, 6.0].map(|limit| graph.constant("limit", Tensor::scalar(limit)));
        graph.node("limited", Elementwise::Clip, &[x, low, high])
    };
    let silu = |graph: &mut Graph, x: ValueId| {
        let sigmoid = graph.node("sigmoid", Elementwise::Unary(Unary::Sigmoid), &[x]);
        graph.node("silu", Elementwise::Binary(Binary::Mul), &[x, sigmoid])
    };
    let swish =
        |graph: &mut Graph, x: ValueId| graph.node("swish", Elementwise::Unary(Unary::Swish { alpha: 1.0 }), &[x]);
    let tanh = |graph: &mut Graph, x: ValueId| graph.node("tanh", Elementwise::Unary(Unary::Tanh), &[x]);
    let relu = |graph: &mut Graph, x: ValueId| graph.node("relu", Elementwise::Unary(Unary::Relu), &[x]);
    type Follow<'a> = &'a dyn Fn(&mut Graph, ValueId) -> ValueId;
    let all: [(&str, Follow<'_>); 5] =
        [("limits", &limits), ("silu", &silu), ("swish", &swish), ("relu", &relu), ("tanh", &tanh)];
    for (name, follow) in all {
        let joins = name != "tanh";
        for rows in [1, 5] {
            let mut graph = Graph::default();
            let x = graph.value("x");
            graph.inputs.push(x);
            let result = dense(&mut graph, "layer", x, [9, 7], 1)?;
            let result = follow(&mut graph, result);
            graph.outputs.push(result);
            let kernels = on_gpu(graph, &[numbers(&[rows, 9], 2)?])?;
            let expected = if joins { "linear_f32" } else { "matmul_f32" };
            assert_eq!(
                (kernels[0].as_str(), kernels.len()),
                (expected, if joins { 1 } else { 2 }),
                "{name}: {kernels:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn one_row_times_a_transposed_matrix_fuses_its_bias() -> Test {
    let mut graph = Graph::default();
    let [x, w] = ["x", "w"].map(|name| graph.value(name));
    graph.inputs.extend([x, w]);
    let b = graph.constant("b", numbers(&[7], 2)?);
    let gemm = Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
    let result = graph.node("gemm", gemm, &[x, w, b]);
    let result = graph.node("gelu", Elementwise::Unary(Unary::Gelu { tanh: false }), &[result]);
    graph.outputs.push(result);
    assert_eq!(on_gpu(graph, &[numbers(&[1, 9], 3)?, numbers(&[7, 9], 1)?])?, ["linear_matvec_f32"]);
    Ok(())
}

#[test]
fn tensors_with_other_readers_are_not_overwritten() -> Test {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let first = dense(&mut graph, "first", x, [8, 8], 1)?;
    let second = dense(&mut graph, "second", first, [8, 8], 2)?;
    // `first` is read again after the sum, and `second` is an output.
    let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[second, first]);
    let again = graph.node("again", Elementwise::Binary(Binary::Mul), &[sum, first]);
    let third = dense(&mut graph, "third", again, [8, 8], 3)?;
    // The same term twice.
    let twice = graph.node("twice", Elementwise::Binary(Binary::Add), &[third, third]);
    graph.outputs.extend([again, second, twice]);
    for rows in [0, 1, 6] {
        on_gpu(graph.clone(), &[numbers(&[rows, 8], 4)?])?;
    }
    Ok(())
}

#[test]
fn attention_is_one_kernel_unless_the_scores_are_used() -> Test {
    let attention = |causal: bool, softcap: f32| {
        AttentionOp::Attention(Attention {
            scale: None,
            causal,
            pads_mask: true,
            heads: (Some(4), Some(2)),
            softcap,
            scores: Scores::Weights,
        })
    };
    for (causal, softcap, wants_scores) in
        [(true, 0.0, false), (false, 0.0, false), (false, 2.0, false), (true, 0.0, true)]
    {
        let mut graph = Graph::default();
        let inputs = ["q", "k", "v", "mask"].map(|name| graph.value(name));
        graph.inputs.extend(inputs);
        let result = graph.node("attention", attention(causal, softcap), &inputs);
        graph.outputs.push(result);
        if wants_scores {
            let scores = graph.value("scores");
            let node = graph.nodes.last_mut().ok_or("no node")?;
            node.outputs.extend([None, None, Some(scores)]);
            graph.outputs.push(scores);
        }
        let mask = Tensor::new([3, 5], (0..15).map(|at| at % 5 != at / 5 && at < 10).collect::<Vec<bool>>())?;
        let inputs = [numbers(&[2, 3, 8], 1)?, numbers(&[2, 5, 4], 2)?, numbers(&[2, 5, 6], 3)?, mask];
        assert_eq!(inputs[0].dtype(), DType::F32);
        for is_host in [true, false] {
            let kernels = check_as(graph.clone(), &inputs, is_host)?;
            let is_one = kernels.iter().any(|kernel| kernel == "attention");
            assert_eq!(is_one, softcap == 0.0 && !wants_scores, "{kernels:?}");
        }
    }
    Ok(())
}

#[test]
fn attention_over_a_cache_follows_the_valid_keys_of_each_batch() -> Test {
    // More rows and keys than one tile of the GPU kernel. The batches have all keys, fewer keys
    // than queries, and none.
    let (rows, keys) = (35, 70);
    let lengths = Tensor::vector(vec![70i64, 41, 12, 0]);
    let float_mask = numbers(&[4, 1, rows, keys], 4)?;
    let short_mask = Tensor::new([rows, 65], (0..rows * 65).map(|at| at % 7 != 3).collect::<Vec<bool>>())?;
    let integer_mask = Tensor::new([keys], (0..70).map(|at| at % 3).collect::<Vec<i64>>())?;
    for (causal, softcap, mask) in [
        (true, 0.0, None),
        (true, 0.0, Some(float_mask)),
        (true, 0.0, Some(short_mask.clone())),
        (true, 2.0, Some(short_mask)),
        (true, 2.0, None),
        (false, 0.0, Some(integer_mask)),
    ] {
        let mut graph = Graph::default();
        let operands = ["q", "k", "v", "mask", "lengths"].map(|name| graph.value(name));
        let [q, k, v, given_mask, given_lengths] = operands;
        let op = Attention {
            scale: None,
            causal,
            pads_mask: true,
            heads: (Some(4), Some(2)),
            softcap,
            scores: Scores::Weights,
        };
        let result = graph.node("attention", AttentionOp::Attention(op), &[q, k, v]);
        let node = graph.nodes.last_mut().ok_or("no node")?;
        node.inputs.extend([mask.as_ref().map(|_| given_mask), None, None, Some(given_lengths)]);
        graph.outputs.push(result);
        graph.inputs = operands.into_iter().filter(|id| mask.is_some() || *id != given_mask).collect();
        let mut inputs = vec![numbers(&[4, rows, 8], 1)?, numbers(&[4, keys, 4], 2)?, numbers(&[4, keys, 6], 3)?];
        inputs.extend(mask.into_iter().chain([lengths.clone()]));
        for is_host in [true, false] {
            let kernels = check_as(graph.clone(), &inputs, is_host)?;
            let is_one = kernels.iter().any(|kernel| kernel == "attention");
            assert_eq!(is_one, softcap == 0.0, "{kernels:?}");
        }
    }
    Ok(())
}
