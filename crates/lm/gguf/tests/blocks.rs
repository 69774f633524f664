//! Reads, converts and rewrites a file that `scripts/make-gguf-fixtures` created with the Python
//! package `gguf`. All results must be bit-exact.

use std::path::Path;

use roci_gguf::{Array, Gguf, Metadata, TensorInfo, Type, Value, Writer};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/blocks.gguf");

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn values(file: &Gguf, name: &str) -> Vec<f32> {
    file.expect_tensor(name).expect(name).to_f32().expect("floats")
}

#[test]
fn dequantized_values_match_the_python_package() {
    let file = Gguf::open(FILE).expect("the fixture");
    let mut compared = 0;
    for tensor in file.tensors().filter(|tensor| tensor.info().name().ends_with(".blocks")) {
        let kind = tensor.info().kind();
        let expected = values(&file, &format!("{kind}.values"));
        assert_eq!(bits(&tensor.to_f32().expect("floats")), bits(&expected), "{kind}");
        compared += 1;
    }
    // The package has no values of Q1_0 and Q2_0, which `roci-lm` compares with llama.cpp.
    assert_eq!(compared, 25);
}

#[test]
fn code_groups_give_the_values_of_a_block() {
    let file = Gguf::open(FILE).expect("the fixture");
    let mut compared = 0;
    for tensor in file.tensors().filter(|tensor| tensor.info().name().ends_with(".blocks")) {
        let kind = tensor.info().kind();
        let block = &tensor.bytes()[..kind.block_bytes()];
        assert_eq!(kind.code_group(block, 0).is_some(), kind.has_code_groups(), "{kind}");
        if !kind.has_code_groups() {
            continue;
        }
        let groups = kind.block_size() / 32;
        let group = |group| kind.code_group(block, group).expect("a group of the block");
        let found: Vec<f32> = (0..groups).flat_map(|at| group(at).values()).collect();
        assert_eq!(bits(&found), bits(&values(&file, &format!("{kind}.values"))[..found.len()]), "{kind}");
        let fine = (0..groups).any(|at| group(at).scales[0] != group(at).scales[1]);
        assert_eq!(fine, kind.has_fine_scales(), "{kind}");
        assert_eq!(kind.code_group(block, groups), None);
        assert_eq!(kind.code_group(&block[1..], 0), None);
        compared += 1;
    }
    assert_eq!(compared, 10);
}

#[test]
fn every_quantizer_gives_the_blocks_of_the_package() {
    let file = Gguf::open(FILE).expect("the fixture");
    let source = values(&file, "source");
    let mut compared = 0;
    for tensor in file.tensors().filter(|tensor| tensor.info().name().ends_with(".quantised")) {
        let kind = tensor.info().kind();
        let mut blocks = Vec::new();
        kind.quantize(&source, &mut blocks).expect("they fit");
        assert_eq!(blocks, tensor.bytes(), "{kind}");
        compared += 1;
    }
    // The Python package quantizes only to these; `quantize.rs` compares the others with llama.cpp.
    assert_eq!(compared, 7);
}

#[test]
fn metadata_values_of_every_type_are_read() {
    let file = Gguf::open(FILE).expect("the fixture");
    let expected: Metadata = [
        ("general.architecture", Value::from("fixture")),
        ("value.u8", 200u8.into()),
        ("value.i8", (-100i8).into()),
        ("value.u16", 60000u16.into()),
        ("value.i16", (-30000i16).into()),
        ("value.u32", 4_000_000_000u32.into()),
        ("value.i32", (-2_000_000_000i32).into()),
        ("value.f32", 0.1f32.into()),
        ("value.bool", true.into()),
        ("value.string", "a\u{2581}\u{1f600}\0b".into()),
        ("value.u64", (1u64 << 63).into()),
        ("value.i64", (-(1i64 << 62)).into()),
        ("value.f64", 0.1f64.into()),
        ("list.strings", vec!["", "one", "zwei", "трое"].into()),
        ("list.floats", vec![0.5f32, -1.25].into()),
        ("list.lists", Array::Array(vec![Array::I32(vec![1, 2]), Array::I32(vec![3])]).into()),
    ]
    .into_iter()
    .collect();
    let pairs =
        |metadata: &Metadata| metadata.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect::<Vec<_>>();
    assert_eq!(pairs(file.metadata()), pairs(&expected));
    assert_eq!(file.version(), 3);
}

