//! The interface of a model: names of outputs, inputs with defaults, 4-bit constants.

use super::*;

#[test]
fn one_value_may_be_several_outputs() {
    let nodes = vec![
        node("Identity", &["x"], &["y"], vec![]),
        node("Neg", &["x"], &["z"], vec![]),
        node("Identity", &["z"], &["w"], vec![]),
    ];
    let model = read(&model(graph(nodes, &["x"], &["y", "z", "w"], vec![]))).expect("a model");
    assert_eq!([0, 1, 2].map(|index| model.graph.output_name(index)), ["y", "z", "w"]);
    assert_eq!(model.graph.name(model.graph.inputs[0]), "x");
}

#[test]
fn a_given_input_overrides_its_default() {
    let sum =
        graph(vec![node("Add", &["x", "b"], &["y"], vec![])], &["x", "b"], &["y"], vec![floats("b", &[1], &[5.0])]);
    let bytes = model(sum).encode_to_vec();
    let inputs = |given: &[&str]| Model::with_inputs(&bytes, None, given).map(|model| model.graph.inputs.len()).ok();
    assert_eq!((inputs(&[]), inputs(&["b"]), inputs(&["nonsense"])), (Some(1), Some(2), Some(1)));
}

#[test]
fn an_output_must_have_the_declared_type() {
    let typed = |elem_type: i32| {
        let tensor = TensorType { elem_type, shape: None };
        Some(TypeProto { value: Some(TypeValue::Tensor(tensor)) })
    };
    let with = |declared: i32| {
        let mut graph = graph(vec![node("Relu", &["x"], &["y"], vec![])], &["x"], &["y"], vec![]);
        graph.input[0].r#type = typed(1);
        graph.output[0].r#type = typed(declared);
        read(&model(graph)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with(1), Ok(()));
    let error = with(7).expect_err("64-bit integers of floats");
    assert!(error.contains("output `y`") && error.contains("declares i64") && error.contains("produce f32"), "{error}");
    assert_eq!(with(17), Err("output `y`: elements of type float8e4m3fn are not supported".to_owned()));
}

fn packed(name: &str, kind: i32, dims: &[i64], raw: &[u8]) -> TensorProto {
    let raw_data = Some(raw.to_vec());
    TensorProto { name: name.to_owned(), dims: dims.to_vec(), data_type: kind, raw_data, ..Default::default() }
}

#[test]
fn four_bit_integers_are_dequantized() {
    let back = |kind: i32, raw: &[u8]| {
        let nodes = vec![node("DequantizeLinear", &["w", "scale"], &["y"], vec![])];
        let constants = vec![packed("w", kind, &[3], raw), floats("scale", &[], &[0.5])];
        run(&model(graph(nodes, &[], &["y"], constants)), vec![]).map(|result| first(&result))
    };
    assert_eq!(back(21, &[0xf1, 0x07]), Ok(vec![0.5, 7.5, 3.5]));
    assert_eq!(back(22, &[0xf1, 0x08]), Ok(vec![0.5, -0.5, -4.0]));
    assert!(back(22, &[0xf1]).expect_err("too short").contains("3 4-bit elements do not match 1 bytes"));
}

#[test]
fn other_operations_reject_4_bit_integers() {
    let quantize = node("QuantizeLinear", &["x", "scale", "zero"], &["y"], vec![]);
    let constants = vec![packed("zero", 22, &[1], &[0]), floats("scale", &[], &[0.5])];
    let error = read(&model(graph(vec![quantize], &["x"], &["y"], constants))).expect_err("4 bits").to_string();
    assert!(error.contains("`zero`") && error.contains("only DequantizeLinear"), "{error}");
    let error = read(&model(graph(vec![], &[], &["w"], vec![packed("w", 21, &[1], &[0])]))).expect_err("4 bits");
    assert!(error.to_string().contains("the output `w`"), "{error}");
}
