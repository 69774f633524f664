//! Models that were valid and are broken, in their bytes or in what they say, all the way: read, simplified, planned, and run on
//! the CPU. Each ends, with results or with an error in one line.

use std::sync::mpsc;
use std::time::Duration;

use prost::Message as _;
use roci_cpu::CpuDriver;
use roci_graph::graph::{Declared, Dim};
use roci_graph::{Fact, Graph, Tensor, Value, known, shape, simplify};
use roci_hal::{CodeFormat, Device, Registry};
use roci_onnx::Model;
use roci_onnx::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use roci_runtime::{Session, plan};

/// Variants of each model, by their bytes and by what they say.
const BYTES: u32 = 200;
const MEANINGS: u32 = 200;
/// Elements of a tensor, and bytes in all, of what is run here: a model may ask for more, and gets what the machine has.
const MOST_ELEMENTS: usize = 1 << 14;
const MOST_MEMORY: u64 = 1 << 24;
/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn node(op: &str, input: &[&str], output: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    NodeProto { op_type: op.to_owned(), input: texts(input), output: texts(output), attribute, ..Default::default() }
}

fn named(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: kind as i32, ..Default::default() }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: value, ..named(name, AttributeType::Int) }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..named(name, AttributeType::Ints) }
}

fn floats(name: &str, dims: &[i64]) -> TensorProto {
    let count = dims.iter().product::<i64>();
    let float_data = (0..count).map(|at| (at * 7 % 11) as f32 * 0.25 - 1.0).collect();
    TensorProto { name: name.to_owned(), dims: dims.to_vec(), data_type: 1, float_data, ..Default::default() }
}

fn integers(name: &str, values: &[i64]) -> TensorProto {
    let (dims, int64_data) = (vec![values.len() as i64], values.to_vec());
    TensorProto { name: name.to_owned(), dims, data_type: 7, int64_data, ..Default::default() }
}

fn info(name: &str, elem_type: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |size: &i64| Dimension { value: Some(DimensionValue::DimValue(*size)) };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor = TypeValue::Tensor(TensorType { elem_type, shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { value: Some(tensor) }) }
}

