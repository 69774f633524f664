//! GPUs, one entry a card whatever names the drivers give it: the place on the bus tells them apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::root::Root;

use super::kfd::{self, Node};
use super::targets::Target;

const AMD: &str = "0x1002";
/// PCI class of displays, and of accelerators without one.
const DISPLAYS: &[&str] = &["0x03", "0x12"];

/// A GPU.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Gpu {
    /// `0000:03:00.0`.
    pub pci: String,
    /// Vendor and device: `1002:731f`.
    pub pci_id: String,
    /// What it is sold as, where that is known.
    pub name: Option<String>,
    /// Its true target, whatever overrides are set.
    pub target: Option<String>,
    /// The generic target whose code it runs.
    pub generic: Option<String>,
    /// `RDNA1`.
    pub family: Option<String>,
    /// Whether it shares memory with the processor.
    pub apu: Option<bool>,
    /// The kernel driver that has it.
    pub driver: Option<String>,
    /// Whether the compute driver has it.
    pub kfd: bool,
    /// Its number among the compute driver's GPUs, which is that of ROCm's tools.
    pub kfd_ordinal: Option<usize>,
    /// Its number among the compute driver's nodes.
    pub kfd_node: Option<u64>,
    /// `card1`.
    pub card: Option<String>,
    /// `renderD128`.
    pub render: Option<String>,
    /// Compute units.
    pub cu: Option<u64>,
    /// SIMDs.
    pub simd: Option<u64>,
    /// Whether PCIe atomics pass on its path.
    pub atomics: Option<bool>,
    /// Bytes of its own memory, or of the carve-out.
    pub vram: Option<u64>,
    /// Bytes that the processor can address.
    pub vis_vram: Option<u64>,
    /// Bytes of the host's memory that it may use.
    pub gtt: Option<u64>,
    /// Bytes of the compute driver's pool.
    pub kfd_memory: Option<u64>,
    /// Its own memory in percent of all memory.
    pub vram_percent: Option<u64>,
    /// What it may use of the host's memory, in percent of that.
    pub gtt_percent: Option<u64>,
    /// Firmware versions by part.
    pub firmware: BTreeMap<String, u64>,
    /// `auto`, `high` and so on.
    pub power_level: Option<String>,
    /// Percent.
    pub busy: Option<u64>,
    /// MHz.
    pub sclk: Option<u64>,
    /// MHz.
    pub sclk_max: Option<u64>,
    /// The link to the board.
    pub link: Link,
    /// How the driver would reset it.
    pub reset_method: Option<String>,
    /// Whether the kernel keeps a dump of a crash.
    pub devcoredump: bool,
    /// The target that an override makes of it.
    pub forced: Option<String>,
    /// The family of that.
    pub forced_family: Option<String>,
}

/// A PCIe link.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Link {
    width: Option<u64>,
    max_width: Option<u64>,
    speed: Option<String>,
    max_speed: Option<String>,
}

impl Gpu {
    /// Where the kernel shows it.
    pub(super) fn folder(&self) -> String {
        format!("/sys/bus/pci/devices/{}", self.pci)
    }

    /// Whether AMD made it.
    pub fn is_amd(&self) -> bool {
        self.pci_id.starts_with("1002:")
    }
}

pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>, ram: Option<u64>) -> Vec<Gpu> {
    let nodes = kfd::nodes(root);
    let devices = root.list("/sys/bus/pci/devices");
    let mut gpus: Vec<_> = devices.iter().filter_map(|pci| gpu(root, pci, &nodes)).collect();
    for gpu in &mut gpus {
        let percent = |part: Option<u64>, whole: u64| part.filter(|_| whole > 0).map(|part| part * 100 / whole);
        gpu.vram_percent = ram.and_then(|ram| percent(gpu.vram, ram + gpu.vram.unwrap_or(0)));
        gpu.gtt_percent = ram.and_then(|ram| percent(gpu.gtt, ram));
        gpu.forced = gpu.is_amd().then(|| forced(env, gpu.kfd_node)).flatten();
        gpu.forced_family = gpu.forced.as_deref().and_then(Target::named).map(|target| target.family.to_owned());
    }
    gpus
}

