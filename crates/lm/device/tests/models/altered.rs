//! Combinations of blocks that no architecture has: a synthetic model is altered after it is
//! described, for the devices and the reference.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Attention, Mixer, NormKind};
use roci_lm::synthetic::architectures;
use roci_lm_device::CacheType;

use crate::{check_altered, devices};

/// Name of a test, the case that it alters, and the alteration.
type Alteration = (&'static str, &'static str, fn(&mut Model));

const ALTERATIONS: &[Alteration] = &[
    ("chunks", "llama", |model| attention(model, |block| block.chunk = Some(11))),
    ("chunks-with-sinks", "gpt-oss", |model| {
        attention(model, |block| {
            block.window = None;
            block.chunk = Some(7);
        });
    }),
    ("norms-after-scaled-rope", "hunyuan-dense", |model| {
        attention(model, |block| Arc::make_mut(&mut block.rope).magnitude = 1.5);
    }),
    ("temperature-with-norms", "qwen3", |model| {
        let file = architectures().into_iter().find(|case| case.name == "mistral3-temperature");
        let case = file.expect("the case exists");
        let other = Model::new(&case.open().expect("the file is valid"), Some(case.context));
        let other = other.expect("the architecture is described");
        let temperature = other.layers[0].attention().and_then(|block| block.temperature);
        assert!(temperature.is_some(), "the case has a temperature");
        attention(model, |block| block.temperature = temperature);
    }),
    ("layer-norms-of-outputs", "gemma3", |model| {
        for layer in &mut model.layers {
            let block = layer.feed_forward.as_mut().expect("the layer has feed-forward");
            let norm = block.post_norm.as_mut().expect("the layer has a post norm");
            norm.kind = NormKind::Layer;
        }
    }),
    ("norms-without-weights", "llama", |model| {
        attention(model, |block| block.norm.as_mut().expect("the block has a norm").weight = None);
    }),
];

fn attention(model: &mut Model, change: impl Fn(&mut Attention)) {
    for layer in &mut model.layers {
        let [Mixer::Attention(block)] = &mut layer.mixers[..] else { panic!("every layer has attention") };
        change(block);
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (device, open) in devices::all() {
        for &(name, case, alter) in ALTERATIONS {
            trials.push(Trial::test(format!("{device}/altered-{name}"), move || match open() {
                Ok(device) => {
                    let case = architectures().into_iter().find(|found| found.name == case);
                    let case = case.expect("the case exists");
                    check_altered(&device, &case, CacheType::F16, None, alter).map_err(Failed::from)
                }
                Err(reason) => devices::missing(device, &reason),
            }));
        }
    }
    trials
}
