//! Every environment variable that the program reads, declared once with its help. Those of tests
//! are in `roci_testkit`.
//!
//! `clippy.toml` forbids `std::env::var` elsewhere, so a variable that is not in [`VARIABLES`]
//! cannot be read. `roci env` prints this table.

use std::ffi::OsString;

/// An environment variable and its help.
#[derive(Debug)]
pub struct Variable {
    /// Name in the environment.
    pub name: &'static str,
    /// Behavior when unset, as text for the help.
    pub default: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
    /// The version that introduced it.
    pub since: &'static str,
}

/// Timeout in seconds of a wait or a running submission.
pub static TIMEOUT: Variable = Variable {
    name: "ROCI_TIMEOUT",
    default: "30",
    help: "Seconds that a wait or a kernel may take before it is reported as hung (fractions allowed)",
    since: "0.1.0",
};

/// Timeout in seconds for compiling one kernel.
pub static COMPILE_TIMEOUT: Variable = Variable {
    name: "ROCI_COMPILE_TIMEOUT",
    default: "600",
    help: "Seconds that a driver may take to compile a kernel (fractions allowed); compile time does not count against ROCI_TIMEOUT",
    since: "0.2.0",
};

/// The default device of commands.
pub static DEVICE: Variable = Variable {
    name: "ROCI_DEVICE",
    default: "`auto`; `roci demo`: every real device",
    help: "Device URI that commands use when `--device` is not given",
    since: "0.1.0",
};

/// Whether kernels are specialized for the loaded language model.
pub static SPECIALIZE: Variable = Variable {
    name: "ROCI_SPECIALIZE",
    default: "on",
    help: "`off`: language models use generic kernels only; `on`: decode kernels are also compiled with the model's sizes as constants",
    since: "0.1.0",
};

/// Limits the device library to some of its targets.
pub static DEVICE_TARGETS: Variable = Variable {
    name: "ROCI_DEVICE_TARGETS",
    default: "every embedded target",
    help: "AMD targets to use from the embedded kernels, or to build when they are rebuilt, comma-separated: `gfx1010,gfx11-generic`",
    since: "0.1.0",
};

/// Extra checks of emulated GPUs.
pub static EMU_CHECK: Variable = Variable {
    name: "ROCI_EMU_CHECK",
    default: "no checks",
    help: "Extra checks of emulated GPUs, comma-separated: `waits`, `uninit`, `races` or `all`",
    since: "0.1.0",
};

/// The chips of the emulated HSA runtime.
pub static EMU: Variable = Variable {
    name: "ROCI_EMU",
    default: "gfx1010",
    help: "Chips of the emulated HSA runtime, comma-separated: `gfx1010,gfx1151`; set by `roci emu exec`",
    since: "0.1.0",
};

/// Memory size of each emulated GPU.
pub static EMU_MEMORY: Variable = Variable {
    name: "ROCI_EMU_MEMORY",
    default: "the chip's",
    help: "Memory size of each emulated GPU: `512MiB`, `8GiB`",
    since: "0.1.0",
};

/// Number of threads of each emulated GPU.
pub static EMU_THREADS: Variable = Variable {
    name: "ROCI_EMU_THREADS",
    default: "all cores",
    help: "Threads of each emulated GPU; with 1, kernels run deterministically",
    since: "0.1.0",
};

/// How queues of emulated GPUs detect doorbell writes.
pub static EMU_DOORBELLS: Variable = Variable {
    name: "ROCI_EMU_DOORBELLS",
    default: "trap",
    help: "How emulated queues detect doorbell writes: `trap` (a write wakes the queue, where the system allows it) or `poll`",
    since: "0.1.0",
};

/// Folder of the emulated kernel driver's files.
pub static EMU_EXEC: Variable = Variable {
    name: "ROCI_EMU_EXEC",
    default: "unset",
    help: "Folder of the emulated kernel driver's files (`/dev/kfd`, sysfs); set by `roci emu exec`",
    since: "0.1.0",
};

/// Base folder for cached files.
pub static XDG_CACHE_HOME: Variable = Variable {
    name: "XDG_CACHE_HOME",
    default: "~/.cache",
    help: "Base folder of the cache for compiled kernels and the libraries of `roci emu exec`",
    since: "0.1.0",
};

/// Base folder for persistent data.
pub static XDG_DATA_HOME: Variable = Variable {
    name: "XDG_DATA_HOME",
    default: "~/.local/share",
    help: "Base folder of the results of `roci matrix` and `roci lab`, and of the history of `roci chat`",
    since: "0.1.0",
};

