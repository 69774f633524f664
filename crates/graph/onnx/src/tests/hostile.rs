//! Corrupted bytes must not make the reader or a run panic.

use proptest::prelude::*;
use roci_graph::{Tensor, Value};

use super::*;

/// The limit for one tensor of a run.
const LIMIT: usize = 1 << 20;

/// Models of one node each, with all operands in the file, where they can be corrupted.
fn models() -> Vec<ModelProto> {
    let image = || floats("a", &[1, 2, 4, 4], &[0.5; 32]);
    let matrix = |name: &str| floats(name, &[2, 3], &[1.0, -2.0, 3.0, 4.0, 5.0, -6.0]);
    let list = |name: &str, values: &[i64]| integers(name, &[values.len() as i64], values);
    let words = TensorProto {
        name: "a".to_owned(),
        dims: vec![2],
        data_type: 8,
        string_data: vec![b"one two".to_vec(), b"three".to_vec()],
        ..Default::default()
    };
    let one = |op: &str, attributes: Vec<AttributeProto>, operands: Vec<TensorProto>, outputs: usize| {
        let inputs: Vec<String> = operands.iter().map(|tensor| tensor.name.clone()).collect();
        let outputs: Vec<String> = (0..outputs).map(|index| format!("y{index}")).collect();
        let (inputs, outputs) = (inputs.iter().map(String::as_str).collect::<Vec<_>>(), outputs);
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let mut node = node(op, &inputs, &outputs, attributes);
        if matches!(op, "Scaler" | "ArrayFeatureExtractor") {
            node.domain = "ai.onnx.ml".to_owned();
        }
        model(graph(vec![node], &[], &outputs, operands))
    };
    let kernel = || floats("b", &[2, 2, 3, 3], &[0.25; 36]);
    let window = || vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    let gates = |name: &str, last: i64| floats(name, &[1, 8, last], &vec![0.1; 8 * last as usize]);
    let heads = |name: &str| floats(name, &[1, 2, 3, 2], &[0.3; 12]);
    let both = graph(vec![node("Add", &["a", "a"], &["t"], vec![])], &[], &["t"], vec![]);
    let other = graph(vec![node("Neg", &["a"], &["e"], vec![])], &[], &["e"], vec![]);
    let condition = TensorProto { name: "c".to_owned(), data_type: 9, int32_data: vec![1], ..Default::default() };
    let branches = vec![inner("then_branch", both), inner("else_branch", other)];
    let choice = graph(vec![node("If", &["c"], &["y0"], branches)], &[], &["y0"], vec![condition, matrix("a")]);
    vec![
        model(choice),
        one("Conv", window(), vec![image(), kernel()], 1),
        one("ConvTranspose", window(), vec![image(), kernel()], 1),
        one("MaxPool", window(), vec![image()], 2),
        one("AveragePool", window(), vec![image()], 1),
        one(
            "Resize",
            vec![text("mode", "cubic")],
            vec![image(), floats("b", &[0], &[]), floats("c", &[4], &[1.0; 4])],
            1,
        ),
        one("Pad", vec![text("mode", "reflect")], vec![matrix("a"), list("b", &[1, 1, 1, 1])], 1),
        one("Gemm", vec![int("transB", 1), float("alpha", 0.5)], vec![matrix("a"), matrix("b")], 1),
        one("Einsum", vec![text("equation", "ij,kj->ik")], vec![matrix("a"), matrix("b")], 1),
        one("Reshape", vec![int("allowzero", 0)], vec![matrix("a"), list("b", &[3, -1])], 1),
        one("Transpose", vec![ints("perm", &[1, 0])], vec![matrix("a")], 1),
        one("Slice", vec![], vec![matrix("a"), list("b", &[0]), list("c", &[9]), list("d", &[1]), list("e", &[2])], 1),
        one("Concat", vec![int("axis", 1)], vec![matrix("a"), matrix("b")], 1),
        one("Split", vec![int("axis", 1)], vec![matrix("a"), list("b", &[1, 2])], 2),
        one("Expand", vec![], vec![matrix("a"), list("b", &[2, 2, 3])], 1),
        one("Gather", vec![int("axis", 1)], vec![matrix("a"), list("b", &[2, -1])], 1),
        one("GatherND", vec![int("batch_dims", 0)], vec![matrix("a"), integers("b", &[1, 2], &[1, 2])], 1),
        one(
            "ScatterElements",
            vec![int("axis", 1)],
            vec![matrix("a"), integers("b", &[1, 1], &[2]), floats("c", &[1, 1], &[9.0])],
            1,
        ),
        one("TopK", vec![int("axis", -1), int("largest", 1)], vec![matrix("a"), list("b", &[2])], 2),
        one(
            "OneHot",
            vec![int("axis", -1)],
            vec![list("a", &[1, 2]), integers("b", &[], &[4]), floats("c", &[2], &[0.0, 1.0])],
            1,
        ),
        one("ReduceMean", vec![int("keepdims", 0)], vec![matrix("a"), list("b", &[-1])], 1),
        one("Softmax", vec![int("axis", 1)], vec![matrix("a")], 1),
        one("LayerNormalization", vec![int("axis", -1)], vec![matrix("a"), floats("b", &[3], &[1.0; 3])], 3),
        one(
            "LSTM",
            vec![int("hidden_size", 2), text("direction", "forward")],
            vec![floats("a", &[2, 1, 2], &[1.0; 4]), gates("b", 2), gates("c", 2)],
            3,
        ),
        one("Attention", vec![int("is_causal", 1)], vec![heads("a"), heads("b"), heads("c")], 1),
        one("DFT", vec![int("onesided", 1)], vec![floats("a", &[1, 6, 1], &[1.0; 6])], 1),
        one("StringSplit", vec![text("delimiter", " ")], vec![words.clone()], 2),
        one("RegexFullMatch", vec![text("pattern", "[a-z ]+")], vec![words], 1),
        one("SplitToSequence", vec![int("axis", 1)], vec![matrix("a"), list("b", &[1, 2])], 1),
        one("QuantizeLinear", vec![int("axis", 1)], vec![matrix("a"), floats("b", &[3], &[0.5; 3])], 1),
        one("Scaler", vec![], vec![matrix("a")], 1),
        one("ArrayFeatureExtractor", vec![], vec![matrix("a"), list("b", &[2])], 1),
        one("CumSum", vec![int("reverse", 1)], vec![matrix("a"), integers("b", &[], &[1])], 1),
        one("Range", vec![], vec![integers("a", &[], &[0]), integers("b", &[], &[9]), integers("c", &[], &[2])], 1),
    ]
}

