//! The CPU's in-place weights give the same logits as packed weights.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::{Gguf, Type};
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{DeviceModel, Options};

use crate::{computed, devices, hybrid};

/// A trial per type that is used in place.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let types = [Type::Q4_0, Type::IQ4_NL, Type::Q8_0, Type::IQ2_XXS, Type::NVFP4].into_iter().map(|kind| {
        // Rows are whole blocks of all these types.
        let recipe =
            Recipe { embedding: 256, head: 64, feed_forward: 256, vocabulary: 256, kind, ..Default::default() };
        let case = Case { recipe, ..architectures().remove(0) };
        Trial::test(format!("cpu/in-place-{kind}"), move || check(&case).map_err(Into::into))
    });
    // Some matrices of these are interleaved in one tensor.
    let recurrent = |case: &Case| case.recipe.hybrid.is_some() || case.recipe.recurrent.is_some();
    let hybrids = computed().filter(recurrent).map(|case| {
        let case = hybrid::quantized(case, Type::Q4_0);
        Trial::test(format!("cpu/in-place-{}", case.name), move || check(&case).map_err(Into::into))
    });
    types.chain(hybrids)
}

fn check(case: &Case) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let bytes = case.bytes().map_err(|error| text(&error))?;
    let path = std::env::temp_dir().join(format!("roci-{}-{}.gguf", case.recipe.kind, std::process::id()));
    std::fs::write(&path, &bytes).map_err(|error| text(&error))?;
    let from_file = Gguf::open(&path).map_err(|error| text(&error));
    std::fs::remove_file(&path).map_err(|error| text(&error))?;
    let from_memory = Gguf::from_bytes(bytes).map_err(|error| text(&error))?;
    let tokens = case.tokens(48);
    let logits = |file: Gguf| -> Result<Vec<Vec<f32>>, String> {
        let file = Arc::new(file);
        let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
        let device = devices::open("cpu")?;
        let options = Options { cache_tokens: Some(256), ..Options::default() };
        let mut found =
            DeviceModel::load(file, model, &[device], &options, &|_, _| ()).map_err(|error| text(&error))?;
        let pages: Vec<u32> = (0..found.limits().pages as u32).collect();
        let mut rows = Vec::new();
        for range in [0..40, 40..43, 43..44, 44..45] {
            let start = range.start;
            let state = StateSlots::of_only_sequence(found.limits(), start);
            let chunk = Chunk { tokens: &tokens[range], start, pages: &pages, state, output: OutputKind::AllLogits };
            let outputs = found.evaluate(&[chunk]).map_err(|error| text(&error))?;
            rows.extend(outputs.into_iter().flat_map(|output| output.rows));
        }
        Ok(rows)
    };
    if logits(from_file?)? == logits(from_memory)? { Ok(()) } else { Err("the logits are not bit-identical".into()) }
}
