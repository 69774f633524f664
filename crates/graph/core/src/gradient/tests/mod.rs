//! Compares every gradient with central differences in double precision.

mod elementwise;
mod layers;

use super::gradients;
use crate::builder::GraphBuilder;
use crate::interpreter::RunError;
use crate::ops::random::Stream;
use crate::ops::reduction::ReduceKind;
use crate::{DType, Graph, Tensor, Value, ValueId, run};

type Test = Result<(), Box<dyn std::error::Error>>;

/// The number of elements of an operand that are varied.
const MOVED: usize = 24;

/// Pseudorandom numbers from -1 to 1.
fn numbers(salt: u64, shape: &[usize]) -> Result<Tensor, crate::OpError> {
    let stream = Stream { seed: salt, run: 0 };
    let count = shape.iter().product::<usize>() as u64;
    let all: Vec<f64> = (0..count).map(|at| stream.uniform_double(at) * 2.0 - 1.0).collect();
    Tensor::new(shape, all)
}

/// A network: builds a result of any shape from inputs.
type Network<'a> = &'a dyn Fn(&mut GraphBuilder, &[ValueId]) -> Result<ValueId, RunError>;

/// Builds a network whose loss is a weighted sum of its results.
fn write(
    inputs: &[Tensor],
    network: Network<'_>,
) -> Result<(GraphBuilder, Vec<ValueId>, ValueId), Box<dyn std::error::Error>> {
    let mut builder = GraphBuilder::new("test");
    let ids: Vec<ValueId> = inputs
        .iter()
        .enumerate()
        .map(|(index, tensor)| builder.input(format!("input {index}"), tensor.dtype(), tensor.shape()))
        .collect();
    builder.name_nodes("node");
    let result = network(&mut builder, &ids)?;
    let shape = builder.shape(result)?;
    builder.name_nodes("loss");
    let factors = builder.constant(numbers(999, &shape)?);
    let weighted = builder.mul(result, factors)?;
    let all: Vec<usize> = (0..shape.len()).collect();
    let loss = builder.fold(weighted, ReduceKind::Sum, &all)?;
    Ok((builder, ids, loss))
}

fn compute(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, Box<dyn std::error::Error>> {
    let result = run(graph, inputs.iter().cloned().map(Value::from).collect())?;
    Ok(result.iter().map(|value| value.tensor().cloned()).collect::<Result<_, _>>()?)
}

/// Compares the gradients of a network with respect to all float inputs with central differences.
fn check(name: &str, inputs: &[Tensor], network: Network<'_>) -> Test {
    let (mut builder, ids, loss) = write(inputs, network).map_err(|error| format!("{name}: {error}"))?;
    let mut forward = builder.clone().finish();
    forward.outputs = vec![loss];
    let by: Vec<usize> = (0..inputs.len()).filter(|&index| inputs[index].dtype().is_float()).collect();
    let expected: Vec<ValueId> = by.iter().map(|&index| ids[index]).collect();
    let result = gradients(&mut builder, loss, &expected).map_err(|error| format!("{name}: {error}"))?;
    result.iter().for_each(|&id| builder.output(id));
    let result = compute(&builder.finish(), inputs).map_err(|error| format!("{name}: {error}"))?;
    for (&index, gradient) in by.iter().zip(&result) {
        assert_eq!(gradient.shape(), inputs[index].shape(), "{name}, input {index}");
        let gradient = gradient.floats()?;
        for at in (0..gradient.len()).step_by(gradient.len().div_ceil(MOVED).max(1)) {
            let moved = |by: f64| -> Result<f64, Box<dyn std::error::Error>> {
                let mut inputs = inputs.to_vec();
                let mut all = inputs[index].floats()?;
                all[at] += by;
                inputs[index] = Tensor::new(inputs[index].shape(), all)?;
                Ok(compute(&forward, &inputs)?[0].float()?)
            };
            let step = 1e-5;
            let difference = (moved(step)? - moved(-step)?) / (2.0 * step);
            let (own, scale) = (gradient[at], 1.0 + difference.abs());
            // A bound for central differences in f64, whose rounding errors are divided by the
            // step.
            assert!((own - difference).abs() < 2e-7 * scale, "{name}, input {index}[{at}]: {own} for {difference}");
        }
    }
    Ok(())
}

#[test]
fn the_error_names_an_operation_without_gradient() -> Test {
    let mut builder = GraphBuilder::new("test");
    let x = builder.input("x", DType::F32, &[2, 2]);
    let other = builder.input("other", DType::F32, &[2, 2]);
    builder.name_nodes("the middle");
    let y = builder.op(crate::ops::Product::Det, &[x])?;
    let error = gradients(&mut builder, y, &[x]).expect_err("no gradient");
    assert_eq!(error.to_string(), "node `the middle` (Det): its gradient is not supported");
    builder.name_nodes("sum");
    let sum = builder.fold(x, ReduceKind::Sum, &[0, 1])?;
    let error = gradients(&mut builder, sum, &[other]).expect_err("nothing depends on it");
    assert_eq!(error.to_string(), "node `other` (gradient): the loss does not depend on it");
    assert!(gradients(&mut builder, x, &[x]).is_err(), "a loss of four elements");
    Ok(())
}

#[test]
fn a_graph_without_known_shapes_cannot_be_differentiated() {
    let mut graph = Graph::default();
    let id = graph.value("x");
    graph.inputs.push(id);
    let error = GraphBuilder::of(graph).expect_err("no sizes");
    assert_eq!(error.to_string(), "node `x` (input): an input without a declared shape is not supported");
}
