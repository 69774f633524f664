//! Graphs of tens of thousands of nodes, for which quadratic algorithms would take minutes.

use roci_cpu::CpuDriver;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::movement::PadMode;
use roci_graph::ops::reduction::SoftmaxKind;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Elementwise, Movement, Product, Reduction};
use roci_graph::{DType, Fact, Graph, Op, Tensor, Value, ValueId};
use roci_hal::{CodeFormat, Registry};
use roci_runtime::{Session, dry_run};
use roci_tolerance::Tolerance;

const NODES: usize = 20_000;

type Test = Result<(), Box<dyn std::error::Error>>;

/// A graph with one input.
fn graph(build: impl FnOnce(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let y = build(&mut graph, x);
    graph.outputs.push(y);
    graph
}

/// Runs the graph on the CPU, and also plans it for GPUs, which use other fusions.
fn run(graph: Graph, x: Tensor) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let fact = Fact::new(x.dtype(), x.shape());
    dry_run(&graph, &[Some(fact)], CodeFormat::Spirv)?;
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu?threads=1".parse()?, None)?;
    let result = Session::new(graph, device).run(&[Value::from(x)])?;
    Ok(result.first().ok_or("no output")?.tensor()?.floats()?)
}

fn two() -> Tensor {
    Tensor::vector(vec![1.5_f32, -2.0])
}

#[test]
fn a_chain_of_small_operations() -> Test {
    let relu = Elementwise::Unary(Unary::Relu);
    let chain = || graph(|graph, x| (0..NODES).fold(x, |x, _| graph.node("relu", relu.clone(), &[x])));
    assert_eq!(run(chain(), two())?, [1.5, 0.0]);
    // A kernel has at most sixteen instructions: every one is fused, and none is lost.
    let dispatches = dry_run(&chain(), &[Some(Fact::new(DType::F32, [2]))], CodeFormat::Native)?.dispatches;
    assert!((NODES / 16..=NODES / 8).contains(&dispatches), "{dispatches}");
    Ok(())
}

#[test]
fn a_chain_that_cannot_be_fused() -> Test {
    let softmax = || Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: 0, to_end: false };
    let result = run(graph(|graph, x| (0..NODES).fold(x, |x, _| graph.node("softmax", softmax(), &[x]))), two())?;
    assert!(result.iter().all(|one| Tolerance::Close.error_ratio(*one, 0.5) <= 1.0), "{result:?}");
    Ok(())
}

#[test]
fn many_branches_that_are_concatenated() -> Test {
    let wide = graph(|graph, x| {
        let branches: Vec<ValueId> =
            (0..NODES).map(|_| graph.node("neg", Elementwise::Unary(Unary::Neg), &[x])).collect();
        graph.node("all", Movement::Concat { axis: 0 }, &branches)
    });
    let result = run(wide, two())?;
    assert_eq!(result.len(), 2 * NODES);
    assert!(result.chunks(2).all(|pair| pair == [-1.5, 2.0]));
    Ok(())
}

#[test]
fn many_constants() -> Test {
    let sums = graph(|graph, x| {
        (0..NODES).fold(x, |x, at| {
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            let constant = graph.constant("one", Tensor::vector(vec![sign as f32, 0.0]));
            graph.node("add", Elementwise::Binary(Binary::Add), &[x, constant])
        })
    });
    assert_eq!(run(sums, two())?, [1.5, -2.0]);
    Ok(())
}

#[test]
fn many_products_with_epilogues() -> Test {
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let layers = graph(|graph, x| {
        let bias = graph.constant("bias", Tensor::vector(vec![0f32, 0.0]));
        (0..NODES / 4).fold(x, |x, _| {
            let turn = graph.constant("w", Tensor::new([2, 2], vec![0f32, 1.0, 1.0, 0.0]).expect("four elements"));
            let result = graph.node("product", product(), &[x, turn]);
            let result = graph.node("bias", Elementwise::Binary(Binary::Add), &[result, bias]);
            graph.node("divided", Elementwise::Binary(Binary::Add), &[result, x])
        })
    });
    // Each row is replaced by twice its sum. The rows of the input sum to zero; anything else would
    // overflow.
    let x = Tensor::new([4, 2], vec![1.0f32, -1.0, 0.0, 0.0, 2.0, -2.0, 0.5, -0.5])?;
    assert!(run(layers, x)?.iter().all(|one| *one == 0.0));
    Ok(())
}

#[test]
fn many_convolutions() -> Test {
    let window =
        Window { kernel: vec![], strides: vec![], dilations: vec![], padding: Padding::Explicit(vec![(0, 0), (0, 0)]) };
    let convs = graph(|graph, x| {
        let same: Vec<f32> = (0..64).map(|at| if at % 9 == 0 { 1.0 } else { 0.0 }).collect();
        let w = graph.constant("w", Tensor::new([8, 8, 1, 1], same).expect("64 elements"));
        let conv = Product::Conv { window, groups: 1 };
        (0..NODES / 4).fold(x, |x, _| graph.node("conv", conv.clone(), &[x, w]))
    });
    let numbers: Vec<f32> = (0..8 * 9).map(|at| at as f32).collect();
    let result = run(convs, Tensor::new([1, 8, 3, 3], numbers.clone())?)?;
    assert!(result.iter().zip(numbers).all(|(result, given)| *result == f64::from(given)));
    Ok(())
}

#[test]
fn results_that_exceed_memory_fail_before_allocation() -> Test {
    let list = |numbers: &[i64]| Tensor::vector(numbers.to_vec());
    let pad = |mode| Op::from(Movement::Pad { mode });
    let ops = [
        (pad(PadMode::Constant), list(&[0, 1 << 40])),
        (pad(PadMode::Edge), list(&[1 << 40, 0])),
        (pad(PadMode::Wrap), list(&[0, 1 << 40])),
        (Movement::CenterCropPad { axes: None }.into(), list(&[1 << 40])),
        (Movement::Expand.into(), list(&[1 << 40, 2])),
        (Movement::Tile.into(), list(&[1 << 40])),
    ];
    for (op, operand) in ops {
        let what = format!("{op:?}");
        let grown = graph(|graph, x| {
            let operand = graph.constant("operand", operand);
            graph.node("grown", op, &[x, operand])
        });
        let error = run(grown, two()).map(|_| ()).expect_err(&what).to_string();
        assert!(error.contains("needs") || error.contains("large"), "{what}: {error}");
    }
    Ok(())
}