/// A model with one input; its outputs are those of the last node.
fn model(dims: &[i64], nodes: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let outputs = nodes.last().map(|node| node.output.clone()).unwrap_or_default();
    let output = outputs.into_iter().map(|name| ValueInfoProto { name, r#type: None }).collect();
    let graph = GraphProto { node: nodes, initializer, input: vec![info("x", 1, dims)], output, ..Default::default() };
    let opset = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
    ModelProto { ir_version: 10, graph: Some(graph), opset_import: vec![opset("", 18)], ..Default::default() }
}

/// Valid models, whose work is on devices since the input is not known.
fn models() -> Vec<ModelProto> {
    let window = || vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    let figures = || ["s", "b", "m", "v"].map(|name| TensorProto { float_data: vec![0.5; 8], ..floats(name, &[8]) });
    let then = GraphProto {
        node: vec![node("Relu", &["x"], &["t"], vec![])],
        output: vec![ValueInfoProto { name: "t".into(), r#type: None }],
        ..Default::default()
    };
    let other = GraphProto { node: vec![node("Neg", &["x"], &["t"], vec![])], ..then.clone() };
    let branch = |name: &str, graph| AttributeProto { g: Some(graph), ..named(name, AttributeType::Graph) };
    let lists = |all: &[(&str, &[i64])]| all.iter().map(|(name, values)| integers(name, values)).collect::<Vec<_>>();
    vec![
        model(
            &[1, 4, 6, 6],
            vec![
                node("Conv", &["x", "w"], &["c"], window()),
                node("BatchNormalization", &["c", "s", "b", "m", "v"], &["n"], vec![]),
                node("Relu", &["n"], &["r"], vec![]),
                node("Conv", &["r", "u"], &["d"], vec![]),
                node("Add", &["d", "r"], &["e"], vec![]),
                node("MaxPool", &["e"], &["p"], vec![ints("kernel_shape", &[2, 2])]),
                node("GlobalAveragePool", &["p"], &["g"], vec![]),
                node("Flatten", &["g"], &["f"], vec![int("axis", 1)]),
                node("Gemm", &["f", "q"], &["y"], vec![int("transB", 1)]),
            ],
            [vec![floats("w", &[8, 4, 3, 3]), floats("u", &[8, 8, 1, 1]), floats("q", &[5, 8])], figures().to_vec()]
                .concat(),
        ),
        model(
            &[2, 5, 8],
            vec![
                node("MatMul", &["x", "w"], &["q"], vec![]),
                node("Transpose", &["x"], &["k"], vec![ints("perm", &[0, 2, 1])]),
                node("MatMul", &["q", "k"], &["s"], vec![]),
                node("Softmax", &["s"], &["p"], vec![int("axis", -1)]),
                node("MatMul", &["p", "x"], &["o"], vec![]),
                node("Add", &["o", "x"], &["a"], vec![]),
                node("LayerNormalization", &["a", "g", "h"], &["y"], vec![int("axis", -1)]),
            ],
            vec![floats("w", &[8, 8]), floats("g", &[8]), floats("h", &[8])],
        ),
        model(
            &[4, 6],
            vec![
                node("Slice", &["x", "from", "to", "axes", "by"], &["a"], vec![]),
                node("Pad", &["a", "pads"], &["b"], vec![]),
                node("Reshape", &["b", "shape"], &["c"], vec![]),
                node("Concat", &["c", "c"], &["d"], vec![int("axis", 0)]),
                node("Split", &["d", "parts"], &["e", "f"], vec![int("axis", 0)]),
                node("Gather", &["f", "rows"], &["g"], vec![int("axis", 0)]),
                node("Expand", &["g", "wide"], &["y"], vec![]),
            ],
            lists(&[
                ("from", &[0, 1]),
                ("to", &[4, 6]),
                ("axes", &[0, 1]),
                ("by", &[1, 2]),
                ("pads", &[0, 1, 0, 0]),
                ("shape", &[2, -1]),
                ("parts", &[1, 3]),
                ("rows", &[2, 0]),
                ("wide", &[3, 2, 8]),
            ]),
        ),
        model(
            &[3, 7],
            vec![
                node("TopK", &["x", "k"], &["a", "i"], vec![int("axis", 1)]),
                node("Cast", &["i"], &["j"], vec![int("to", 1)]),
                node("Mul", &["a", "j"], &["b"], vec![]),
                node("ReduceSum", &["b", "axes"], &["c"], vec![int("keepdims", 1)]),
                node("CumSum", &["c", "axis"], &["d"], vec![]),
                node("Where", &["mask", "d", "b"], &["e"], vec![]),
                node("ArgMax", &["e"], &["y"], vec![int("axis", 1)]),
            ],
            [
                lists(&[("k", &[2]), ("axes", &[1]), ("axis", &[0])]),
                vec![TensorProto {
                    name: "mask".into(),
                    dims: vec![3, 1],
                    data_type: 9,
                    int32_data: vec![1, 0, 1],
                    ..Default::default()
                }],
            ]
            .concat(),
        ),
        model(
            &[1, 2, 4, 4],
            vec![
                node("Resize", &["x", "", "scales"], &["a"], vec![]),
                node("ConvTranspose", &["a", "w"], &["b"], window()),
                node("AveragePool", &["b"], &["c"], window()),
                node("InstanceNormalization", &["c", "g", "g"], &["y"], vec![]),
            ],
            vec![
                TensorProto { float_data: vec![1.0, 1.0, 2.0, 1.5], ..floats("scales", &[4]) },
                floats("w", &[2, 3, 3, 3]),
                floats("g", &[3]),
            ],
        ),
        model(
            &[4, 1, 3],
            vec![node("LSTM", &["x", "w", "r"], &["y", "h"], vec![int("hidden_size", 2)])],
            vec![floats("w", &[1, 8, 3]), floats("r", &[1, 8, 2])],
        ),
        model(
            &[2, 3],
            vec![
                node("ReduceMax", &["x"], &["m"], vec![int("keepdims", 0)]),
                node("Greater", &["m", "zero"], &["c"], vec![]),
                node("If", &["c"], &["y"], vec![branch("then_branch", then), branch("else_branch", other)]),
            ],
            vec![TensorProto { dims: vec![], ..floats("zero", &[1]) }],
        ),
        model(
            &[3, 8],
            vec![
                node("QuantizeLinear", &["x", "s", "z"], &["q"], vec![]),
                node("MatMulInteger", &["q", "w", "z"], &["m"], vec![]),
                node("Cast", &["m"], &["f"], vec![int("to", 1)]),
                node("Clip", &["f", "", "high"], &["y"], vec![]),
            ],
            vec![
                TensorProto { dims: vec![], float_data: vec![0.1], ..floats("s", &[1]) },
                TensorProto { name: "z".into(), data_type: 2, int32_data: vec![3], ..Default::default() },
                TensorProto {
                    name: "w".into(),
                    dims: vec![8, 2],
                    data_type: 2,
                    int32_data: (0..16).collect(),
                    ..Default::default()
                },
                TensorProto { dims: vec![], float_data: vec![6.0], ..floats("high", &[1]) },
            ],
        ),
    ]
}

/// Numbers without a pattern, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }

    fn pick<'a, T>(&mut self, all: &'a mut [T]) -> Option<&'a mut T> {
        let at = self.next(all.len());
        all.get_mut(at)
    }

    /// A number that somebody may not have thought of.
    fn odd(&mut self) -> i64 {
        const ODD: [i64; 15] = [0, 1, -1, 2, -2, 3, 5, 7, 64, -1000, 1 << 31, -(1 << 31), 1 << 40, i64::MAX, i64::MIN];
        ODD[self.next(ODD.len())]
    }
}

/// Breaks some bytes.
fn break_bytes(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.next(3) {
        let at = numbers.next(bytes.len());
        match numbers.next(5) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.insert(at, numbers.next(256) as u8),
            3 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.next(8),
            _ if !bytes.is_empty() => bytes[at] = numbers.next(256) as u8,
            _ => {}
        }
    }
}

