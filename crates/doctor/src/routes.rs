//! Which ways of computing lead to a GPU, as far as files can tell: the first wish of its owner.

use roci_hal::sysfs;
use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Table};

/// A way to compute on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// ROCm with kernels for the chip itself.
    Native,
    /// ROCm with kernels for a generic target that covers the chip.
    Generic,
    /// ROCm with kernels of a sibling, by an override that is known to work.
    Override,
    /// Vulkan, by Mesa's RADV.
    Vulkan,
    /// OpenCL, by Mesa's RustICL.
    RustIcl,
}

impl Way {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Native => "ROCm",
            Self::Generic => "ROCm with generic kernels",
            Self::Override => "ROCm with a sibling's kernels",
            Self::Vulkan => "Vulkan",
            Self::RustIcl => "OpenCL (RustICL)",
        }
    }
}

/// A way, and whether it is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// The way.
    pub way: Way,
    /// What stands in its way; nothing if it is open.
    pub obstacle: Option<String>,
    /// Whether files that would tell are missing, so that it may be open.
    pub unknown: bool,
}

impl Route {
    fn new(way: Way, bar: Option<Bar>) -> Self {
        let unknown = bar.as_ref().is_some_and(|bar| bar.unknown);
        Self { way, obstacle: bar.map(|bar| bar.what), unknown }
    }
}

/// What stands in a way.
#[derive(Clone)]
struct Bar {
    what: String,
    /// Whether it may not be there.
    unknown: bool,
}

impl Bar {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), unknown: false }
    }

    /// What is not there, if it was looked for.
    fn missing(facts: &Facts, fact: &str, what: impl Into<String>) -> Self {
        match facts.knows(fact) {
            true => Self::new(what),
            false => Self { what: format!("it is not known whether {}", fact_in_words(fact)), unknown: true },
        }
    }
}

/// What a fact that is unknown would tell.
fn fact_in_words(fact: &str) -> &'static str {
    match fact {
        "node.kfd" => "this user may open /dev/kfd",
        "node.render" => "this user may open the render node",
        "vulkan.driver" => "RADV is installed",
        "opencl.icd" => "RustICL is installed",
        "env.RUSTICL_ENABLE" => "RUSTICL_ENABLE=radeonsi is set",
        "gpu.forced" => "HSA_OVERRIDE_GFX_VERSION is set",
        _ => "ROCm with kernels for it is installed",
    }
}

/// Chips that run a sibling's kernels, with the override that says so.
const SIBLINGS: &[(&str, &str, &str)] = &[
    ("gfx1011", "gfx1010", "10.1.0"),
    ("gfx1013", "gfx1010", "10.1.0"),
    ("gfx1031", "gfx1030", "10.3.0"),
    ("gfx1032", "gfx1030", "10.3.0"),
    ("gfx1033", "gfx1030", "10.3.0"),
    ("gfx1034", "gfx1030", "10.3.0"),
    ("gfx1035", "gfx1030", "10.3.0"),
    ("gfx1036", "gfx1030", "10.3.0"),
    ("gfx1103", "gfx1102", "11.0.2"),
];

/// The chip whose kernels run on another, and the override that says so.
pub(crate) fn sibling(target: &str) -> Option<(&'static str, &'static str)> {
    SIBLINGS.iter().find(|(chip, ..)| *chip == target).map(|(_, sibling, version)| (*sibling, *version))
}

/// Every way to a GPU, those that are open first.
pub fn routes(facts: &Facts, gpu: usize) -> Vec<Route> {
    let Some(card) = facts.gpus.get(gpu) else { return Vec::new() };
    let rocm = rocm(facts, card);
    let mut all = vec![
        Route::new(Way::Native, rocm.clone().or_else(|| kernels(facts, card, "gpu.target"))),
        Route::new(Way::Generic, rocm.clone().or_else(|| kernels(facts, card, "gpu.generic"))),
    ];
    if let Some(bar) = sibling_kernels(facts, card) {
        all.push(Route::new(Way::Override, rocm.or(bar)));
    }
    let vulkan = mesa(facts, card, "vulkan.driver", "radv", "no file of RADV is installed");
    all.push(Route::new(Way::Vulkan, vulkan.or_else(|| unlisted(facts, card))));
    all.push(Route::new(Way::RustIcl, rusticl(facts, card)));
    all.sort_by_key(|route| route.obstacle.is_some());
    all
}

