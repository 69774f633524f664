//! Graphs on CPU-only kernels, compared with the reference.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Elementwise, Indexing, Movement, Pool, Product};
use roci_graph::{DType, Graph, Tensor};

use crate::fuse::linear::tests::attention_layer;
use crate::fuse::tests::{Test, check, conv, numbers};

#[test]
fn images_stay_in_blocked_layout() -> Test {
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
    // An elementwise program between convolutions, which works on blocks too.
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
fn a_plane_viewed_as_a_row_keeps_its_dilation() -> Test {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let result = conv(&mut graph, "conv", x, [70, 40, 3, 3], 1)?;
    let shape = graph.constant("row", Tensor::vector(vec![1i64, 70, 1, 9]));
    let row = graph.node("reshape", Movement::Reshape { allow_zero: false }, &[result, shape]);
    let window = |dilations, padding| Window {
        kernel: vec![1, 9],
        strides: Vec::new(),
        dilations,
        padding: Padding::Explicit(padding),
    };
    let kind = PoolKind::Max { column_major: false };
    let gaps = window(vec![1, 2], vec![(0, 0), (0, 8)]);
    let gaps = graph.node("gaps", Pool::Slide { kind, window: gaps, ceil: false }, &[row]);
    let all = window(Vec::new(), Vec::new());
    let all = graph.node("all", Pool::Slide { kind, window: all, ceil: false }, &[row]);
    graph.outputs.extend([gaps, all]);
    check(graph, &[numbers(&[1, 40, 3, 3], 5)?])?;
    Ok(())
}

#[test]
fn a_transformer_layer_is_a_few_cpu_kernels() -> Test {
    let (graph, inputs) = attention_layer([2, 9, 3, 12])?;
    let kernels = check(graph, &inputs)?;
    let count = |name: &str| kernels.iter().filter(|kernel| *kernel == name).count();
    assert_eq!((count("attention"), count("softmax"), count("strided_copy")), (1, 0, 0), "{kernels:?}");
    assert_eq!(count("matmul_packed"), 6, "{kernels:?}");
    Ok(())
}

#[test]
fn large_casts_of_constants_are_precomputed() -> Test {
    let mut graph = Graph::default();
    let ids = graph.value("ids");
    graph.inputs.push(ids);
    // More elements than a dry run precomputes, and more than `simplify` folds.
    let (rows, columns) = (30_000, 48);
    let bytes = (0..rows * columns).map(|index| (index % 251) as u8 as i8).collect::<Vec<_>>();
    let bytes = graph.constant("bytes", Tensor::new([rows, columns], bytes)?);
    let scale = graph.constant("scale", Tensor::scalar(0.02f32));
    let table = graph.node("table", Elementwise::Cast { to: DType::F32 }, &[bytes]);
    let table = graph.node("scaled", Elementwise::Binary(Binary::Mul), &[table, scale]);
    let chosen = graph.node("chosen", Indexing::Gather { axis: 0 }, &[table, ids]);
    let curved = graph.node("tanh", Elementwise::Unary(Unary::Tanh), &[chosen]);
    graph.outputs.push(curved);
    check(graph, &[Tensor::vector(vec![3i64, 29_999, 0])])?;
    Ok(())
}
