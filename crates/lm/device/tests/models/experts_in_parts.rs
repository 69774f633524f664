//! Experts of more tokens than fit one binding, computed in parts, and heads with latents, computed
//! in tiles.

use libtest_mimic::{Failed, Trial};
use roci_cpu::CpuDriver;
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::synthetic::{Case, LatentRecipe, Recipe};
use roci_lm_device::Options;
use roci_testkit::skipped;
use roci_vulkan::VulkanDriver;

use crate::limited::{self, Dispatches};
use crate::{devices, expert_prompts, latent, split_attention};

/// Largest binding in bytes: less than the rows of all experts of the longest prompt.
const MAX_BINDING: u64 = 100_000;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for case in expert_prompts::cases() {
        let name = format!("{}-{}", case.name, case.recipe.kind);
        let own = case.clone();
        trials.push(Trial::test(format!("cpu/expert-parts-{name}"), move || in_parts(&own, cpu).map_err(Into::into)));
        // The other models differ in their weights, which parts do not change.
        if case.recipe.kind == Type::F32 || case.name == "llama4" {
            trials.push(vulkan(format!("expert-parts-{name}"), move || in_parts(&case, open_vulkan)));
        }
    }
    trials.push(vulkan("latent-tiles".to_owned(), heads_in_tiles));
    trials.push(Trial::test("cpu/latent-many-heads", || many_heads("cpu").map_err(Failed::from)));
    trials.push(vulkan("latent-many-heads".to_owned(), || many_heads("vulkan:0")));
    trials
}

fn vulkan(name: String, run: impl Fn() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(format!("vulkan/{name}"), move || match devices::open("vulkan:0") {
        Ok(_) => run().map_err(Into::into),
        Err(reason) => devices::missing("vulkan", &reason),
    })
}

fn cpu(binding: u64) -> Result<(Device, Dispatches), String> {
    limited::open_recorded(CpuDriver::new(), "cpu", move |info| info.max_binding = binding)
}

fn open_vulkan(binding: u64) -> Result<(Device, Dispatches), String> {
    limited::open_recorded(VulkanDriver::new(roci_vulkan::Options::default()), "vulkan:0", move |info| {
        info.max_binding = info.max_binding.min(binding)
    })
}

/// The experts of a long prompt are computed in several parts, with the same result.
fn in_parts(case: &Case, open: fn(u64) -> Result<(Device, Dispatches), String>) -> Result<(), String> {
    let mut counts = Vec::new();
    for binding in [u64::MAX, MAX_BINDING * bytes_per_value(case)] {
        let (device, dispatches) = open(binding)?;
        if device.info().capabilities().matrix {
            skipped("experts_in_parts::in_parts", "partial sums of matrix units take more than the small binding");
            return Ok(());
        }
        expert_prompts::check(&device, case)?;
        let all = dispatches.take();
        let count = |name: &str| all.iter().filter(|known| *known == name).count();
        // One combination per part, and one selection of experts for all tokens.
        counts.push([count("lm_moe_top_k"), count("lm_moe_combine")]);
    }
    match counts[..] {
        [[whole, few], [parts, many]] if whole == parts && whole > 0 && many > few => Ok(()),
        _ => Err(format!("choices of experts and sums of their outputs: {counts:?}")),
    }
}

/// Rows of quantized models are four times as long.
fn bytes_per_value(case: &Case) -> u64 {
    if case.recipe.kind == Type::F32 { 1 } else { 4 }
}

/// The pairs of a token and a head are grouped once for all layers, and then multiplied in tiles.
fn heads_in_tiles() -> Result<(), String> {
    let (device, dispatches) = open_vulkan(u64::MAX)?;
    let case = latent::dense();
    split_attention::compare(&[device], &case, 20, &Options { cache_tokens: Some(64), ..Options::default() })?;
    let all = dispatches.take();
    let count = |start: &str| all.iter().filter(|name| name.starts_with(start)).count();
    // Decode steps have a single token.
    match [count("lm_moe_group"), count("lm_matmul_")] {
        [1, tiles] if tiles >= 2 * case.recipe.layers => Ok(()),
        counts => Err(format!("groupings and tiled products: {counts:?}")),
    }
}

/// A step has more pairs of a token and a head than a grid has workgroups in one dimension.
fn many_heads(uri: &str) -> Result<(), String> {
    let case = latent::dense();
    let latent = LatentRecipe { query_rank: None, rank: 32, plain: 32, rotated: 32, output: 32, older: false };
    let recipe = Recipe { heads: 256, layers: 1, latent: Some(latent), ..case.recipe };
    let case = Case { recipe, context: 512, ..case };
    let options = Options { cache_tokens: Some(320), max_batch_tokens: Some(260), ..Options::default() };
    let found = split_attention::compare(&[devices::open(uri)?], &case, 260, &options)?;
    match found.estimate().shares.len() {
        1 => Ok(()),
        shares => Err(format!("{shares} shares")),
    }
}
