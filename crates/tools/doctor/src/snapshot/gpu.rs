//! GPUs, one entry per card, identified by PCI address.

use std::collections::{BTreeMap, BTreeSet};

use roci_base::sysfs;
use serde::{Deserialize, Serialize};

use crate::root::Root;
use crate::routes::sibling;

use super::kfd::{self, KfdNode};
use super::nodes::render_state;
use super::targets::Target;

const AMD: &str = "0x1002";
/// PCI classes of displays and of accelerators without a display.
const DISPLAYS: &[&str] = &["0x03", "0x12"];

/// A card, as the kernel's files describe it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Gpu {
    /// `0000:03:00.0`.
    pub pci: String,
    /// PCI vendor and device ID: `1002:731f`.
    pub pci_id: String,
    /// Product name, if known.
    pub name: Option<String>,
    /// Real target, whatever overrides are set.
    pub target: Option<String>,
    /// Generic target that covers the chip.
    pub generic: Option<String>,
    /// Family such as `RDNA1`.
    pub family: Option<String>,
    /// Whether it shares memory with the CPU.
    pub apu: Option<bool>,
    /// Kernel driver bound to it.
    pub driver: Option<String>,
    /// Whether it has a KFD node.
    pub kfd: bool,
    /// Index among the GPUs of KFD, as ROCm's tools count.
    pub kfd_ordinal: Option<usize>,
    /// Number of its KFD node.
    pub kfd_node: Option<u64>,
    /// DRM card such as `card1`.
    pub card: Option<String>,
    /// Render node such as `renderD128`.
    pub render: Option<String>,
    /// Whether the render node is `usable`, `forbidden` or `missing`.
    pub node: Option<String>,
    /// Number of compute units.
    pub cu: Option<u64>,
    /// Number of SIMDs.
    pub simd: Option<u64>,
    /// Whether its PCIe path supports atomics.
    pub atomics: Option<bool>,
    /// Bytes of VRAM; on an APU the carve-out.
    pub vram: Option<u64>,
    /// Bytes of VRAM that the CPU can address.
    pub vis_vram: Option<u64>,
    /// Bytes of GTT: host memory that the GPU may use.
    pub gtt: Option<u64>,
    /// Bytes of KFD's memory pool.
    pub kfd_memory: Option<u64>,
    /// VRAM in percent of all memory.
    pub vram_percent: Option<u64>,
    /// GTT in percent of RAM.
    pub gtt_percent: Option<u64>,
    /// Firmware versions by component.
    pub firmware: BTreeMap<String, u64>,
    /// `auto`, `high` or another performance level.
    pub power_level: Option<String>,
    /// Load in percent.
    pub busy: Option<u64>,
    /// Current shader clock in MHz.
    pub sclk: Option<u64>,
    /// Highest shader clock in MHz.
    pub sclk_max: Option<u64>,
    /// PCIe link.
    pub link: Link,
    /// Reset method of the driver.
    pub reset_method: Option<String>,
    /// Reset support of components (`gfx`, `compute`, `sdma`), from the driver.
    pub reset: BTreeMap<String, String>,
    /// Whether the kernel has a dump of a crash.
    pub devcoredump: bool,
    /// Target set by an override.
    pub forced: Option<String>,
    /// Family of that target.
    pub forced_family: Option<String>,
    /// Whether `ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES` leave it visible to ROCm.
    pub visible: Option<bool>,
    /// HIP device number.
    pub hip: Option<usize>,
    /// Kernels for it in the installed rocBLAS: `exact`, `generic`, `override` (a compatible
    /// chip's) or `none`.
    pub rocblas: Option<String>,
    /// Number of programs that use it, if all can be inspected.
    pub active: Option<usize>,
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
    /// Its folder in sysfs.
    pub(super) fn folder(&self) -> String {
        format!("/sys/bus/pci/devices/{}", self.pci)
    }

    /// Whether AMD is the vendor.
    pub fn is_amd(&self) -> bool {
        self.pci_id.starts_with("1002:")
    }

    /// What a rocBLAS with kernels for these targets has for it.
    pub(super) fn kernels_among(&self, targets: &BTreeSet<&str>) -> Option<&'static str> {
        let target = self.target.as_deref()?;
        let has = |name: Option<&str>| name.is_some_and(|name| targets.contains(name));
        Some(if has(Some(target)) {
            "exact"
        } else if has(self.generic.as_deref()) {
            "generic"
        } else if has(sibling(target).map(|(sibling, _)| sibling)) {
            "override"
        } else {
            "none"
        })
    }
}

pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>, ram: Option<u64>) -> Vec<Gpu> {
    let nodes = kfd::nodes(root);
    let devices = root.list("/sys/bus/pci/devices");
    let mut gpus: Vec<_> = devices.iter().filter_map(|pci| gpu(root, pci, &nodes)).collect();
    let devices = root.has("/dev");
    for gpu in &mut gpus {
        gpu.node = gpu.render.as_ref().filter(|_| devices).map(|name| render_state(root, name));
        let percent =
            |part: Option<u64>, whole: u64| part.filter(|_| whole > 0).map(|part| part.saturating_mul(100) / whole);
        gpu.vram_percent = ram.and_then(|ram| percent(gpu.vram, ram.saturating_add(gpu.vram.unwrap_or(0))));
        gpu.gtt_percent = ram.and_then(|ram| percent(gpu.gtt, ram));
        gpu.forced = gpu.is_amd().then(|| forced(env, gpu.kfd_node)).flatten();
        gpu.forced_family = gpu.forced.as_deref().and_then(Target::by_name).map(|target| target.family.to_owned());
        // Only needed for a GPU that seems busy.
        gpu.active = if gpu.busy >= Some(99) { programs(root, gpu) } else { None };
    }
    let visible_nodes = visible(env, &nodes);
    for gpu in gpus.iter_mut().filter(|gpu| gpu.kfd) {
        gpu.hip = visible_nodes.iter().position(|ordinal| Some(*ordinal) == gpu.kfd_ordinal);
        gpu.visible = Some(gpu.hip.is_some());
    }
    gpus
}

/// The KFD GPUs visible to ROCm, in HIP's order.
fn visible(env: &BTreeMap<String, String>, nodes: &[KfdNode]) -> Vec<usize> {
    let all: Vec<_> = (0..nodes.len()).collect();
    // For the runtime an empty list hides all GPUs, for HIP it does not.
    let runtime = env.get("ROCR_VISIBLE_DEVICES").map(|list| chosen(list, &all, nodes)).unwrap_or(all);
    let list = env.get("HIP_VISIBLE_DEVICES").or_else(|| env.get("CUDA_VISIBLE_DEVICES"));
    list.filter(|list| !list.is_empty()).map(|list| chosen(list, &runtime, nodes)).unwrap_or(runtime)
}

/// The entries that a list of numbers and names selects; it ends at the first invalid one.
fn chosen(list: &str, among: &[usize], nodes: &[KfdNode]) -> Vec<usize> {
    let pick = |word: &str| {
        let named = |ordinal: &&usize| {
            let unique = nodes.get(**ordinal).and_then(|node| node.unique);
            unique.is_some_and(|unique| word.eq_ignore_ascii_case(&format!("GPU-{unique:016x}")))
        };
        word.parse().ok().and_then(|number: usize| among.get(number)).or_else(|| among.iter().find(named)).copied()
    };
    list.split(',').map(|word| pick(word.trim())).take_while(Option::is_some).flatten().collect()
}

/// Number of programs that have the GPU open; `None` if none of the accessible ones does and others
/// are inaccessible.
fn programs(root: &Root, gpu: &Gpu) -> Option<usize> {
    let nodes = [&gpu.card, &gpu.render].into_iter().flatten().map(|name| format!("/dev/dri/{name}"));
    let nodes: Vec<_> = nodes.collect();
    let mut count = root.list("/sys/class/kfd/kfd/proc").len();
    let mut all_seen = true;
    for process in root.list("/proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        let Ok(files) = std::fs::read_dir(root.path(&format!("/proc/{process}/fd"))) else {
            all_seen = false;
            continue;
        };
        let open = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        count += usize::from(open.into_iter().any(|path| nodes.iter().any(|node| path.as_os_str() == node.as_str())));
    }
    (all_seen || count > 0).then_some(count)
}

