//! Every environment variable that the program reads, declared once with its help (those of tests: `roci_testkit`).
//!
//! `clippy.toml` forbids `std::env::var` elsewhere, so a variable that is not in [`VARIABLES`] cannot be read at all;
//! `roci env` prints this table.

use std::ffi::OsString;

/// One environment variable.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What holds when it is unset, as text for the help.
    pub default: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
    /// The version that introduced it.
    pub since: &'static str,
}

/// Seconds that a wait or a running submission may take.
pub static TIMEOUT: Variable = Variable {
    name: "ROCI_TIMEOUT",
    default: "30",
    help: "Seconds a wait or a running kernel may take before it is reported as hung (fractions allowed)",
    since: "0.1.0",
};

/// Seconds that compiling one kernel may take.
pub static COMPILE_TIMEOUT: Variable = Variable {
    name: "ROCI_COMPILE_TIMEOUT",
    default: "600",
    help: "Seconds a driver may take to compile a kernel; ROCI_TIMEOUT does not count that time (fractions allowed)",
    since: "0.2.0",
};

/// The device that a command uses when none is named.
pub static DEVICE: Variable = Variable {
    name: "ROCI_DEVICE",
    default: "every real device",
    help: "Device URI that commands use when `--device` is not given",
    since: "0.1.0",
};

/// Whether kernels are compiled for the language model at hand.
pub static BAKE: Variable = Variable {
    name: "ROCI_BAKE",
    default: "on",
    help: "`off`: language models run on kernels for all models, instead of some that are compiled for the one at hand",
    since: "0.1.0",
};

/// The targets of the device library that count.
pub static DEVICE_TARGETS: Variable = Variable {
    name: "ROCI_DEVICE_TARGETS",
    default: "every embedded target",
    help: "AMD targets of the embedded kernels that are considered, or that a rebuild of them makes: `gfx1010,gfx11-generic`",
    since: "0.1.0",
};

/// What an emulated GPU checks that a real one does not.
pub static EMU_CHECK: Variable = Variable {
    name: "ROCI_EMU_CHECK",
    default: "no checks",
    help: "What emulated GPUs check that real ones do not: `waits`, `uninit`, `races` or `all`, with commas between",
    since: "0.1.0",
};

/// The chips of the emulated HSA runtime.
pub static EMU: Variable = Variable {
    name: "ROCI_EMU",
    default: "gfx1010",
    help: "Chips that the emulated HSA runtime has, with commas between: `gfx1010,gfx1151`; `roci emu exec` sets it",
    since: "0.1.0",
};

/// The memory of each emulated GPU.
pub static EMU_MEMORY: Variable = Variable {
    name: "ROCI_EMU_MEMORY",
    default: "the chip's",
    help: "Memory of each GPU of the emulated HSA runtime: `512MiB`, `8GiB`",
    since: "0.1.0",
};

/// The threads of each emulated GPU.
pub static EMU_THREADS: Variable = Variable {
    name: "ROCI_EMU_THREADS",
    default: "all cores",
    help: "Threads of each GPU of the emulated HSA runtime; 1 makes every run of a kernel the same",
    since: "0.1.0",
};

/// How queues of emulated GPUs learn of doorbells.
pub static EMU_DOORBELLS: Variable = Variable {
    name: "ROCI_EMU_DOORBELLS",
    default: "trap",
    help: "How queues of the emulated HSA runtime learn of doorbells: `trap` (writing one wakes them, where the system allows it) or `poll`",
    since: "0.1.0",
};

/// The files that stand for the kernel driver's.
pub static EMU_EXEC: Variable = Variable {
    name: "ROCI_EMU_EXEC",
    default: "unset",
    help: "Folder of the files that programs under `roci emu exec` see for a driver's; `roci emu exec` sets it",
    since: "0.1.0",
};

/// Where programs may keep what they can make again.
pub static XDG_CACHE_HOME: Variable = Variable {
    name: "XDG_CACHE_HOME",
    default: "~/.cache",
    help: "Folder in which compiled kernels and the libraries of `roci emu exec` are kept",
    since: "0.1.0",
};

/// Where programs keep what they cannot make again.
pub static XDG_DATA_HOME: Variable = Variable {
    name: "XDG_DATA_HOME",
    default: "~/.local/share",
    help: "Folder in which the results of `roci matrix` and `roci lab` and the history of `roci chat` are kept",
    since: "0.1.0",
};

