//! Graphs of tens of thousands of nodes, in shapes that a search through all nodes for each of them would take minutes for.

use roci_cpu::CpuDriver;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::movement::PadMode;
use roci_graph::ops::reduction::SoftmaxKind;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Elementwise, Movement, Product, Reduction};
use roci_graph::{DType, Fact, Graph, Op, Tensor, Value, ValueId};
use roci_hal::{CodeFormat, Registry};
use roci_runtime::{Session, plan};

const NODES: usize = 20_000;

type Test = Result<(), Box<dyn std::error::Error>>;

/// A graph with one input, and what follows it.
fn graph(build: impl FnOnce(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let y = build(&mut graph, x);
    graph.outputs.push(y);
    graph
}

/// What comes of it on the CPU; kernels are also planned for GPUs, where others are joined.
fn run(graph: Graph, x: Tensor) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let fact = Fact::new(x.dtype(), x.shape());
    plan(&graph, &[Some(fact)], CodeFormat::Spirv)?;
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu?threads=1".parse()?, None)?;
    let made = Session::new(graph, device).run(&[Value::from(x)])?;
    Ok(made.first().ok_or("no output")?.tensor()?.floats()?)
}

fn two() -> Tensor {
    Tensor::vector(vec![1.5_f32, -2.0])
}

#[test]
fn a_chain_of_small_operations() -> Test {
    let relu = Elementwise::Unary(Unary::Relu);
    let chain = || graph(|graph, x| (0..NODES).fold(x, |x, _| graph.node("relu", relu.clone(), &[x])));
    assert_eq!(run(chain(), two())?, [1.5, 0.0]);
    // Sixteen instructions at most become one kernel: none is left alone, and none is lost.
    let dispatches = plan(&chain(), &[Some(Fact::new(DType::F32, [2]))], CodeFormat::Native)?.dispatches;
    assert!((NODES / 16..=NODES / 8).contains(&dispatches), "{dispatches}");
    Ok(())
}

#[test]
fn a_chain_that_cannot_be_joined() -> Test {
    let softmax = || Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: 0, to_end: false };
    let made = run(graph(|graph, x| (0..NODES).fold(x, |x, _| graph.node("softmax", softmax(), &[x]))), two())?;
    assert!(made.iter().all(|one| (one - 0.5).abs() < 1e-6), "{made:?}");
    Ok(())
}

#[test]
fn many_branches_that_meet_again() -> Test {
    let wide = graph(|graph, x| {
        let branches: Vec<ValueId> =
            (0..NODES).map(|_| graph.node("neg", Elementwise::Unary(Unary::Neg), &[x])).collect();
        graph.node("all", Movement::Concat { axis: 0 }, &branches)
    });
    let made = run(wide, two())?;
    assert_eq!(made.len(), 2 * NODES);
    assert!(made.chunks(2).all(|pair| pair == [-1.5, 2.0]));
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
fn many_products_with_what_follows_them() -> Test {
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let layers = graph(|graph, x| {
        let bias = graph.constant("bias", Tensor::vector(vec![0f32, 0.0]));
        (0..NODES / 4).fold(x, |x, _| {
            let turn = graph.constant("w", Tensor::new([2, 2], vec![0f32, 1.0, 1.0, 0.0]).expect("four elements"));
            let made = graph.node("product", product(), &[x, turn]);
            let made = graph.node("bias", Elementwise::Binary(Binary::Add), &[made, bias]);
            graph.node("divided", Elementwise::Binary(Binary::Add), &[made, x])
        })
    });
    // Each row becomes the sum of its elements, twice; what does not cancel out would grow beyond all numbers.
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
    let made = run(convs, Tensor::new([1, 8, 3, 3], numbers.clone())?)?;
    assert!(made.iter().zip(numbers).all(|(made, given)| *made == f64::from(given)));
    Ok(())
}

#[test]
fn what_no_memory_holds_is_refused_before_anything_is_written_down() -> Test {
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
