//! `roci bench MODEL.gguf`: measures a language model on devices with llama-bench's tests.
//!
//! [`roci_lm_bench`] has the tests, their results and llama-bench's formats. `bandwidth` measures
//! what limits decode, `print` shows results. This file loads the model on one device after the
//! other.

mod bandwidth;
mod error;
mod print;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roci_engine::EngineError;
use roci_gguf::Gguf;
use roci_hal::{Device, Registry};
use roci_lm::architecture::Model;
use roci_lm_bench::{Entry, ModelInfo, Outcome, Runner, Sequences, Setting, Test, TokenCost, threads};
use roci_lm_device::{DeviceModel, Options};

use super::open;
use crate::cli::{BenchArgs, BenchOutput};
use crate::commands::language::{LanguageError, adapters, load_kernels, specialize};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Printer, one_line};

pub(crate) use error::BenchError;
use print::Results;

/// Minimum time of the warm-up before the first result of a device.
const WARM_UP: Duration = Duration::from_millis(500);

/// A model and its tests.
struct Bench<'a> {
    arguments: &'a BenchArgs,
    printer: &'a Printer,
    file: Arc<Gguf>,
    model: Model,
    about: ModelInfo,
    work: TokenCost,
    tests: Vec<Test>,
    sequences: Sequences,
    /// The CPU, if it computes experts for other devices.
    cpu: Option<Device>,
}

