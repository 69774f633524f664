//! Kernels that are loaded before the first step needs them.

use std::cell::RefCell;
use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, Wanted};
use roci_hal::Device;
use roci_llm::architecture::Model;
use roci_llm::synthetic::architectures;
use roci_llm_device::{DeviceModel, Options};

use crate::devices::{self, Open};

pub(crate) fn trials() -> Vec<Trial> {
    let ways: [(&str, Open, Option<bool>); 3] = [
        ("cpu/kernels-ahead", || devices::open("cpu"), None),
        ("vulkan/kernels-ahead", || devices::open("vulkan:0"), None),
        ("vulkan/baked-kernels-ahead", || devices::open("vulkan:0"), Some(true)),
    ];
    let trial = |(name, open, bake): (&'static str, Open, Option<bool>)| {
        Trial::test(name, move || match open() {
            Ok(device) => check(device, bake).map_err(Into::into),
            Err(reason) => devices::missing(name.split('/').next().unwrap_or(name), &reason),
        })
    };
    ways.into_iter().map(trial).collect()
}

/// All are counted one by one, and none is missing afterwards or after a token.
fn check(device: Device, bake: Option<bool>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let case = architectures().remove(0);
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options { kept: Some(64), batch: Some(32), bake, ..Options::default() };
    let mut found = DeviceModel::load(file, model, &[device], &options, &|_, _| ()).map_err(|error| text(&error))?;
    let told = |found: &mut DeviceModel| {
        let told = RefCell::new(Vec::new());
        let loaded = found.load_kernels(&|done, total| told.borrow_mut().push((done, total)));
        loaded.map(|()| told.into_inner()).map_err(|error| error.to_string())
    };
    let first = told(&mut found)?;
    let total = first.len() - 1;
    if total == 0 || !first.iter().copied().eq((0..=total).map(|done| (done, total))) {
        return Err(format!("told {first:?}"));
    }
    let pages = [0, 1];
    let chunk = Chunk { tokens: &case.tokens(1), start: 0, pages: &pages, wanted: Wanted::Last };
    found.evaluate(&[chunk]).map_err(|error| text(&error))?;
    let again = told(&mut found)?;
    if again == [(0, 0)] { Ok(()) } else { Err(format!("told {again:?} the second time")) }
}