/// The file with the results of `roci lab`.
pub static LAB_DB: Variable = Variable {
    name: "ROCI_LAB_DB",
    default: "roci/lab.db in XDG_DATA_HOME",
    help: "File in which `roci lab` keeps its results; `--db` counts before it",
    since: "0.1.0",
};

/// The user's folder.
pub static HOME: Variable = Variable {
    name: "HOME",
    default: "set at login",
    help: "Folder of the user, where `.cache` and `.local` are",
    since: "0.1.0",
};

/// Where the dynamic loader looks first.
pub static LD_LIBRARY_PATH: Variable = Variable {
    name: "LD_LIBRARY_PATH",
    default: "unset",
    help: "Folders that the dynamic loader looks into first; `roci emu exec` puts one before them",
    since: "0.1.0",
};

/// What the dynamic loader loads before all else.
pub static LD_PRELOAD: Variable = Variable {
    name: "LD_PRELOAD",
    default: "unset",
    help: "Libraries that the dynamic loader loads before all others; `roci emu exec` puts one before them",
    since: "0.1.0",
};

/// Makes ROCm take a GPU for another. ROCm also reads names that go on, and before this one: see [`Variable::get_all`].
pub static HSA_OVERRIDE: Variable = Variable {
    name: "HSA_OVERRIDE_GFX_VERSION",
    default: "unset",
    help: "Makes ROCm take every GPU for another chip, or with `_1` behind the name that of node 1; the amdgpu driver refuses it, and `roci emu exec` takes it away from programs",
    since: "0.1.0",
};

/// Whether the copy engines may be used.
pub static HSA_ENABLE_SDMA: Variable = Variable {
    name: "HSA_ENABLE_SDMA",
    default: "by chip",
    help: "`0` makes the amdgpu driver copy by kernels, `1` by the copy engines; the URI option `copy` counts before it",
    since: "0.1.0",
};

/// Lets HSA start where it may freeze the machine.
pub static ALLOW_HSA: Variable = Variable {
    name: "ROCI_ALLOW_HSA",
    default: "unset",
    help: "`1` starts HSA, and OpenCL on top of it, even on a chip whose stock kernel freezes then (gfx1013)",
    since: "0.1.0",
};

/// Where the HSA runtime is.
pub static LIBHSA_PATH: Variable = Variable {
    name: "ROCI_HAL_AMDGPU_LIBHSA_PATH",
    default: "PATH, the loader's own search and /opt/rocm/lib",
    help: "File or directory of `libhsa-runtime64.so`, which is looked for before other places",
    since: "0.1.0",
};

/// The same, as IREE calls it.
pub static IREE_LIBHSA_PATH: Variable = Variable {
    name: "IREE_HAL_AMDGPU_LIBHSA_PATH",
    default: "unset",
    help: "IREE's variable of the same meaning, which counts where ROCI_HAL_AMDGPU_LIBHSA_PATH is unset",
    since: "0.1.0",
};

/// Which OpenCL libraries the loader starts.
pub static OCL_ICD_VENDORS: Variable = Variable {
    name: "OCL_ICD_VENDORS",
    default: "/etc/OpenCL/vendors",
    help: "Folder of the files that name OpenCL libraries, or one such file; the OpenCL loader reads it too",
    since: "0.1.0",
};

/// Which GPUs RustICL shows.
pub static RUSTICL_ENABLE: Variable = Variable {
    name: "RUSTICL_ENABLE",
    default: "unset: none",
    help: "Drivers whose devices Mesa's RustICL shows: `radeonsi` for AMD GPUs, `llvmpipe` for the processor",
    since: "0.1.0",
};

/// Directories of programs.
pub static PATH: Variable = Variable {
    name: "PATH",
    default: "set by the shell",
    help: "Directories that are also searched for `libhsa-runtime64.so`",
    since: "0.1.0",
};

/// Has Khronos's layer check every call of Vulkan.
pub static VULKAN_VALIDATE: Variable = Variable {
    name: "ROCI_VULKAN_VALIDATE",
    default: "0",
    help: "1 has Khronos's validation layer check every call of Vulkan, and prints what it says",
    since: "0.1.0",
};

/// Switches colour off.
pub static NO_COLOR: Variable =
    Variable { name: "NO_COLOR", default: "unset", help: "Any non-empty value switches colour off", since: "0.1.0" };