/// Database file with the results of `roci lab`.
pub static LAB_DB: Variable = Variable {
    name: "ROCI_LAB_DB",
    default: "roci/lab.db in XDG_DATA_HOME",
    help: "Database file of `roci lab`; `--db` takes precedence",
    since: "0.1.0",
};

/// The user's home folder.
pub static HOME: Variable = Variable {
    name: "HOME",
    default: "set at login",
    help: "Home folder, which contains `.cache` and `.local`",
    since: "0.1.0",
};

/// Library folders that the dynamic loader searches first.
pub static LD_LIBRARY_PATH: Variable = Variable {
    name: "LD_LIBRARY_PATH",
    default: "unset",
    help: "Folders that the dynamic loader searches first; `roci emu exec` prepends one",
    since: "0.1.0",
};

/// Libraries that the dynamic loader preloads.
pub static LD_PRELOAD: Variable = Variable {
    name: "LD_PRELOAD",
    default: "unset",
    help: "Libraries that the dynamic loader loads before all others; `roci emu exec` prepends one",
    since: "0.1.0",
};

/// Makes ROCm treat a GPU as another chip. ROCm also reads names with a suffix, which take
/// precedence: see [`Variable::get_all`].
pub static HSA_OVERRIDE: Variable = Variable {
    name: "HSA_OVERRIDE_GFX_VERSION",
    default: "unset",
    help: "Makes ROCm treat every GPU as another chip (with the suffix `_1`: only the GPU of node 1); the amdgpu driver refuses to start with it, and `roci emu exec` unsets it",
    since: "0.1.0",
};

/// Whether HSA may use the copy engines (SDMA).
pub static HSA_ENABLE_SDMA: Variable = Variable {
    name: "HSA_ENABLE_SDMA",
    default: "by chip",
    help: "`0`: the amdgpu driver copies with kernels; `1`: with the copy engines; the URI parameter `copy` takes precedence",
    since: "0.1.0",
};

/// Allows starting HSA where it may freeze the machine.
pub static ALLOW_HSA: Variable = Variable {
    name: "ROCI_ALLOW_HSA",
    default: "unset",
    help: "`1` starts HSA, and OpenCL on top of it, even where that can freeze the machine (gfx1013 with an unpatched kernel)",
    since: "0.1.0",
};

/// Path of the HSA runtime.
pub static LIBHSA_PATH: Variable = Variable {
    name: "ROCI_HAL_AMDGPU_LIBHSA_PATH",
    default: "PATH, the loader's own search and /opt/rocm/lib",
    help: "Path of `libhsa-runtime64.so`, or of its directory; searched first",
    since: "0.1.0",
};

/// Path of the HSA runtime, by IREE's name.
pub static IREE_LIBHSA_PATH: Variable = Variable {
    name: "IREE_HAL_AMDGPU_LIBHSA_PATH",
    default: "unset",
    help: "IREE's name of the same variable, used if ROCI_HAL_AMDGPU_LIBHSA_PATH is unset",
    since: "0.1.0",
};

/// The OpenCL drivers that the ICD loader loads.
pub static OCL_ICD_VENDORS: Variable = Variable {
    name: "OCL_ICD_VENDORS",
    default: "/etc/OpenCL/vendors",
    help: "Folder of the `.icd` files of the OpenCL drivers, or one such file; the OpenCL loader reads it too",
    since: "0.1.0",
};

/// The Gallium drivers that Rusticl enables.
pub static RUSTICL_ENABLE: Variable = Variable {
    name: "RUSTICL_ENABLE",
    default: "unset: none",
    help: "Gallium drivers whose devices Mesa's RustICL exposes: `radeonsi` for AMD GPUs, `llvmpipe` for the CPU",
    since: "0.1.0",
};

/// Folders searched for programs.
pub static PATH: Variable = Variable {
    name: "PATH",
    default: "set by the shell",
    help: "Directories that are also searched for `libhsa-runtime64.so`",
    since: "0.1.0",
};

/// Enables the Khronos validation layer for Vulkan.
pub static VULKAN_VALIDATE: Variable = Variable {
    name: "ROCI_VULKAN_VALIDATE",
    default: "0",
    help: "`1` enables the Khronos validation layer for Vulkan and prints its messages",
    since: "0.1.0",
};

/// Disables color.
pub static NO_COLOR: Variable =
    Variable { name: "NO_COLOR", default: "unset", help: "Any non-empty value disables color", since: "0.1.0" };

