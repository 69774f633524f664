//! LoRA adapters: two sequences with different scales in the same steps, compared with the reference
//! with the adapters added to its weights.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_cpu::CpuDriver;
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::Gguf;
use roci_hal::{Device, DeviceInfo};
use roci_lm::adapter::Adapter;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{AdaptedCase, adapted};
use roci_lm_device::{CacheType, DeviceModel, ModelAdapter, Options, estimate};
use roci_testkit::tolerance::NormTolerance;

use crate::{compare, devices, limited, tolerance};

/// Tokens per sequence.
const TOKENS: usize = 40;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (device, open) in devices::all() {
        for case in adapted() {
            trials.push(Trial::test(format!("{device}/{}", case.name), move || match open() {
                Ok(device) => check(&device, &case, false).map_err(Failed::from),
                Err(reason) => devices::missing(device, &reason),
            }));
        }
    }
    trials.push(Trial::test("cpu/adapted-on-two-devices", || {
        let case = adapted().swap_remove(0);
        check(&devices::open("cpu")?, &case, true).map_err(Failed::from)
    }));
    trials
}

fn text(error: &dyn std::fmt::Display) -> String {
    error.to_string()
}

/// `split` moves the first layer to another CPU device, with too little memory for the next.
fn check(device: &Device, case: &AdaptedCase, split: bool) -> Result<(), String> {
    let file = Arc::new(case.base.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.base.context)).map_err(|error| text(&error))?;
    let adapters: Vec<ModelAdapter> = case
        .adapters
        .iter()
        .map(|(recipe, scale)| {
            let bytes = recipe.bytes(&file, &model).map_err(|error| text(&error))?;
            let adapter = Gguf::from_bytes(bytes).map_err(|error| text(&error))?;
            let adapter = Adapter::new(adapter, &file, &model).map_err(|error| text(&error))?;
            Ok(ModelAdapter { name: case.name.clone(), adapter: Arc::new(adapter), scale: *scale })
        })
        .collect::<Result<_, String>>()?;
    let defaults: Arc<[f32]> = adapters.iter().map(|one| one.scale).collect();
    // The second sequence has other scales, among them zero.
    let others: Arc<[f32]> = (0..adapters.len()).map(|index| [0.0, 1.25][index % 2]).collect();
    let settings = [defaults, others];
    let tokens = case.base.tokens(2 * TOKENS);
    let (one, other) = tokens.split_at(TOKENS);
    let mut expected = Vec::new();
    for (tokens, scales) in [one, other].iter().zip(&settings) {
        let mut reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
        for (adapter, scale) in adapters.iter().zip(scales.iter()) {
            reference.add_adapter(&adapter.adapter, *scale).map_err(|error| text(&error))?;
        }
        let mut state = SequenceState::default();
        let rows = tokens.iter().map(|token| reference.logits(&mut state, *token).map_err(|error| text(&error)));
        expected.push(rows.collect::<Result<Vec<_>, _>>()?);
    }
    let options = Options { cache_tokens: Some(512), page_size: 16, adapters: adapters.clone(), ..Options::default() };
    let mut devices = vec![device.clone()];
    if split {
        let estimate = estimate(&file, &model, &[device.info()], &options).map_err(|error| text(&error))?;
        let memory = estimate.shares[0].total() - 64;
        let change = move |info: &mut DeviceInfo| info.physical[0].memory = memory * 16 / 15;
        devices.insert(0, limited::open(CpuDriver::new(), "cpu", change)?);
    }
    let found = DeviceModel::load(Arc::clone(&file), model, &devices, &options, &|_, _| ());
    let mut found = found.map_err(|error| text(&error))?;
    let used = found.estimate().shares.iter().filter(|share| !share.layers.is_empty()).count();
    assert_eq!(used, devices.len(), "the layers are on all devices");
    if found.adapters().len() != adapters.len() {
        return Err("the model lost an adapter".to_owned());
    }
    let recurrent = found.limits().state_slots > 0;
    let pages = [[5, 2, 9, 11], [4, 8, 1, 3]];
    let mut rows: [Vec<Vec<f32>>; 2] = Default::default();
    // A prompt, a step of both prompts, a small one, decode steps of both, and of each alone.
    let steps = [(0..18, 0..0), (18..25, 0..26), (25..29, 26..29)].into_iter();
    let steps = steps.chain((29..32).map(|at| (at..at + 1, at..at + 1)));
    for (first, second) in steps.chain([(32..33, 0..0), (33..34, 0..0), (0..0, 32..33)]) {
        let ranges = [first, second];
        let used = || (0..2).filter(|sequence| !ranges[*sequence].is_empty());
        let chunk = |sequence: usize| Chunk {
            tokens: &[one, other][sequence][ranges[sequence].clone()],
            start: ranges[sequence].start,
            pages: &pages[sequence],
            state: recurrent.then(|| StateSlots {
                read: (ranges[sequence].start > 0).then_some(sequence as u32),
                write: sequence as u32,
            }),
            output: OutputKind::AllLogits,
        };
        let chunks: Vec<Chunk<'_>> = used().map(chunk).collect();
        // The scales of the first sequence are the defaults.
        if used().any(|sequence| sequence == 1) {
            found.set_adapter_scales(&used().map(|sequence| Arc::clone(&settings[sequence])).collect::<Vec<_>>());
        }
        let outputs = found.evaluate(&chunks).map_err(|error| text(&error))?;
        for (sequence, output) in used().zip(outputs) {
            rows[sequence].extend(output.rows);
        }
    }
    for (sequence, (rows, expected)) in rows.iter().zip(&expected).enumerate() {
        for (at, (row, expected)) in rows.iter().zip(expected).enumerate() {
            // Adapters make keys and values larger, which are rounded to 16 bits. On matrix units A is f16.
            let allowed = match tolerance(&case.base, CacheType::F16, device, at >= [25, 26][sequence]) {
                NormTolerance::Half | NormTolerance::HalfScales | NormTolerance::HalfProducts
                    if device.info().capabilities().matrix =>
                {
                    NormTolerance::Bfloat
                }
                NormTolerance::Half => NormTolerance::HalfScales,
                other => other,
            };
            let what = format!("token {at} of sequence {sequence}");
            compare(row, expected, allowed, &what)?;
        }
    }
    Ok(())
}
