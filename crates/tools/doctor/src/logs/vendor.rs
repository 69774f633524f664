//! Vendor of the GPU that a line or log is about. Messages such as "out of memory" are the same for
//! all vendors, and an alarm about another vendor's GPU is a false alarm.

use serde::Serialize;

use crate::pattern::Pattern;

use super::Log;

/// Words that only AMD's drivers and libraries use.
const AMD: &str = r"(?x)
    (?i:amdgpu|amdkfd|radeon|\bradv\b|rocm|rocblas|rocsparse|miopen|tensile|hipblas|comgr|\bamdvlk)
    | \bkfd\b | \bHIP\b | \bhip[A-Z] | \blib(?:hip|hsa|roc|amd) | \bHSA_ | \bgfx[0-9]{3} | \b(?:gfx|mm)hub | \bMES\b
    | \b(?:GC|MM)?VM_L2_ | \bGPU\ node-\d | \bring\ (?:gfx|comp|sdma|vcn|jpeg|uvd|vce)\w*\d | \bRADV_ | \bAMD\b";

/// Devices and drivers of other vendors. A message about a missing "NVIDIA driver" is no evidence
/// of such a device.
pub(super) const OTHER: &str = r"(?x)
    \bGeForce\b | \bNVIDIA\ (?:RTX|GTX|Tesla|Quadro|Corporation|CUDA|[AHLT]\d+) | \bnouveau\b | \bNVRM:
    | \bi915\b | \bxe\ [0-9a-f]{4}: | \bIntel\(R\)\ (?:Arc|Iris|UHD|HD) | \b(?:RTX|GTX)\ \d{4}
    | \bcompute\ capability\ \d | \blibrary=cuda\b";

/// Vendor of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Vendor {
    /// AMD, ATI included.
    Amd,
    /// Another vendor.
    Other,
    /// Not known.
    #[default]
    Unknown,
}

/// Detects the vendor of lines.
#[derive(Debug)]
pub(super) struct VendorDetector {
    amd: Pattern,
    other: Pattern,
}

impl VendorDetector {
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self { amd: Pattern::parse(AMD)?, other: Pattern::parse(OTHER)? })
    }

    /// Vendor of a line. A line that names both counts as AMD, such as a library's "NVIDIA or AMD".
    pub(super) fn of_line(&self, line: &str) -> Vendor {
        if self.amd.matches(line) {
            Vendor::Amd
        } else if self.other.matches(line) {
            Vendor::Other
        } else {
            Vendor::Unknown
        }
    }

    /// Vendor of a log, from all its facts and events.
    pub(super) fn of_log(&self, log: &Log) -> Vendor {
        let has = |name: &str| log.facts.machine.first(name).is_some();
        // clinfo lists every vendor, so its output without another vendor is about a missing AMD
        // device.
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
        let event =
            log.events.iter().flat_map(|event| &event.lines).any(|line| self.of_line(&line.text) == Vendor::Amd);
        if has("log.amd") || has("wheel.torch.rocm") || named || event || log.kinds.iter().any(only_amd) {
            Vendor::Amd
        } else if has("log.other") {
            Vendor::Other
        } else {
            Vendor::Unknown
        }
    }
}
