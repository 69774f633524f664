//! The reference against llama.cpp's own logits, which `scripts/llm-references` makes.

use std::path::Path;

use roci_gguf::Type;
use roci_llm::architecture::Model;
use roci_llm::reference::{Reference, Text};
use roci_llm::synthetic::{Case, architectures, types};

/// How far logits may be off: the length of the difference by the length of what is wanted.
///
/// llama.cpp computes in f32 where weights are f32, but for GELU, which it looks up in a table of 16-bit floats. Beside other weights it rounds
/// activations: to the weights' own type where that is of 16 bits, else to 8 bits in blocks.
fn tolerance(case: &Case) -> f64 {
    match case.recipe.kind {
        Type::F32 if case.recipe.architecture.starts_with("gemma") => 1e-3,
        Type::F32 => 3e-6,
        Type::F16 => 2e-3,
        Type::BF16 => 1e-2,
        _ => 5e-2,
    }
}

/// How far the logits of a case are off.
fn compare(case: &Case) -> f64 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/llama.cpp/{}.f32", case.name));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let wanted: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let file = case.open().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let model = Model::new(&file, Some(case.context)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let reference = Reference::new(&file, model).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let tokens = case.tokens(wanted.len() / case.recipe.vocabulary);
    assert_eq!(tokens.len() * case.recipe.vocabulary, wanted.len(), "{}", case.name);
    let mut text = Text::default();
    let found = tokens.iter().flat_map(|&token| reference.logits(&mut text, token).expect("the model has the token"));
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
    let length = squares(&mut wanted.iter().copied());
    // A model whose logits are all but nothing would prove nothing.
    assert!(length > wanted.len() as f64 / 2.0, "{}", case.name);
    (squares(&mut found.zip(&wanted).map(|(found, wanted)| found - wanted)) / length).sqrt()
}

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let distance = compare(case);
        if distance.is_nan() || distance > tolerance(case) {
            wrong.push(format!("{}: {distance:.1e}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_architecture_computes_what_llama_cpp_does() {
    check(&architectures());
}

#[test]
fn every_type_of_weights_computes_what_llama_cpp_does() {
    check(&types());
}

#[test]
fn every_case_is_known_and_every_file_has_its_case() {
    let names: Vec<String> =
        architectures().into_iter().chain(types()).map(|case| format!("{}.f32", case.name)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/llama.cpp");
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let name = entry.expect("it can be listed").file_name().into_string().expect("it has a plain name");
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}
