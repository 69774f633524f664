//! Damaged and malicious files.

use proptest::prelude::*;
use roci_gguf::{Array, Error, Gguf, Metadata, TensorInfo, Type, Value, Writer};

/// A small file with every kind of table entry.
fn small() -> Vec<u8> {
    let mut metadata = Metadata::new();
    metadata.insert("general.alignment", 64u32);
    metadata.insert("text", "some text");
    metadata.insert("words", vec!["a", "", "ccc"]);
    metadata.insert("lists", Array::Array(vec![Array::Bool(vec![true, false]), Array::U16(vec![7])]));
    metadata.insert("number", -1i64);
    let tensors = [
        TensorInfo::new("first", &[32, 3], Type::Q4_0).expect("a tensor"),
        TensorInfo::new("empty", &[0], Type::F32).expect("a tensor"),
        TensorInfo::new("second", &[5], Type::F16).expect("a tensor"),
    ];
    let mut writer = Writer::start(Vec::new(), &metadata, &tensors).expect("tables");
    writer.write("first", &[1; 54]).expect("its turn");
    writer.write("second", &[2; 10]).expect("its turn");
    let mut bytes = writer.finish().expect("complete");
    // Removes the padding at the end, so that truncation by even one byte is an error.
    bytes.truncate(bytes.len() - 54);
    bytes
}

/// Opens a file and reads everything in it.
fn walk(bytes: &[u8]) -> Result<usize, Error> {
    let file = Gguf::from_bytes(bytes)?;
    let tensors: usize = file.tensors().map(|tensor| tensor.bytes().len()).sum();
    let values = file.tensors().filter_map(|tensor| tensor.to_f32().ok()).map(|values| values.len()).sum::<usize>();
    Ok(file.metadata().len() + tensors + values)
}

fn message(bytes: &[u8]) -> String {
    let error = walk(bytes).expect_err("the file is damaged");
    assert!(error.hint().is_some(), "{error}");
    error.to_string()
}

/// Replaces the first occurrence of `old` after `key`.
fn patch(bytes: &[u8], key: &str, old: &[u8], new: &[u8]) -> Vec<u8> {
    let find = |from: usize, what: &[u8]| {
        from + bytes[from..].windows(what.len()).position(|window| window == what).expect("the bytes exist")
    };
    let at = find(find(0, key.as_bytes()) + key.len(), old);
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}

#[test]
fn a_file_truncated_anywhere_is_rejected_with_the_offset() {
    let bytes = small();
    assert_eq!(walk(&bytes).expect("whole"), 5 + 54 + 10 + 96 + 5);
    for length in 0..bytes.len() {
        let error = walk(&bytes[..length]).expect_err("cut");
        assert!(matches!(error, Error::Truncated { .. }), "{length}: {error}");
    }
    assert_eq!(
        message(&bytes[..bytes.len() - 1]),
        format!("tensor `second` needs 10 bytes at offset {}, but the file has 9 left", bytes.len() - 10)
    );
    assert_eq!(message(&bytes[..100]), "key number 2 needs 5 bytes at offset 98, but the file has 2 left");
}

