//! Tests of plans, importance matrices and errors. `tests/quantize.rs` compares whole files with
//! llama.cpp's.

use std::cell::Cell;
use std::num::NonZeroUsize;

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};

use super::{FileType, ImportanceMatrix, Options, Plan, QuantizeError};

/// A model with these tensors, whose values are all `value`.
fn model(tensors: &[(&str, &[u64], Type)], value: f32) -> Gguf {
    let metadata: Metadata = [
        ("general.architecture", Value::from("llama")),
        ("split.no", Value::U16(0)),
        ("llama.block_count", Value::U32(2)),
        ("general.file_type", Value::U32(1)),
        ("general.name", Value::from("test")),
    ]
    .into_iter()
    .collect();
    let infos: Vec<_> =
        tensors.iter().map(|(name, shape, kind)| TensorInfo::new(*name, shape, *kind).expect("a shape")).collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("tables");
    for info in &infos {
        let mut bytes = Vec::new();
        info.kind().quantize(&vec![value; info.values() as usize], &mut bytes).expect("they fit");
        writer.write(info.name(), &bytes).expect("in order");
    }
    Gguf::from_bytes(writer.finish().expect("complete")).expect("a model")
}

fn options(file_type: FileType) -> Options<'static> {
    Options {
        file_type,
        output: None,
        embedding: None,
        overrides: &|_| None,
        pure: false,
        allow_requantize: false,
        importance: None,
    }
}

fn write(plan: &Plan<'_>) -> Result<Vec<u8>, QuantizeError> {
    plan.write(Vec::new(), NonZeroUsize::MIN, |_, _| true)
}

const DOWN: (&str, &[u64], Type) = ("blk.0.ffn_down.weight", &[256, 4], Type::F32);

#[test]
fn keys_of_the_quantization_come_last_and_split_keys_are_left_out() {
    let file = model(&[DOWN], 0.5);
    let plan = Plan::new(&file, &options(FileType::Q8_0)).expect("a plan");
    let written = Gguf::from_bytes(write(&plan).expect("it fits")).expect("a model");
    let keys: Vec<_> = written.metadata().iter().map(|(key, _)| key).collect();
    let expected = [
        "general.architecture",
        "llama.block_count",
        "general.name",
        "general.quantization_version",
        "general.file_type",
    ];
    assert_eq!(keys, expected);
    assert_eq!(written.metadata().expect_u32("general.file_type").expect("a number"), 7);
    assert_eq!(written.expect_tensor(DOWN.0).expect("it stays").info().kind(), Type::Q8_0);
}

#[test]
fn tensors_are_ordered_by_layer_and_name() {
    let names = ["z.weight", "blk.10.b.weight", "blk.2.b.weight", "blk.2.a.weight", "a.weight"];
    let tensors = names.map(|name| (name, &[32u64, 2][..], Type::F32));
    let file = model(&tensors, 1.0);
    let plan = Plan::new(&file, &options(FileType::Q4_0)).expect("a plan");
    let ordered: Vec<_> = plan.tensors().iter().map(|tensor| tensor.target.name()).collect();
    assert_eq!(ordered, ["a.weight", "z.weight", "blk.2.a.weight", "blk.2.b.weight", "blk.10.b.weight"]);
}

#[test]
fn small_and_sensitive_tensors_keep_their_type() {
    let tensors: [(&str, &[u64], Type); 8] = [
        DOWN,
        ("blk.0.attn_norm.weight", &[256], Type::F32),
        ("blk.0.ffn_gate_inp.weight", &[256, 4], Type::F32),
        ("blk.0.ssm_conv1d.weight", &[256, 4], Type::F32),
        ("blk.0.attn_q.bias", &[256, 4], Type::F32),
        ("blk.0.ssm_a", &[256, 4], Type::F32),
        ("position_embd.weight", &[256, 4], Type::F32),
        ("blk.0.ffn_up.weight", &[256, 1], Type::F32),
    ];
    let file = model(&tensors, 1.0);
    let plan = Plan::new(&file, &options(FileType::Q4_0)).expect("a plan");
    let converted: Vec<_> = plan.tensors().iter().filter(|tensor| tensor.is_converted()).collect();
    assert_eq!(converted.iter().map(|tensor| tensor.target.name()).collect::<Vec<_>>(), [DOWN.0]);
}

