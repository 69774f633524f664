//! Graphs that the CPU's own kernels run, against their definitions.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::reduction::SoftmaxKind;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Elementwise, Movement, Pool, Product, Reduction};
use roci_graph::{Graph, Tensor, ValueId};

use crate::fuse::tests::{Test, check, conv, numbers};

#[test]
fn pictures_stay_in_blocks() -> Test {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let first = conv(&mut graph, "first", x, [70, 40, 3, 3], 1)?;
    let first = graph.node("relu", Elementwise::Unary(Unary::Relu), &[first]);
    let padding = Padding::Explicit(vec![(1, 1), (1, 1)]);
    let window = |strides: Vec<usize>, kernel: Vec<usize>| Window {
        kernel,
        strides,
        dilations: Vec::new(),
        padding: padding.clone(),
    };
    let kind = PoolKind::Max { column_major: false };
    let pool = Pool::Slide { kind, window: window(vec![2, 2], vec![3, 3]), ceil: false };
    let pooled = graph.node("pool", pool, &[first]);
    let w = graph.constant("each.w", numbers(&[70, 1, 3, 3], 2)?);
    let each = Product::Conv { window: window(vec![1, 1], Vec::new()), groups: 70 };
    let each = graph.node("each", each, &[pooled, w]);
    // A program between convolutions, which works on blocks as on anything else.
    let curved = graph.node("tanh", Elementwise::Unary(Unary::Tanh), &[each]);
    let second = conv(&mut graph, "second", curved, [70, 70, 3, 3], 3)?;
    let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[second, pooled]);
    let last = conv(&mut graph, "last", sum, [40, 70, 3, 3], 4)?;
    let mean = Pool::Global { kind: PoolKind::Average { with_padding: false } };
    let mean = graph.node("mean", mean, &[sum]);
    graph.outputs.extend([last, mean]);
    let kernels = check(graph, &[numbers(&[2, 40, 9, 15], 5)?])?;
    if roci_kernels::native::Level::best().lanes() >= 8 {
        assert_eq!(kernels.iter().filter(|kernel| *kernel == "conv_blocked").count(), 4, "{kernels:?}");
        let pools = ["pool_blocked_max", "pool_blocked_average"];
        assert!(pools.iter().all(|pool| kernels.iter().any(|kernel| kernel == pool)), "{kernels:?}");
    }
    Ok(())
}

#[test]
fn attention_may_stand_alone() -> Test {
    // Nothing stands before the first product, nor behind the last.
    let mut graph = Graph::default();
    let [q, k, v] = ["q", "k", "v"].map(|name| graph.value(name));
    graph.inputs.extend([q, k, v]);
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let scores = graph.node("scores", product(), &[q, k]);
    let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
    let weights = graph.node("weights", softmax, &[scores]);
    let made = graph.node("made", product(), &[weights, v]);
    graph.outputs.push(made);
    check(graph, &[numbers(&[2, 3, 5], 1)?, numbers(&[2, 5, 4], 2)?, numbers(&[2, 4, 6], 3)?])?;
    Ok(())
}

fn dense(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    [ins, outs]: [usize; 2],
    seed: u32,
) -> Result<ValueId, roci_graph::OpError> {
    let w = graph.constant(format!("{name}.w"), numbers(&[ins, outs], seed)?);
    let b = graph.constant(format!("{name}.b"), numbers(&[outs], seed + 50)?);
    let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let made = graph.node(name, product, &[x, w]);
    Ok(graph.node(&format!("{name}.sum"), Elementwise::Binary(Binary::Add), &[b, made]))
}

#[test]
fn a_layer_of_attention_is_a_few_kernels() -> Test {
    let (batch, length, heads, size) = (2, 9, 3, 12);
    let width = heads * size;
    let mut graph = Graph::default();
    let [x, mask] = ["x", "mask"].map(|name| graph.value(name));
    graph.inputs.extend([x, mask]);
    let shape = |sizes: [usize; 4]| Tensor::vector(sizes.map(|size| size as i64).to_vec());
    let apart = graph.constant("apart", shape([batch, length, heads, size]));
    let together = graph.constant("together", Tensor::vector(vec![batch as i64, length as i64, width as i64]));
    let root = graph.constant("root", Tensor::scalar((size as f32).sqrt()));
    let head = |graph: &mut Graph, name: &str, seed: u32, perm: [usize; 4]| -> Result<ValueId, roci_graph::OpError> {
        let made = dense(graph, name, x, [width, width], seed)?;
        let made = graph.node(&format!("{name}.apart"), Movement::Reshape { allow_zero: false }, &[made, apart]);
        Ok(graph.node(&format!("{name}.turned"), Movement::Transpose { perm: Some(perm.to_vec()) }, &[made]))
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
    let made = graph.node("made", product(), &[weights, v]);
    let made = graph.node("back", Movement::Transpose { perm: Some(vec![0, 2, 1, 3]) }, &[made]);
    let made = graph.node("joined", Movement::Reshape { allow_zero: false }, &[made, together]);
    let made = dense(&mut graph, "out", made, [width, width], 4)?;
    let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[made, x]);
    let wide = dense(&mut graph, "wide", sum, [width, 50], 5)?;
    let wide = graph.node("gelu", Elementwise::Unary(Unary::Gelu { tanh: false }), &[wide]);
    let narrow = dense(&mut graph, "narrow", wide, [50, width], 6)?;
    let y = graph.node("y", Elementwise::Binary(Binary::Add), &[narrow, sum]);
    graph.outputs.push(y);
    let kernels = check(graph, &[numbers(&[batch, length, width], 7)?, numbers(&[batch, 1, 1, length], 8)?])?;
    let count = |name: &str| kernels.iter().filter(|kernel| *kernel == name).count();
    assert_eq!((count("attention"), count("softmax"), count("arrange")), (1, 0, 0), "{kernels:?}");
    assert_eq!(count("matmul_packed"), 6, "{kernels:?}");
    Ok(())
}