#[test]
fn each_invalid_field_is_named() {
    let bytes = small();
    let with = |at: usize, new: &[u8]| [&bytes[..at], new, &bytes[at + new.len()..]].concat();
    assert_eq!(message(&with(0, b"GGML")), "not a GGUF file: it starts with \"GGML\"");
    assert_eq!(message(&with(4, &1u32.to_le_bytes())), "GGUF version 1 is not supported; versions 2 and 3 are");
    assert_eq!(message(&with(4, &4u32.to_le_bytes())), "GGUF version 4 is not supported; versions 2 and 3 are");
    assert_eq!(message(&with(4, &3u32.to_be_bytes())), "this GGUF file is big-endian");
    assert!(walk(&with(4, &2u32.to_le_bytes())).is_ok());
    assert!(
        message(&with(8, &u64::MAX.to_le_bytes())).starts_with("the list of tensors needs 18446744073709551615 bytes")
    );
    assert!(message(&with(8, &4u64.to_le_bytes())).contains("0 dimensions"));
    assert!(message(&with(16, &u64::MAX.to_le_bytes())).starts_with("the number of keys needs"));
    for (key, old, new, expected) in [
        (
            "general.alignment",
            &64u32.to_le_bytes()[..],
            &48u32.to_le_bytes()[..],
            "should be a power of two, but is 48",
        ),
        ("general.alignment", &64u32.to_le_bytes(), &0u32.to_le_bytes(), "should be a power of two, but is 0"),
        ("general.alignment", &4u32.to_le_bytes(), &6u32.to_le_bytes(), "should be a u32, but is the f32"),
        ("general.alignment", &64u32.to_le_bytes(), &(1u32 << 31).to_le_bytes(), "but the file has 0 left"),
        ("general.alignment", b"text", b"te\xfft", "this string is not UTF-8"),
        ("text", &8u32.to_le_bytes(), &13u32.to_le_bytes(), "key `text` at offset"),
        ("text", &9u64.to_le_bytes(), &(u64::MAX - 1).to_le_bytes(), "key `text` needs 18446744073709551614 bytes"),
        ("text", b"some", b"som\x80", "this string is not UTF-8"),
        ("text", b"words", b"lists", "duplicate key"),
        ("words", &8u32.to_le_bytes(), &99u32.to_le_bytes(), "unknown array element type 99"),
        ("words", &3u64.to_le_bytes(), &(u64::MAX / 4).to_le_bytes(), "key `words` needs 18446744073709551615 bytes"),
        ("words", &3u64.to_le_bytes(), &(1u64 << 61).to_le_bytes(), "key `words` needs 18446744073709551615 bytes"),
        ("lists", &[1, 0], &[2, 0], "invalid bool 2: it must be 0 or 1"),
        ("first", &2u32.to_le_bytes(), &0u32.to_le_bytes(), "tensor `first` at offset"),
        ("first", &2u32.to_le_bytes(), &5u32.to_le_bytes(), "5 dimensions, but 1 to 4 are supported"),
        (
            "first",
            &32u64.to_le_bytes(),
            &31u64.to_le_bytes(),
            "row length 31 is not a multiple of the Q4_0 block size 32",
        ),
        ("first", &3u64.to_le_bytes(), &(1u64 << 60).to_le_bytes(), "overflows"),
        ("first", &3u64.to_le_bytes(), &(1u64 << 40).to_le_bytes(), "tensor `first` needs 19791209299968 bytes"),
        (
            "first",
            &3u64.to_le_bytes(),
            &4u64.to_le_bytes(),
            "tensor `second` at offset 448: its data overlaps that of `first`",
        ),
        ("second", &64u64.to_le_bytes(), &u64::MAX.to_le_bytes(), "does not start at a multiple of 64"),
        ("second", &64u64.to_le_bytes(), &(u64::MAX - 63).to_le_bytes(), "tensor `second` needs 10 bytes"),
        ("second", &64u64.to_le_bytes(), &0u64.to_le_bytes(), "overlaps"),
        ("second", &1u32.to_le_bytes(), &1u32.to_le_bytes(), ""),
    ] {
        let changed = patch(&bytes, key, old, new);
        match expected {
            "" => assert!(walk(&changed).is_ok()),
            expected => assert!(message(&changed).contains(expected), "{key} {new:?}: {}", message(&changed)),
        }
    }
    let foreign =
        patch(&bytes, "second", &[5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], &[5, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0]);
    assert_eq!(message(&foreign), "tensor `second` has type 15 (Q8_K), which is not supported");
    let twice = patch(&bytes, "first", b"second", b"first\0");
    assert!(walk(&twice).is_ok(), "another name");
}

#[test]
fn duplicate_tensor_names_are_rejected() {
    let tensors = [
        TensorInfo::new("aaa", &[1], Type::F32).expect("a tensor"),
        TensorInfo::new("bbb", &[1], Type::F32).expect("a tensor"),
    ];
    let mut writer = Writer::start(Vec::new(), &Metadata::new(), &tensors).expect("tables");
    writer.write("aaa", &[0; 4]).expect("its turn");
    writer.write("bbb", &[0; 4]).expect("its turn");
    let bytes = patch(&writer.finish().expect("complete"), "aaa", b"bbb", b"aaa");
    assert!(message(&bytes).contains("tensor `aaa` at offset"), "{}", message(&bytes));
}