/// Reads bytes, and runs the model.
fn try_all(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes, None) {
        let inputs = model.graph.inputs.iter().map(|_| Value::from(Tensor::scalar(1f32))).collect();
        let _ = roci_graph::run_within(&model.graph, inputs, LIMIT);
    }
}

/// Corrupts bytes in one way.
#[derive(Clone, Debug)]
enum Corruption {
    Cut(prop::sample::Index),
    Set(prop::sample::Index, u8),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
}

impl Corruption {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Set(at, byte) => bytes[at.index(length)] = *byte,
            Self::Flip(at, bit) => bytes[at.index(length)] ^= 1 << (bit % 8),
            Self::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            Self::Remove(at) => {
                bytes.remove(at.index(length));
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Corruption> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        1 => at().prop_map(Corruption::Cut),
        // Extreme values are the most likely to fail.
        3 => (at(), prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0x80), Just(0xff)])
            .prop_map(|(at, byte)| Corruption::Set(at, byte)),
        4 => (at(), any::<u8>()).prop_map(|(at, bit)| Corruption::Flip(at, bit)),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Corruption::Insert(at, byte)),
        1 => at().prop_map(Corruption::Remove),
    ]
}

#[test]
fn models_run() {
    for (index, model) in models().iter().enumerate() {
        let result = run(model, Vec::new());
        assert!(result.is_ok(), "model {index}: {result:?}");
    }
}

#[test]
fn truncated_models_are_errors() {
    for model in models() {
        let bytes = model.encode_to_vec();
        // The last fields are versions and a name, so a truncated file may still be a valid model.
        for length in (0..bytes.len()).step_by(3) {
            try_all(&bytes[..length]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invalid_models_are_errors(which in any::<prop::sample::Index>(), all in prop::collection::vec(damage(), 1..4)) {
        let models = models();
        let mut bytes = models[which.index(models.len())].encode_to_vec();
        all.iter().for_each(|one| one.apply(&mut bytes));
        try_all(&bytes);
    }

    #[test]
    fn random_bytes_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        try_all(&bytes);
    }
}
