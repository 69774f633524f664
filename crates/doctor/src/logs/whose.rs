//! Whose GPU a line or a log is about. Words like "out of memory" are the same for every vendor, and an alarm about
//! somebody else's GPU is a false one.

use serde::Serialize;

use crate::pattern::Pattern;

use super::Log;

/// Words that only AMD's drivers and libraries have.
const AMD: &str = r"(?x)
    (?i:amdgpu|amdkfd|radeon|\bradv\b|rocm|rocblas|rocsparse|miopen|tensile|hipblas|comgr|\bamdvlk)
    | \bkfd\b | \bHIP\b | \bhip[A-Z] | \blib(?:hip|hsa|roc|amd) | \bHSA_ | \bgfx[0-9]{3} | \b(?:gfx|mm)hub | \bMES\b
    | \b(?:GC|MM)?VM_L2_ | \bGPU\ node-\d | \bring\ (?:gfx|comp|sdma|vcn|jpeg|uvd|vce)\w*\d | \bRADV_ | \bAMD\b";

/// Devices of other vendors and their drivers. That a program misses "an NVIDIA driver" tells of no such device.
pub(super) const OTHER: &str = r"(?x)
    \bGeForce\b | \bNVIDIA\ (?:RTX|GTX|Tesla|Quadro|Corporation|CUDA|[AHLT]\d+) | \bnouveau\b | \bNVRM:
    | \bi915\b | \bxe\ [0-9a-f]{4}: | \bIntel\(R\)\ (?:Arc|Iris|UHD|HD) | \b(?:RTX|GTX)\ \d{4}
    | \bcompute\ capability\ \d | \blibrary=cuda\b";

/// Whose GPU something is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// AMD's.
    Amd,
    /// Another vendor's.
    Other,
    /// Nothing tells.
    #[default]
    Unknown,
}

/// Tells whose a line is.
#[derive(Debug)]
pub(super) struct Vendors {
    amd: Pattern,
    other: Pattern,
}

impl Vendors {
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self { amd: Pattern::parse(AMD)?, other: Pattern::parse(OTHER)? })
    }

    /// Whose a line is. One that names both, such as a library that speaks of "NVIDIA or AMD", is AMD's.
    pub(super) fn of_line(&self, line: &str) -> Whose {
        if self.amd.matches(line) {
            Whose::Amd
        } else if self.other.matches(line) {
            Whose::Other
        } else {
            Whose::Unknown
        }
    }

    /// Whose a log is, once all else is known of it.
    pub(super) fn of_log(&self, log: &Log) -> Whose {
        let has = |name: &str| log.facts.machine.first(name).is_some();
        // clinfo tells of every vendor, so that one without another's is about what is missing.
        let only_amd = |kind: &String| match kind.as_str() {
            "rocminfo" | "rocm-smi" | "amdgpu_top" | "hsa" => true,
            "clinfo" => !has("log.other"),
            _ => false,
        };
        let named = log
            .facts
            .gpus
            .iter()
            .any(|gpu| gpu.first("gpu.target").or(gpu.first("gpu.pci_id")).or(gpu.first("gpu.forced")).is_some());
        let event = log.events.iter().flat_map(|event| &event.lines).any(|line| self.of_line(&line.text) == Whose::Amd);
        if has("log.amd") || has("wheel.torch.rocm") || named || event || log.kinds.iter().any(only_amd) {
            Whose::Amd
        } else if has("log.other") {
            Whose::Other
        } else {
            Whose::Unknown
        }
    }
}