#[test]
fn rows_that_are_not_whole_blocks_get_another_type() {
    let tensors: [(&str, &[u64], Type); 3] = [
        ("blk.0.attn_q.weight", &[96, 4], Type::F32),
        ("blk.0.attn_k.weight", &[40, 4], Type::F32),
        ("blk.0.ffn_up.weight", &[512, 4], Type::F32),
    ];
    let file = model(&tensors, 1.0);
    let plan = Plan::new(&file, &options(FileType::Q5_K_S)).expect("a plan");
    let types: Vec<_> = plan.tensors().iter().map(|tensor| (tensor.target.kind(), tensor.instead_of)).collect();
    let expected = [(Type::F16, Some(Type::Q5_K)), (Type::Q5_1, Some(Type::Q5_K)), (Type::Q5_K, None)];
    assert_eq!(types, expected);
}

#[test]
fn quantized_tensors_are_quantized_again_only_on_request() {
    let file = model(&[("blk.0.ffn_up.weight", &[256, 4], Type::Q8_0)], 1.0);
    let error = Plan::new(&file, &options(FileType::Q4_0)).expect_err("it is Q8_0");
    assert!(matches!(&error, QuantizeError::Requantize { from: Type::Q8_0, .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--allow-requantize")));
    // The same type is not a change.
    let plan = Plan::new(&file, &options(FileType::Q8_0)).expect("a plan");
    assert!(!plan.tensors()[0].is_converted());
    let plan = Plan::new(&file, &Options { allow_requantize: true, ..options(FileType::Q4_0) }).expect("a plan");
    assert_eq!(plan.tensors()[0].target.kind(), Type::Q4_0);
}

#[test]
fn a_copy_changes_no_type() {
    let file = model(&[("blk.0.ffn_up.weight", &[256, 4], Type::Q8_0), DOWN], 1.0);
    let plan = Plan::new(&file, &options(FileType::Copy)).expect("a plan");
    assert!(plan.tensors().iter().all(|tensor| !tensor.is_converted()));
    let written = Gguf::from_bytes(write(&plan).expect("a copy")).expect("a model");
    assert_eq!(written.metadata().expect_u32("general.file_type").expect("a number"), 1);
}

#[test]
fn a_type_without_a_quantizer_is_refused() {
    let file = model(&[DOWN], 1.0);
    let error = Plan::new(&file, &Options { overrides: &|_| Some(Type::TQ1_0), ..options(FileType::Q4_0) });
    let error = error.expect_err("there is no such quantizer");
    assert_eq!(error.to_string(), "there is no quantizer for TQ1_0");
    assert!(error.hint().is_some_and(|hint| hint.contains("Q4_K") && !hint.contains("TQ1_0")));
}

#[test]
fn values_that_do_not_fit_are_named() {
    for (file_type, value, at) in
        [(FileType::F16, 65_520.0, 0), (FileType::Q4_0, f32::NAN, 0), (FileType::Q8_0, 3e38, 0)]
    {
        let file = model(&[("blk.0.ffn_up.weight", &[256, 4096], Type::F32)], value);
        let plan = Plan::new(&file, &options(file_type)).expect("a plan");
        let error = write(&plan).expect_err("it does not fit");
        let QuantizeError::Value { index, ref tensor, .. } = error else { panic!("{error}") };
        assert_eq!((index, tensor.as_str()), (at, "blk.0.ffn_up.weight"));
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_quantization_can_be_stopped() {
    let file = model(&[DOWN, ("blk.1.ffn_down.weight", &[256, 4096], Type::F32)], 1.0);
    let plan = Plan::new(&file, &options(FileType::Q4_0)).expect("a plan");
    let calls = Cell::new(0);
    let error = plan.write(Vec::new(), NonZeroUsize::MIN, |done, total| {
        calls.set(calls.get() + 1);
        assert!(done <= total);
        false
    });
    assert!(matches!(error, Err(QuantizeError::Stopped)));
    assert_eq!(calls.get(), 1);
}

/// An importance matrix in the older format, with these entries of ones.
fn dat(entries: &[(&str, usize)]) -> Vec<u8> {
    let mut bytes = (entries.len() as i32).to_le_bytes().to_vec();
    for (name, count) in entries {
        bytes.extend((name.len() as i32).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(2i32.to_le_bytes());
        bytes.extend((*count as i32).to_le_bytes());
        bytes.extend((0..*count).flat_map(|at| (at as f32 * 2.0).to_le_bytes()));
    }
    bytes
}

/// An importance matrix in GGUF.
fn gguf(tensors: &[(&str, &[u64], &[f32])]) -> Vec<u8> {
    let mut metadata: Metadata = [("general.type", Value::from("imatrix"))].into_iter().collect();
    metadata.insert("imatrix.datasets", Value::from(vec!["one", "two"]));
    metadata.insert("imatrix.chunk_count", 9u32);
    metadata.insert("imatrix.chunk_size", 512u32);
    let infos: Vec<_> =
        tensors.iter().map(|(name, shape, _)| TensorInfo::new(*name, shape, Type::F32).expect("a shape")).collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("tables");
    for (name, _, values) in tensors {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        writer.write(name, &bytes).expect("in order");
    }
    writer.finish().expect("complete")
}

#[test]
fn importance_matrices_of_both_formats_are_read() {
    let matrix = ImportanceMatrix::parse(dat(&[("a", 3), ("b", 1)])).expect("a matrix");
    assert_eq!(
        (matrix.get("a"), matrix.get("b"), matrix.get("c")),
        (Some(&[0.0, 1.0, 2.0][..]), Some(&[0.0][..]), None)
    );
    assert_eq!((matrix.len(), matrix.chunks(), matrix.datasets().len()), (2, 0, 0));
    let mut bytes = dat(&[("a", 1)]);
    bytes.extend([5i32, 3].map(i32::to_le_bytes).concat());
    bytes.extend(b"abc");
    let matrix = ImportanceMatrix::parse(bytes).expect("a matrix");
    assert_eq!((matrix.chunks(), matrix.datasets()), (5, &["abc".to_owned()][..]));

    // Two experts, one of which was never used.
    let matrix = gguf(&[("a.in_sum2", &[2, 2], &[6.0, 3.0, 5.0, 5.0]), ("a.counts", &[1, 2], &[3.0, 0.0])]);
    let matrix = ImportanceMatrix::parse(matrix).expect("a matrix");
    assert_eq!(matrix.get("a"), Some(&[2.0, 1.0, 1.0, 1.0][..]));
    assert_eq!((matrix.chunks(), matrix.datasets()[0].as_str()), (9, "one"));
}

#[test]
fn damaged_importance_matrices_are_errors() {
    let error = |bytes: Vec<u8>| {
        let error = ImportanceMatrix::parse(bytes).expect_err("it is damaged");
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    };
    let whole = dat(&[("a", 3), ("b", 1)]);
    for length in 0..whole.len() {
        error(whole[..length].to_vec());
    }
    assert_eq!(error(0i32.to_le_bytes().to_vec()), "not an importance matrix: it has 0 entries");
    assert_eq!(error(dat(&[("a", 3), ("a", 3)])), "the entry `a` is there twice");
    let mut negative = whole.clone();
    negative[4..8].copy_from_slice(&(-1i32).to_le_bytes());
    assert_eq!(error(negative), "not an importance matrix: entry 1 of 2 has a negative length");
    let mut infinite = whole.clone();
    infinite[17..21].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert_eq!(error(infinite), "the entry `a` has the value inf");
    let sums: (&str, &[u64], &[f32]) = ("a.in_sum2", &[3], &[1.0; 3]);
    assert_eq!(error(gguf(&[sums])), "the entry `a` has sums but no counts");
    assert_eq!(
        error(gguf(&[sums, ("a.counts", &[2], &[1.0; 2])])),
        "the entry `a` has sums that are not a multiple of its counts"
    );
    assert_eq!(error(gguf(&[("a.counts", &[1], &[1.0])])), "not an importance matrix: it has no entries");
    assert!(error(whole[..3].to_vec()).starts_with("the file ends within the number of entries"));
}

#[test]
fn an_importance_matrix_must_fit_the_model() {
    let file = model(&[DOWN, ("token_embd.weight", &[256, 4], Type::F32)], 1.0);
    let with = |matrix: &ImportanceMatrix, file_type| {
        let options = Options { importance: Some((matrix, "m")), ..options(file_type) };
        let plan = Plan::new(&file, &options);
        plan.map(|plan| plan.tensors().iter().filter(|tensor| tensor.lacks_importance()).count())
    };
    let matrix = |entries| ImportanceMatrix::parse(dat(entries)).expect("a matrix");
    let fitting = matrix(&[(DOWN.0, 256), ("token_embd.weight", 3)]);
    assert_eq!(with(&fitting, FileType::Q2_K_S).expect("a plan"), 1);
    let error = with(&matrix(&[(DOWN.0, 255)]), FileType::Q4_K_M).expect_err("one is missing");
    assert_eq!(error.to_string(), "the importance matrix has 255 values for `blk.0.ffn_down.weight`, expected 256");
    let error = with(&matrix(&[("other", 256)]), FileType::Q2_K_S).expect_err("no entry");
    assert!(error.to_string().starts_with("Q2_K_S needs an importance matrix, but this one"), "{error}");
    let error = Plan::new(&file, &options(FileType::Q2_K_S)).expect_err("no matrix");
    assert!(error.to_string().starts_with("Q2_K_S needs an importance matrix, for example for"), "{error}");
    // Types that do not use importance ignore a matrix of another model.
    assert_eq!(with(&matrix(&[(DOWN.0, 255)]), FileType::Q8_0).expect("a plan"), 0);
}
