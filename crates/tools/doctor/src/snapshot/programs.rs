//! Compute programs, their capabilities, the libraries they have loaded, and variables in shell
//! files.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// The capability to read performance counters, which ollama needs to query free memory through
/// Vulkan.
const CAP_PERFMON: u32 = 38;
/// Libraries that come from one installation.
const ONE_INSTALL: &[&str] =
    &["libamdhip64.so", "libhsa-runtime64.so", "librocblas.so", "libMIOpen.so", "libamd_comgr.so"];

/// Compute programs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Programs {
    program: ProgramVersions,
    process: Process,
    shell: Shell,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct ProgramVersions {
    ollama: Ollama,
    /// Build number of llama.cpp.
    llama: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Ollama {
    /// Version, or `installed` if only the program itself knows it.
    is: Option<String>,
    perfmon: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Process {
    rocm: LoadedRocm,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct LoadedRocm {
    /// Whether a program on the GPU has loaded ROCm libraries from two installations.
    mixed: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Shell {
    /// Variables that shell files set without exporting them.
    unexported: BTreeSet<String>,
}

impl Programs {
    pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>, packages: &BTreeMap<String, String>) -> Self {
        let path = env.get("PATH").map_or("/usr/local/bin:/usr/bin", String::as_str);
        let folders: Vec<_> = path.split(':').filter(|folder| folder.starts_with('/')).collect();
        Self {
            program: ProgramVersions {
                ollama: ollama(root, &folders, packages),
                llama: llama(root, &folders, packages),
            },
            process: Process { rocm: LoadedRocm { mixed: mixed(root) } },
            shell: Shell { unexported: env.get("HOME").map(|home| unexported(root, home)).unwrap_or_default() },
        }
    }
}

fn ollama(root: &Root, folders: &[&str], packages: &BTreeMap<String, String>) -> Ollama {
    let file = folders.iter().map(|folder| format!("{folder}/ollama")).find(|path| root.has(path));
    let version = ["ollama", "ollama-rocm", "ollama-vulkan"].iter().find_map(|name| packages.get(*name)).cloned();
    Ollama {
        is: version.or_else(|| file.as_ref().map(|_| "installed".to_owned())),
        perfmon: file.map(|file| has_capability(root, &file, CAP_PERFMON)),
    }
}

/// Whether a file has a capability.
fn has_capability(root: &Root, path: &str, right: u32) -> bool {
    let mut bytes = [0; 24];
    let Ok(length) = rustix::fs::getxattr(root.path(path), "security.capability", &mut bytes) else { return false };
    // A word of flags, then for each 32 capabilities one word of permitted and one of inheritable
    // ones.
    let word = 4 + 8 * (right as usize / 32);
    let value = bytes[..length].get(word..word + 4).and_then(|bytes| bytes.first_chunk());
    value.is_some_and(|bytes| u32::from_le_bytes(*bytes) & 1 << (right % 32) != 0)
}

/// Build number of llama.cpp, from packages or library file names.
fn llama(root: &Root, folders: &[&str], packages: &BTreeMap<String, String>) -> Option<String> {
    let digits = |text: &str| {
        let number: String = text.trim_start_matches('b').chars().take_while(char::is_ascii_digit).collect();
        (number.len() >= 4).then_some(number)
    };
    let package = packages.iter().find(|(name, _)| name.starts_with("llama.cpp") || name.starts_with("llama-cpp"));
    // `libllama.so.0.0.7668`, next to the program or in the libraries of its prefix.
    let library = |folder: &str| {
        let names = root.list(folder);
        names.iter().find_map(|name| digits(name.strip_prefix("libllama.so.")?.rsplit('.').next()?))
    };
    let program =
        |folder: &&&str| ["llama-server", "llama-cli"].iter().any(|name| root.has(&format!("{folder}/{name}")));
    let beside = || {
        let folder = folders.iter().find(program)?;
        let prefix = folder.trim_end_matches("/bin");
        [
            (*folder).to_owned(),
            format!("{prefix}/lib"),
            format!("{prefix}/lib64"),
            format!("{prefix}/lib/x86_64-linux-gnu"),
        ]
        .iter()
        .find_map(|folder| library(folder))
        .or_else(|| Some("installed".to_owned()))
    };
    package.and_then(|(_, version)| digits(version)).or_else(beside)
}

/// Whether a program with KFD open has libraries of two installations. Programs of other users
/// cannot be inspected.
fn mixed(root: &Root) -> Option<bool> {
    let mut found = None;
    for process in root.list("/sys/class/kfd/kfd/proc") {
        let Some(maps) = root.volatile_text(&format!("/proc/{process}/maps")) else { continue };
        let mut homes = BTreeSet::new();
        for line in maps.lines() {
            let Some((folder, name)) = line.find('/').and_then(|at| line[at..].rsplit_once('/')) else { continue };
            if ONE_INSTALL.iter().any(|library| name.starts_with(library)) {
                // The Python packages of one installation are in adjacent folders.
                homes.insert(folder.split("/_rocm_sdk_").next().unwrap_or(folder).to_owned());
            }
        }
        found = Some(found.unwrap_or(false) || homes.len() > 1);
    }
    found
}

/// Relevant variables that shell files set but do not export: programs do not get them.
fn unexported(root: &Root, home: &str) -> BTreeSet<String> {
    let (mut set, mut exported) = (BTreeSet::new(), BTreeSet::new());
    for file in [".profile", ".bash_profile", ".bashrc", ".zshenv", ".zprofile", ".zshrc"] {
        for line in root.text(&format!("{home}/{file}")).unwrap_or_default().lines() {
            let line = line.trim();
            match line.strip_prefix("export ") {
                Some(names) => {
                    exported
                        .extend(names.split_whitespace().map(|word| word.split('=').next().unwrap_or(word).to_owned()));
                }
                // A command after the assignment gets the variable.
                None => set.extend(
                    line.split_once('=').filter(|(_, value)| is_one_word(value)).map(|(name, _)| name.to_owned()),
                ),
            }
        }
    }
    for line in root.text(&format!("{home}/.config/fish/config.fish")).unwrap_or_default().lines() {
        let mut words = line.split_whitespace().skip_while(|word| *word == "and");
        if words.next() != Some("set") {
            continue;
        }
        let (options, names): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with('-'));
        let exports =
            options.iter().any(|option| *option == "--export" || !option.starts_with("--") && option.contains('x'));
        if let Some(name) = names.first() {
            if exports { &mut exported } else { &mut set }.insert((*name).to_owned());
        }
    }
    // Variables of `set -U`.
    for line in root.text(&format!("{home}/.config/fish/fish_variables")).unwrap_or_default().lines() {
        if let Some((name, _)) = line.strip_prefix("SETUVAR ").and_then(|rest| rest.split_once(':')) {
            match name.strip_prefix("--export ") {
                Some(name) => exported.insert(name.to_owned()),
                None => set.insert(name.to_owned()),
            };
        }
    }
    set.retain(|name| super::counts(name) && !exported.contains(name));
    set
}

fn is_one_word(value: &str) -> bool {
    let value = value.split(" #").next().unwrap_or(value).trim();
    let quoted =
        |quote: char| value.len() > 1 && value.starts_with(quote) && value[1..].find(quote) == Some(value.len() - 2);
    !value.contains(char::is_whitespace) || quoted('"') || quoted('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn unexported_variables_are_detected() {
        let (_folder, root) = tree(&[
            (
                "home/me/.bashrc",
                "HSA_OVERRIDE_GFX_VERSION=10.3.0\nHIP_VISIBLE_DEVICES=0\nexport HIP_VISIBLE_DEVICES\n\
                 ROCR_VISIBLE_DEVICES=0 llama-server\nEDITOR=vi\nexport HSA_ENABLE_SDMA=0\n",
            ),
            ("home/me/.config/fish/config.fish", "set RUSTICL_ENABLE radeonsi\nset -gx GGML_VK_VISIBLE_DEVICES 0\n"),
            ("home/me/.config/fish/fish_variables", "SETUVAR HSA_XNACK:1\nSETUVAR --export HSA_ENABLE_SDMA:0\n"),
        ]);
        let found: Vec<_> = unexported(&root, "/home/me").into_iter().collect();
        assert_eq!(found, ["HSA_OVERRIDE_GFX_VERSION", "HSA_XNACK", "RUSTICL_ENABLE"]);
    }

    #[test]
    fn llama_cpp_is_identified_by_its_build_number() {
        let (_folder, root) = tree(&[("opt/llama/bin/llama-server", ""), ("opt/llama/lib/libllama.so.0.0.7668", "")]);
        assert_eq!(llama(&root, &["/usr/bin", "/opt/llama/bin"], &BTreeMap::new()).as_deref(), Some("7668"));
        assert_eq!(llama(&root, &["/usr/bin"], &BTreeMap::new()), None);
        let packages = BTreeMap::from([("llama.cpp-vulkan".to_owned(), "b6527-1".to_owned())]);
        assert_eq!(llama(&root, &[], &packages).as_deref(), Some("6527"));
    }

    #[test]
    fn libraries_of_two_installations_are_detected() {
        let line = |path: &str| format!("7f0 r-xp 0 00:00 1 {path}\n");
        let two = line("/opt/rocm-6.2.0/lib/libamdhip64.so.6") + &line("/usr/lib64/librocblas.so.4") + &line("[heap]");
        let (_folder, root) = tree(&[("sys/class/kfd/kfd/proc/12/pasid", "1"), ("proc/12/maps", &two)]);
        assert_eq!(mixed(&root), Some(true));
        let (_folder, root) = tree(&[("proc/12/maps", &two)]);
        assert_eq!(mixed(&root), None, "it does not compute");
    }
}
