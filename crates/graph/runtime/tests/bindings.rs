//! Tensors longer than the device's maximum binding are an error before anything runs.

use roci_base::Hint;
use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::{Elementwise, Product};
use roci_graph::{Graph, Tensor, ValueId};
use roci_hal::null::NullDriver;
use roci_hal::{CodeFormat, Registry};
use roci_runtime::{Error, Session};

type Test = Result<(), Box<dyn std::error::Error>>;

/// The maximum binding in bytes: less than 100 rows of 100 floats, and more than 64.
const LIMIT: u64 = 30_000;

/// Runs a graph with one input on the null driver with this limit.
fn run(x: Tensor, build: impl FnOnce(&mut Graph, ValueId) -> ValueId) -> Result<(), Error> {
    let mut graph = Graph::default();
    let input = graph.value("x");
    graph.inputs.push(input);
    let output = build(&mut graph, input);
    graph.outputs.push(output);
    let driver = NullDriver::new(1).with_max_binding(LIMIT).with_formats(vec![CodeFormat::OpenClC]);
    let registry = Registry::new().with(driver);
    let device = registry.open(&registry.parse("null")?, None)?;
    Session::new(graph, device).run(&[x.into()]).map(drop)
}

fn numbers(shape: [usize; 2]) -> Tensor {
    Tensor::new(shape, vec![0.5f32; shape[0] * shape[1]]).expect("the shape matches")
}

fn product(graph: &mut Graph, x: ValueId, transpose_b: bool) -> ValueId {
    let weights = graph.constant("weights", numbers([100, 100]));
    graph.node("layer", Product::MatMul { transpose_a: false, transpose_b, alpha: 1.0, beta: 1.0 }, &[x, weights])
}

#[test]
fn the_error_names_the_constant_its_size_the_limit_and_a_remedy() {
    let error = run(numbers([4, 100]), |graph, x| product(graph, x, false)).expect_err("the constant is too long");
    assert!(matches!(error, Error::Binding { bytes: 40_000, limit: LIMIT, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "node `layer (MatMul)` binds `weights` of 40000 bytes, but null supports bindings of at most 30000 bytes"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("--device cpu")));
}

#[test]
fn a_constant_that_is_bound_in_parts_is_accepted() -> Test {
    Ok(run(numbers([1, 100]), |graph, x| product(graph, x, true))?)
}

#[test]
fn the_error_names_an_input() {
    let error = run(numbers([100, 100]), |graph, x| {
        let one = graph.constant("one", numbers([1, 100]));
        graph.node("sum", Elementwise::Binary(Binary::Add), &[x, one])
    });
    let error = error.expect_err("the constant is too long").to_string();
    assert!(error.contains("`x` of 40000 bytes"), "{error}");
}

#[test]
fn the_error_names_the_node_that_binds_an_intermediate_tensor() {
    let error = run(numbers([1, 100]), |graph, x| {
        let column = graph.constant("column", numbers([100, 1]));
        graph.node("outer", Elementwise::Binary(Binary::Add), &[x, column])
    });
    let error = error.expect_err("the result is too long").to_string();
    assert!(error.starts_with("node `outer (Add)` binds a tensor of 40000 bytes,"), "{error}");
}
