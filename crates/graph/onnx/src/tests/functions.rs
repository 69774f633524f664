//! Functions, subgraphs and external data.

use roci_graph::Tensor;

use super::*;
use crate::proto::{FunctionProto, StringStringEntryProto};

fn function(name: &str, input: &[&str], output: &[&str], node: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: name.to_owned(),
        domain: "own".to_owned(),
        input: texts(input),
        output: texts(output),
        node,
        opset_import: vec![opset("", 22), opset("own", 1)],
        ..Default::default()
    }
}

fn call(name: &str, input: &[&str], output: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto { domain: "own".to_owned(), ..node(name, input, output, attribute) }
}

/// An attribute that refers to the function's attribute.
fn forwarded(name: &str, from: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { ref_attr_name: from.to_owned(), ..attribute(name, kind) }
}

#[test]
fn functions_take_attributes_and_have_their_own_scope() {
    // The same names in two bodies, an attribute passed through twice, and one with its default.
    let scaled = FunctionProto {
        attribute: texts(&["factor"]),
        attribute_proto: vec![float("shift", 100.0)],
        ..function(
            "Scaled",
            &["x"],
            &["y"],
            vec![
                node("Constant", &[], &["f"], vec![forwarded("value_float", "factor", AttributeType::Float)]),
                node("Constant", &[], &["s"], vec![forwarded("value_float", "shift", AttributeType::Float)]),
                node("Mul", &["x", "f"], &["p"], vec![]),
                node("Add", &["p", "s"], &["y"], vec![]),
            ],
        )
    };
    let twice = function(
        "Twice",
        &["x"],
        &["y"],
        vec![
            call("Scaled", &["x"], &["p"], vec![forwarded("factor", "by", AttributeType::Float), float("shift", 1.0)]),
            call("Scaled", &["p"], &["y"], vec![forwarded("factor", "by", AttributeType::Float)]),
        ],
    );
    let nodes = vec![call("Twice", &["x"], &["y"], vec![float("by", 3.0)])];
    let model = ModelProto { functions: vec![scaled, twice], ..model(graph(nodes, &["x"], &["y"], vec![])) };
    assert_eq!(
        run(&model, vec![Tensor::vector(vec![1f32, 2.0])]).map(|produced| first(&produced)),
        Ok(vec![112.0, 121.0])
    );
}

#[test]
fn an_omitted_function_input_is_omitted_in_the_body() {
    let clip =
        function("Bound", &["x", "low", "high"], &["y"], vec![node("Clip", &["x", "low", "high"], &["y"], vec![])]);
    let nodes = vec![call("Bound", &["x", "", "h"], &["y"], vec![])];
    let model =
        ModelProto { functions: vec![clip], ..model(graph(nodes, &["x"], &["y"], vec![floats("h", &[], &[2.0])])) };
    assert_eq!(
        run(&model, vec![Tensor::vector(vec![-9f32, 9.0])]).map(|produced| first(&produced)),
        Ok(vec![-9.0, 2.0])
    );
}

#[test]
fn recursive_functions_are_rejected() {
    let round = function("Round", &["x"], &["y"], vec![call("Round", &["x"], &["y"], vec![])]);
    let nodes = vec![call("Round", &["x"], &["y"], vec![])];
    let model = ModelProto { functions: vec![round], ..model(graph(nodes, &["x"], &["y"], vec![])) };
    assert!(read(&model).is_err_and(|error| error.to_string().contains("deeper")));
}

#[test]
fn functions_that_expand_to_too_many_nodes_are_rejected() {
    // Each function calls the next one ten times: 10^8 nodes from a small file.
    let mut functions = Vec::new();
    for level in 0..8 {
        let next = if level == 7 { "Abs".to_owned() } else { format!("F{}", level + 1) };
        let step = |index: usize| {
            let (from, to) = (if index == 0 { "x".to_owned() } else { format!("v{index}") }, format!("v{}", index + 1));
            let mut one = node(&next, &[&from], &[&to], vec![]);
            one.domain = if level == 7 { String::new() } else { "own".to_owned() };
            one
        };
        functions.push(function(&format!("F{level}"), &["x"], &["v10"], (0..10).map(step).collect()));
    }
    let nodes = vec![call("F0", &["x"], &["y"], vec![])];
    let model = ModelProto { functions, ..model(graph(nodes, &["x"], &["y"], vec![])) };
    assert!(read(&model).is_err_and(|error| error.to_string().contains("nodes")));
}