/// What keeps every program of ROCm from a GPU.
fn rocm(facts: &Facts, card: &Table) -> Option<Bar> {
    if card.first("gpu.kfd") != Some("true") {
        return Some(Bar::new("the compute driver does not have the GPU"));
    }
    match facts.machine.first("node.kfd") {
        None => return Some(Bar::missing(facts, "node.kfd", "/dev/kfd does not exist")),
        Some("usable") => {}
        Some(_) => return Some(Bar::new("this user may not open /dev/kfd")),
    }
    let flushes = facts.machine.first("param.amdgpu.bc250_flush_pasid_kiq");
    sysfs::hsa_freezes(card.first("gpu.target")?, flushes)
        .then(|| Bar::new("a stock kernel can freeze when a ROCm program runs on this board"))
}

/// What keeps ROCm's libraries from having kernels for a target of the GPU.
fn kernels(facts: &Facts, card: &Table, name: &str) -> Option<Bar> {
    let Some(target) = card.first(name) else { return Some(Bar::new("the chip has no such target")) };
    // The runtime then asks for the other chip's code, and this one's is of no use.
    if let Some(forced) = card.first("gpu.forced").filter(|forced| card.first("gpu.target") != Some(forced)) {
        return Some(Bar::new(format!("HSA_OVERRIDE_GFX_VERSION makes it {forced}")));
    }
    no_kernels(facts, target)
}

/// What is missing where no rocBLAS has kernels for a target.
fn no_kernels(facts: &Facts, target: &str) -> Option<Bar> {
    const ROCBLAS: &str = "library.rocblas.target";
    let has = |fact: &str| facts.machine.get(fact).iter().any(|known| known.value == target);
    let found = [ROCBLAS, "wheel.torch.target"].into_iter().any(has);
    (!found).then(|| Bar::missing(facts, ROCBLAS, format!("no rocBLAS that was found has kernels for {target}")))
}

/// Whether a sibling's kernels could serve: nothing if the chip has no such sibling, and what is missing otherwise.
fn sibling_kernels(facts: &Facts, card: &Table) -> Option<Option<Bar>> {
    let (sibling, version) = sibling(card.first("gpu.target")?)?;
    let set = card.first("gpu.forced") == Some(sibling);
    let missing = format!("HSA_OVERRIDE_GFX_VERSION={version} is not set");
    let unset = || (!set).then(|| Bar::missing(facts, "gpu.forced", missing));
    Some(no_kernels(facts, sibling).or_else(unset))
}

/// What keeps a driver of Mesa's from the GPU.
fn mesa(facts: &Facts, card: &Table, fact: &str, driver: &str, missing: &str) -> Option<Bar> {
    if card.first("gpu.driver") != Some("amdgpu") {
        return Some(Bar::new("the kernel driver amdgpu does not have the GPU"));
    }
    if !facts.machine.get(fact).iter().any(|known| known.value == driver) {
        return Some(Bar::missing(facts, fact, missing));
    }
    let nodes = facts.machine.get("node.render");
    let own = card.first("gpu.render").unwrap_or_default();
    match card.first("gpu.node") {
        Some("usable") => None,
        Some("missing") => Some(Bar::new(format!("/dev/dri/{own} does not exist"))),
        Some(_) => Some(Bar::new(format!("this user may not open /dev/dri/{own}"))),
        // Which node is the card's is not known: one of them.
        None if nodes.iter().any(|node| node.value == "usable") => None,
        None if nodes.is_empty() => Some(Bar::missing(facts, "node.render", "there is no render node in /dev/dri")),
        None => Some(Bar::new("this user may not open the render node in /dev/dri")),
    }
}

/// What Vulkan itself says against the GPU, where it was asked.
fn unlisted(facts: &Facts, card: &Table) -> Option<Bar> {
    let error = facts.machine.first("vulkan.error");
    let error = error.map(|error| Bar::new(format!("the Vulkan driver failed when it was asked: {error}")));
    let asked = facts.machine.first("vulkan.asked").is_some() && card.first("gpu.vulkan").is_none();
    error.or_else(|| asked.then(|| Bar::new("the Vulkan driver does not list the GPU")))
}

