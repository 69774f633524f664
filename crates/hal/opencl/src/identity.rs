//! Matches OpenCL devices to the kernel's view of the card: its chip, and its true memory size.

use cl3::device::{CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CUSTOM};
use roci_base::PciAddress;
use roci_base::sysfs::{AMD, Card};
use roci_hal::{Capabilities, DeviceKind, PhysicalInfo};

use crate::properties::DeviceProperties;

/// Device names of Mesa's software rasterizers, regardless of the reported device type.
const SOFTWARE_RASTERIZERS: [&str; 2] = ["llvmpipe", "softpipe"];

/// From this generation on, all NVIDIA GPUs have packed 4x8-bit dot products.
const DOT_GENERATION_NV: u32 = 7;

/// Differences in memory size below 1 / `TOLERANCE` are ignored: drivers reserve some memory.
const TOLERANCE: u64 = 10;

/// Builds the HAL's description of a device.
pub(crate) fn describe(properties: &DeviceProperties, cards: &[Card]) -> PhysicalInfo {
    let kind = kind(properties);
    let mut quirks = Vec::new();
    let reported = pci_address(properties);
    let card = card(properties, kind, reported, cards);
    if let (Some(card), None) = (card, reported) {
        quirks.push(format!(
            "assumed to be the card at {}, the only one of its vendor: its PCI address is not reported",
            card.pci
        ));
    }
    if properties.device_type & CL_DEVICE_TYPE_CUSTOM != 0 {
        quirks.push("used although its type is custom, not GPU".to_owned());
    }
    let copies_constants = properties.platform == "rusticl" && is_software_rasterizer(properties);
    if copies_constants {
        quirks.push(
            "kernels copy their constants: its compiler treats divergent indices into them as uniform, and crashes"
                .to_owned(),
        );
    }
    let true_memory = card.and_then(|card| card.memory(kind == DeviceKind::IntegratedGpu));
    quirks.extend(memory_quirk(properties.memory, true_memory));
    let chip = properties.name.split(':').next().filter(|name| name.starts_with("gfx"));
    let target = chip.map(str::to_owned).or_else(|| card.and_then(|card| card.target.clone()));
    let version = properties.opencl().map_or_else(String::new, |(major, minor)| format!(", OpenCL {major}.{minor}"));
    let runtime = format!("{} {}{version}", properties.platform, properties.driver);
    PhysicalInfo {
        vendor: Some(properties.vendor.clone()).filter(|vendor| !vendor.is_empty()),
        runtime: Some(runtime),
        target,
        uuid: properties.uuid.filter(|uuid| *uuid != [0; 16]).map(|uuid| uuid_text(&uuid)),
        pci: reported.or_else(|| card.map(|card| card.pci)),
        memory: properties.memory,
        true_memory,
        compute_units: properties.compute_units,
        capabilities: Capabilities {
            subgroup_sizes: properties.subgroup_sizes.clone(),
            subgroup_width: None,
            // Every OpenCL version has `vload_half`.
            fp16_storage: true,
            fp16_arithmetic: properties.has("cl_khr_fp16"),
            // NVIDIA's compiler accepts the instruction but lists no extension for it.
            integer_dot: properties.has("cl_khr_integer_dot_product")
                || properties.generation_nv.is_some_and(|generation| generation >= DOT_GENERATION_NV),
            matrix: false,
            copies_constants,
            workgroup_memory: u32::try_from(properties.local_memory).unwrap_or(u32::MAX),
            max_workgroup_invocations: u32::try_from(properties.max_group).unwrap_or(u32::MAX),
            // Groups of the usual maximum size must still fit into 32-bit work-item counts.
            max_grid: [u32::MAX / 1024, 65_535, 65_535],
        },
        quirks,
        ..PhysicalInfo::new(properties.board.as_ref().unwrap_or(&properties.name).clone(), kind)
    }
}

/// Whether the device is one of Mesa's software rasterizers.
fn is_software_rasterizer(properties: &DeviceProperties) -> bool {
    SOFTWARE_RASTERIZERS.iter().any(|name| properties.name.contains(name))
}

fn kind(properties: &DeviceProperties) -> DeviceKind {
    if properties.device_type & CL_DEVICE_TYPE_CPU != 0 || is_software_rasterizer(properties) {
        DeviceKind::Software
    } else if properties.unified {
        DeviceKind::IntegratedGpu
    } else {
        DeviceKind::DiscreteGpu
    }
}

/// PCI address, from the first vendor extension that reports one.
fn pci_address(properties: &DeviceProperties) -> Option<PciAddress> {
    let byte = |value: u32| u8::try_from(value).ok();
    if let Some([domain, bus, device, function]) = properties.pci_khr {
        return Some(PciAddress { domain, bus: byte(bus)?, device: byte(device)?, function: byte(function)? });
    }
    if let Some([bus, device, function]) = properties.pci_amd {
        return Some(PciAddress { domain: 0, bus, device, function });
    }
    let [domain, bus, slot] = properties.pci_nv?;
    Some(PciAddress { domain, bus: byte(bus)?, device: byte(slot >> 3 & 31)?, function: byte(slot & 7)? })
}

/// The kernel's card for this device. An AMD GPU that reports no PCI address matches only if there
/// is a single AMD card.
fn card<'a>(
    properties: &DeviceProperties,
    kind: DeviceKind,
    reported: Option<PciAddress>,
    cards: &'a [Card],
) -> Option<&'a Card> {
    if !kind.is_gpu() {
        return None;
    }
    if let Some(reported) = reported {
        return cards.iter().find(|card| card.pci == reported);
    }
    let is_amd =
        properties.vendor.contains("AMD") || properties.name.contains("AMD") || properties.name.contains("radeonsi");
    let mut candidates = cards.iter().filter(|card| is_amd && card.vendor == AMD);
    candidates.next().filter(|_| candidates.next().is_none())
}

