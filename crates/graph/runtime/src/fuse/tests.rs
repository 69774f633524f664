//! Fused graphs on the CPU, compared with the reference.

use roci_cpu::CpuDriver;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Elementwise, Norm, Product};
use roci_graph::{DType, Fact, Graph, Tensor, Value, ValueId};
use roci_hal::{CodeFormat, Registry};
use roci_tolerance::Tolerance;

use crate::Session;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// Numbers from -0.5 to 0.5.
pub(crate) fn numbers(shape: &[usize], seed: u64) -> Result<Tensor, roci_graph::OpError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.f64() - 0.5).collect();
    Tensor::from_floats(DType::F32, shape, &numbers)
}

/// Runs a graph twice on the CPU and compares with the reference. Returns the names of the kernels
/// that ran.
pub(crate) fn check(graph: Graph, inputs: &[Tensor]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    check_as(graph, inputs, true)
}

/// Like [`check`], with CPU-only kernels or with the kernels that GPUs use.
pub(crate) fn check_as(
    graph: Graph,
    inputs: &[Tensor],
    is_host: bool,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    let expected = roci_graph::run(&graph, inputs.clone())?;
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu".parse()?, None)?;
    let mut session = Session::new(graph, device);
    session.state.is_host = is_host;
    session.run(&inputs)?;
    // The dry run reports the memory that the run uses.
    if is_host {
        let known: Vec<_> = inputs.iter().map(|value| value.tensor().ok().map(Fact::from)).collect();
        let known: Vec<_> = known.into_iter().map(|fact| fact.map(|fact| Fact { value: None, ..fact })).collect();
        assert_eq!(crate::dry_run(session.graph(), &known, CodeFormat::Native)?.memory, session.memory());
    }
    let (result, timings) = session.run_timed(&inputs)?;
    for (result, expected) in result.iter().zip(&expected) {
        let (result, expected) = (result.tensor()?, expected.tensor()?);
        assert_eq!(result.shape(), expected.shape());
        for (result, expected) in result.floats()?.into_iter().zip(expected.floats()?) {
            assert!(Tolerance::Approximate.error_ratio(result, expected) <= 1.0, "{result}, expected {expected}");
        }
    }
    Ok(timings.into_iter().map(|timing| timing.kernel).collect())
}

pub(crate) fn conv(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    shape: [usize; 4],
    seed: u64,
) -> Result<ValueId, roci_graph::OpError> {
    let w = graph.constant(format!("{name}.w"), numbers(&shape, seed)?);
    let pad = (shape[2] / 2, shape[3] / 2);
    let padding = Padding::Explicit(vec![(pad.0, pad.0), (pad.1, pad.1)]);
    let window = Window { kernel: Vec::new(), strides: Vec::new(), dilations: Vec::new(), padding };
    Ok(graph.node(name, Product::Conv { window, groups: 1 }, &[x, w]))
}

#[test]
fn a_residual_block_fuses_into_its_convolutions() -> Test {
    for downsample in [false, true] {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let first = conv(&mut graph, "first", x, [16, 16, 3, 3], 1)?;
        let params = [2, 3, 4].map(|seed| numbers(&[16], seed));
        let [scale, bias, mean] = params;
        let variance = Tensor::from_floats(DType::F32, [16], &[0.7; 16])?;
        let ids = [scale?, bias?, mean?, variance].map(|tensor| graph.constant("figure", tensor));
        let norm = Norm::Batch { epsilon: 1e-5, momentum: None };
        let normed = graph.node("norm", norm, &[first, ids[0], ids[1], ids[2], ids[3]]);
        let start = graph.node("relu", Elementwise::Unary(Unary::Relu), &[normed]);
        let middle = conv(&mut graph, "middle", start, [16, 16, 1, 1], 4)?;
        let inner = conv(&mut graph, "inner", middle, [16, 16, 3, 3], 5)?;
        let other = if downsample { conv(&mut graph, "side", start, [16, 16, 1, 1], 6)? } else { start };
        let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[inner, other]);
        let result = graph.node("relu2", Elementwise::Unary(Unary::Relu), &[sum]);
        let last = conv(&mut graph, "last", result, [8, 16, 1, 1], 7)?;
        graph.outputs.push(last);
        let mut kernels = check(graph, &[numbers(&[2, 16, 9, 7], 8)?])?;
        kernels.retain(|kernel| kernel != "reorder");
        assert!(kernels.iter().all(|kernel| kernel.starts_with("conv")), "{kernels:?}");
        assert_eq!(kernels.len(), if downsample { 5 } else { 4 });
    }
    Ok(())
}

#[test]
fn elementwise_operations_become_one_program() -> Test {
    let mut graph = Graph::default();
    let inputs = ["x", "row", "column"].map(|name| graph.value(name));
    graph.inputs.extend(inputs);
    let [x, row, column] = inputs;
    let half = graph.constant("half", Tensor::scalar(0.5f32));
    let a = graph.node("a", Elementwise::Binary(Binary::Mul), &[x, row]);
    let b = graph.node("b", Elementwise::Unary(Unary::HardSwish), &[a]);
    // The program's value is the second operand, and is used twice.
    let c = graph.node("c", Elementwise::Binary(Binary::Sub), &[column, b]);
    let d = graph.node("d", Elementwise::Unary(Unary::Softsign), &[c]);
    let e = graph.node("e", Elementwise::Binary(Binary::Add), &[d, half]);
    graph.outputs.push(e);
    let kernels = check(graph, &[numbers(&[3, 4, 5], 1)?, numbers(&[5], 2)?, numbers(&[4, 1], 3)?])?;
    assert!(kernels.len() <= 2, "{kernels:?}");
    Ok(())
}

#[test]
fn results_with_other_uses_are_kept() -> Test {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let a = graph.node("a", Elementwise::Unary(Unary::Neg), &[x]);
    let b = graph.node("b", Elementwise::Unary(Unary::Exp), &[a]);
    let first = conv(&mut graph, "first", x, [16, 16, 3, 3], 1)?;
    let sum = graph.node("sum", Elementwise::Binary(Binary::Add), &[first, b]);
    let twice = graph.node("twice", Elementwise::Binary(Binary::Mul), &[sum, b]);
    graph.outputs.extend([a, twice, first]);
    check(graph, &[numbers(&[1, 16, 5, 5], 9)?])?;
    Ok(())
}
