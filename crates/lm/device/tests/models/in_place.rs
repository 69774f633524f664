//! The CPU's in-place weights give the same logits as packed weights.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use roci_cpu::CpuDriver;
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::{Gguf, Type};
use roci_hal::Device;
use roci_kernels::native::lm_cpu;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{DeviceModel, Estimate, Options};

use crate::{computed, devices, hybrid, limited};

/// One trial per type that is used in place, for dense models and for experts.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let types = [Type::Q4_0, Type::IQ4_NL, Type::Q8_0, Type::IQ2_XXS, Type::NVFP4].into_iter().map(|kind| {
        // Rows are whole blocks of all these types.
        let recipe =
            Recipe { embedding: 256, head: 64, feed_forward: 256, vocabulary: 256, kind, ..Default::default() };
        let case = Case { recipe, ..architectures().remove(0) };
        Trial::test(format!("cpu/in-place-{kind}"), move || check(&case).map_err(Into::into))
    });
    // These models have interleaved matrices in one tensor.
    let recurrent = |case: &Case| case.recipe.hybrid.is_some() || case.recipe.recurrent.is_some();
    let hybrids = computed().filter(recurrent).map(|case| {
        let case = hybrid::quantized(case, Type::Q4_0);
        Trial::test(format!("cpu/in-place-{}", case.name), move || check(&case).map_err(Into::into))
    });
    let experts = [Type::Q4_0, Type::MXFP4, Type::IQ2_XXS].into_iter().map(|kind| {
        let case = with_experts(kind);
        Trial::test(format!("cpu/in-place-experts-{kind}"), move || check(&case).map_err(Into::into))
    });
    let ahead = Trial::test("cpu/read-ahead", || read_ahead().map_err(Into::into));
    let large = [Type::Q4_K, Type::Q6_K, Type::Q4_0].into_iter().map(|kind| {
        Trial::test(format!("cpu/larger-than-memory-{kind}"), move || larger_than_memory(kind).map_err(Into::into))
    });
    types.chain(hybrids).chain(experts).chain(large).chain([ahead])
}

/// A model with experts of a type, with rows of whole blocks.
pub(crate) fn with_experts(kind: Type) -> Case {
    let case = architectures().into_iter().find(|case| case.name == "qwen3moe").expect("an architecture with experts");
    let recipe = Recipe { embedding: 256, head: 64, feed_forward: 256, kind, ..case.recipe.clone() };
    Case { recipe, ..case }
}

fn check(case: &Case) -> Result<(), String> {
    let (from_file, bytes) = on_disk(case)?;
    let from_memory = Gguf::from_bytes(bytes).map_err(|error| error.to_string())?;
    let device = || devices::open("cpu");
    let [in_place, packed] = [logits(case, from_file, device()?)?.0, logits(case, from_memory, device()?)?.0];
    if in_place == packed { Ok(()) } else { Err("the logits are not bit-identical".into()) }
}

/// Experts of a model that exceeds the memory stay in the file, whatever their type, and give the
/// same logits.
fn larger_than_memory(kind: Type) -> Result<(), String> {
    let case = with_experts(kind);
    let (expected, fits) = logits(&case, on_disk(&case)?.0, devices::open("cpu")?)?;
    let total = fits.shares[0].total();
    let memory = total - fits.shares[0].weights / 2;
    let small = limited::open(CpuDriver::new(), "cpu", move |info| info.physical[0].memory = memory * 16 / 15)?;
    let (found, estimate) = logits(&case, on_disk(&case)?.0, small)?;
    // A token reads only the experts that it chooses, 3 of 8.
    let (mapped, read) = (estimate.shares[0].mapped, estimate.read_per_token);
    if fits.read_per_token != 0 || read == 0 || read >= mapped {
        return Err(format!("a token reads {read} of {mapped} bytes"));
    }
    if fits.exceeds_memory || !estimate.exceeds_memory || estimate.shares[0].mapped == 0 {
        return Err(format!("{estimate:?}, and with memory for all of it: {fits:?}"));
    }
    if found == expected { Ok(()) } else { Err("the logits are not bit-identical".into()) }
}

/// The weights of the next layer are requested while a layer is computed, if the model exceeds the
/// memory.
fn read_ahead() -> Result<(), String> {
    let recipe = Recipe { embedding: 256, head: 64, feed_forward: 512, kind: Type::Q4_0, ..Default::default() };
    let case = Case { recipe: Recipe { tied: false, layers: 3, ..recipe }, ..architectures().remove(0) };
    let requests = |memory: Option<u64>| -> Result<_, String> {
        let change = move |info: &mut roci_hal::DeviceInfo| {
            if let Some(memory) = memory {
                info.physical[0].memory = memory * 16 / 15;
            }
        };
        let (device, dispatches) = limited::open_recorded(CpuDriver::new(), "cpu", change)?;
        let before = lm_cpu::requested_bytes();
        let (rows, estimate) = logits(&case, on_disk(&case)?.0, device)?;
        let dispatches = dispatches.take().iter().filter(|name| *name == "lm_read_ahead").count();
        Ok((rows, estimate, dispatches, before))
    };
    let (expected, fits, none, _) = requests(None)?;
    let share = &fits.shares[0];
    let (rows, estimate, some, before) = requests(Some(share.total() - share.weights / 2))?;
    if none != 0 || fits.exceeds_memory || !estimate.exceeds_memory || rows != expected {
        return Err(format!("{none} requests for {fits:?}, {some} for {estimate:?}"));
    }
    // Each recording of a step requests the matrices of all layers and the output.
    let matrices = 7 * case.recipe.layers + 1;
    // Q, K and V are one product of three matrices; steps of the same shape share a recording.
    if some == 0 || some % matrices != 0 {
        return Err(format!("{some} requests for {matrices} matrices"));
    }
    // Another thread makes the requests. Some are dropped if the disk is slower than four steps.
    for _ in 0..1000 {
        if lm_cpu::requested_bytes() - before >= estimate.read_per_token {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let found = lm_cpu::requested_bytes() - before;
    Err(format!("{found} bytes are requested, and a token reads {}", estimate.read_per_token))
}

/// The mapped file of a case, and its bytes.
fn on_disk(case: &Case) -> Result<(Gguf, Vec<u8>), String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let bytes = case.bytes().map_err(|error| text(&error))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("roci-in-place-{}-{number}.gguf", std::process::id()));
    std::fs::write(&path, &bytes).map_err(|error| text(&error))?;
    let file = Gguf::open(&path).map_err(|error| text(&error));
    std::fs::remove_file(&path).map_err(|error| text(&error))?;
    Ok((file?, bytes))
}

/// Logits of a prompt and of single tokens.
fn logits(case: &Case, file: Gguf, device: Device) -> Result<(Vec<Vec<f32>>, Estimate), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let tokens = case.tokens(48);
    let file = Arc::new(file);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(256), ..Options::default() };
    let mut found = DeviceModel::load(file, model, &[device], &options, &|_, _| ()).map_err(|error| text(&error))?;
    let pages: Vec<u32> = (0..found.limits().pages as u32).collect();
    let mut rows = Vec::new();
    for range in [0..40, 40..43, 43..44, 44..45] {
        let start = range.start;
        let state = StateSlots::of_only_sequence(found.limits(), start);
        let chunk = Chunk { tokens: &tokens[range], start, pages: &pages, state, output: OutputKind::AllLogits };
        let outputs = found.evaluate(&[chunk]).map_err(|error| text(&error))?;
        rows.extend(outputs.into_iter().flat_map(|output| output.rows));
    }
    Ok((rows, found.estimate().clone()))
}
