//! Which card a device is, what its chip is, and how much memory it truly has, from what the kernel shows.

use cl3::device::{CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CUSTOM};
use roci_hal::sysfs::{AMD, Card};
use roci_hal::uri::PciAddress;
use roci_hal::{Capabilities, DeviceKind, PhysicalInfo};

use crate::facts::Facts;

/// Names under which Mesa renders on the processor, whatever type it gives.
const RENDERERS: [&str; 2] = ["llvmpipe", "softpipe"];

/// All GPUs of NVIDIA of this generation have products of four bytes at once.
const DOT_GENERATION_NV: u32 = 7;

/// Memory that differs by less than this part is not worth a word: drivers keep some for themselves.
const TOLERANCE: u64 = 10;

/// What the HAL wants to know of a device.
pub(crate) fn describe(facts: &Facts, cards: &[Card]) -> PhysicalInfo {
    let kind = kind(facts);
    let mut quirks = Vec::new();
    let reported = place(facts);
    let card = card(facts, kind, reported, cards);
    if let (Some(card), None) = (card, reported) {
        quirks
            .push(format!("taken for the card at {}, the only one of its maker: it does not tell its place", card.pci));
    }
    if facts.device_type & CL_DEVICE_TYPE_CUSTOM != 0 {
        quirks.push("used although its type is custom, not GPU".to_owned());
    }
    let copies_constants = facts.platform == "rusticl" && is_renderer(facts);
    if copies_constants {
        quirks
            .push("kernels copy their constants: it takes one lane's index into them for all, and crashes".to_owned());
    }
    let true_memory = card.and_then(|card| card.memory(kind == DeviceKind::IntegratedGpu));
    quirks.extend(memory_quirk(facts.memory, true_memory));
    let chip = facts.name.split(':').next().filter(|name| name.starts_with("gfx"));
    let target = chip.map(str::to_owned).or_else(|| card.and_then(|card| card.target.clone()));
    let version = facts.opencl().map_or_else(String::new, |(major, minor)| format!(", OpenCL {major}.{minor}"));
    let runtime = format!("{} {}{version}", facts.platform, facts.driver);
    PhysicalInfo {
        vendor: Some(facts.vendor.clone()).filter(|vendor| !vendor.is_empty()),
        runtime: Some(runtime),
        target,
        uuid: facts.uuid.filter(|uuid| *uuid != [0; 16]).map(|uuid| uuid_text(&uuid)),
        pci: reported.or_else(|| card.map(|card| card.pci)),
        memory: facts.memory,
        true_memory,
        compute_units: facts.compute_units,
        capabilities: Capabilities {
            subgroup_sizes: facts.subgroup_sizes.clone(),
            subgroup_width: None,
            // `vload_half` is in every OpenCL.
            fp16_storage: true,
            fp16_arithmetic: facts.has("cl_khr_fp16"),
            // NVIDIA's compiler takes the instruction of its GPUs, and has no name for it.
            integer_dot: facts.has("cl_khr_integer_dot_product")
                || facts.generation_nv.is_some_and(|generation| generation >= DOT_GENERATION_NV),
            matrix: false,
            copies_constants,
            workgroup_memory: u32::try_from(facts.local_memory).unwrap_or(u32::MAX),
            max_workgroup_invocations: u32::try_from(facts.max_group).unwrap_or(u32::MAX),
            // Groups of the largest usual size must still be countable as 32-bit work-items.
            max_grid: [u32::MAX / 1024, 65_535, 65_535],
        },
        quirks,
        ..PhysicalInfo::new(facts.board.as_ref().unwrap_or(&facts.name).clone(), kind)
    }
}

/// Whether Mesa renders on the processor.
fn is_renderer(facts: &Facts) -> bool {
    RENDERERS.iter().any(|name| facts.name.contains(name))
}

fn kind(facts: &Facts) -> DeviceKind {
    if facts.device_type & CL_DEVICE_TYPE_CPU != 0 || is_renderer(facts) {
        DeviceKind::Software
    } else if facts.unified {
        DeviceKind::IntegratedGpu
    } else {
        DeviceKind::DiscreteGpu
    }
}

/// Where it is on the bus, by whichever extension tells.
fn place(facts: &Facts) -> Option<PciAddress> {
    let byte = |value: u32| u8::try_from(value).ok();
    if let Some([domain, bus, device, function]) = facts.pci_khr {
        return Some(PciAddress { domain, bus: byte(bus)?, device: byte(device)?, function: byte(function)? });
    }
    if let Some([bus, device, function]) = facts.pci_amd {
        return Some(PciAddress { domain: 0, bus, device, function });
    }
    let [domain, bus, slot] = facts.pci_nv?;
    Some(PciAddress { domain, bus: byte(bus)?, device: byte(slot >> 3 & 31)?, function: byte(slot & 7)? })
}