#[test]
fn nested_graphs_capture_outer_values() {
    // if c { if c { x + w } else { x } } else { -x }, once with a constant and once with an input
    // of the outermost graph.
    let deepest = graph(vec![node("Add", &["x", "w"], &["a"], vec![])], &[], &["a"], vec![]);
    let same = graph(vec![node("Identity", &["x"], &["b"], vec![])], &[], &["b"], vec![]);
    let both = vec![inner("then_branch", deepest), inner("else_branch", same)];
    let then = graph(vec![node("If", &["c"], &["d"], both)], &[], &["d"], vec![]);
    let minus = graph(vec![node("Neg", &["x"], &["e"], vec![])], &[], &["e"], vec![]);
    let branches = vec![inner("then_branch", then), inner("else_branch", minus)];
    let outer = vec![node("If", &["c"], &["y"], branches)];
    let model = model(graph(outer, &["c", "x"], &["y"], vec![floats("w", &[], &[10.0])]));
    for (condition, result) in [(true, 11.0), (false, -1.0)] {
        let inputs = vec![Tensor::scalar(condition), Tensor::vector(vec![1f32])];
        assert_eq!(run(&model, inputs).map(|produced| first(&produced)), Ok(vec![result]));
    }
}

#[test]
fn loops_carry_values_and_zero_iterations_stack_nothing() {
    let body = graph(
        vec![
            node("Add", &["s", "step"], &["t"], vec![]),
            node("Identity", &["go"], &["on"], vec![]),
            node("Mul", &["t", "t"], &["square"], vec![]),
        ],
        &["i", "go", "s"],
        &["on", "t", "square"],
        vec![floats("step", &[1], &[2.0])],
    );
    let nodes = vec![node("Loop", &["m", "", "s0"], &["last", "squares"], vec![inner("body", body)])];
    let model = model(graph(nodes, &["m", "s0"], &["squares", "last"], vec![]));
    let inputs = |rounds: i64| vec![Tensor::scalar(rounds), Tensor::vector(vec![1f32])];
    assert_eq!(run(&model, inputs(3)).map(|produced| first(&produced)), Ok(vec![9.0, 25.0, 49.0]));
    let none = run(&model, inputs(0)).unwrap_or_default();
    assert_eq!(none.first().and_then(|value| Some(value.tensor().ok()?.shape().to_vec())), Some(vec![0, 1]));
}

#[test]
fn zero_iterations_stack_an_empty_tensor_of_the_right_shape() {
    // The carried value grows and the condition is computed, so the shape after the loop is
    // unknown.
    let body = graph(
        vec![
            node("Concat", &["s", "s"], &["t"], vec![int("axis", 0)]),
            node("Not", &["go"], &["stop"], vec![]),
            node("Not", &["stop"], &["on"], vec![]),
            node("Relu", &["s"], &["r"], vec![]),
        ],
        &["i", "go", "s"],
        &["on", "t", "r"],
        vec![],
    );
    let nodes = vec![node("Loop", &["m", "c", "s0"], &["last", "all"], vec![inner("body", body)])];
    let model = model(graph(nodes, &["m", "c", "s0"], &["all", "last"], vec![]));
    let loop_inputs = |rounds: i64, go: bool| {
        vec![Tensor::scalar(rounds), Tensor::scalar(go), Tensor::new([2, 3], vec![1f32; 6]).expect("six elements")]
    };
    for inputs in [loop_inputs(0, true), loop_inputs(5, false)] {
        let produced = run(&model, inputs).unwrap_or_default();
        let shapes: Vec<_> = produced.iter().filter_map(|value| Some(value.tensor().ok()?.shape().to_vec())).collect();
        assert_eq!(shapes, [vec![0, 2, 3], vec![2, 3]]);
    }
}

