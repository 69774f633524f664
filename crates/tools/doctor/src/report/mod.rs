//! Report for a bug tracker, with the information that AMD's engineers request in bug threads: as
//! Markdown, and as a page.

mod page;

use std::fmt::Write as _;

use crate::conclusion::Cause;
use crate::diagnosis::{Diagnosis, GpuDiagnosis};
use crate::facts::{Fact, Facts};
use crate::snapshot::Snapshot;

pub use page::html;

/// Sections, with the first components of the facts in each.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "System",
        &[
            "os",
            "arch",
            "cpu",
            "board",
            "bios",
            "glibc",
            "memory",
            "container",
            "wsl",
            "virtual_machine",
            "secure_boot",
            "selinux",
        ],
    ),
    ("Kernel and driver", &["kernel", "cmdline", "module", "param", "configured", "dkms", "iommu", "initramfs"]),
    ("Devices and permissions", &["node", "user"]),
    ("ROCm, wheels, packages", &["rocm", "rocm_sdk", "library", "wheel", "package", "program", "service"]),
    ("Vulkan and OpenCL", &["mesa", "vulkan", "opencl"]),
    ("Environment", &["env", "service_env"]),
];
/// Number of kernel log lines, from its end.
const LINES: usize = 200;

/// The report as Markdown. All input is masked already; `computed` has one line per tested device.
pub fn markdown(snapshot: &Snapshot, diagnosis: &Diagnosis, computed: Option<&[String]>, program: &str) -> String {
    let facts = snapshot.facts();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut text, snapshot, &facts, diagnosis, computed, program);
    text
}

fn write_report(
    text: &mut String,
    snapshot: &Snapshot,
    facts: &Facts,
    diagnosis: &Diagnosis,
    computed: Option<&[String]>,
    program: &str,
) -> std::fmt::Result {
    writeln!(
        text,
        "# GPU report\n\nMade by {program}. Host and user names, addresses and serial numbers are masked.\n"
    )?;
    writeln!(text, "**{}**\n", diagnosis.verdict)?;
    writeln!(
        text,
        "## What happened\n\nDescribe here: what you ran, what you expected, what happened instead, and since when.\n"
    )?;
    writeln!(text, "## Steps to reproduce\n\n1. \n")?;
    writeln!(text, "## GPUs\n")?;
    for (index, card) in diagnosis.gpus.iter().enumerate() {
        write_card(text, card)?;
        let known = snapshot.gpus.iter().position(|gpu| gpu.pci == card.pci).and_then(|at| facts.gpus.get(at));
        for (name, values) in known.into_iter().flat_map(|table| table.iter()) {
            writeln!(text, "- {}: {}", name.trim_start_matches("gpu."), shown(name, values))?;
        }
        if index + 1 < diagnosis.gpus.len() {
            writeln!(text)?;
        }
    }
    if diagnosis.gpus.is_empty() {
        writeln!(text, "None from AMD.")?;
    }
    writeln!(text, "\n## Findings\n")?;
    for cause in &diagnosis.findings {
        write_finding(text, cause)?;
    }
    if diagnosis.findings.is_empty() {
        writeln!(text, "No known problem was found.")?;
    }
    if let Some(lines) = computed {
        writeln!(text, "\n## Compute results\n")?;
        lines.iter().try_for_each(|line| writeln!(text, "- {}", line.replace('`', "'")))?;
        if lines.is_empty() {
            writeln!(text, "No device could be tested.")?;
        }
    }
    for silent in &diagnosis.failed_probes {
        writeln!(text, "\n{} did not report its devices: {}", silent.driver, silent.reason)?;
    }
    for (title, words) in SECTIONS {
        writeln!(text, "\n## {title}\n")?;
        let mut any = false;
        for (name, values) in in_section(facts, words) {
            writeln!(text, "- {name}: {}", joined(values))?;
            any = true;
        }
        if !any {
            writeln!(text, "None found.")?;
        }
    }
    writeln!(text, "\n## Kernel log\n")?;
    match &snapshot.kernel_log {
        Some(log) => {
            let lines: Vec<_> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(LINES)..];
            writeln!(text, "The last {} of {} lines that concern GPUs.\n", tail.len(), lines.len())?;
            writeln!(text, "```\n{}\n```", tail.join("\n").replace("```", "'''"))?;
        }
        None => {
            writeln!(text, "The kernel log could not be read. Add the output of `sudo dmesg` on that machine.")?;
        }
    }
    if !diagnosis.unreadable.is_empty() {
        writeln!(text, "\n## Not readable\n")?;
        diagnosis.unreadable.iter().try_for_each(|line| writeln!(text, "- {line}"))?;
    }
    writeln!(text, "\n## Please add\n")?;
    writeln!(text, "- the whole output of the program that fails, with `AMD_LOG_LEVEL=4` set if it uses HIP")?;
    writeln!(text, "- `rocminfo` (not on a BC-250 with a stock kernel, where it can freeze the machine)")?;
    writeln!(text, "- `sudo cat /sys/kernel/debug/dri/*/amdgpu_firmware_info`, which only root may read")?;
    writeln!(text, "- power supply, other hardware, and recent changes")
}

