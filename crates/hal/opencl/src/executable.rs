//! Compiles source into kernels, and caches the driver's binaries on disk.

use std::sync::Arc;

use roci_base::cache::Cache;
use roci_base::exit;
use roci_hal::driver::ExecutableBackend;
use roci_hal::{Code, EntryPoint, Error, ExecutableSource};

use crate::cl::{Context, DeviceId, Kernel, Program};
use crate::discover::PhysicalDevice;
use crate::error::ClError;

/// Compiler options. The writer targets OpenCL C 1.2.
const OPTIONS: &str = "-cl-std=CL1.2";
/// Maximum lines of a compiler's log in an error.
const LOG_LINES: usize = 8;

/// Compiles source for a logical device.
pub(crate) struct Toolchain {
    context: Arc<Context>,
    ids: Vec<DeviceId>,
    /// Cache key prefix: every input of the compiler except the source.
    driver: String,
    /// Maximum work-items of a work-group.
    max_group: u64,
    cache: Option<Cache>,
}

impl Toolchain {
    pub(crate) fn new(context: &Arc<Context>, chosen: &[PhysicalDevice], cache: Option<Cache>) -> Self {
        let identity = |PhysicalDevice { properties, .. }: &PhysicalDevice| {
            [&properties.platform, &properties.version, &properties.driver, &properties.name, OPTIONS].join("\n")
        };
        let driver = identity(&chosen[0]);
        // One binary serves all devices, so it is cached only if they all have the same identity.
        let cache = cache.filter(|_| chosen.iter().all(|found| identity(found) == driver));
        Self {
            context: Arc::clone(context),
            ids: chosen.iter().map(|found| found.id).collect(),
            driver,
            max_group: chosen.iter().map(|found| found.properties.max_group).min().unwrap_or(0),
            cache,
        }
    }

    /// The program of a source, from the cache if possible.
    fn program(&self, source: &str) -> Result<Program, (ClError, String)> {
        let key = [self.driver.as_bytes(), b"\n", source.as_bytes()].concat();
        if let Some(program) = self.cached(&key) {
            return Ok(program);
        }
        let program = self.context.program(source).map_err(|error| (error, String::new()))?;
        let built = program.build(&self.ids, OPTIONS);
        // The driver loads its compiler on first use.
        exit::wait_for_threads_at_exit();
        built?;
        if let Some(cache) = &self.cache
            && let Ok(binary) = program.binary()
            && !binary.is_empty()
        {
            cache.store(&key, &binary);
        }
        Ok(program)
    }

    /// The cached program of a key. Deletes entries that the driver rejects.
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
pub(crate) struct Executable {
    program: Program,
    names: Vec<String>,
}

impl ExecutableBackend for Executable {}

impl Executable {
    pub(crate) fn load(source: &ExecutableSource, toolchain: &Toolchain) -> Result<Self, Error> {
        let invalid = |reason: String| Error::invalid(format!("executable \"{}\"", source.label), reason);
        let Code::OpenClC(text) = &source.code else {
            return Err(invalid("OpenCL devices run OpenCL C only".into()));
        };
        let program = toolchain.program(text).map_err(|(error, log)| {
            let log: Vec<_> = log.lines().take(LOG_LINES).map(str::trim_end).collect();
            let build_log = if log.is_empty() { String::new() } else { format!(": {}", log.join(" | ")) };
            invalid(format!("the driver's compiler rejects it: {error}{build_log}"))
        })?;
        for entry in &source.entry_points {
            check(&program, entry, toolchain).map_err(&invalid)?;
        }
        let names = source.entry_points.iter().map(|entry| entry.name.clone()).collect();
        Ok(Self { program, names })
    }

    /// Creates a kernel of an entry point with its own arguments.
    pub(crate) fn kernel(&self, entry: usize) -> Result<Kernel, ClError> {
        self.program.kernel(&self.names[entry])
    }
}

/// Checks an entry point against its contract on every device.
fn check(program: &Program, entry: &EntryPoint, toolchain: &Toolchain) -> Result<(), String> {
    let name = &entry.name;
    let kernel = program.kernel(name).map_err(|error| format!("there is no kernel \"{name}\": {error}"))?;
    let expected = entry.bindings.len() + usize::from(entry.constants > 0);
    let arguments = kernel.arguments().map_err(|error| error.to_string())?;
    if arguments != expected {
        return Err(format!("\"{name}\" takes {arguments} arguments, but its entry point declares {expected}"));
    }
    // `clGetKernelWorkGroupInfo` is not queried: RustICL 22.3 returns the sub-group size, yet runs
    // groups of the size that the source requires.
    let group = entry.workgroup_size.iter().map(|size| u64::from(*size)).product::<u64>();
    if group > toolchain.max_group {
        return Err(format!(
            "\"{name}\" has work-groups of {group} work-items; the device supports {}",
            toolchain.max_group
        ));
    }
    Ok(())
}
