//! Compares the reference with logits of llama.cpp, which `scripts/llm-references` records.

use std::path::Path;

use roci_gguf::Type;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, architectures, hybrids, types};
use roci_testkit::tolerance::{NormTolerance, distance};

/// Tolerance of the logits. With f32 weights llama.cpp computes in f32, except for GELU, a table of
/// 16-bit floats. With other weights it rounds activations: to the type of 16-bit weights,
/// otherwise to blocks of 8-bit integers.
fn tolerance(case: &Case) -> NormTolerance {
    match case.recipe.kind {
        Type::F32 if case.recipe.architecture.starts_with("gemma") => NormTolerance::HalfTable,
        Type::F32 => NormTolerance::Reordered,
        Type::F16 => NormTolerance::Half,
        Type::BF16 => NormTolerance::Bfloat,
        _ => NormTolerance::Activations8,
    }
}

/// The distance of the logits of a case from llama.cpp's.
fn compare(case: &Case) -> f64 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/llama.cpp/{}.f32", case.name));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let expected: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let file = case.open().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let model = Model::new(&file, Some(case.context)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let reference = Reference::new(&file, model).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let tokens = case.tokens(case.recorded);
    assert_eq!(tokens.len() * case.recipe.vocabulary, expected.len(), "{}", case.name);
    let mut text = SequenceState::default();
    let logits = |&token| reference.logits(&mut text, token).expect("the token is in the vocabulary");
    let found: Vec<f32> = tokens.iter().flat_map(logits).collect();
    // With logits close to zero the test would be meaningless.
    let squares: f32 = expected.iter().map(|value| value * value).sum();
    assert!(squares > expected.len() as f32 / 2.0, "{}", case.name);
    distance(&found, &expected)
}

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let distance = compare(case);
        if !tolerance(case).allows(distance) {
            wrong.push(format!("{}: {distance:.1e}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_architecture_matches_llama_cpp() {
    check(&architectures());
}

#[test]
fn every_hybrid_matches_llama_cpp() {
    check(&hybrids());
}

#[test]
fn every_weight_type_matches_llama_cpp() {
    check(&types());
}

#[test]
fn every_recorded_file_has_a_case() {
    let names: Vec<String> =
        architectures().into_iter().chain(hybrids()).chain(types()).map(|case| format!("{}.f32", case.name)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/llama.cpp");
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let name = entry.expect("the entry is readable").file_name().into_string().expect("the name is UTF-8");
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}