#[test]
fn the_nesting_depth_of_arrays_is_limited() {
    // Built as raw bytes: dropping an `Array` nested 100,000 deep would overflow the stack.
    let nested = |depth: usize| {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend([0u64, 1, 4].into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(b"deep");
        bytes.extend(9u32.to_le_bytes());
        for level in 1..=depth {
            bytes.extend(if level == depth { 0u32 } else { 9 }.to_le_bytes());
            bytes.extend(1u64.to_le_bytes());
        }
        bytes.push(1);
        bytes
    };
    assert!(walk(&nested(8)).is_ok());
    assert!(message(&nested(9)).ends_with("arrays are nested more than 8 deep"));
    assert!(message(&nested(100_000)).ends_with("arrays are nested more than 8 deep"));
}

#[test]
fn no_changed_byte_causes_a_panic() {
    let bytes = small();
    for at in 0..bytes.len() {
        for new in [0, 1, 7, 9, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = new;
            // Whether the file is still valid does not matter here; parsing must terminate without
            // a panic.
            let _ = walk(&changed);
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let array = prop_oneof![
        prop::collection::vec(any::<u32>(), 0..5).prop_map(Array::U32),
        prop::collection::vec(any::<i8>(), 0..5).prop_map(Array::I8),
        prop::collection::vec(any::<bool>(), 0..5).prop_map(Array::Bool),
        prop::collection::vec(".{0,6}", 0..5).prop_map(Array::String),
        prop::collection::vec(-1e3..1e3f64, 0..5).prop_map(Array::F64),
    ]
    .prop_recursive(3, 20, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Array::Array));
    prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i16>().prop_map(Value::I16),
        any::<u64>().prop_map(Value::U64),
        (-1e3..1e3f32).prop_map(Value::F32),
        ".{0,12}".prop_map(Value::String),
        array.prop_map(Value::Array),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn written_files_are_read_back(pairs in prop::collection::vec((".{0,10}", value()), 0..6), sizes in prop::collection::vec(0u64..70, 0..5)) {
        let metadata: Metadata = pairs.into_iter().collect();
        let tensors: Vec<_> =
            sizes.iter().enumerate().map(|(at, size)| TensorInfo::new(format!("t{at}"), &[*size], Type::I8).expect("a tensor")).collect();
        let mut writer = Writer::start(Vec::new(), &metadata, &tensors).expect("tables");
        for (at, size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            writer.write(&format!("t{at}"), &vec![at as u8; *size as usize]).expect("its turn");
        }
        let file = Gguf::from_bytes(writer.finish().expect("complete")).expect("our own");
        prop_assert!(file.metadata().iter().eq(metadata.iter()));
        for (at, tensor) in file.tensors().enumerate() {
            prop_assert_eq!(tensor.info(), &tensors[at]);
            prop_assert!(tensor.bytes().iter().all(|byte| *byte == at as u8));
        }
    }

    #[test]
    fn noise_after_the_header_causes_no_panic(noise in prop::collection::vec(any::<u8>(), 0..400), tensors in 0u64..4, keys in 0u64..4) {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(keys.to_le_bytes());
        bytes.extend(noise);
        let _ = walk(&bytes);
    }

    #[test]
    fn random_blocks_of_every_type_are_dequantized(noise in prop::collection::vec(any::<u8>(), 512)) {
        for kind in Type::all().filter(|kind| kind.is_quantized()) {
            let bytes = &noise[..noise.len() / kind.block_bytes() * kind.block_bytes()];
            prop_assert_eq!(kind.to_f32(bytes).map(|values| values.len()).ok(), Some(bytes.len() / kind.block_bytes() * kind.block_size()));
            for group in 0..9 {
                let _ = kind.code_group(&bytes[..kind.block_bytes()], group);
            }
        }
    }

    #[test]
    fn several_changed_bytes_cause_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = small();
        for (at, new) in changes {
            let at = at.index(bytes.len());
            bytes[at] = new;
        }
        let _ = walk(&bytes);
    }
}
