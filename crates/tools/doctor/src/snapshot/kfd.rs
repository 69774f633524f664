//! KFD, the kernel's compute driver: its view of each GPU, independent of overrides.

use std::collections::BTreeMap;

use roci_base::sysfs;

use crate::root::Root;

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
/// Flags of a link without 32-bit or 64-bit atomics.
const NO_ATOMICS: u64 = 1 << 2 | 1 << 3;
/// Link type of PCIe.
const PCIE: u64 = 2;

/// A GPU node of KFD.
#[derive(Clone, Debug, Default)]
pub(super) struct KfdNode {
    /// Index among GPU nodes, from 0, as `ROCR_VISIBLE_DEVICES` counts.
    pub(super) ordinal: usize,
    /// Number among all nodes including CPUs, as in `HSA_OVERRIDE_GFX_VERSION_N`.
    pub(super) node: u64,
    /// PCI address, as sysfs writes it.
    pub(super) pci: Option<String>,
    pub(super) target: Option<String>,
    pub(super) simd: u64,
    pub(super) simd_per_cu: u64,
    /// Bytes of its memory banks.
    pub(super) memory: u64,
    pub(super) atomics: Option<bool>,
    pub(super) render_minor: Option<u64>,
    /// Unique ID, if the chip has one.
    pub(super) unique: Option<u64>,
}

pub(super) fn nodes(root: &Root) -> Vec<KfdNode> {
    let mut found = Vec::new();
    for number in root.list(NODES) {
        let folder = format!("{NODES}/{number}");
        let Some(properties) = root.text(&format!("{folder}/properties")) else { continue };
        let values = pairs(&properties);
        let value = |name: &str| values.get(name).copied();
        let simd = value("simd_count").unwrap_or(0);
        if simd == 0 {
            continue;
        }
        let place =
            value("location_id").and_then(|location| sysfs::pci_address(value("domain").unwrap_or(0), location));
        let sizes = children(root, &folder, "mem_banks", "size_in_bytes");
        // Links that are not PCIe, such as between two GPUs, have other flags.
        let bus = children(root, &folder, "io_links", "type").into_iter().map(|kind| kind == PCIE);
        let flags = children(root, &folder, "io_links", "flags").into_iter().zip(bus);
        let flags: Vec<_> = flags.filter(|(_, bus)| *bus).map(|(flags, _)| flags).collect();
        found.push(KfdNode {
            ordinal: found.len(),
            node: number.parse().unwrap_or(0),
            pci: place.map(|place| place.to_string()),
            target: value("gfx_target_version").and_then(sysfs::target_name),
            simd,
            simd_per_cu: value("simd_per_cu").unwrap_or(0),
            memory: sizes.iter().sum(),
            atomics: (!flags.is_empty()).then(|| flags.iter().all(|flags| flags & NO_ATOMICS == 0)),
            render_minor: value("drm_render_minor").filter(|minor| *minor > 0),
            unique: value("unique_id").filter(|unique| *unique > 0),
        });
    }
    found
}

/// A property of all entries in a folder of a node.
fn children(root: &Root, node: &str, kind: &str, property: &str) -> Vec<u64> {
    let folder = format!("{node}/{kind}");
    let read = |name: &String| pairs(&root.text(&format!("{folder}/{name}/properties"))?).get(property).copied();
    root.list(&folder).iter().filter_map(read).collect()
}

fn pairs(text: &str) -> BTreeMap<&str, u64> {
    sysfs::properties(text).collect()
}
