//! Corrupted models, changed in their bytes or in their meaning, on the full path: read,
//! simplified, planned, and run on the CPU. Each must end with results or with a one-line error.

use std::sync::mpsc;
use std::time::Duration;

use prost::Message as _;
use roci_cpu::CpuDriver;
use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::{Fact, Graph, Tensor, Value, inference, shape, simplify};
use roci_hal::{CodeFormat, Device, Registry};
use roci_onnx::Model;
use roci_onnx::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use roci_runtime::{Session, dry_run};

/// Variants of each model: changed bytes, and changed meaning.
const BYTE_VARIANTS: u32 = 200;
const MODEL_VARIANTS: u32 = 200;
/// Larger models are not run here: elements of a tensor, and bytes of memory in total.
const MAX_ELEMENTS: usize = 1 << 14;
const MAX_MEMORY: u64 = 1 << 24;
/// Far longer than any variant takes.
const TIMEOUT: Duration = Duration::from_secs(120);

fn node(op: &str, input: &[&str], output: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
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

/// A model with one input. Its outputs are those of the last node.
fn model(dims: &[i64], nodes: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let outputs = nodes.last().map(|node| node.output.clone()).unwrap_or_default();
    let output = outputs.into_iter().map(|name| ValueInfoProto { name, r#type: None }).collect();
    let graph = GraphProto { node: nodes, initializer, input: vec![info("x", 1, dims)], output, ..Default::default() };
    let opset = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
    ModelProto { ir_version: 10, graph: Some(graph), opset_import: vec![opset("", 18)], ..Default::default() }
}

/// Valid models. Their nodes run on the device because the input is not constant.
fn models() -> Vec<ModelProto> {
    let window = || vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    let params = || ["s", "b", "m", "v"].map(|name| TensorProto { float_data: vec![0.5; 8], ..floats(name, &[8]) });
    let then = GraphProto {
        node: vec![node("Relu", &["x"], &["t"], vec![])],
        output: vec![ValueInfoProto { name: "t".into(), r#type: None }],
        ..Default::default()
    };
    let other = GraphProto { node: vec![node("Neg", &["x"], &["t"], vec![])], ..then.clone() };
    let branch = |name: &str, graph| AttributeProto { g: Some(graph), ..attribute(name, AttributeType::Graph) };
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
            [vec![floats("w", &[8, 4, 3, 3]), floats("u", &[8, 8, 1, 1]), floats("q", &[5, 8])], params().to_vec()]
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

/// Pseudorandom numbers, the same in every run.
struct PseudoRandom(fastrand::Rng);

impl PseudoRandom {
    fn next(&mut self, below: usize) -> usize {
        self.0.usize(..below.max(1))
    }

    fn pick<'a, T>(&mut self, all: &'a mut [T]) -> Option<&'a mut T> {
        let at = self.next(all.len());
        all.get_mut(at)
    }

    /// A number that code may not expect.
    fn boundary_value(&mut self) -> i64 {
        const BOUNDARY_VALUES: [i64; 15] =
            [0, 1, -1, 2, -2, 3, 5, 7, 64, -1000, 1 << 31, -(1 << 31), 1 << 40, i64::MAX, i64::MIN];
        BOUNDARY_VALUES[self.next(BOUNDARY_VALUES.len())]
    }
}

/// Changes some bytes.
fn mutate_bytes(bytes: &mut Vec<u8>, numbers: &mut PseudoRandom) {
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

/// Changes one property of the model.
fn mutate_model(graph: &mut GraphProto, numbers: &mut PseudoRandom) {
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
            let boundary_value = numbers.boundary_value();
            if let Some(value) = numbers.pick(&mut tensor.int64_data) {
                *value = boundary_value;
            } else if let Some(value) = numbers.pick(&mut tensor.float_data) {
                *value = [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30, 1e-30][boundary_value.rem_euclid(6) as usize];
            }
        }
        2 => {
            let boundary_value = numbers.boundary_value();
            let tensor = numbers.pick(&mut graph.initializer);
            if let Some(dim) = tensor.and_then(|tensor| numbers.pick(&mut tensor.dims)) {
                *dim = boundary_value;
            }
        }
        3 => {
            let kind = KINDS[numbers.next(KINDS.len())];
            numbers.pick(&mut graph.initializer).into_iter().for_each(|tensor| tensor.data_type = kind);
        }
        4 | 5 => {
            let boundary_value = numbers.boundary_value();
            let Some(node) = numbers.pick(&mut graph.node) else { return };
            let Some(attribute) = numbers.pick(&mut node.attribute) else { return };
            attribute.i = boundary_value;
            numbers.pick(&mut attribute.ints).into_iter().for_each(|value| *value = boundary_value);
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

/// An input as the model declares it; `None` if there is none or it is too large.
fn input(graph: &Graph, index: usize) -> Option<Tensor> {
    let Some(DeclaredType::Tensor { dtype, dims }) = &graph.values[graph.inputs[index].index()].declared else {
        return None;
    };
    let size = |dim: &Dim| if let Dim::Known(size) = dim { *size } else { 1 };
    let shape: Vec<usize> = dims.iter().flatten().map(size).collect();
    let count = shape::count(&shape).ok().filter(|count| *count <= MAX_ELEMENTS)?;
    let numbers: Vec<f64> = (0..count).map(|at| (at * 5 % 17) as f64 * 0.5 - 3.0).collect();
    Tensor::from_floats(*dtype, shape, &numbers).ok()
}

/// Whether the model stays within the limits of this test.
fn is_within_limits(graph: &Graph, given: &[Tensor]) -> Result<bool, String> {
    let facts: Vec<Option<Fact>> = given.iter().map(|one| Some(Fact::new(one.dtype(), one.shape()))).collect();
    let fits =
        |fact: &Fact| fact.shape.as_ref().is_none_or(|one| shape::count(one).is_ok_and(|all| all <= MAX_ELEMENTS));
    if !inference::facts(graph, &facts).iter().flatten().all(fits) {
        return Ok(false);
    }
    let plan = dry_run(graph, &facts, CodeFormat::Native).map_err(|error| error.to_string())?;
    Ok(plan.memory.total() <= MAX_MEMORY)
}

/// How far a model got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Nothing,
    /// It exceeds the limits of this test.
    OverLimit,
    Results,
}

/// Takes a model through the full path. It runs twice, so that the second run is a replay.
fn run_full_path(bytes: &[u8], device: &Device) -> Result<Progress, String> {
    let Model { mut graph, .. } = Model::from_bytes(bytes, None).map_err(|error| error.to_string())?;
    let Some(given) = (0..graph.inputs.len()).map(|index| input(&graph, index)).collect::<Option<Vec<_>>>() else {
        return Ok(Progress::Nothing);
    };
    if !is_within_limits(&graph, &given)? {
        return Ok(Progress::OverLimit);
    }
    simplify(&mut graph);
    if !is_within_limits(&graph, &given)? {
        return Ok(Progress::OverLimit);
    }
    let inputs: Vec<Value> = given.into_iter().map(Value::from).collect();
    let mut session = Session::new(graph, device.clone());
    session.run(&inputs).map_err(|error| error.to_string())?;
    session.run(&inputs).map_err(|error| error.to_string())?;
    Ok(Progress::Results)
}

/// Runs all variants, and sends the name of each before it starts.
fn all(sender: &mpsc::Sender<String>) -> Result<[usize; 4], Box<dyn std::error::Error>> {
    let open = || Registry::new().with(CpuDriver::new()).open(&"cpu?threads=2".parse()?, None);
    let mut device = open()?;
    // Counts of errors, models without inputs, models over the limits, and results.
    let mut counts = [0; 4];
    for (index, valid) in models().into_iter().enumerate() {
        assert_eq!(run_full_path(&valid.encode_to_vec(), &device), Ok(Progress::Results), "model {index}");
        for variant in 0..BYTE_VARIANTS + MODEL_VARIANTS {
            let mut numbers = PseudoRandom(fastrand::Rng::with_seed(u64::from(variant) << 32 | index as u64));
            let mut model = valid.clone();
            if variant >= BYTE_VARIANTS
                && let Some(graph) = &mut model.graph
            {
                (0..=numbers.next(2)).for_each(|_| mutate_model(graph, &mut numbers));
            }
            let mut bytes = model.encode_to_vec();
            if variant < BYTE_VARIANTS {
                mutate_bytes(&mut bytes, &mut numbers);
            }
            sender.send(format!("model {index}, variant {variant}"))?;
            match run_full_path(&bytes, &device) {
                Ok(reached) => counts[1 + reached as usize] += 1,
                Err(error) => {
                    counts[0] += 1;
                    // Names from corrupted bytes may contain line breaks; the printer escapes them.
                    let lines = if variant < BYTE_VARIANTS { 1 } else { error.lines().count() };
                    assert!(lines == 1 && !error.is_empty(), "model {index}, variant {variant}: {error:?}");
                    if device.loss().is_some() {
                        device = open()?;
                    }
                }
            }
        }
    }
    Ok(counts)
}

#[test]
fn corrupted_models_end_with_results_or_a_one_line_error() {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || all(&sender).map_err(|error| error.to_string()));
    let mut last = String::new();
    loop {
        match receiver.recv_timeout(TIMEOUT) {
            Ok(variant) => last = variant,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{last} does not terminate"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let counts = worker.join().unwrap_or_else(|_| panic!("{last} panics")).expect("a device");
    // Many variants are rejected, and many others still run.
    assert!(counts[0] > 100 && counts[3] > 100, "errors, nothing, much, results: {counts:?}");
}

#[test]
fn regressions() -> Result<(), Box<dyn std::error::Error>> {
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu?threads=1".parse()?, None)?;
    // One operand too many, with more dimensions than the first.
    let surplus = model(&[3], vec![node("Relu", &["x", "w"], &["y"], vec![])], vec![floats("w", &[2, 2, 3])]);
    let error = run_full_path(&surplus.encode_to_vec(), &device).expect_err("one operand");
    assert!(error.contains("2 operands are given, but the operation takes at most 1"), "{error}");
    // A step beyond the axis, which leaves one element.
    for step in [i64::MAX, i64::MIN] {
        let lists =
            vec![integers("from", &[1]), integers("to", &[step]), integers("axes", &[0]), integers("by", &[step])];
        let steps = model(&[3, 2], vec![node("Slice", &["x", "from", "to", "axes", "by"], &["y"], vec![])], lists);
        assert_eq!(run_full_path(&steps.encode_to_vec(), &device), Ok(Progress::Results), "{step}");
    }
    Ok(())
}