fn write_card(text: &mut String, card: &GpuDiagnosis) -> std::fmt::Result {
    writeln!(text, "### {} at {}\n\n- route: {}", card.name(), card.pci, card.best())?;
    for route in &card.routes {
        if let Some(obstacle) = &route.obstacle {
            let not = if route.unknown { "perhaps" } else { "not" };
            writeln!(text, "- {not} by {}: {obstacle}", route.kind.describe())?;
        }
    }
    Ok(())
}

fn write_finding(text: &mut String, cause: &Cause) -> std::fmt::Result {
    let place = if cause.gpus.is_empty() { String::new() } else { format!(" at {}", cause.gpus.join(", ")) };
    writeln!(text, "- **{}** {}{place}", cause.id, cause.title)?;
    for evidence in &cause.evidence {
        let value = evidence.value.as_deref().unwrap_or("absent");
        writeln!(text, "  - {} = {value}", evidence.name)?;
    }
    cause.lines.iter().try_for_each(|line| writeln!(text, "  - `{}`", line.text.trim().replace('`', "'")))
}

/// The facts of a machine by section: title, and names with values.
pub fn sections(snapshot: &Snapshot) -> Vec<(&'static str, Vec<(String, String)>)> {
    let facts = snapshot.facts();
    let row = |(name, values): (&str, &[Fact])| (name.to_owned(), joined(values));
    SECTIONS.iter().map(|(title, words)| (*title, in_section(&facts, words).map(row).collect())).collect()
}

/// Facts of the machine whose names start with one of these words.
fn in_section<'f>(facts: &'f Facts, words: &'static [&'static str]) -> impl Iterator<Item = (&'f str, &'f [Fact])> {
    let belongs = |name: &str| name.split('.').next().is_some_and(|word| words.contains(&word));
    facts.machine.iter().filter(move |(name, _)| belongs(name))
}

/// Firmware versions in hexadecimal, as the driver prints them.
fn shown(name: &str, values: &[Fact]) -> String {
    match values {
        [fact] if name.starts_with("gpu.firmware.") => {
            fact.value.parse::<u64>().map_or_else(|_| fact.value.clone(), |number| format!("{number:#010x}"))
        }
        _ => joined(values),
    }
}

fn joined(values: &[Fact]) -> String {
    values.iter().map(|fact| fact.value.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gpu, LogReader, RuleSet};

    #[test]
    fn a_report_has_all_sections() {
        let firmware = [("mec".to_owned(), 145)].into();
        let gpu = Gpu { pci: "0000:03:00.0".into(), pci_id: "1002:731f".into(), firmware, ..Gpu::default() };
        let mut snapshot = Snapshot::default();
        snapshot.gpus.push(gpu);
        snapshot.kernel_log = Some("amdgpu: ring gfx_0.0.0 timeout".into());
        let (rule_set, reader) =
            (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
        let computed = ["vulkan:0: crashes".to_owned()];
        let text = markdown(&snapshot, &Diagnosis::new(&rule_set, &reader, &snapshot), Some(&computed), "roci 0");
        for expected in [
            "Made by roci 0",
            "0000:03:00.0",
            "ring gfx_0.0.0 timeout",
            "## Steps to reproduce",
            "pci_id: 1002:731f",
            "firmware.mec: 0x00000091",
            "## Compute results\n\n- vulkan:0: crashes",
        ] {
            assert!(text.contains(expected), "{expected} is missing:\n{text}");
        }
    }
}