fn uuid_text(uuid: &[u8; 16]) -> String {
    use std::fmt::Write;
    uuid.iter().fold("GPU-".to_owned(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The quirk text for a device whose driver and kernel disagree about memory size.
fn memory_quirk(reported: u64, known: Option<u64>) -> Option<String> {
    let known = known.filter(|known| known.abs_diff(reported) > known / TOLERANCE)?;
    let more = if known > reported { "; larger allocations are attempted" } else { "" };
    Some(format!("reports {} MiB of memory, but the kernel driver reports {} MiB{more}", reported >> 20, known >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cl3::device::CL_DEVICE_TYPE_GPU;

    fn bc250() -> Card {
        let pci = PciAddress { domain: 0, bus: 1, device: 0, function: 0 };
        let (vram, gtt) = (Some(12 << 30), Some(2 << 30));
        Card { pci, vendor: AMD, vram, gtt, target: Some("gfx1013".into()) }
    }

    /// RustICL's properties for that card.
    fn rusticl() -> DeviceProperties {
        DeviceProperties {
            platform: "rusticl".into(),
            name: "AMD BC-250 (radeonsi, gfx1013, LLVM 15.0.6)".into(),
            vendor: "AMD".into(),
            driver: "22.3.6".into(),
            version: "OpenCL 3.0 ".into(),
            device_type: CL_DEVICE_TYPE_CUSTOM,
            unified: true,
            memory: 2 << 30,
            ..DeviceProperties::default()
        }
    }

    #[test]
    fn understated_memory_of_rusticl_is_corrected_and_noted() {
        let info = describe(&rusticl(), &[bc250()]);
        assert_eq!(info.kind, DeviceKind::IntegratedGpu);
        assert_eq!((info.memory, info.true_memory, info.usable_memory()), (2 << 30, Some(12 << 30), 12 << 30));
        assert_eq!(info.target.as_deref(), Some("gfx1013"));
        assert_eq!(info.pci, Some(bc250().pci));
        assert_eq!(info.runtime.as_deref(), Some("rusticl 22.3.6, OpenCL 3.0"));
        let quirks = info.quirks.join("\n");
        for words in ["reports 2048 MiB", "kernel driver reports 12288 MiB", "only one of its vendor", "custom"] {
            assert!(quirks.contains(words), "{quirks}");
        }
    }

    #[test]
    fn an_ambiguous_card_is_not_matched() {
        let mut second = bc250();
        second.pci.bus = 2;
        let info = describe(&rusticl(), &[bc250(), second]);
        assert_eq!((info.pci, info.true_memory, info.target), (None, None, None));
        let properties = DeviceProperties { pci_khr: Some([0, 2, 0, 0]), ..rusticl() };
        let info = describe(&properties, &[bc250(), Card { vram: Some(4 << 30), ..bc250() }]);
        assert_eq!(info.pci.map(|pci| pci.bus), Some(2));
        assert_eq!(info.true_memory, None, "sysfs has no card there");
    }

    #[test]
    fn pci_addresses_come_from_any_vendor_extension() {
        let nvidia =
            DeviceProperties { pci_nv: Some([1, 0x3b, 8]), generation_nv: Some(9), ..DeviceProperties::default() };
        assert!(describe(&nvidia, &[]).capabilities.integer_dot);
        assert!(!describe(&DeviceProperties::default(), &[]).capabilities.integer_dot);
        assert_eq!(pci_address(&nvidia).map(|pci| pci.to_string()).as_deref(), Some("0001:3b:01.0"));
        let amd = DeviceProperties { pci_amd: Some([3, 0, 1]), ..DeviceProperties::default() };
        assert_eq!(pci_address(&amd).map(|pci| pci.to_string()).as_deref(), Some("0000:03:00.1"));
        assert_eq!(
            pci_address(&DeviceProperties { pci_khr: Some([0, 256, 0, 0]), ..DeviceProperties::default() }),
            None
        );
    }

    #[test]
    fn cpu_devices_are_never_gpus() {
        let kind_of = |name: &str, device_type| {
            kind(&DeviceProperties { name: name.into(), device_type, ..DeviceProperties::default() })
        };
        assert_eq!(kind_of("pthread", CL_DEVICE_TYPE_CPU), DeviceKind::Software);
        assert_eq!(kind_of("llvmpipe (LLVM 15)", CL_DEVICE_TYPE_GPU), DeviceKind::Software);
        assert_eq!(kind_of("NVIDIA H200", CL_DEVICE_TYPE_GPU), DeviceKind::DiscreteGpu);
    }

    #[test]
    fn a_small_memory_difference_is_not_a_quirk() {
        assert_eq!(memory_quirk(8 << 30, Some((8 << 30) + (256 << 20))), None);
        assert_eq!(memory_quirk(8 << 30, None), None);
        assert!(memory_quirk(16 << 30, Some(8 << 30)).is_some_and(|quirk| !quirk.contains("attempted")));
    }

    #[test]
    fn device_ids_have_the_common_form() {
        let uuid: [u8; 16] = std::array::from_fn(|index| index as u8);
        let properties =
            DeviceProperties { uuid: Some(uuid), device_type: CL_DEVICE_TYPE_GPU, ..DeviceProperties::default() };
        assert_eq!(describe(&properties, &[]).uuid.as_deref(), Some("GPU-000102030405060708090a0b0c0d0e0f"));
        assert_eq!(describe(&DeviceProperties { uuid: Some([0; 16]), ..properties }, &[]).uuid, None);
    }
}