/// Measures and prints. A device that fails ends only its own tests.
pub(super) fn run(
    path: &Path,
    arguments: &BenchArgs,
    registry: &Registry,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let mut bench = Bench::new(path, arguments, printer)?;
    let devices = open(registry, arguments, printer)?;
    if arguments.text.experts.layers().is_some_and(|layers| layers > 0) {
        let open = || registry.open(&registry.parse("cpu")?, None);
        let failed =
            |error: roci_hal::Error| BenchError::Device { device: "cpu".to_owned(), source: Box::new(error.into()) };
        bench.cpu = Some(open().map_err(failed)?);
    }
    interrupt::listen();
    let format = if arguments.format.json { Some(BenchOutput::Json) } else { arguments.text.output };
    let mut results = Results::new(printer, format);
    let mut failures: Vec<BenchError> = Vec::new();
    for device in &devices {
        if interrupt::requested() {
            break;
        }
        match bench.measure(device, &mut results) {
            Err(CliError::Bench(error)) => failures.push(*error),
            outcome => outcome?,
        }
    }
    // Without any result, the last failure is the result of the command.
    let last = if results.entries.is_empty() { failures.pop() } else { None };
    failures.iter().for_each(|failure| printer.error(failure));
    if let Some(last) = last {
        return Err(last.into());
    }
    results.finish()?;
    let mut status = failures.iter().map(BenchError::status).fold(ExitStatus::Success, ExitStatus::and);
    if interrupt::requested() {
        printer.note("interrupted: the results are incomplete");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

impl<'a> Bench<'a> {
    /// Checks the file and the tests before a device is opened.
    fn new(path: &Path, arguments: &'a BenchArgs, printer: &'a Printer) -> Result<Self, BenchError> {
        let tests = arguments.text.plan();
        let sequences = Sequences::of(&tests);
        if tests.is_empty() {
            return Err(BenchError::NoTests);
        }
        if sequences.count > 1 && arguments.text.output == Some(BenchOutput::Sql) {
            return Err(BenchError::ParallelSql);
        }
        let file = Gguf::open(path).map_err(|source| LanguageError::File { path: path.to_owned(), source });
        let file = file.map_err(BenchError::File)?;
        let context = u32::try_from(sequences.first).unwrap_or(u32::MAX);
        let model = Model::new(&file, Some(context)).map_err(|error| BenchError::File(error.into()))?;
        let about = ModelInfo::new(path, &file, &model);
        let work = TokenCost::of(&file, &model);
        Ok(Self { arguments, printer, file: Arc::new(file), model, about, work, tests, sequences, cpu: None })
    }

    /// All tests on one device.
    fn measure(&self, device: &Device, results: &mut Results<'_>) -> Result<(), CliError> {
        let uri = device.info().uri.to_string();
        let failed = |source: LanguageError| BenchError::Device { device: uri.clone(), source: Box::new(source) };
        let bandwidth = self.bandwidth(device);
        let mut forward = self.load(device).map_err(failed)?;
        let physical = device.info().physical.first();
        let setting = Setting {
            about: self.about.clone(),
            work: self.work,
            device: uri.clone(),
            driver: device.info().uri.scheme().to_owned(),
            name: physical.map_or_else(String::new, |physical| one_line(&physical.name)),
            threads: threads(device.info()),
            bandwidth,
            batch: roci_engine::Forward::limits(&forward).max_batch_tokens,
            cache: self.arguments.text.cache_type,
        };
        let repeats = self.arguments.text.repetitions;
        let bar = self.printer.progress(self.tests.len() * (repeats as usize + 1));
        let mut runner = Runner::new(&mut forward, &interrupt::requested, &self.sequences).with_warm_up(WARM_UP);
        for test in &self.tests {
            if interrupt::requested() {
                break;
            }
            bar.set_message(format!("{test} on {uri}"));
            let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let outcome = runner.measure(test, repeats, || bar.inc(1));
            let outcome = outcome.map_err(|error| failed(EngineError::Device(error).into()))?;
            match outcome {
                Outcome::Wrong(fault) => {
                    return Err(BenchError::InvalidLogits { device: uri.clone(), test: test.to_string(), fault }.into());
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

    /// Memory bandwidth in bytes per second. Without it, results have no limit.
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
        self.printer.note(&format!("cannot measure the bandwidth of {uri}: {}", one_line(&wrong)));
        None
    }

    fn load(&self, device: &Device) -> Result<DeviceModel, LanguageError> {
        let text = &self.arguments.text;
        let options = Options {
            adapters: adapters::open(&text.adapters, &self.file, &self.model)?,
            cache: text.cache_type,
            exact: text.exact,
            cpu_expert_layers: text.experts.layers().unwrap_or(0),
            specialize: specialize()?,
            cache_tokens: Some(self.sequences.cache_tokens(Options::default().page_size)),
            max_batch_tokens: text.ubatch_size.map(|batch| batch as usize),
            max_chunks: self.sequences.count,
            state_slots: self.sequences.count,
            ..Options::default()
        };
        let on_cpu = roci_kernels::runs_native_kernels(device.info());
        let devices: Vec<Device> =
            std::iter::once(device).chain(self.cpu.as_ref().filter(|_| !on_cpu)).cloned().collect();
        let bar = self.printer.progress(1);
        bar.set_message(format!("loading {} on {}", self.about.kind, device.info().uri));
        let on_progress = |done: u64, total: u64| {
            bar.set_length(total);
            bar.set_position(done);
        };
        let loaded = DeviceModel::load(Arc::clone(&self.file), self.model.clone(), &devices, &options, &on_progress);
        let loaded = loaded.and_then(|mut model| load_kernels(&mut model, &bar).map(|()| model));
        bar.finish_and_clear();
        loaded.map_err(|error| match error {
            // Replaces the hint, which names options of other verbs.
            roci_lm_device::Error::Memory { message, .. } => {
                let hint = "use fewer tokens (`-p`, `-n`, `--n-depth`), fewer sequences (`--parallel`), a smaller KV cache (`--cache-type q8_0`), or a smaller model";
                roci_lm_device::Error::Memory { message, hint: hint.to_owned() }.into()
            }
            error => error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn names(options: &str) -> Vec<String> {
        let line = format!("roci bench model.gguf {options}");
        let Command::Bench(arguments) = Cli::try_parse_from(line.split_whitespace()).expect("valid").command else {
            unreachable!("it is bench")
        };
        arguments.text.plan().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tests_are_named_as_llama_bench_names_them() {
        assert_eq!(names(""), ["pp512", "tg128"]);
        assert_eq!(names("-p 16,32 -n 0"), ["pp16", "pp32"]);
        assert_eq!(names("-p 0 -n 8 -n 4 --n-depth 0,99"), ["tg8", "tg4", "tg8 @ d99", "tg4 @ d99"]);
        assert_eq!(names("--n-prompt 7 --n-gen 8 --n-depth 9 --repetitions 1"), ["pp7 @ d9", "tg8 @ d9"]);
        assert_eq!(names("--prompt 7 --written 8 --depth 9 --repeats 1"), ["pp7 @ d9", "tg8 @ d9"]);
        assert_eq!(names("-p 5,5 -n 0,0"), ["pp5"]);
        assert_eq!(names("-p 5 -n 3 --parallel 1,8"), ["pp5", "tg3", "tg3 x8"]);
        assert_eq!(names("-p 0 -n 0"), [""; 0]);
    }
}
