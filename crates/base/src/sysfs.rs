//! GPUs as sysfs lists them: PCI addresses, memory and chips, without starting a runtime.
//!
//! Runtimes are not used because some misreport memory, and because starting one can freeze the
//! machine on one chip. The sysfs root is a parameter, so that tests can provide other machines.

use std::fs;
use std::path::{Path, PathBuf};

use crate::PciAddress;

/// PCI vendor ID of AMD.
pub const AMD: u32 = 0x1002;

/// The chip of the BC-250, on which any HSA program can freeze an unpatched kernel.
const FREEZING_TARGET: &str = "gfx1013";
/// Module parameter that exists only in patched kernels.
const PATCH_PARAMETER: &str = "module/amdgpu/parameters/bc250_flush_pasid_kiq";

/// A sysfs tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysfs {
    root: PathBuf,
}

/// A GPU as a graphics (DRM) driver lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Address on the bus, which other tools show too.
    pub pci: PciAddress,
    /// PCI vendor ID.
    pub vendor: u32,
    /// Bytes of VRAM; for an integrated GPU, the memory that the firmware reserves. Only AMD's
    /// driver reports it.
    pub vram: Option<u64>,
    /// Bytes of host memory that the GPU may use (GTT).
    pub gtt: Option<u64>,
    /// Chip name (`gfx1010`), if the compute driver (KFD) supports the card.
    pub target: Option<String>,
}

impl Card {
    /// Bytes of memory that the GPU can use. On integrated GPUs both pools are host memory, so the
    /// larger one counts.
    pub fn memory(&self, integrated: bool) -> Option<u64> {
        if integrated { self.vram.max(self.gtt) } else { self.vram }
    }
}

/// A GPU as the compute driver (KFD) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    /// PCI address, if the kernel reports it.
    pub pci: Option<PciAddress>,
    /// Chip name (`gfx1010`).
    pub target: String,
}

impl Sysfs {
    /// The sysfs of this machine, `/sys`.
    pub fn system() -> Self {
        Self::at("/sys")
    }

    /// A sysfs tree at another root.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The cards of the graphics drivers, in the order of their PCI addresses.
    pub fn cards(&self) -> Vec<Card> {
        let chips = self.chips();
        let mut cards: Vec<_> = folders(&self.root.join("class/drm"))
            .into_iter()
            // Skips connectors (`card0-DP-1`) and render nodes (`renderD128`), which belong to the
            // same cards.
            .filter(|path| name(path).strip_prefix("card").is_some_and(|number| number.parse::<u32>().is_ok()))
            .filter_map(|path| card(&path.join("device"), &chips))
            .collect();
        cards.sort_by_key(|card| card.pci);
        cards
    }

    /// The GPUs of the compute driver, with the real chip even if an override is set.
    pub fn chips(&self) -> Vec<Chip> {
        let mut nodes = folders(&self.root.join("class/kfd/kfd/topology/nodes"));
        nodes.sort();
        nodes.iter().filter_map(|node| chip(&fs::read_to_string(node.join("properties")).ok()?)).collect()
    }

    /// Why starting HSA, or OpenCL on top of it, may freeze this machine; `None` if no problem is
    /// known.
    pub fn hsa_may_freeze(&self) -> Option<String> {
        let flushes = fs::read_to_string(self.root.join(PATCH_PARAMETER)).ok();
        self.chips().iter().find(|chip| hsa_freezes(&chip.target, flushes.as_deref()))?;
        Some(format!("starting HSA on {FREEZING_TARGET} freezes machines whose kernel is not patched for it"))
    }
}

/// Whether starting HSA may freeze a machine with this chip. `flushes` is the current value of
/// amdgpu's parameter `bc250_flush_pasid_kiq`, which only patched modules have.
pub fn hsa_freezes(target: &str, flushes: Option<&str>) -> bool {
    target == FREEZING_TARGET && !flushes.is_some_and(|value| matches!(value.trim(), "0" | "N"))
}

/// The name of the chip that the compute driver reports as 100103: major, minor and stepping, the
/// last two as one hexadecimal digit each.
pub fn target_name(version: u64) -> Option<String> {
    let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
    (major >= 6 && minor < 16 && stepping < 16).then(|| format!("gfx{major}{minor:x}{stepping:x}"))
}

