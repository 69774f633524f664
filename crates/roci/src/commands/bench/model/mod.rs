//! `roci bench MODEL.gguf`: how fast a language model is on devices, by llama-bench's tests.
//!
//! `plan` says which tests there are, `measure` runs one, `work` and `bandwidth` say what could be reached; `entry` is a line of
//! results, `print` and `compare` tell of them. This file brings the model to one device after the other.

mod about;
mod bandwidth;
mod compare;
mod entry;
mod error;
mod measure;
mod plan;
mod print;
mod samples;
mod work;

use std::path::Path;
use std::sync::Arc;

use roci_engine::EngineError;
use roci_gguf::Gguf;
use roci_hal::{Device, Registry};
use roci_llm::architecture::Model;
use roci_llm_device::{DeviceModel, Options};

use super::open;
use crate::cli::{BenchArgs, BenchOutput};
use crate::commands::language::{LanguageError, bake, load_kernels};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Printer, one_line};

use about::About;
use entry::{Entry, Setting};
pub(crate) use error::BenchError;
use measure::{Outcome, Runner};
use plan::Test;
use print::Results;
use work::Work;

/// A model that was read and described, and what is to be measured of it.
struct Bench<'a> {
    arguments: &'a BenchArgs,
    printer: &'a Printer,
    file: Arc<Gguf>,
    model: Model,
    about: About,
    work: Work,
    tests: Vec<Test>,
}

/// Measures and prints. A device that fails ends only its own tests.
pub(super) fn run(
    path: &Path,
    arguments: &BenchArgs,
    registry: &Registry,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let bench = Bench::new(path, arguments, printer)?;
    let devices = open(registry, arguments, printer)?;
    interrupt::listen();
    let form = if arguments.format.json { Some(BenchOutput::Json) } else { arguments.text.output };
    let mut results = Results::new(printer, form);
    let mut failures: Vec<BenchError> = Vec::new();
    for device in &devices {
        if interrupt::asked() {
            break;
        }
        match bench.on(device, &mut results) {
            Err(CliError::Bench(error)) => failures.push(*error),
            outcome => outcome?,
        }
    }
    // Where nothing was measured, a failure is the answer.
    let last = if results.entries.is_empty() { failures.pop() } else { None };
    failures.iter().for_each(|failure| printer.error(failure));
    if let Some(last) = last {
        return Err(last.into());
    }
    results.end()?;
    let mut status = failures.iter().map(BenchError::status).fold(ExitStatus::Success, ExitStatus::and);
    if interrupt::asked() {
        printer.note("interrupted: the results hold what was measured before");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

impl<'a> Bench<'a> {
    /// What is wrong with the file or the tests is told before a device is opened.
    fn new(path: &Path, arguments: &'a BenchArgs, printer: &'a Printer) -> Result<Self, BenchError> {
        let tests = plan::plan(&arguments.text);
        let longest = tests.iter().map(Test::context).max().ok_or(BenchError::Nothing)?;
        let file = Gguf::open(path).map_err(|source| LanguageError::File { path: path.to_owned(), source });
        let file = file.map_err(BenchError::File)?;
        let context = u32::try_from(longest).unwrap_or(u32::MAX);
        let model = Model::new(&file, Some(context)).map_err(|error| BenchError::File(error.into()))?;
        let about = About::new(path, &file, &model);
        let work = Work::of(&file, &model);
        Ok(Self { arguments, printer, file: Arc::new(file), model, about, work, tests })
    }

    /// All tests on one device.
    fn on(&self, device: &Device, results: &mut Results<'_>) -> Result<(), CliError> {
        let uri = device.info().uri.to_string();
        let failed = |source: LanguageError| BenchError::On { device: uri.clone(), source: Box::new(source) };
        let bandwidth = self.bandwidth(device);
        let mut forward = self.load(device).map_err(failed)?;
        let physical = device.info().physical.first();
        let setting = Setting {
            about: self.about.clone(),
            work: self.work,
            device: uri.clone(),
            driver: device.info().uri.scheme().to_owned(),
            name: physical.map_or_else(String::new, |physical| one_line(&physical.name)),
            threads: entry::threads(device.info()),
            bandwidth,
            batch: roci_engine::Forward::limits(&forward).batch,
            cache: self.arguments.text.cache,
        };
        let repeats = self.arguments.text.repeats;
        let bar = self.printer.progress(self.tests.len() * (repeats as usize + 1));
        let mut runner = Runner::new(&mut forward, &interrupt::asked);
        for test in &self.tests {
            if interrupt::asked() {
                break;
            }
            bar.set_message(format!("{test} on {uri}"));
            let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let outcome = runner.measure(test, repeats, || bar.inc(1));
            let outcome = outcome.map_err(|error| failed(EngineError::Device(error).into()))?;
            match outcome {
                Outcome::Wrong(fault) => {
                    return Err(BenchError::Wrong { device: uri.clone(), test: test.to_string(), fault }.into());
                }
                Outcome::Measured(samples) if !samples.runs.is_empty() => {
                    let entry = Entry { setting: setting.clone(), test: *test, samples, time };
                    bar.suspend(|| results.add(entry))?;
                }
                Outcome::Measured(_) => {}
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Bytes that the device reads in a second. Without them there is no limit to tell of, but speeds all the same.
    fn bandwidth(&self, device: &Device) -> Option<f64> {
        let timeout = self.arguments.timeout.unwrap_or_else(roci_hal::deadline::default_timeout);
        let uri = &device.info().uri;
        let bar = self.printer.progress(1);
        bar.set_message(format!("bandwidth of {uri}"));
        bar.tick();
        let measured = bandwidth::bandwidth(device, self.work.bytes, timeout);
        bar.finish_and_clear();
        let wrong = match measured {
            Ok(Ok(bandwidth)) => return Some(bandwidth),
            Ok(Err(wrong)) => wrong,
            Err(error) => error.to_string(),
        };
        self.printer.note(&format!("the bandwidth of {uri} is not known: {}", one_line(&wrong)));
        None
    }

    fn load(&self, device: &Device) -> Result<DeviceModel, LanguageError> {
        let text = &self.arguments.text;
        let options = Options {
            cache: text.cache,
            exact: text.exact,
            bake: bake()?,
            kept: Some(self.model.context as usize),
            batch: text.batch.map(|batch| batch as usize),
            chunks: 1,
            ..Options::default()
        };
        let bar = self.printer.progress(1);
        bar.set_message(format!("loading {} on {}", self.about.kind, device.info().uri));
        let tell = |done: u64, total: u64| {
            bar.set_length(total);
            bar.set_position(done);
        };
        let loaded = DeviceModel::load(
            Arc::clone(&self.file),
            self.model.clone(),
            std::slice::from_ref(device),
            &options,
            &tell,
        );
        let loaded = loaded.and_then(|mut model| load_kernels(&mut model, &bar).map(|()| model));
        bar.finish_and_clear();
        loaded.map_err(|error| match error {
            // Its own remedy names options of other verbs.
            roci_llm_device::Error::Memory { message, .. } => {
                let hint = "measure shorter texts (`-p`, `-n`, `--depth`), keep less of them (`--cache q8_0`), or take a smaller file";
                roci_llm_device::Error::Memory { message, hint: hint.to_owned() }.into()
            }
            error => error.into(),
        })
    }
}
