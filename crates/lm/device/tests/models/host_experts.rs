//! Experts of a GPU's layers that the CPU computes.

use libtest_mimic::Trial;
use roci_base::Hint as _;
use roci_gguf::{Gguf, Type};
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{FeedForward, Layer};
use roci_lm::synthetic::{Case, architectures};
use roci_lm_device::{Options, estimate};

use crate::{devices, in_place, split_attention};

/// Architectures with experts: plain, with a shared expert, with biases and another activation, and
/// with weighted inputs.
const ARCHITECTURES: [&str; 4] = ["qwen3moe", "glm4moe", "gpt-oss", "llama4"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all().into_iter().filter(|(name, _)| *name != "cpu") {
        for case in cases() {
            for what in ["all", "first"] {
                // One device tests a model with layers of both kinds.
                if what == "first" && name != "vulkan" {
                    continue;
                }
                let case = case.clone();
                let trial = format!("{name}/host-experts-{}-{}-{what}", case.name, case.recipe.kind);
                trials.push(Trial::test(trial, move || match open() {
                    Ok(device) => {
                        // In some architectures, the first layers are dense.
                        let first = || model(&case).1.layers.iter().position(has_experts).map_or(0, |layer| layer + 1);
                        check(&device, &case, if what == "all" { usize::MAX } else { first() }).map_err(Into::into)
                    }
                    Err(reason) => devices::missing(name, &reason),
                }));
            }
        }
    }
    trials.push(Trial::test("vulkan/host-experts-without-cpu", || match devices::all()[1].1() {
        Ok(device) => without_cpu(&device).map_err(Into::into),
        Err(reason) => devices::missing("vulkan", &reason),
    }));
    trials
}

/// A case of each architecture, and one with quantized weights.
fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        architectures().into_iter().filter(|case| ARCHITECTURES.contains(&case.name.as_str())).collect();
    cases.push(in_place::with_experts(Type::Q8_0));
    cases
}

fn has_experts(layer: &Layer) -> bool {
    layer.feed_forward.as_ref().is_some_and(FeedForward::has_experts)
}

fn model(case: &Case) -> (Gguf, Model) {
    let file = case.open().expect("the synthetic file is valid");
    let model = Model::new(&file, Some(case.context)).expect("the architecture is described");
    (file, model)
}

fn check(device: &Device, case: &Case, layers: usize) -> Result<(), String> {
    let both = [device.clone(), devices::open("cpu")?];
    let options = Options { cpu_expert_layers: layers, max_batch_tokens: Some(24), ..Options::default() };
    let found = split_attention::compare(&both, case, 40, &options)?;
    let shares = &found.estimate().shares;
    let [gpu, cpu] = &shares[..] else { return Err(format!("{} devices hold something", shares.len())) };
    if gpu.experts != 0 || cpu.experts == 0 || !cpu.layers.is_empty() {
        return Err(format!("the experts are not on the CPU: {shares:?}"));
    }
    // The more experts are on the CPU, the less is on the GPU.
    let (file, model) = model(case);
    let whole =
        estimate(&file, &model, &[device.info()], &options_without(&options)).map_err(|error| error.to_string())?;
    if gpu.weights < whole.shares[0].weights { Ok(()) } else { Err("the GPU holds the experts too".to_owned()) }
}

fn options_without(options: &Options) -> Options {
    Options { cpu_expert_layers: 0, ..options.clone() }
}

/// The CPU must be among the devices if it computes experts.
fn without_cpu(device: &Device) -> Result<(), String> {
    let case = &cases()[0];
    let (file, model) = model(case);
    let options = Options { cpu_expert_layers: 1, ..Options::default() };
    match estimate(&file, &model, &[device.info()], &options) {
        Err(error) if error.hint().is_some_and(|hint| hint.contains("--device cpu")) => Ok(()),
        Err(error) => Err(format!("another error: {error}")),
        Ok(_) => Err("it was accepted".to_owned()),
    }
}
