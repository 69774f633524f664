//! Compares the reference with logits of llama.cpp, which `scripts/llm-references` records.

use std::path::Path;

use roci_gguf::{Gguf, Type};
use roci_lm::adapter::Adapter;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Activation, PooledActivation};
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{AdaptedCase, Case, adapted, architectures, embedders, hybrids, types};

/// Tolerance of logits: norm of the error relative to the norm of the expected logits.
///
/// With f32 weights llama.cpp computes in f32, except for GELU, a table of 16-bit floats. With
/// other weights it rounds activations: to the type of 16-bit weights, otherwise to blocks of 8-bit
/// integers.
fn tolerance(case: &Case, model: &Model) -> f64 {
    let head = model.pooled.iter().flat_map(|pooled| &pooled.layers);
    let blocks = model.layers.iter().filter_map(|layer| layer.feed_forward.as_ref());
    let gelu = blocks.into_iter().any(|block| block.activation == Activation::Gelu)
        || head.into_iter().any(|layer| layer.activation == PooledActivation::Gelu);
    match case.recipe.kind {
        // 25 layers with several streams amplify the error: it is 4e-4 if GELU is rounded alike.
        Type::F32 if model.streams.is_some() => 5e-2,
        // A second GELU in each layer.
        Type::F32 if model.per_layer.is_some() => 2e-3,
        Type::F32 if gelu => 1e-3,
        Type::F32 => 3e-6,
        Type::F16 => 2e-3,
        Type::BF16 => 1e-2,
        _ => 5e-2,
    }
}

/// The recorded results of a case.
fn recorded(case: &Case) -> Vec<f32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/llama.cpp/{}.f32", case.name));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The relative error of the vectors of the texts of a case, and its tolerance.
fn compare_texts(case: &Case) -> (f64, f64) {
    let expected = recorded(case);
    let file = case.open().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let model = Model::new(&file, Some(case.context)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let tolerance = tolerance(case, &model);
    let reference = Reference::new(&file, model).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let tokens = case.tokens(case.recorded);
    let mut found = Vec::new();
    for text in [&tokens[..], &tokens[..tokens.len() / 2]] {
        match reference.pooled(text).expect("the tokens are in the vocabulary") {
            Some(vector) => found.extend(vector),
            None => found.extend(reference.hidden_states(text).expect("the tokens are in the vocabulary").concat()),
        }
    }
    assert_eq!(found.len(), expected.len(), "{}", case.name);
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
    let length = squares(&mut expected.iter().copied());
    assert!(length > 0.0, "{}", case.name);
    let distance = squares(&mut found.iter().zip(&expected).map(|(found, expected)| found - expected));
    ((distance / length).sqrt(), tolerance)
}

/// The relative error of the logits of a case, and its tolerance.
fn compare(case: &Case) -> (f64, f64) {
    compare_with(case, |_, _, _| ())
}

fn compare_with(case: &Case, change: impl FnOnce(&Gguf, &Model, &mut Reference)) -> (f64, f64) {
    let expected = recorded(case);
    let file = case.open().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let model = Model::new(&file, Some(case.context)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let tolerance = tolerance(case, &model);
    let described = model.clone();
    let mut reference = Reference::new(&file, model).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    change(&file, &described, &mut reference);
    let tokens = case.tokens(case.recorded);
    assert_eq!(tokens.len() * case.recipe.vocabulary, expected.len(), "{}", case.name);
    let mut text = SequenceState::default();
    let found =
        tokens.iter().flat_map(|&token| reference.logits(&mut text, token).expect("the token is in the vocabulary"));
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
    let length = squares(&mut expected.iter().copied());
    // With logits close to zero the test would be meaningless.
    assert!(length > expected.len() as f64 / 2.0, "{}", case.name);
    let distance = (squares(&mut found.zip(&expected).map(|(found, expected)| found - expected)) / length).sqrt();
    (distance, tolerance)
}

fn check(cases: &[Case], compare: impl Fn(&Case) -> (f64, f64)) {
    let mut wrong = Vec::new();
    for case in cases {
        let (distance, tolerance) = compare(case);
        if distance.is_nan() || distance > tolerance {
            wrong.push(format!("{}: {distance:.1e}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_architecture_matches_llama_cpp() {
    check(&architectures(), compare);
}

#[test]
fn every_hybrid_matches_llama_cpp() {
    check(&hybrids(), compare);
}

#[test]
fn every_weight_type_matches_llama_cpp() {
    check(&types(), compare);
}

/// The relative error of the logits of a case with adapters, and its tolerance.
fn compare_adapted(case: &AdaptedCase) -> (f64, f64) {
    let base = Case { name: case.name.clone(), ..case.base.clone() };
    compare_with(&base, |file, model, reference| {
        for (recipe, scale) in &case.adapters {
            let bytes = recipe.bytes(file, model).expect("the recipe is valid");
            let adapter = Gguf::from_bytes(bytes).expect("the file is valid");
            let adapter = Adapter::new(adapter, file, model).expect("the adapter fits");
            reference.add_adapter(&adapter, *scale).expect("the adapter is complete");
        }
    })
}

#[test]
fn adapters_match_llama_cpp() {
    let mut wrong = Vec::new();
    for case in adapted() {
        let (distance, tolerance) = compare_adapted(&case);
        // llama.cpp rounds activations for adapters in f16 to that type.
        let half = case.adapters.iter().any(|(recipe, _)| recipe.kind == Type::F16);
        let tolerance = if half { tolerance.max(2e-3) } else { tolerance };
        if distance.is_nan() || distance > tolerance {
            wrong.push(format!("{}: {distance:.1e}", case.name));
        }
        let (without, _) = compare(&Case { name: case.name.clone(), ..case.base.clone() });
        assert!(without > 0.1, "{}: the adapters change almost nothing: {without:.1e}", case.name);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn embeddings_and_scores_match_llama_cpp() {
    check(&embedders(), compare_texts);
}

#[test]
fn every_recorded_file_has_a_case() {
    let names: Vec<String> = architectures()
        .into_iter()
        .chain(hybrids())
        .chain(types())
        .chain(embedders())
        .map(|case| case.name)
        .chain(adapted().into_iter().map(|case| case.name))
        .map(|name| format!("{name}.f32"))
        .collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/llama.cpp");
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let name = entry.expect("the entry is readable").file_name().into_string().expect("the name is UTF-8");
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}