#[test]
fn a_rewritten_file_is_identical() {
    let original = std::fs::read(FILE).expect("the fixture");
    let file = Gguf::from_bytes(original.clone()).expect("the fixture");
    let tensors: Vec<TensorInfo> = file.tensors().map(|tensor| tensor.info().clone()).collect();
    let mut writer = Writer::start(Vec::new(), file.metadata(), &tensors).expect("tables");
    for tensor in file.tensors() {
        for piece in tensor.bytes().chunks(1000) {
            writer.write(tensor.info().name(), piece).expect("in order");
        }
    }
    assert!(writer.finish().expect("complete") == original);
}

#[test]
fn the_writer_rejects_data_that_does_not_match_the_tables() {
    let tensors = [
        TensorInfo::new("a", &[4], Type::F32).expect("a tensor"),
        TensorInfo::new("b", &[32, 2], Type::Q4_0).expect("a tensor"),
    ];
    let start = || Writer::start(Vec::new(), &Metadata::new(), &tensors).expect("tables");
    let text = |result: Result<(), roci_gguf::Error>| result.expect_err("wrong").to_string();
    assert!(text(start().write("b", &[0; 36])).ends_with("the next tensor is `a`"));
    assert!(text(start().write("a", &[0; 17])).ends_with("17 bytes for `a`, which needs only 16 more"));
    let mut writer = start();
    writer.write("a", &[0; 16]).expect("its turn");
    writer.write("b", &[0; 35]).expect("its turn");
    assert!(text(writer.finish().map(drop)).ends_with("`b` has 35 of 36 bytes"));
    let twice = [tensors[0].clone(), tensors[0].clone()];
    assert!(text(Writer::start(Vec::new(), &Metadata::new(), &twice).map(drop)).ends_with("two tensors are named `a`"));
    assert!(TensorInfo::new("c", &[33], Type::Q4_0).is_err());
    assert!(TensorInfo::new("c", &[1; 5], Type::F32).is_err());
    assert!(TensorInfo::new("c", &[u64::MAX, 2], Type::F32).is_err());
}

/// Reads a NumPy array file: the bytes after the header.
fn npy(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\0");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[10 + header..].to_vec()
}

#[test]
fn blocks_and_values_match_libgguf() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/models/quant");
    if !folder.is_dir() {
        return roci_testkit::absent("blocks made by libgguf (../shared/models/quant)");
    }
    let mut compared = 0;
    for kind in Type::all() {
        let path = |what: &str| folder.join(format!("{}_{what}.npy", kind.name().to_lowercase()));
        if !path("bytes").exists() {
            continue;
        }
        let expected = Type::F32.to_f32(&npy(&path("f32"))).expect("floats");
        assert_eq!(bits(&kind.to_f32(&npy(&path("bytes"))).expect("blocks")), bits(&expected), "{kind}");
        compared += 1;
    }
    assert_eq!(compared, 26, "all types except F32, Q2_0 and the integer types");
    let source = Type::F32.to_f32(&npy(&folder.join("src_f32.npy"))).expect("floats");
    for kind in [Type::F16, Type::BF16, Type::Q4_0, Type::Q4_1, Type::Q5_0, Type::Q5_1, Type::Q8_0] {
        let mut blocks = Vec::new();
        kind.quantize(&source, &mut blocks).expect("they fit");
        let expected = npy(&folder.join(format!("{}_bytes.npy", kind.name().to_lowercase())));
        let differ = blocks.iter().zip(&expected).filter(|(ours, theirs)| ours != theirs).count();
        assert_eq!((blocks.len(), differ), (expected.len(), 0), "{kind}");
    }
}
