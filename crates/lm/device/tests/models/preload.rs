//! `load_kernels` loads all kernels that decoding needs.

use std::cell::RefCell;
use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, architectures, hybrids};
use roci_lm_device::{DeviceModel, Options};

use crate::devices::{self, Open};

pub(crate) fn trials() -> Vec<Trial> {
    let cases: [(&str, Open, Option<bool>, bool); 5] = [
        ("cpu/preload-kernels", || devices::open("cpu"), None, false),
        ("vulkan/preload-kernels", || devices::open("vulkan:0"), None, false),
        ("vulkan/specialized-preload-kernels", || devices::open("vulkan:0"), Some(true), false),
        ("cpu/preload-kernels-hybrid", || devices::open("cpu"), None, true),
        ("vulkan/specialized-preload-kernels-hybrid", || devices::open("vulkan:0"), Some(true), true),
    ];
    let trial = |(name, open, specialize, hybrid): (&'static str, Open, Option<bool>, bool)| {
        let case = if hybrid { hybrids().remove(0) } else { architectures().remove(0) };
        Trial::test(name, move || match open() {
            Ok(device) => check(device, &case, specialize).map_err(Into::into),
            Err(reason) => devices::missing(name.split('/').next().unwrap_or(name), &reason),
        })
    };
    cases.into_iter().map(trial).collect()
}

/// Progress counts each kernel, and none is missing afterwards.
fn check(device: Device, case: &Case, specialize: Option<bool>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(64), max_batch_tokens: Some(32), specialize, ..Options::default() };
    let mut found = DeviceModel::load(file, model, &[device], &options, &|_, _| ()).map_err(|error| text(&error))?;
    let load = |found: &mut DeviceModel| {
        let progress = RefCell::new(Vec::new());
        let loaded = found.load_kernels(&|done, total| progress.borrow_mut().push((done, total)));
        loaded.map(|()| progress.into_inner()).map_err(|error| error.to_string())
    };
    let first = load(&mut found)?;
    let total = first.len() - 1;
    if total == 0 || !first.iter().copied().eq((0..=total).map(|done| (done, total))) {
        return Err(format!("progress was {first:?}"));
    }
    let pages = [0, 1];
    let state = StateSlots::of_only_sequence(found.limits(), 0);
    let chunk = Chunk { tokens: &case.tokens(1), start: 0, pages: &pages, state, output: OutputKind::LastLogits };
    found.evaluate(&[chunk]).map_err(|error| text(&error))?;
    let again = load(&mut found)?;
    if again == [(0, 0)] { Ok(()) } else { Err(format!("progress was {again:?} the second time")) }
}
