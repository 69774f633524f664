//! The kernel command line. It can contain passwords, keys, serial numbers and server names. A
//! value is shown only if its parameter is known to be harmless.

use crate::secrets::{MASKED, is_secret};

/// Parameters that diagnosis needs and whose values do not identify a person or a site. A name that
/// ends in a dot or an underscore is a prefix.
const HARMLESS: &[&str] = &[
    // GPU drivers.
    "amdgpu.",
    "amdkcl.",
    "amdttm.",
    "drm.",
    "drm_kms_helper.",
    "i915.",
    "nouveau.",
    "nvidia.",
    "nvidia-drm.",
    "nvidia_drm.",
    "radeon.",
    "ttm.",
    "video",
    // Module loading.
    "initcall_blacklist",
    "modprobe.blacklist",
    "module.sig_enforce",
    "module_blacklist",
    "rd.driver.blacklist",
    "rd.driver.pre",
    "vfio-pci.",
    "vfio_pci.",
    // Bus and IOMMU.
    "amd_iommu",
    "intel_iommu",
    "iommu",
    "iommu.",
    "pci",
    "pcie_acs_override",
    "pcie_aspm",
    "pcie_aspm.",
    "pcie_port_pm",
    "pcie_ports",
    "swiotlb",
    "vfio_iommu_type1.",
    // Memory.
    "cma",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "init_on_alloc",
    "init_on_free",
    "mem",
    "numa",
    "numa_balancing",
    "transparent_hugepage",
    "zswap.",
    // CPU and power.
    "amd_pstate",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.",
    "idle",
    "intel_pstate",
    "isolcpus",
    "kvm.",
    "kvm_amd.",
    "mitigations",
    "nohz_full",
    "nosmt",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "spec_store_bypass_disable",
    "spectre_v2",
    "tsc",
    // System setup.
    "acpi",
    "acpi_enforce_resources",
    "acpi_osi",
    "apparmor",
    "enforcing",
    "fbcon",
    "lockdown",
    "log_buf_len",
    "loglevel",
    "nmi_watchdog",
    "panic",
    "selinux",
    "systemd.unified_cgroup_hierarchy",
    "watchdog",
    // Environment variables for init.
    "AMD_",
    "HIP_",
    "HSA_",
    "MESA_",
    "RADV_",
    "ROCR_",
];
/// Maximum length of a name or value that is shown; the harmless ones are shorter.
const LONGEST: usize = 128;

/// Splits a command line into parameters with values. Quoted values may contain spaces. Values that
/// may be secret are masked. Everything after `--` is omitted: it is for init.
pub(crate) fn words(line: &str) -> Vec<(String, String)> {
    split(line).take_while(|part| *part != "--").map(word).collect()
}

/// The command line with masked values.
pub(crate) fn masked(line: &str) -> String {
    let mut all: Vec<_> = words(line)
        .into_iter()
        .map(|(name, value)| if value.is_empty() { name } else { format!("{name}={value}") })
        .collect();
    if split(line).any(|part| part == "--") {
        all.push(format!("-- {MASKED}"));
    }
    all.join(" ")
}

/// The value of a parameter, unless it may be a secret.
pub(crate) fn value(name: &str, value: &str) -> String {
    let is_known = HARMLESS.iter().any(|known| match known.ends_with(['.', '_']) {
        true => name.starts_with(known),
        false => name == *known,
    });
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.,:;+*=%!-".contains(c);
    let shows = is_known && !is_secret(name) && value.len() <= LONGEST && value.chars().all(is_plain);
    if shows || value.is_empty() { value.to_owned() } else { MASKED.to_owned() }
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let parts = line.split(move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    parts.filter(|part| !part.is_empty())
}

fn word(part: &str) -> (String, String) {
    let (name, given) = part.split_once('=').unwrap_or((part, ""));
    let name = name.trim_matches('"');
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_name) {
        return (MASKED.to_owned(), String::new());
    }
    (name.to_owned(), value(name, given.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn harmless_parameters_are_shown_and_others_masked() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=0a1b-2c3d ro quiet amdgpu.ppfeaturemask=0xfff7ffff iommu=pt pci=realloc=on,noaer \
                    serialno=X1Y2 nfsroot=nas:/export/naomi ip=10.0.0.7::10.0.0.1 rd.luks.uuid=luks-1 db.password=hunter2 \
                    rd.iscsi.password=hunter2 init=\"/bin/sh -c hunter2\" amdgpu.note=\"my secret words\" http://u:hunter2@h/ -- hunter2";
        assert_eq!(
            masked(line),
            "BOOT_IMAGE=MASKED root=MASKED ro quiet amdgpu.ppfeaturemask=0xfff7ffff iommu=pt pci=realloc=on,noaer serialno=MASKED \
             nfsroot=MASKED ip=MASKED rd.luks.uuid=MASKED db.password=MASKED rd.iscsi.password=MASKED init=MASKED amdgpu.note=MASKED \
             MASKED -- MASKED"
        );
        assert_eq!(masked(&masked(line)), masked(line), "twice is once");
        assert_eq!(value("amdgpu.api_key", "hunter2"), MASKED);
        assert_eq!(masked("amdgpu.a=\"1 serialno=hunter2"), "amdgpu.a=MASKED", "a quote that nothing closes");
    }

    #[test]
    fn rules_see_the_values_that_they_ask_for() {
        // Flags without a value.
        const BARE: &[&str] = &["nomodeset", "quiet"];
        let name = Regex::new(r#""(?:cmdline|configured)\.([\w.-]+)""#).expect("it is a pattern");
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/rules")).expect("the rules are there");
        let mut names = Vec::new();
        for file in folder {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("it is text");
            names.extend(name.captures_iter(&text).map(|found| found[1].to_owned()));
        }
        assert!(names.len() > 50, "{names:?}");
        names.retain(|name| value(name, "1") != "1" && !BARE.contains(&name.as_str()));
        assert!(names.is_empty(), "masked: {names:?}");
    }
}