/// The card as the kernel knows it. A GPU of AMD that does not tell its place can only be the one that there is.
fn card<'a>(facts: &Facts, kind: DeviceKind, place: Option<PciAddress>, cards: &'a [Card]) -> Option<&'a Card> {
    if !kind.is_gpu() {
        return None;
    }
    if let Some(place) = place {
        return cards.iter().find(|card| card.pci == place);
    }
    let is_amd = facts.vendor.contains("AMD") || facts.name.contains("AMD") || facts.name.contains("radeonsi");
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

/// What to say of memory that the driver reports otherwise than the kernel.
fn memory_quirk(reported: u64, known: Option<u64>) -> Option<String> {
    let known = known.filter(|known| known.abs_diff(reported) > known / TOLERANCE)?;
    let more = if known > reported { ": more is tried before it is refused" } else { "" };
    Some(format!("reports {} MiB of memory, the kernel shows {} MiB{more}", reported >> 20, known >> 20))
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

    /// What RustICL shows of that card.
    fn rusticl() -> Facts {
        Facts {
            platform: "rusticl".into(),
            name: "AMD BC-250 (radeonsi, gfx1013, LLVM 15.0.6)".into(),
            vendor: "AMD".into(),
            driver: "22.3.6".into(),
            version: "OpenCL 3.0 ".into(),
            device_type: CL_DEVICE_TYPE_CUSTOM,
            unified: true,
            memory: 2 << 30,
            ..Facts::default()
        }
    }

    #[test]
    fn memory_that_rusticl_underrates_is_found_and_told() {
        let info = describe(&rusticl(), &[bc250()]);
        assert_eq!(info.kind, DeviceKind::IntegratedGpu);
        assert_eq!((info.memory, info.true_memory, info.usable_memory()), (2 << 30, Some(12 << 30), 12 << 30));
        assert_eq!(info.target.as_deref(), Some("gfx1013"));
        assert_eq!(info.pci, Some(bc250().pci));
        assert_eq!(info.runtime.as_deref(), Some("rusticl 22.3.6, OpenCL 3.0"));
        let quirks = info.quirks.join("\n");
        for words in ["reports 2048 MiB", "shows 12288 MiB", "only one of its maker", "custom"] {
            assert!(quirks.contains(words), "{quirks}");
        }
    }

    #[test]
    fn a_card_that_could_be_another_is_not_guessed() {
        let mut second = bc250();
        second.pci.bus = 2;
        let info = describe(&rusticl(), &[bc250(), second]);
        assert_eq!((info.pci, info.true_memory, info.target), (None, None, None));
        let facts = Facts { pci_khr: Some([0, 2, 0, 0]), ..rusticl() };
        let told = describe(&facts, &[bc250(), Card { vram: Some(4 << 30), ..bc250() }]);
        assert_eq!(told.pci.map(|pci| pci.bus), Some(2));
        assert_eq!(told.true_memory, None, "sysfs has no card there");
    }

    #[test]
    fn places_come_from_any_makers_extension() {
        let nvidia = Facts { pci_nv: Some([1, 0x3b, 8]), generation_nv: Some(9), ..Facts::default() };
        assert!(describe(&nvidia, &[]).capabilities.integer_dot);
        assert!(!describe(&Facts::default(), &[]).capabilities.integer_dot);
        assert_eq!(place(&nvidia).map(|pci| pci.to_string()).as_deref(), Some("0001:3b:01.0"));
        let amd = Facts { pci_amd: Some([3, 0, 1]), ..Facts::default() };
        assert_eq!(place(&amd).map(|pci| pci.to_string()).as_deref(), Some("0000:03:00.1"));
        assert_eq!(place(&Facts { pci_khr: Some([0, 256, 0, 0]), ..Facts::default() }), None);
    }

    #[test]
    fn processors_are_never_gpus() {
        let named = |name: &str, device_type| kind(&Facts { name: name.into(), device_type, ..Facts::default() });
        assert_eq!(named("pthread", CL_DEVICE_TYPE_CPU), DeviceKind::Software);
        assert_eq!(named("llvmpipe (LLVM 15)", CL_DEVICE_TYPE_GPU), DeviceKind::Software);
        assert_eq!(named("NVIDIA H200", CL_DEVICE_TYPE_GPU), DeviceKind::DiscreteGpu);
    }

    #[test]
    fn a_small_difference_is_no_quirk() {
        assert_eq!(memory_quirk(8 << 30, Some((8 << 30) + (256 << 20))), None);
        assert_eq!(memory_quirk(8 << 30, None), None);
        assert!(memory_quirk(16 << 30, Some(8 << 30)).is_some_and(|quirk| !quirk.contains("tried")));
    }

    #[test]
    fn an_id_has_the_form_that_all_drivers_share() {
        let uuid: [u8; 16] = std::array::from_fn(|index| index as u8);
        let facts = Facts { uuid: Some(uuid), device_type: CL_DEVICE_TYPE_GPU, ..Facts::default() };
        assert_eq!(describe(&facts, &[]).uuid.as_deref(), Some("GPU-000102030405060708090a0b0c0d0e0f"));
        assert_eq!(describe(&Facts { uuid: Some([0; 16]), ..facts }, &[]).uuid, None);
    }
}