fn rusticl(facts: &Facts, card: &Table) -> Option<Bar> {
    let obstacle = mesa(facts, card, "opencl.icd", "rusticl", "no file of RustICL is installed");
    obstacle.or_else(|| match facts.machine.first("env.RUSTICL_ENABLE") {
        Some(value) if value.contains("radeonsi") => None,
        Some(_) => Some(Bar::new("RUSTICL_ENABLE does not name radeonsi")),
        None => Some(Bar::missing(facts, "env.RUSTICL_ENABLE", "RUSTICL_ENABLE=radeonsi is not set")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(card: &[(&str, &str)], machine: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::complete();
        let mut table = Table::default();
        card.iter().for_each(|(name, value)| table.add(*name, value, ""));
        machine.iter().for_each(|(name, value)| facts.machine.add(*name, value, ""));
        facts.gpus.push(table);
        facts
    }

    fn open(facts: &Facts) -> Vec<Way> {
        routes(facts, 0).into_iter().filter(|route| route.obstacle.is_none()).map(|route| route.way).collect()
    }

    const NAVI10: &[(&str, &str)] =
        &[("gpu.target", "gfx1010"), ("gpu.generic", "gfx10-1-generic"), ("gpu.kfd", "true"), ("gpu.driver", "amdgpu")];

    #[test]
    fn a_card_without_kernels_of_its_own_goes_by_vulkan() {
        let machine = [
            ("node.kfd", "usable"),
            ("node.render", "usable"),
            ("vulkan.driver", "radv"),
            ("library.rocblas.target", "gfx1030"),
        ];
        assert_eq!(open(&facts(NAVI10, &machine)), [Way::Vulkan]);
    }

    #[test]
    fn native_kernels_come_first() {
        let machine = [
            ("node.kfd", "usable"),
            ("node.render", "usable"),
            ("vulkan.driver", "radv"),
            ("opencl.icd", "rusticl"),
            ("env.RUSTICL_ENABLE", "radeonsi"),
            ("library.rocblas.target", "gfx1010"),
        ];
        assert_eq!(open(&facts(NAVI10, &machine)), [Way::Native, Way::Vulkan, Way::RustIcl]);
    }

    #[test]
    fn rocm_is_closed_on_a_stock_bc_250() {
        let card = [("gpu.target", "gfx1013"), ("gpu.kfd", "true"), ("gpu.driver", "amdgpu")];
        let machine = [("node.kfd", "usable"), ("library.rocblas.target", "gfx1013")];
        assert_eq!(open(&facts(&card, &machine)), []);
        let patched = [machine[0], machine[1], ("param.amdgpu.bc250_flush_pasid_kiq", "0")];
        assert_eq!(open(&facts(&card, &patched)), [Way::Native]);
    }

    #[test]
    fn an_override_closes_the_ways_of_the_chip_itself() {
        let card = [("gpu.target", "gfx1031"), ("gpu.kfd", "true"), ("gpu.forced", "gfx1030")];
        let machine =
            [("node.kfd", "usable"), ("library.rocblas.target", "gfx1030"), ("library.rocblas.target", "gfx1031")];
        assert_eq!(open(&facts(&card, &machine)), [Way::Override]);
        assert_eq!(open(&facts(&card[..2], &machine)), [Way::Native]);
    }

    #[test]
    fn a_card_needs_its_own_render_node() {
        let machine = [("node.render", "usable"), ("node.render", "forbidden"), ("vulkan.driver", "radv")];
        let card = |node| [NAVI10, &[("gpu.render", "renderD129"), ("gpu.node", node)]].concat();
        assert_eq!(open(&facts(&card("usable"), &machine)), [Way::Vulkan]);
        let closed = routes(&facts(&card("forbidden"), &machine), 0);
        assert!(
            closed.iter().any(|route| route.obstacle.as_deref() == Some("this user may not open /dev/dri/renderD129"))
        );
        let gone = routes(&facts(&card("missing"), &machine), 0);
        assert!(gone.iter().any(|route| route.obstacle.as_deref() == Some("/dev/dri/renderD129 does not exist")));
    }

    #[test]
    fn nobody_may_open_what_belongs_to_another_group() {
        let found = routes(&facts(NAVI10, &[("node.kfd", "forbidden")]), 0);
        assert_eq!(found[0].obstacle.as_deref(), Some("this user may not open /dev/kfd"));
    }
}