/// Enables color even if the output is not a terminal.
pub static FORCE_COLOR: Variable = Variable {
    name: "FORCE_COLOR",
    default: "unset",
    help: "Any non-empty value enables color even if the output is not a terminal",
    since: "0.1.0",
};

/// Terminal type.
pub static TERM: Variable = Variable {
    name: "TERM",
    default: "set by the terminal",
    help: "`dumb` disables color and progress bars",
    since: "0.1.0",
};

/// The API key that clients of `roci serve` must send.
pub static API_KEY: Variable = Variable {
    name: "ROCI_API_KEY",
    default: "no key",
    help: "API key that clients of `roci serve` must send, if `--api-key` is not given",
    since: "0.1.0",
};

/// All variables, in the order of the help page.
pub static VARIABLES: &[&Variable] = &[
    &DEVICE,
    &DEVICE_TARGETS,
    &SPECIALIZE,
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

/// Former names, each after the current name. Read if the current name is unset; not listed in the
/// help.
static ALIASES: &[(&str, &str)] = &[("ROCI_SPECIALIZE", "ROCI_BAKE")];

impl Variable {
    /// The value; `None` if unset or empty. Invalid Unicode is replaced rather than ignored, so
    /// that the value is rejected or shown like any other wrong value.
    pub fn get(&self) -> Option<String> {
        self.get_raw().map(|value| lossy(&value))
    }

    /// The raw value, for paths; `None` if unset or empty.
    pub fn get_raw(&self) -> Option<OsString> {
        #[expect(clippy::disallowed_methods, reason = "this is the wrapper that the lint points to")]
        self.get_raw_from(|name| std::env::var_os(name))
    }

    fn get_raw_from(&self, get: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
        let aliases = ALIASES.iter().filter(|(current, _)| *current == self.name).map(|(_, alias)| *alias);
        std::iter::once(self.name).chain(aliases).find_map(|name| get(name).filter(|value| !value.is_empty()))
    }

    /// Every non-empty variable with this name, alone or followed by `_` and a suffix, sorted by
    /// name.
    pub fn get_all(&self) -> Vec<EnvVariable> {
        self.among(std::env::vars_os())
    }

    fn among(&self, all: impl Iterator<Item = (OsString, OsString)>) -> Vec<EnvVariable> {
        let is_of_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        let is_of = |name: &str| {
            let rest = name.strip_prefix(self.name);
            // Skips names that a shell cannot set; printing one as a variable would mislead.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_') && rest.bytes().all(is_of_name))
        };
        let mut found: Vec<EnvVariable> = all
            .filter(|(_, value)| !value.is_empty())
            .filter_map(|(name, value)| Some(EnvVariable { name: name.into_string().ok()?, value: lossy(&value) }))
            .filter(|found| is_of(&found.name))
            .collect();
        found.sort();
        found
    }
}

/// A variable found in the environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvVariable {
    /// Full name, including a suffix.
    pub name: String,
    /// The value, with invalid Unicode replaced.
    pub value: String,
}

impl std::fmt::Display for EnvVariable {
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
    fn get_all_finds_names_with_a_suffix() {
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
        assert_eq!(found, [EnvVariable { name: name.to_owned(), value: "11.0.0".to_owned() }]);
    }

    #[test]
    fn former_names_are_read_if_the_current_one_is_unset() {
        let get = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).into());
            SPECIALIZE.get_raw_from(value)
        };
        assert_eq!(get(&[("ROCI_BAKE", "off")]), Some("off".into()));
        assert_eq!(get(&[("ROCI_BAKE", "off"), ("ROCI_SPECIALIZE", "")]), Some("off".into()));
        assert_eq!(get(&[("ROCI_BAKE", "off"), ("ROCI_SPECIALIZE", "on")]), Some("on".into()));
        assert_eq!(get(&[]), None);
        for (current, alias) in ALIASES {
            assert!(VARIABLES.iter().any(|one| one.name == *current), "{current} is not declared");
            assert!(VARIABLES.iter().all(|one| one.name != *alias), "{alias} is in the help");
        }
    }

    #[test]
    fn names_are_unique_and_have_help() {
        for (index, variable) in VARIABLES.iter().enumerate() {
            assert!(!variable.help.is_empty() && !variable.default.is_empty());
            assert!(VARIABLES[..index].iter().all(|other| other.name != variable.name), "{} twice", variable.name);
        }
    }
}