fn gpu(root: &Root, pci: &str, nodes: &[Node]) -> Option<Gpu> {
    let folder = format!("/sys/bus/pci/devices/{pci}");
    let text = |name: &str| root.text(&format!("{folder}/{name}"));
    let number = |name: &str| root.number(&format!("{folder}/{name}"));
    let class = text("class")?;
    if !DISPLAYS.iter().any(|prefix| class.starts_with(prefix)) {
        return None;
    }
    let (vendor, device) = (text("vendor")?, text("device")?);
    let short = |text: &str| text.trim_start_matches("0x").to_owned();
    let node = nodes.iter().find(|node| node.pci.as_deref() == Some(pci));
    let known =
        (vendor == AMD).then(|| u16::from_str_radix(&short(&device), 16).ok()).flatten().and_then(Target::of_device);
    let target = node.and_then(|node| node.target.clone()).or_else(|| known.map(|known| known.name.to_owned()));
    let about = target.as_deref().and_then(Target::named).or(known);
    let drm = root.list(&format!("{folder}/drm"));
    let (sclk, sclk_max) = clocks(&text("pp_dpm_sclk").unwrap_or_default());
    Some(Gpu {
        pci: pci.to_owned(),
        pci_id: format!("{}:{}", short(&vendor), short(&device)),
        name: text("product_name")
            .filter(|name| !name.is_empty())
            .or_else(|| about.map(|about| about.sold_as.to_owned())),
        generic: about.and_then(|about| about.generic).map(str::to_owned),
        family: about.map(|about| about.family.to_owned()),
        apu: about.map(|about| about.apu),
        target,
        driver: root.link_name(&format!("{folder}/driver")),
        kfd: node.is_some(),
        kfd_ordinal: node.map(|node| node.ordinal),
        kfd_node: node.map(|node| node.node),
        card: drm.iter().find(|name| name.starts_with("card")).cloned(),
        render: drm
            .iter()
            .find(|name| name.starts_with("renderD"))
            .cloned()
            .or_else(|| Some(format!("renderD{}", node?.render_minor?))),
        cu: node.filter(|node| node.simd_per_cu > 0).map(|node| node.simd / node.simd_per_cu),
        simd: node.map(|node| node.simd),
        atomics: node.and_then(|node| node.atomics),
        vram: number("mem_info_vram_total"),
        vis_vram: number("mem_info_vis_vram_total"),
        gtt: number("mem_info_gtt_total"),
        kfd_memory: node.map(|node| node.memory).filter(|memory| *memory > 0),
        firmware: firmware(root, &folder),
        power_level: text("power_dpm_force_performance_level"),
        busy: number("gpu_busy_percent"),
        sclk,
        sclk_max,
        link: Link {
            width: number("current_link_width"),
            max_width: number("max_link_width"),
            speed: text("current_link_speed"),
            max_speed: text("max_link_speed"),
        },
        reset_method: text("reset_method"),
        devcoredump: root.has(&format!("{folder}/devcoredump/data")),
        ..Gpu::default()
    })
}

fn firmware(root: &Root, folder: &str) -> BTreeMap<String, u64> {
    let folder = format!("{folder}/fw_version");
    let version = |file: String| {
        let part = file.strip_suffix("_fw_version")?.to_owned();
        // Zero is a part that the chip has not got.
        Some((part, root.number(&format!("{folder}/{file}")).filter(|version| *version > 0)?))
    };
    root.list(&folder).into_iter().filter_map(version).collect()
}

/// The clock that is marked, and the highest.
fn clocks(levels: &str) -> (Option<u64>, Option<u64>) {
    let mhz = |line: &str| -> Option<u64> {
        let (_, value) = line.split_once(':')?;
        value.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let current = levels.lines().find(|line| line.contains('*')).and_then(mhz);
    (current, levels.lines().filter_map(mhz).max())
}

/// What `HSA_OVERRIDE_GFX_VERSION` makes of a GPU; that of its own node goes first.
fn forced(env: &BTreeMap<String, String>, node: Option<u64>) -> Option<String> {
    const NAME: &str = "HSA_OVERRIDE_GFX_VERSION";
    let own = node.and_then(|node| env.get(&format!("{NAME}_{node}")));
    let mut parts = own.or_else(|| env.get(NAME))?.split('.').map(|part| part.trim().parse::<u64>().ok());
    let (major, minor, stepping) = (parts.next()??, parts.next()??, parts.next()??);
    Target::name_of_version(major * 10000 + minor * 100 + stepping)
}
