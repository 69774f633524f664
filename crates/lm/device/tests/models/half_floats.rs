//! F32 and BF16 weights on devices with matrix units: which kernels multiply them.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_gguf::Type;
use roci_hal::Device;
use roci_hal::profile::Profile;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{DeviceModel, Options};
use roci_testkit::skipped;

use crate::devices;

pub(crate) fn trials() -> Vec<Trial> {
    let devices = devices::all().into_iter().filter(|(name, _)| ["vulkan", "emu-gfx1151"].contains(name));
    let trial = |(name, open): (&'static str, devices::Open)| {
        Trial::test(format!("{name}/half-floats"), move || match open() {
            Ok(device) => check(&device).map_err(Into::into),
            Err(reason) => devices::missing(name, &reason),
        })
    };
    devices.map(trial).collect()
}

/// Prompts run on matrix units, except routers and the F32 weights of exact models.
fn check(device: &Device) -> Result<(), String> {
    if !device.info().capabilities().matrix {
        skipped("half_floats::check", "the device has no matrix units");
        return Ok(());
    }
    for (kind, exact, on_matrix_units) in
        [(Type::F32, false, true), (Type::BF16, false, true), (Type::BF16, true, true), (Type::F32, true, false)]
    {
        for experts in [None, Some((4, 2))] {
            let kernels = kernels(device, kind, experts, exact)?;
            let has = |start: &str| kernels.iter().any(|name| name.starts_with(start));
            let found = [has("lm_matmul_coopmat"), has("lm_matmul_f32") || has("lm_matmul_bf16")];
            // Routers are F32 in every file.
            let expected = [on_matrix_units, !on_matrix_units || experts.is_some()];
            if found != expected {
                return Err(format!("{kind}, experts {experts:?}, exact {exact}: {kernels:?}"));
            }
        }
    }
    Ok(())
}

/// The kernels of a prompt.
fn kernels(device: &Device, kind: Type, experts: Option<(usize, usize)>, exact: bool) -> Result<Vec<String>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let name = if experts.is_some() { "qwen3moe" } else { "llama" };
    let case = architectures().into_iter().find(|case| case.name == name).ok_or("the architecture has no model")?;
    let case = Case { recipe: Recipe { kind, experts, ..case.recipe }, ..case };
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(128), exact, ..Options::default() };
    let mut found = DeviceModel::load(file, model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let profile = Profile::new();
    found.profile(&profile);
    let pages: Vec<u32> = (0..4).collect();
    let tokens = case.tokens(40);
    let chunk = Chunk { tokens: &tokens, start: 0, pages: &pages, state: None, output: OutputKind::LastLogits };
    found.evaluate(&[chunk]).map_err(|error| text(&error))?;
    Ok(profile.take().into_iter().map(|record| record.name.to_string()).collect())
}
