//! Source made into kernels, and kept on disk in the driver's own form.

use std::sync::Arc;

use roci_hal::cache::Cache;
use roci_hal::driver::ExecutableBackend;
use roci_hal::{Code, EntryPoint, Error, ExecutableSource, exit};

use crate::cl::{Context, DeviceId, Kernel, Program};
use crate::discover::Found;
use crate::error::Failed;

/// What compilers are told. The writer promises OpenCL C 1.2.
const OPTIONS: &str = "-cl-std=CL1.2";
/// Lines of a compiler's log that an error shows.
const LOG_LINES: usize = 8;

/// What turns source into programs for a logical device.
pub(crate) struct Toolchain {
    context: Arc<Context>,
    ids: Vec<DeviceId>,
    /// Everything but the source that a program depends on.
    driver: String,
    /// Work-items of a group at most.
    max_group: u64,
    cache: Option<Cache>,
}

impl Toolchain {
    pub(crate) fn new(context: &Arc<Context>, chosen: &[Found], cache: Option<Cache>) -> Self {
        let identity = |Found { facts, .. }: &Found| {
            [&facts.platform, &facts.version, &facts.driver, &facts.name, OPTIONS].join("\n")
        };
        let driver = identity(&chosen[0]);
        // One binary serves all devices, so it is kept only where they are alike in everything that it depends on.
        let cache = cache.filter(|_| chosen.iter().all(|found| identity(found) == driver));
        Self {
            context: Arc::clone(context),
            ids: chosen.iter().map(|found| found.id).collect(),
            driver,
            max_group: chosen.iter().map(|found| found.facts.max_group).min().unwrap_or(0),
            cache,
        }
    }

    /// The program of a source, from the cache where it can be had there.
    fn program(&self, source: &str) -> Result<Program, (Failed, String)> {
        let key = [self.driver.as_bytes(), b"\n", source.as_bytes()].concat();
        if let Some(program) = self.cached(&key) {
            return Ok(program);
        }
        let program = self.context.program(source).map_err(|error| (error, String::new()))?;
        let built = program.build(&self.ids, OPTIONS);
        // Compilers are loaded when they are first needed.
        exit::guard();
        built?;
        if let Some(cache) = &self.cache
            && let Ok(binary) = program.binary()
            && !binary.is_empty()
        {
            cache.store(&key, &binary);
        }
        Ok(program)
    }

    /// The program that was kept under a key. What the driver does not take is thrown away.
    fn cached(&self, key: &[u8]) -> Option<Program> {
        let cache = self.cache.as_ref()?;
        let binary = cache.load(key)?;
        let program = self.context.program_of_binary(&self.ids, &binary).ok();
        let program = program.filter(|program| program.build(&self.ids, OPTIONS).is_ok());
        if program.is_none() {
            cache.discard(key);
        }
        program
    }
}

/// The kernels of an executable.
pub(crate) struct Kernels {
    program: Program,
    names: Vec<String>,
}

impl ExecutableBackend for Kernels {}

impl Kernels {
    pub(crate) fn load(source: &ExecutableSource, toolchain: &Toolchain) -> Result<Self, Error> {
        let invalid = |reason: String| Error::invalid(format!("executable \"{}\"", source.label), reason);
        let Code::OpenClC(text) = &source.code else {
            return Err(invalid("OpenCL takes OpenCL C only".into()));
        };
        let program = toolchain.program(text).map_err(|(error, log)| {
            let log: Vec<_> = log.lines().take(LOG_LINES).map(str::trim_end).collect();
            let said = if log.is_empty() { String::new() } else { format!(": {}", log.join(" | ")) };
            invalid(format!("the driver's compiler refuses it: {error}{said}"))
        })?;
        for entry in &source.entry_points {
            check(&program, entry, toolchain).map_err(&invalid)?;
        }
        let names = source.entry_points.iter().map(|entry| entry.name.clone()).collect();
        Ok(Self { program, names })
    }

    /// A fresh kernel of an entry point, with arguments of its own.
    pub(crate) fn kernel(&self, entry: usize) -> Result<Kernel, Failed> {
        self.program.kernel(&self.names[entry])
    }
}

/// Whether an entry point is what its contract says, on every device.
fn check(program: &Program, entry: &EntryPoint, toolchain: &Toolchain) -> Result<(), String> {
    let name = &entry.name;
    let kernel = program.kernel(name).map_err(|error| format!("there is no kernel \"{name}\": {error}"))?;
    let wanted = entry.bindings.len() + usize::from(entry.constants > 0);
    let arguments = kernel.arguments().map_err(|error| error.to_string())?;
    if arguments != wanted {
        return Err(format!("\"{name}\" takes {arguments} arguments, its contract has {wanted}"));
    }
    // What the driver says of this very kernel is not asked: RustICL 22.3 answers with the size of a sub-group, and runs
    // groups of the size that the source demands all the same.
    let group = entry.workgroup_size.iter().map(|size| u64::from(*size)).product::<u64>();
    if group > toolchain.max_group {
        return Err(format!("\"{name}\" has groups of {group} work-items, the device takes {}", toolchain.max_group));
    }
    Ok(())
}