/// A model whose weight is 8 bytes of a file from byte 4 on.
fn external(location: &str, offset: &str, length: &str) -> ModelProto {
    let entry = |key: &str, value: &str| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    let weight = TensorProto {
        data_location: 1,
        external_data: vec![entry("location", location), entry("offset", offset), entry("length", length)],
        ..floats("w", &[2], &[])
    };
    model(graph(vec![node("Add", &["x", "w"], &["y"], vec![])], &["x"], &["y"], vec![weight]))
}

#[test]
fn external_data_is_read_from_the_model_folder_only() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let bytes: Vec<u8> = [7f32, 1.0, 2.0].iter().flat_map(|one| one.to_le_bytes()).collect();
    std::fs::write(folder.path().join("weights.bin"), &bytes)?;
    let open = |model: &ModelProto| -> Result<Model, Error> {
        let path = folder.path().join("model.onnx");
        std::fs::write(&path, model.encode_to_vec()).map_err(|error| Error::File { path: path.clone(), error })?;
        Model::open(&path)
    };
    let model = open(&external("weights.bin", "4", "8"))?;
    let produced = roci_graph::run(&model.graph, vec![Tensor::vector(vec![10f32, 20.0]).into()])?;
    assert_eq!(first(&produced), [11.0, 22.0]);
    let outside = folder.path().join("weights.bin").display().to_string();
    for (location, offset, length) in [
        ("weights.bin", "8", "8"),
        ("weights.bin", "0", "4"),
        ("weights.bin", "18446744073709551615", "8"),
        ("weights.bin", "4", "18446744073709551615"),
        ("weights.bin", "-4", "8"),
        ("missing.bin", "0", "8"),
        ("../weights.bin", "4", "8"),
        (&outside, "4", "8"),
        ("", "4", "8"),
    ] {
        assert!(open(&external(location, offset, length)).is_err(), "{location} {offset} {length}");
    }
    // A model from memory has no folder of external data.
    assert!(read(&external("weights.bin", "4", "8")).is_err());
    Ok(())
}

#[test]
fn cycles_unknown_operations_and_deep_nesting_are_errors() {
    let error = |model: &ModelProto| read(model).map(drop).map_err(|error| error.to_string()).unwrap_err();
    let circle = vec![node("Add", &["x", "b"], &["a"], vec![]), node("Neg", &["a"], &["b"], vec![])];
    let message = error(&model(graph(circle, &["x"], &["a"], vec![])));
    assert!(message.contains("`b` is used before it is defined"), "{message}");
    let message = error(&model(graph(vec![node("Frobnicate", &["x"], &["y"], vec![])], &["x"], &["y"], vec![])));
    assert_eq!(message, "node `y` (Frobnicate, opset 22): this operation is not supported");
    for depth in [40, 90] {
        let mut inside = graph(vec![node("Neg", &["x"], &["y"], vec![])], &[], &["y"], vec![]);
        for _ in 0..depth {
            let branches =
                vec![inner("then_branch", inside.clone()), inner("else_branch", graph(vec![], &[], &["x"], vec![]))];
            inside = graph(vec![node("If", &["c"], &["y"], branches)], &[], &["y"], vec![]);
        }
        inside.input = values(&["c", "x"]);
        let message = error(&model(inside));
        assert!(message.contains("nested deeper") || message.contains("recursion"), "{message}");
    }
}

#[test]
fn operator_set_versions_start_at_one() {
    let with = |version: i64| {
        let graph = graph(vec![node("Relu", &["x"], &["y"], vec![])], &["x"], &["y"], vec![]);
        let read = read(&ModelProto { opset_import: vec![opset("", version)], ..model(graph) });
        read.map(|model| model.opset).map_err(|error| error.to_string())
    };
    for version in [0, -3] {
        let error = with(version).expect_err("no version");
        assert!(error.contains(&format!("imports opset {version} of domain `ai.onnx`")), "{error}");
    }
    // Untested versions are read by the same rules; the user is notified.
    assert_eq!([1, 5, 26, 99].map(with), [Ok(1), Ok(5), Ok(26), Ok(99)]);
}
