//! Changes that rules can state as data, and what may be in them.
//!
//! A change ends up in files and commands of root. Its values can come from facts, so they are
//! checked again after placeholders are filled.

use serde::{Deserialize, Serialize};

/// A change that is part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Change {
    /// Sets a parameter on the kernel command line: `amdgpu.sg_display=0`.
    KernelParameter(String),
    /// Removes a parameter from the kernel command line and, if its name has a dot, from
    /// modprobe.d: `amdgpu.sched_policy`.
    RemoveParameter(String),
    /// Sets an option of a module in modprobe.d: `amdgpu.lockup_timeout=10000`.
    ModuleOption(String),
    /// Removes the lines of modprobe.d that keep a module from loading.
    RemoveBlacklist(String),
    /// Adds the user to groups: `render,video`.
    Groups(String),
    /// Adds the user of the compute service to groups.
    ServiceGroups(String),
    /// Sets a variable for all logins: `HSA_ENABLE_SDMA=0`.
    Environment(String),
    /// Removes a variable from the files that set it.
    RemoveEnvironment(String),
    /// Adds a rule for device nodes: `KERNEL=="kfd", GROUP="render", MODE="0660"`.
    UdevRule(String),
}

impl Change {
    /// The value, and a function that checks it.
    fn parts(&mut self) -> (&mut String, fn(&str) -> bool) {
        match self {
            Self::KernelParameter(text) => (text, is_parameter),
            Self::RemoveParameter(text) => (text, is_name),
            Self::ModuleOption(text) => (text, is_option),
            Self::RemoveBlacklist(text) => (text, is_name),
            Self::Groups(text) | Self::ServiceGroups(text) => (text, are_groups),
            Self::Environment(text) => (text, is_assignment),
            Self::RemoveEnvironment(text) => (text, is_variable),
            Self::UdevRule(text) => (text, is_udev_rule),
        }
    }

    /// The value.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::KernelParameter(text)
            | Self::RemoveParameter(text)
            | Self::ModuleOption(text)
            | Self::RemoveBlacklist(text)
            | Self::Groups(text)
            | Self::ServiceGroups(text)
            | Self::Environment(text)
            | Self::RemoveEnvironment(text)
            | Self::UdevRule(text) => text,
        }
    }

    /// Checks the value. The error is a message.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut copy = self.clone();
        let (text, is_valid) = copy.parts();
        if is_valid(text) {
            Ok(())
        } else {
            Err(format!("`{}` is not a valid value of this change", text.escape_debug()))
        }
    }

    /// The change with placeholders replaced.
    pub(crate) fn map(&self, fill: impl FnOnce(&str) -> String) -> Self {
        let mut copy = self.clone();
        let (text, _) = copy.parts();
        *text = fill(text);
        copy
    }
}

/// Maximum length of a value; real ones are shorter.
const LONGEST: usize = 256;

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    text.len() <= LONGEST && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_part)
}

/// Whether a value needs no quotes in any of the files.
fn is_value(text: &str) -> bool {
    text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.,:;+*=%/-".contains(c))
}

fn is_parameter(text: &str) -> bool {
    match text.split_once('=') {
        Some((name, value)) => is_name(name) && is_value(value) && !value.contains(';'),
        None => is_name(text),
    }
}

/// `module.option=value`.
fn is_option(text: &str) -> bool {
    is_parameter(text) && text.split_once('=').is_some_and(|(name, _)| name.contains('.'))
}

fn are_groups(text: &str) -> bool {
    // These groups give their members root's rights, or no rights.
    const FORBIDDEN: &[&str] = &["root", "wheel", "sudo", "admin", "adm", "shadow", "docker", "disk"];
    let is_group = |name: &str| is_name(name) && !name.contains('.') && !FORBIDDEN.contains(&name);
    text.split(',').all(is_group) && !text.chars().all(|c| c.is_ascii_digit())
}

fn is_variable(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // Variables such as PATH affect more than compute.
    let is_safe = ["HSA_", "HIP_", "ROC", "RUSTICL_", "GGML_", "MIOPEN_", "AMD_", "RADV_", "GPU_", "CUDA_", "TORCH_"];
    let others = ["LD_LIBRARY_PATH", "HIP_PATH", "VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
    text.len() <= LONGEST
        && text.chars().all(is_part)
        && (is_safe.iter().any(|start| text.starts_with(start)) || others.contains(&text))
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, value)| is_variable(name) && is_value(value) && !value.contains(';'))
}

fn is_udev_rule(text: &str) -> bool {
    let has = |key: &str| text.contains(key);
    let sets = has("GROUP=\"") || has("MODE=\"") || has("TAG+=\"") || has("ATTR{");
    // A rule that starts programs is not a remedy.
    let runs = has("RUN") || has("PROGRAM") || has("IMPORT") || has("$") || has("%");
    text.len() <= LONGEST && sets && !runs && text.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(change: Change) -> bool {
        change.check().is_ok()
    }

    #[test]
    fn only_plain_values_are_accepted() {
        for text in ["amdgpu.sg_display=0", "iommu=pt", "nomodeset", "amdgpu.lockup_timeout=10000,60000,-1"] {
            assert!(valid(Change::KernelParameter(text.into())), "{text}");
        }
        for text in ["", "=1", "a b", "a=$(reboot)", "a=\"1\"", "a=1\nb", "a='", "-x", "a=`x`", "a=1;b", "a=\\"] {
            assert!(!valid(Change::KernelParameter(text.into())), "{text}");
        }
        assert!(valid(Change::ModuleOption("ttm.pages_limit=1".into())) && !valid(Change::ModuleOption("a=1".into())));
        assert!(valid(Change::Groups("render,video".into())));
        for text in ["", "root", "render,wheel", "render video", "../x", "44", "a,,b"] {
            assert!(!valid(Change::Groups(text.into())), "{text}");
        }
        assert!(valid(Change::Environment("HSA_ENABLE_SDMA=0".into())));
        for text in ["PATH=/tmp", "LD_PRELOAD=/tmp/x", "HSA_X", "HSA_X=a b", "HSA_X=$HOME", "HSA_X=\"1\""] {
            assert!(!valid(Change::Environment(text.into())), "{text}");
        }
        assert!(valid(Change::UdevRule("KERNEL==\"kfd\", GROUP=\"render\", MODE=\"0660\"".into())));
        for text in ["KERNEL==\"kfd\"", "KERNEL==\"kfd\", MODE=\"0666\", RUN+=\"/x\"", "MODE=\"0660\"\nRUN+=\"x\""] {
            assert!(!valid(Change::UdevRule(text.into())), "{text}");
        }
    }

    #[test]
    fn a_filled_placeholder_is_checked() {
        let change = Change::Environment("ROCR_VISIBLE_DEVICES={gpus.discrete_numbers}".into());
        assert!(!valid(change.clone()), "the placeholder itself is not a value");
        assert!(valid(change.map(|text| text.replace("{gpus.discrete_numbers}", "0,1"))));
        assert!(!valid(change.map(|text| text.replace("{gpus.discrete_numbers}", "0\nPATH=/x"))));
    }
}
