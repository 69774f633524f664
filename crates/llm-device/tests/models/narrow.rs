//! Devices that bind less than they allocate: matrices are cut into parts, and what cannot be cut is refused before anything is uploaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, Driver, ExecutableBackend, OpenRequest};
use roci_hal::error::Loss;
use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, CodeFormat, Device, DeviceInfo, ExecutableSource, Hint as _, PhysicalInfo, Registry};
use roci_llm::architecture::Model;
use roci_llm::synthetic::{Case, Recipe, architectures};
use roci_llm_device::{DeviceModel, Error, Options};
use roci_opencl::OpenClDriver;

use crate::{devices, far};

/// Bytes of a binding: fewer than any of the matrices of [`wide`] has, and more than the arrays that 20 tokens take.
const NARROW: u64 = 200 << 10;
/// Fewer than two matrices of four experts have together, more than one.
const EXPERTS: u64 = 150_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("pocl/narrow", || match open() {
            Ok(device) => {
                let options = Options { kept: Some(64), page: 16, batch: Some(20), ..Options::default() };
                far::compare(&[device], &wide(), 20, &options).map(drop).map_err(Into::into)
            }
            Err(reason) => devices::missing("pocl", &reason),
        }),
        Trial::test("null/narrow-experts", || {
            let error = refused(&case("llama-experts"), EXPERTS, 64)?;
            same(
                &error,
                "null takes 150000 bytes in one binding, too little for `blk.0.ffn_gate_exps.weight` with all experts (196608 bytes)",
            )?;
            holds(error.hint().is_some_and(|hint| hint.contains("--device vulkan --device cpu")), "a remedy")
        }),
        Trial::test("null/narrow-cache", || {
            let error = refused(&case("llama"), EXPERTS, 4096)?;
            same(
                &error,
                "null takes 150000 bytes in one binding, too little for the keys of layer 0 for 4096 tokens (262144 bytes)",
            )?;
            holds(error.hint().is_some_and(|hint| hint.contains("--context")), "a remedy")
        }),
        Trial::test("null/wide-enough", || Ok(load(&case("llama-experts"), 2 * EXPERTS, 64, &|_, _| ()).map(drop)?)),
    ]
}

/// A model with a bias, whose matrices all have more rows than one binding takes.
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
    architectures().into_iter().find(|case| case.name == name).expect("an architecture")
}

fn holds(is_so: bool, what: &str) -> Result<(), libtest_mimic::Failed> {
    if is_so { Ok(()) } else { Err(format!("wanted {what}").into()) }
}

fn same(found: &Error, wanted: &str) -> Result<(), libtest_mimic::Failed> {
    if found.to_string() == wanted { Ok(()) } else { Err(format!("said: {found}").into()) }
}

fn load(case: &Case, limit: u64, kept: usize, tell: &(dyn Fn(u64, u64) + Sync)) -> Result<DeviceModel, Error> {
    let file = Arc::new(case.open()?);
    let model = Model::new(&file, Some(case.context)).expect("a model");
    let driver = NullDriver::new(1).with_max_binding(limit).with_formats(vec![CodeFormat::Spirv]);
    let device = Registry::new().with(driver).open(&"null".parse().expect("a URI"), None)?;
    let options = Options { kept: Some(kept), page: 16, batch: Some(4), ..Options::default() };
    DeviceModel::load(file, model, &[device], &options, tell)
}

/// Why a model is refused, before a byte of it was sent.
fn refused(case: &Case, limit: u64, kept: usize) -> Result<Error, String> {
    let told = AtomicUsize::new(0);
    let loaded = load(case, limit, kept, &|_, _| {
        told.fetch_add(1, Ordering::Relaxed);
    });
    match (loaded, told.into_inner()) {
        (Err(error @ Error::Binding { .. }), 0) => Ok(error),
        (Err(error), told) => Err(format!("{error}, after {told} uploads")),
        (Ok(_), _) => Err("it was loaded".into()),
    }
}

/// PoCL, as a device that binds little.
fn open() -> Result<Device, String> {
    let uri = devices::all()[2].1()?.info().uri.clone();
    Registry::new().with(NarrowDriver(OpenClDriver::new())).open(&uri, None).map_err(|error| error.to_string())
}

struct NarrowDriver(OpenClDriver);

impl Driver for NarrowDriver {
    fn scheme(&self) -> &'static str {
        self.0.scheme()
    }

    fn summary(&self) -> &'static str {
        self.0.summary()
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, roci_hal::Error> {
        self.0.enumerate()
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, roci_hal::Error> {
        let device = self.0.open(request)?;
        let info = DeviceInfo { max_binding: NARROW, ..device.info().clone() };
        Ok(Arc::new(Narrow { device, info }))
    }
}

/// A device with another limit.
struct Narrow {
    device: Arc<dyn DeviceBackend>,
    info: DeviceInfo,
}

impl DeviceBackend for Narrow {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, roci_hal::Error> {
        self.device.allocate(desc)
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, roci_hal::Error> {
        self.device.load(source)
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, roci_hal::Error> {
        self.device.prepare(recording)
    }

    fn submit(&self, queue: usize, batch: Batch) {
        self.device.submit(queue, batch);
    }

    fn abandon(&self, loss: &Loss) {
        self.device.abandon(loss);
    }
}
