//! Tensors that a device cannot bind in one piece are refused before anything runs, with what they are.

use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::{Elementwise, Product};
use roci_graph::{Graph, Tensor, ValueId};
use roci_hal::null::NullDriver;
use roci_hal::{CodeFormat, Hint, Registry};
use roci_runtime::{Error, Session};

type Test = Result<(), Box<dyn std::error::Error>>;

/// Bytes of one binding: fewer than 100 rows of 100 floats, more than 64.
const LIMIT: u64 = 30_000;

/// Runs a graph of one input on a device with that limit, whose kernels do nothing.
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
    Tensor::new(shape, vec![0.5f32; shape[0] * shape[1]]).expect("as many as the shape says")
}

fn product(graph: &mut Graph, x: ValueId, transpose_b: bool) -> ValueId {
    let weights = graph.constant("weights", numbers([100, 100]));
    graph.node("layer", Product::MatMul { transpose_a: false, transpose_b, alpha: 1.0, beta: 1.0 }, &[x, weights])
}

#[test]
fn a_constant_is_named_with_its_size_the_limit_and_a_remedy() {
    let error = run(numbers([4, 100]), |graph, x| product(graph, x, false)).expect_err("it is too large");
    assert!(matches!(error, Error::Binding { bytes: 40_000, limit: LIMIT, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "node `layer (MatMul)` needs `weights` of 40000 bytes in one binding, and null takes 30000 bytes at most"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("--device cpu")));
}

#[test]
fn a_constant_that_is_read_in_parts_is_taken() -> Test {
    Ok(run(numbers([1, 100]), |graph, x| product(graph, x, true))?)
}

#[test]
fn an_input_is_named() {
    let error = run(numbers([100, 100]), |graph, x| {
        let one = graph.constant("one", numbers([1, 100]));
        graph.node("sum", Elementwise::Binary(Binary::Add), &[x, one])
    });
    let error = error.expect_err("it is too large").to_string();
    assert!(error.contains("`x` of 40000 bytes"), "{error}");
}

#[test]
fn a_tensor_in_between_is_refused_with_the_node_that_binds_it() {
    let error = run(numbers([1, 100]), |graph, x| {
        let column = graph.constant("column", numbers([100, 1]));
        graph.node("outer", Elementwise::Binary(Binary::Add), &[x, column])
    });
    let error = error.expect_err("its result is too large").to_string();
    assert!(error.starts_with("node `outer (Add)` needs a tensor of 40000 bytes in one binding"), "{error}");
}