fn gpu(root: &Root, pci: &str, nodes: &[KfdNode]) -> Option<Gpu> {
    let folder = format!("/sys/bus/pci/devices/{pci}");
    let text = |name: &str| root.value(&format!("{folder}/{name}"));
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
    let about = target.as_deref().and_then(Target::by_name).or(known);
    let drm = root.list(&format!("{folder}/drm"));
    let (sclk, sclk_max) = clocks(&root.text(&format!("{folder}/pp_dpm_sclk")).unwrap_or_default());
    Some(Gpu {
        pci: pci.to_owned(),
        pci_id: format!("{}:{}", short(&vendor), short(&device)),
        name: text("product_name")
            .filter(|name| !name.is_empty())
            .or_else(|| marketing_name(root, &short(&device), &short(&text("revision")?)).filter(|_| vendor == AMD))
            .or_else(|| about.map(|about| about.sold_as.to_owned())),
        generic: about.and_then(Target::generic).map(str::to_owned),
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
        reset: ["gfx", "compute", "sdma"]
            .iter()
            .filter_map(|part| Some(((*part).to_owned(), text(&format!("{part}_reset_mask"))?)))
            .collect(),
        devcoredump: root.has(&format!("{folder}/devcoredump/data")),
        ..Gpu::default()
    })
}

/// Product name that HIP and Mesa use, from `amdgpu.ids`: `731F,\tC1,\tAMD Radeon RX 5700 XT`.
fn marketing_name(root: &Root, device: &str, revision: &str) -> Option<String> {
    let list = root.text("/usr/share/libdrm/amdgpu.ids")?;
    list.lines().find_map(|line| {
        let mut fields = line.splitn(3, ',').map(str::trim);
        let fits = fields.next()?.eq_ignore_ascii_case(device) && fields.next()?.eq_ignore_ascii_case(revision);
        fields.next().filter(|_| fits).map(str::to_owned)
    })
}

fn firmware(root: &Root, folder: &str) -> BTreeMap<String, u64> {
    let folder = format!("{folder}/fw_version");
    let version = |file: String| {
        let part = file.strip_suffix("_fw_version")?.to_owned();
        // Zero means that the chip does not have the component.
        Some((part, root.number(&format!("{folder}/{file}")).filter(|version| *version > 0)?))
    };
    root.list(&folder).into_iter().filter_map(version).collect()
}

/// The current and the highest clock.
fn clocks(levels: &str) -> (Option<u64>, Option<u64>) {
    let mhz = |line: &str| -> Option<u64> {
        let (_, value) = line.split_once(':')?;
        value.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let current = levels.lines().find(|line| line.contains('*')).and_then(mhz);
    (current, levels.lines().filter_map(mhz).max())
}

/// The target that `HSA_OVERRIDE_GFX_VERSION` sets for a GPU; the variable of its node takes
/// precedence.
fn forced(env: &BTreeMap<String, String>, node: Option<u64>) -> Option<String> {
    const NAME: &str = "HSA_OVERRIDE_GFX_VERSION";
    let own = node.and_then(|node| env.get(&format!("{NAME}_{node}")));
    let mut parts = own.or_else(|| env.get(NAME))?.split('.').map(|part| part.trim().parse::<u64>().ok());
    let (major, minor, stepping) = (parts.next()??, parts.next()??, parts.next()??);
    // Larger numbers would overlap.
    (major < 100 && minor < 16 && stepping < 16).then(|| sysfs::target_name(major * 10000 + minor * 100 + stepping))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_lists_are_parsed_as_the_runtimes_do() {
        let node = |unique| KfdNode { unique, ..KfdNode::default() };
        let nodes = [node(Some(0x5ca1)), node(None), node(None)];
        let shown = |pairs: &[(&str, &str)]| {
            visible(&pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(), &nodes)
        };
        assert_eq!(shown(&[]), [0, 1, 2]);
        assert_eq!(shown(&[("ROCR_VISIBLE_DEVICES", "2,0"), ("HIP_VISIBLE_DEVICES", "1")]), [0]);
        assert_eq!(shown(&[("ROCR_VISIBLE_DEVICES", "GPU-0000000000005ca1")]), [0]);
        assert_eq!(shown(&[("HIP_VISIBLE_DEVICES", "1,-1,2")]), [1]);
        assert_eq!(shown(&[("ROCR_VISIBLE_DEVICES", "")]), [0; 0]);
        assert_eq!(shown(&[("HIP_VISIBLE_DEVICES", "")]), [0, 1, 2]);
    }
}
