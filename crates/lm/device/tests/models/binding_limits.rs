//! Devices whose largest binding is smaller than an allocation: matrices are split into shards, and
//! a model with larger bindings is rejected before anything is uploaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use roci_base::Hint as _;
use roci_hal::null::NullDriver;
use roci_hal::{CodeFormat, Device, Registry};
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{DeviceModel, Error, Options};
use roci_opencl::OpenClDriver;

use crate::{devices, hybrid, limited, split_attention};

/// Largest binding in bytes: less than each matrix of [`wide`], and more than the scratch buffers
/// for 20 tokens.
const MAX_BINDING: u64 = 200 << 10;
/// Largest binding in bytes: less than two rows of each of 256 experts, less than the stacked
/// matrices of four experts, more than the matrix of one.
const EXPERTS_MAX_BINDING: u64 = 150_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("pocl/narrow", || match open() {
            Ok(device) => {
                let options =
                    Options { cache_tokens: Some(64), page_size: 16, max_batch_tokens: Some(20), ..Options::default() };
                split_attention::compare(&[device], &wide(), 20, &options).map(drop).map_err(Into::into)
            }
            Err(reason) => devices::missing("pocl", &reason),
        }),
        Trial::test("null/narrow-experts", || {
            let many = case("llama-experts");
            let many = Case { recipe: Recipe { experts: Some((256, 2)), ..many.recipe }, ..many };
            let error = rejected(&many, EXPERTS_MAX_BINDING, 64)?;
            same(
                &error,
                "some rows of `blk.0.ffn_gate_exps.weight` needs a binding of 262144 bytes, but null supports at most 150000 bytes",
            )?;
            holds(error.hint().is_some_and(|hint| hint.contains("--device vulkan --device cpu")), "a hint")
        }),
        Trial::test("null/narrow-cache", || {
            let error = rejected(&case("llama"), EXPERTS_MAX_BINDING, 4096)?;
            same(
                &error,
                "the keys of layer 0 for 4096 tokens needs a binding of 262144 bytes, but null supports at most 150000 bytes",
            )?;
            holds(error.hint().is_some_and(|hint| hint.contains("--context")), "a hint")
        }),
        Trial::test("null/narrow-states", || {
            let error = rejected(&hybrid::wide(), EXPERTS_MAX_BINDING, 64)?;
            same(
                &error,
                "the recurrent states of layer 0 in 9 slots needs a binding of 3 MiB, but null supports at most 150000 bytes",
            )?;
            holds(error.hint().is_some_and(|hint| hint.contains("--parallel")), "a hint")
        }),
        Trial::test("null/wide-enough", || {
            Ok(load(&case("llama-experts"), EXPERTS_MAX_BINDING, 64, &|_, _| ()).map(drop)?)
        }),
        Trial::test("pocl/narrow-experts", || match open() {
            Ok(device) => {
                let options =
                    Options { cache_tokens: Some(64), page_size: 16, max_batch_tokens: Some(20), ..Options::default() };
                for case in wide_experts() {
                    split_attention::compare(std::slice::from_ref(&device), &case, 20, &options)
                        .map_err(|error| format!("{}: {error}", case.name))?;
                }
                Ok(())
            }
            Err(reason) => devices::missing("pocl", &reason),
        }),
    ]
}

/// Models whose expert tensors exceed one binding, without and with biases.
fn wide_experts() -> Vec<Case> {
    let wide =
        |case: Case| Case { recipe: Recipe { feed_forward: 2 * case.recipe.feed_forward, ..case.recipe }, ..case };
    ["llama-experts", "gpt-oss"].into_iter().map(case).map(wide).collect()
}

/// A model with biases, all of whose matrices exceed one binding.
fn wide() -> Case {
    let recipe = Recipe {
        architecture: "qwen2",
        bias: true,
        embedding: 256,
        head: 64,
        feed_forward: 1024,
        vocabulary: 1024,
        ..Recipe::default()
    };
    Case { recipe, ..case("qwen2") }
}

fn case(name: &str) -> Case {
    architectures().into_iter().find(|case| case.name == name).expect("the architecture exists")
}

fn holds(is_so: bool, what: &str) -> Result<(), libtest_mimic::Failed> {
    if is_so { Ok(()) } else { Err(format!("expected {what}").into()) }
}

fn same(found: &Error, expected: &str) -> Result<(), libtest_mimic::Failed> {
    if found.to_string() == expected { Ok(()) } else { Err(format!("the message is: {found}").into()) }
}

fn load(case: &Case, limit: u64, kept: usize, tell: &(dyn Fn(u64, u64) + Sync)) -> Result<DeviceModel, Error> {
    let file = Arc::new(case.open()?);
    let model = Model::new(&file, Some(case.context)).expect("a model");
    let driver = NullDriver::new(1).with_max_binding(limit).with_formats(vec![CodeFormat::Spirv]);
    let device = Registry::new().with(driver).open(&"null".parse().expect("a URI"), None)?;
    let options = Options { cache_tokens: Some(kept), page_size: 16, max_batch_tokens: Some(4), ..Options::default() };
    DeviceModel::load(file, model, &[device], &options, tell)
}

/// The error that rejects a model before any upload.
fn rejected(case: &Case, limit: u64, kept: usize) -> Result<Error, String> {
    let uploads = AtomicUsize::new(0);
    let loaded = load(case, limit, kept, &|_, _| {
        uploads.fetch_add(1, Ordering::Relaxed);
    });
    match (loaded, uploads.into_inner()) {
        (Err(error @ Error::Binding { .. }), 0) => Ok(error),
        (Err(error), uploads) => Err(format!("{error}, after {uploads} uploads")),
        (Ok(_), _) => Err("the model was loaded".into()),
    }
}

/// PoCL with a small binding limit.
fn open() -> Result<Device, String> {
    let uri = devices::all()[2].1()?.info().uri.to_string();
    limited::open(OpenClDriver::new(), &uri, |info| info.max_binding = MAX_BINDING)
}
