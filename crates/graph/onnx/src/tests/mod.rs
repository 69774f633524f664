//! Tests on models built from messages: functions, subgraphs, external data, and corrupted bytes.

mod attention;
mod functions;
mod hostile;
mod interface;
mod quantized;

use prost::Message;
use roci_graph::{Tensor, Value};

use crate::proto::{
    AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorType,
    TypeProto, TypeValue, ValueInfoProto,
};
use crate::{Error, Model};

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn node(op: &str, input: &[&str], output: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto { op_type: op.to_owned(), input: texts(input), output: texts(output), attribute, ..Default::default() }
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: kind as i32, ..Default::default() }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: value, ..attribute(name, AttributeType::Int) }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::Ints) }
}

fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: value, ..attribute(name, AttributeType::Float) }
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: value.as_bytes().to_vec(), ..attribute(name, AttributeType::String) }
}

fn inner(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), ..attribute(name, AttributeType::Graph) }
}

fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    let float_data = values.to_vec();
    TensorProto { name: name.to_owned(), dims: dims.to_vec(), data_type: 1, float_data, ..Default::default() }
}

fn integers(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    let int64_data = values.to_vec();
    TensorProto { name: name.to_owned(), dims: dims.to_vec(), data_type: 7, int64_data, ..Default::default() }
}

fn values(names: &[&str]) -> Vec<ValueInfoProto> {
    names.iter().map(|name| ValueInfoProto { name: (*name).to_owned(), r#type: None }).collect()
}

fn graph(node: Vec<NodeProto>, input: &[&str], output: &[&str], initializer: Vec<TensorProto>) -> GraphProto {
    GraphProto { node, initializer, input: values(input), output: values(output), ..Default::default() }
}

fn opset(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: domain.to_owned(), version }
}

fn model(graph: GraphProto) -> ModelProto {
    let opset_import = vec![opset("", 22), opset("ai.onnx.ml", 3), opset("own", 1)];
    ModelProto { ir_version: 10, graph: Some(graph), opset_import, ..Default::default() }
}

/// Reads a model from its bytes, and runs it.
fn run(model: &ModelProto, inputs: Vec<Tensor>) -> Result<Vec<Value>, String> {
    let model = read(model).map_err(|error| error.to_string())?;
    let inputs = inputs.into_iter().map(Value::from).collect();
    roci_graph::run(&model.graph, inputs).map_err(|error| error.to_string())
}

fn read(model: &ModelProto) -> Result<Model, Error> {
    Model::from_bytes(&model.encode_to_vec(), None)
}

/// The numbers of the first output.
fn first(result: &[Value]) -> Vec<f64> {
    result.first().and_then(|value| value.tensor().ok()?.floats().ok()).unwrap_or_default()
}