/// Breaks something that the model says.
fn break_meaning(graph: &mut GraphProto, numbers: &mut Numbers) {
    const OPS: [&str; 14] = [
        "Relu",
        "Add",
        "MatMul",
        "Softmax",
        "Transpose",
        "Concat",
        "ReduceMean",
        "Gather",
        "Reshape",
        "Sigmoid",
        "Conv",
        "MaxPool",
        "Unsqueeze",
        "NonZero",
    ];
    const KINDS: [i32; 8] = [1, 2, 3, 6, 7, 9, 10, 11];
    match numbers.next(9) {
        0 | 1 => {
            let Some(tensor) = numbers.pick(&mut graph.initializer) else { return };
            let odd = numbers.odd();
            if let Some(value) = numbers.pick(&mut tensor.int64_data) {
                *value = odd;
            } else if let Some(value) = numbers.pick(&mut tensor.float_data) {
                *value = [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30, 1e-30][odd.rem_euclid(6) as usize];
            }
        }
        2 => {
            let odd = numbers.odd();
            let tensor = numbers.pick(&mut graph.initializer);
            if let Some(dim) = tensor.and_then(|tensor| numbers.pick(&mut tensor.dims)) {
                *dim = odd;
            }
        }
        3 => {
            let kind = KINDS[numbers.next(KINDS.len())];
            numbers.pick(&mut graph.initializer).into_iter().for_each(|tensor| tensor.data_type = kind);
        }
        4 | 5 => {
            let odd = numbers.odd();
            let Some(node) = numbers.pick(&mut graph.node) else { return };
            let Some(attribute) = numbers.pick(&mut node.attribute) else { return };
            attribute.i = odd;
            numbers.pick(&mut attribute.ints).into_iter().for_each(|value| *value = odd);
        }
        6 => {
            let op = OPS[numbers.next(OPS.len())];
            numbers.pick(&mut graph.node).into_iter().for_each(|node| node.op_type = op.to_owned());
        }
        7 => {
            let names: Vec<String> = graph.node.iter().flat_map(|node| node.input.clone()).collect();
            let Some(name) = names.get(numbers.next(names.len())) else { return };
            let node = numbers.pick(&mut graph.node);
            node.and_then(|node| numbers.pick(&mut node.input)).into_iter().for_each(|input| input.clone_from(name));
        }
        _ => {
            let dims: Vec<i64> = (0..numbers.next(5)).map(|_| 1 + numbers.next(6) as i64).collect();
            graph.input = vec![info("x", KINDS[numbers.next(KINDS.len())], &dims)];
        }
    }
}

/// An input as the model declares it; `None` for one that no file could give here.
fn input(graph: &Graph, index: usize) -> Option<Tensor> {
    let Some(Declared::Tensor { dtype, dims }) = &graph.values[graph.inputs[index].index()].declared else {
        return None;
    };
    let size = |dim: &Dim| if let Dim::Known(size) = dim { *size } else { 1 };
    let shape: Vec<usize> = dims.iter().flatten().map(size).collect();
    let count = shape::count(&shape).ok().filter(|count| *count <= MOST_ELEMENTS)?;
    let numbers: Vec<f64> = (0..count).map(|at| (at * 5 % 17) as f64 * 0.5 - 3.0).collect();
    Tensor::from_floats(*dtype, shape, &numbers).ok()
}

/// Whether it asks for little.
fn is_little(graph: &Graph, given: &[Tensor]) -> Result<bool, String> {
    let facts: Vec<Option<Fact>> = given.iter().map(|one| Some(Fact::new(one.dtype(), one.shape()))).collect();
    let fits =
        |fact: &Fact| fact.shape.as_ref().is_none_or(|one| shape::count(one).is_ok_and(|all| all <= MOST_ELEMENTS));
    if !known::facts(graph, &facts).iter().flatten().all(fits) {
        return Ok(false);
    }
    let plan = plan(graph, &facts, CodeFormat::Native).map_err(|error| error.to_string())?;
    Ok(plan.memory.total() <= MOST_MEMORY)
}