/// Switches colour on even in pipes.
pub static FORCE_COLOR: Variable = Variable {
    name: "FORCE_COLOR",
    default: "unset",
    help: "Any non-empty value keeps colour on when the output is not a terminal",
    since: "0.1.0",
};

/// The terminal's type.
pub static TERM: Variable = Variable {
    name: "TERM",
    default: "set by the terminal",
    help: "`dumb` switches colour and progress bars off",
    since: "0.1.0",
};

/// What clients of `roci serve` must show.
pub static API_KEY: Variable = Variable {
    name: "ROCI_API_KEY",
    default: "no key",
    help: "Key that clients of `roci serve` must show, where `--api-key` is not given",
    since: "0.1.0",
};

/// All of them, in the order of the help page.
pub static VARIABLES: &[&Variable] = &[
    &BAKE,
    &DEVICE,
    &DEVICE_TARGETS,
    &EMU,
    &EMU_CHECK,
    &EMU_MEMORY,
    &EMU_THREADS,
    &EMU_DOORBELLS,
    &EMU_EXEC,
    &TIMEOUT,
    &COMPILE_TIMEOUT,
    &ALLOW_HSA,
    &HSA_ENABLE_SDMA,
    &HSA_OVERRIDE,
    &LIBHSA_PATH,
    &IREE_LIBHSA_PATH,
    &OCL_ICD_VENDORS,
    &RUSTICL_ENABLE,
    &VULKAN_VALIDATE,
    &LAB_DB,
    &API_KEY,
    &PATH,
    &NO_COLOR,
    &FORCE_COLOR,
    &TERM,
    &XDG_CACHE_HOME,
    &XDG_DATA_HOME,
    &HOME,
    &LD_LIBRARY_PATH,
    &LD_PRELOAD,
];

impl Variable {
    /// The value, or `None` when unset or empty. What is not Unicode in it is replaced, so that it is refused or shown
    /// like any other wrong value instead of being passed over.
    pub fn get(&self) -> Option<String> {
        self.get_raw().map(|value| lossy(&value))
    }

    /// The value as it is, for paths; `None` when unset or empty.
    pub fn get_raw(&self) -> Option<OsString> {
        #[expect(clippy::disallowed_methods, reason = "this is the wrapper that the lint points to")]
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }

    /// Every variable that is set, not empty, and has this name or one that goes on with `_`, in the order of names.
    pub fn get_all(&self) -> Vec<Found> {
        self.among(std::env::vars_os())
    }

    fn among(&self, all: impl Iterator<Item = (OsString, OsString)>) -> Vec<Found> {
        let is_of_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        let is_of = |name: &str| {
            let rest = name.strip_prefix(self.name);
            // Names that no shell takes are nobody's, and could not be printed for one.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_') && rest.bytes().all(is_of_name))
        };
        let mut found: Vec<Found> = all
            .filter(|(_, value)| !value.is_empty())
            .filter_map(|(name, value)| Some(Found { name: name.into_string().ok()?, value: lossy(&value) }))
            .filter(|found| is_of(&found.name))
            .collect();
        found.sort();
        found
    }
}

/// A variable as the environment has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Its whole name.
    pub name: String,
    /// Its value, with what is not Unicode replaced.
    pub value: String,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

fn lossy(value: &std::ffi::OsStr) -> String {
    value.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_go_on_are_found_with_the_name() {
        let name = HSA_OVERRIDE.name;
        let all = [
            (format!("{name}_1"), "10.3.0"),
            (format!("{name}S"), "1"),
            (format!("{name}_;"), "1"),
            (name.to_owned(), ""),
            ("HSA".into(), "1"),
        ];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let found = HSA_OVERRIDE.among(all.into_iter());
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [format!("{name}_1=10.3.0")]);
        let found = HSA_OVERRIDE.among([(name.into(), "11.0.0".into())].into_iter());
        assert_eq!(found, [Found { name: name.to_owned(), value: "11.0.0".to_owned() }]);
    }

    #[test]
    fn names_are_unique_and_helped() {
        for (index, variable) in VARIABLES.iter().enumerate() {
            assert!(!variable.help.is_empty() && !variable.default.is_empty());
            assert!(VARIABLES[..index].iter().all(|other| other.name != variable.name), "{} twice", variable.name);
        }
    }
}
