//! Tests: simplified graphs give the results of the original ones.

use roci_tolerance::Tolerance;

use super::*;
use crate::ops::elementwise::{Binary, Unary};
use crate::ops::reduction::ReduceKind;
use crate::ops::window::{Padding, Window};
use crate::ops::{Elementwise, Movement, Norm, Product, Reduction};
use crate::{OpError, Tensor, run};

/// Numbers from 0 to 1.
fn numbers(shape: &[usize], seed: u64) -> Result<Tensor, OpError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.f64()).collect();
    Tensor::from_floats(crate::DType::F32, shape, &numbers)
}

/// Simplifies a graph and compares the results.
fn check(mut graph: Graph, input: Tensor, nodes: usize) {
    let before = run(&graph, vec![input.clone().into()]).expect("the graph runs");
    simplify(&mut graph);
    assert_eq!(graph.nodes.len(), nodes, "{:?}", graph.nodes);
    let after = run(&graph, vec![input.into()]).expect("the simplified graph runs");
    for (before, after) in before.iter().zip(&after) {
        let (before, after) = (before.tensor().expect("a tensor"), after.tensor().expect("a tensor"));
        assert_eq!(before.shape(), after.shape());
        let pairs = before.floats().expect("floats").into_iter().zip(after.floats().expect("floats"));
        for (before, after) in pairs {
            assert!(Tolerance::Close.error_ratio(after, before) <= 1.0, "{before} became {after}");
        }
    }
}

#[test]
fn norms_fold_into_convolutions() -> Result<(), OpError> {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let w = graph.constant("w", numbers(&[4, 3, 3, 3], 1)?);
    let none = Vec::new;
    let window = Window { kernel: none(), strides: none(), dilations: none(), padding: Padding::Explicit(Vec::new()) };
    let conv = graph.node("conv", Product::Conv { window, groups: 1 }, &[x, w]);
    let params: Vec<ValueId> = (0..4)
        .map(|at| Ok(graph.constant(format!("p{at}"), numbers(&[4], at + 2)?)))
        .collect::<Result<_, OpError>>()?;
    let norm = Norm::Batch { epsilon: 1e-3, momentum: None };
    let y = graph.node("norm", norm, &[conv, params[0], params[1], params[2], params[3]]);
    graph.outputs.push(y);
    check(graph.clone(), numbers(&[2, 3, 6, 5], 9)?, 1);
    // The convolution's result has another use.
    graph.outputs.push(conv);
    check(graph, numbers(&[2, 3, 6, 5], 9)?, 2);
    Ok(())
}

#[test]
fn layer_norms_are_recognized() -> Result<(), OpError> {
    let binary = |kind| Elementwise::Binary(kind);
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let axes = graph.constant("axes", Tensor::vector(vec![-1i64]));
    let mean_of = || Reduction::Reduce { fold: ReduceKind::Mean, keep: true, noop_with_empty_axes: false };
    let mean = graph.node("mean", mean_of(), &[x, axes]);
    let centered = graph.node("centered", binary(Binary::Sub), &[x, mean]);
    let two = graph.constant("two", Tensor::scalar(2.0f32));
    let squares = graph.node("squares", binary(Binary::Pow), &[centered, two]);
    let variance = graph.node("variance", mean_of(), &[squares, axes]);
    let epsilon = graph.constant("epsilon", Tensor::scalar(1e-6f32));
    let sum = graph.node("sum", binary(Binary::Add), &[variance, epsilon]);
    let root = graph.node("root", Elementwise::Unary(Unary::Sqrt), &[sum]);
    let divided = graph.node("divided", binary(Binary::Div), &[centered, root]);
    let scale = graph.constant("scale", numbers(&[8], 3)?);
    let scaled = graph.node("scaled", binary(Binary::Mul), &[divided, scale]);
    let bias = graph.constant("bias", numbers(&[8], 4)?);
    let y = graph.node("y", binary(Binary::Add), &[scaled, bias]);
    graph.outputs.push(y);
    check(graph, numbers(&[2, 5, 8], 5)?, 1);
    Ok(())
}

#[test]
fn constants_are_folded_and_dead_nodes_removed() -> Result<(), OpError> {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let a = graph.constant("a", numbers(&[3, 2], 1)?);
    let turned = graph.node("turned", Movement::Transpose { perm: Some(vec![1, 0]) }, &[a]);
    let y = graph.node("y", Elementwise::Binary(Binary::Add), &[x, turned]);
    let once = graph.node("once", Movement::Transpose { perm: Some(vec![1, 0]) }, &[y]);
    let twice = graph.node("twice", Movement::Transpose { perm: Some(vec![1, 0]) }, &[once]);
    let _unused = graph.node("unused", Elementwise::Binary(Binary::Add), &[once, once]);
    graph.outputs.push(twice);
    check(graph, numbers(&[2, 3], 2)?, 2);
    Ok(())
}

#[test]
fn gelu_is_recognized_in_any_order() -> Result<(), OpError> {
    let mul = || Elementwise::Binary(Binary::Mul);
    for order in 0..3 {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let mut scalar = |number: f32| graph.constant(format!("{number}"), Tensor::scalar(number));
        let [root, inverse, one, half] =
            [std::f32::consts::SQRT_2, std::f32::consts::FRAC_1_SQRT_2, 1.0, 0.5].map(&mut scalar);
        let scaled = match order {
            0 => graph.node("scaled", Elementwise::Binary(Binary::Div), &[x, root]),
            _ => graph.node("scaled", mul(), &[inverse, x]),
        };
        let erf = graph.node("erf", Elementwise::Unary(Unary::Erf), &[scaled]);
        let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[erf, one]);
        let (first, second) = match order {
            0 => ([x, sum], half),
            1 => ([sum, half], x),
            _ => ([x, half], sum),
        };
        let product = graph.node("product", mul(), &first);
        let y = graph.node("y", mul(), &[product, second]);
        graph.outputs.push(y);
        check(graph, numbers(&[3, 7], 5)?, 1);
    }
    Ok(())
}

#[test]
fn constant_matrices_are_transposed_once() -> Result<(), OpError> {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let w = graph.constant("w", numbers(&[4, 3], 1)?);
    let product = Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
    let y = graph.node("y", product, &[x, w]);
    graph.outputs.push(y);
    let mut simple = graph.clone();
    simplify(&mut simple);
    assert!(matches!(simple.nodes[0].op, Op::Product(Product::MatMul { transpose_b: false, .. })));
    assert_eq!(simple.constants.len(), 1);
    check(graph, numbers(&[2, 3], 2)?, 1);
    Ok(())
}