/// How far a model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Nothing,
    /// It asks for more than is run here.
    Much,
    Results,
}

/// Takes a model all the way, twice where it can be run: the second time replays what the first recorded.
fn carry(bytes: &[u8], device: &Device) -> Result<Reached, String> {
    let Model { mut graph, .. } = Model::from_bytes(bytes, None).map_err(|error| error.to_string())?;
    let Some(given) = (0..graph.inputs.len()).map(|index| input(&graph, index)).collect::<Option<Vec<_>>>() else {
        return Ok(Reached::Nothing);
    };
    if !is_little(&graph, &given)? {
        return Ok(Reached::Much);
    }
    simplify(&mut graph);
    if !is_little(&graph, &given)? {
        return Ok(Reached::Much);
    }
    let given: Vec<Value> = given.into_iter().map(Value::from).collect();
    let mut session = Session::new(graph, device.clone());
    session.run(&given).map_err(|error| error.to_string())?;
    session.run(&given).map_err(|error| error.to_string())?;
    Ok(Reached::Results)
}

/// All variants, in turn; what each is goes to whoever watches before it begins.
fn all(tell: &mpsc::Sender<String>) -> Result<[usize; 4], Box<dyn std::error::Error>> {
    let open = || Registry::new().with(CpuDriver::new()).open(&"cpu?threads=2".parse()?, None);
    let mut device = open()?;
    // Errors, nothing to run, too much, results.
    let mut seen = [0; 4];
    for (index, valid) in models().into_iter().enumerate() {
        assert_eq!(carry(&valid.encode_to_vec(), &device), Ok(Reached::Results), "model {index}");
        for variant in 0..BYTES + MEANINGS {
            let mut numbers = Numbers(u64::from(variant) << 32 | index as u64);
            let mut model = valid.clone();
            if variant >= BYTES
                && let Some(graph) = &mut model.graph
            {
                (0..=numbers.next(2)).for_each(|_| break_meaning(graph, &mut numbers));
            }
            let mut bytes = model.encode_to_vec();
            if variant < BYTES {
                break_bytes(&mut bytes, &mut numbers);
            }
            tell.send(format!("model {index}, variant {variant}"))?;
            match carry(&bytes, &device) {
                Ok(reached) => seen[1 + reached as usize] += 1,
                Err(error) => {
                    seen[0] += 1;
                    // Bytes of names may be anything, which whoever prints them sees to.
                    let lines = if variant < BYTES { 1 } else { error.lines().count() };
                    assert!(lines == 1 && !error.is_empty(), "model {index}, variant {variant}: {error:?}");
                    if device.loss().is_some() {
                        device = open()?;
                    }
                }
            }
        }
    }
    Ok(seen)
}

#[test]
fn broken_models_end_with_results_or_with_a_line() {
    let (tell, told) = mpsc::channel();
    let worker = std::thread::spawn(move || all(&tell).map_err(|error| error.to_string()));
    let mut last = String::new();
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(variant) => last = variant,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{last} does not end"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let seen = worker.join().unwrap_or_else(|_| panic!("{last} panics")).expect("a device");
    // Most of what is broken is found, and a good part of the rest runs.
    assert!(seen[0] > 100 && seen[3] > 100, "errors, nothing, much, results: {seen:?}");
}

#[test]
fn what_was_found_once_stays_found() -> Result<(), Box<dyn std::error::Error>> {
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu?threads=1".parse()?, None)?;
    // An operand too many, of more dimensions than the first.
    let surplus = model(&[3], vec![node("Relu", &["x", "w"], &["y"], vec![])], vec![floats("w", &[2, 2, 3])]);
    let error = carry(&surplus.encode_to_vec(), &device).expect_err("one operand");
    assert!(error.contains("2 operands are given, and it takes 1"), "{error}");
    // Steps beyond all sizes, which leave one element.
    for step in [i64::MAX, i64::MIN] {
        let lists =
            vec![integers("from", &[1]), integers("to", &[step]), integers("axes", &[0]), integers("by", &[step])];
        let steps = model(&[3, 2], vec![node("Slice", &["x", "from", "to", "axes", "by"], &["y"], vec![])], lists);
        assert_eq!(carry(&steps.encode_to_vec(), &device), Ok(Reached::Results), "{step}");
    }
    Ok(())
}