/// PCI address from the compute driver's `domain` and `location_id`.
pub fn pci_address(domain: u64, location: u64) -> Option<PciAddress> {
    let byte = |value: u64| u8::try_from(value).ok();
    let (bus, device, function) = (byte(location >> 8 & 255)?, byte(location >> 3 & 31)?, byte(location & 7)?);
    Some(PciAddress { domain: u32::try_from(domain).ok()?, bus, device, function })
}

/// The numeric properties in a `properties` file of the compute driver, by name.
pub fn properties(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let pairs = text.lines().filter_map(|line| line.trim().split_once(' '));
    pairs.filter_map(|(name, value)| Some((name, value.trim().parse().ok()?)))
}

fn card(device: &Path, chips: &[Chip]) -> Option<Card> {
    let text = |file: &str| fs::read_to_string(device.join(file)).ok();
    let uevent = text("uevent")?;
    let pci = uevent.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")?.trim().parse().ok())?;
    let vendor = text("vendor")?;
    let number = |file: &str| text(file)?.trim().parse().ok();
    Some(Card {
        pci,
        vendor: u32::from_str_radix(vendor.trim().trim_start_matches("0x"), 16).ok()?,
        vram: number("mem_info_vram_total"),
        gtt: number("mem_info_gtt_total"),
        target: chips.iter().find(|chip| chip.pci == Some(pci)).map(|chip| chip.target.clone()),
    })
}

/// The GPU of a topology node; `None` if the node is a CPU.
fn chip(properties: &str) -> Option<Chip> {
    let field = |key: &str| self::properties(properties).find(|(name, _)| *name == key).map(|(_, value)| value);
    let target = target_name(field("gfx_target_version")?)?;
    let pci = field("location_id").and_then(|location| pci_address(field("domain").unwrap_or(0), location));
    Some(Chip { pci, target })
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary sysfs tree with these files, deleted on drop.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Sysfs) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let sysfs = Sysfs::at(folder.path());
        (folder, sysfs)
    }

    const CPU: (&str, &str) =
        ("class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 12\nsimd_count 0\ngfx_target_version 0\n");
    const BC250: (&str, &str) = (
        "class/kfd/kfd/topology/nodes/1/properties",
        "cpu_cores_count 0\nsimd_count 48\ngfx_target_version 100103\nlocation_id 256\ndomain 0\n",
    );

    #[test]
    fn a_card_has_its_address_memory_and_chip() {
        let (_folder, sysfs) = tree(&[
            CPU,
            BC250,
            ("class/drm/card1/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:01:00.0\n"),
            ("class/drm/card1/device/vendor", "0x1002\n"),
            ("class/drm/card1/device/mem_info_vram_total", "536870912\n"),
            ("class/drm/card1/device/mem_info_gtt_total", "12884901888\n"),
            ("class/drm/card1-DP-1/device/uevent", "PCI_SLOT_NAME=0000:01:00.0\n"),
            ("class/drm/renderD128/device/uevent", "PCI_SLOT_NAME=0000:01:00.0\n"),
            ("class/drm/card0/device/uevent", "DRIVER=simple\n"),
        ]);
        let cards = sysfs.cards();
        assert_eq!(cards.len(), 1, "{cards:?}");
        assert_eq!(cards[0].pci.to_string(), "0000:01:00.0");
        assert_eq!(cards[0].target.as_deref(), Some("gfx1013"));
        assert_eq!((cards[0].memory(true), cards[0].memory(false)), (Some(12 << 30), Some(512 << 20)));
    }

    #[test]
    fn chips_are_named_with_hexadecimal_digits() {
        let name = |version: &str| chip(&format!("gfx_target_version {version}\n")).map(|chip| chip.target);
        assert_eq!(name("90012").as_deref(), Some("gfx90c"));
        assert_eq!(name("100103").as_deref(), Some("gfx1013"));
        assert_eq!(name("110501").as_deref(), Some("gfx1151"));
        assert_eq!(name("0"), None);
        assert_eq!(name("many"), None);
    }

    #[test]
    fn only_an_unpatched_kernel_freezes_on_the_known_chip() {
        let (_folder, stock) = tree(&[CPU, BC250]);
        assert!(stock.hsa_may_freeze().is_some_and(|why| why.contains("gfx1013")));
        let (_folder, patched) = tree(&[CPU, BC250, (PATCH_PARAMETER, "0\n")]);
        assert_eq!(patched.hsa_may_freeze(), None);
        let (_folder, other) = tree(&[CPU]);
        assert_eq!(other.hsa_may_freeze(), None);
        assert_eq!(Sysfs::at("/nowhere").hsa_may_freeze(), None);
    }
}
