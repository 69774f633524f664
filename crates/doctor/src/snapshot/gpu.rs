//! GPUs, one entry a card whatever names the drivers give it: the place on the bus tells them apart.

use std::collections::{BTreeMap, BTreeSet};

use roci_hal::sysfs;
use serde::{Deserialize, Serialize};

use crate::root::Root;
use crate::routes::sibling;

use super::kfd::{self, Node};
use super::nodes::render_state;
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
    /// Whether that node is `usable`, `forbidden` or `missing`.
    pub node: Option<String>,
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
    /// What of it can be reset by itself (`gfx`, `compute`, `sdma`), as the driver says.
    pub reset: BTreeMap<String, String>,
    /// Whether the kernel keeps a dump of a crash.
    pub devcoredump: bool,
    /// The target that an override makes of it.
    pub forced: Option<String>,
    /// The family of that.
    pub forced_family: Option<String>,
    /// Whether `ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES` leave it to ROCm.
    pub visible: Option<bool>,
    /// Its number among HIP's devices.
    pub hip: Option<usize>,
    /// What the installed rocBLAS has for it: `exact`, `generic`, `override` (a sibling's) or `none`.
    pub rocblas: Option<String>,
    /// How many programs use it, where all of them can be seen.
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
    /// Where the kernel shows it.
    pub(super) fn folder(&self) -> String {
        format!("/sys/bus/pci/devices/{}", self.pci)
    }

    /// Whether AMD made it.
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
        gpu.forced_family = gpu.forced.as_deref().and_then(Target::named).map(|target| target.family.to_owned());
        // Only a GPU that seems busy raises the question.
        gpu.active = if gpu.busy >= Some(99) { programs(root, gpu) } else { None };
    }
    let shown = visible(env, &nodes);
    for gpu in gpus.iter_mut().filter(|gpu| gpu.kfd) {
        gpu.hip = shown.iter().position(|ordinal| Some(*ordinal) == gpu.kfd_ordinal);
        gpu.visible = Some(gpu.hip.is_some());
    }
    gpus
}

/// The compute driver's GPUs that ROCm shows, in the order of HIP's numbers.
fn visible(env: &BTreeMap<String, String>, nodes: &[Node]) -> Vec<usize> {
    let all: Vec<_> = (0..nodes.len()).collect();
    // The runtime takes an empty list at its word, HIP does not.
    let runtime = env.get("ROCR_VISIBLE_DEVICES").map(|list| chosen(list, &all, nodes)).unwrap_or(all);
    let list = env.get("HIP_VISIBLE_DEVICES").or_else(|| env.get("CUDA_VISIBLE_DEVICES"));
    list.filter(|list| !list.is_empty()).map(|list| chosen(list, &runtime, nodes)).unwrap_or(runtime)
}

/// The entries that a list of numbers and names picks; it ends at the first that is neither.
fn chosen(list: &str, among: &[usize], nodes: &[Node]) -> Vec<usize> {
    let pick = |word: &str| {
        let named = |ordinal: &&usize| {
            let unique = nodes.get(**ordinal).and_then(|node| node.unique);
            unique.is_some_and(|unique| word.eq_ignore_ascii_case(&format!("GPU-{unique:016x}")))
        };
        word.parse().ok().and_then(|number: usize| among.get(number)).or_else(|| among.iter().find(named)).copied()
    };
    list.split(',').map(|word| pick(word.trim())).take_while(Option::is_some).flatten().collect()
}

/// How many programs have the GPU open; nothing if there are none among those that may be looked at, and others.
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

fn gpu(root: &Root, pci: &str, nodes: &[Node]) -> Option<Gpu> {
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
    let about = target.as_deref().and_then(Target::named).or(known);
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

/// What HIP and Mesa call the card, by the list that they read it from: `731F,\tC1,\tAMD Radeon RX 5700 XT`.
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
    // Wider numbers would run into each other.
    (major < 100 && minor < 16 && stepping < 16).then(|| sysfs::target_name(major * 10000 + minor * 100 + stepping))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_devices_are_read_as_the_runtimes_do() {
        let node = |unique| Node { unique, ..Node::default() };
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
