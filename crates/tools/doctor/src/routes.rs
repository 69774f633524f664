//! Compute routes to a GPU, as far as files can tell.

use roci_base::{renamed_key, sysfs};
use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Table};

renamed_key!(kind: "kind", formerly "way");

/// A way to compute on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RouteKind {
    /// ROCm with kernels for the chip itself.
    Native,
    /// ROCm with kernels for a generic target that covers the chip.
    Generic,
    /// ROCm with the kernels of a compatible chip, by an override known to work.
    Override,
    /// Vulkan with Mesa's RADV.
    Vulkan,
    /// OpenCL with Mesa's Rusticl.
    RustIcl,
}

impl RouteKind {
    /// Name for people.
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

/// A route and whether it is usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Route {
    /// How it computes.
    #[serde(flatten, serialize_with = "kind::serialize")]
    pub kind: RouteKind,
    /// What blocks it; `None` if it is usable.
    pub obstacle: Option<String>,
    /// Whether facts are missing, so that it may be usable.
    pub unknown: bool,
}

impl Route {
    fn new(kind: RouteKind, bar: Option<Obstacle>) -> Self {
        let unknown = bar.as_ref().is_some_and(|bar| bar.unknown);
        Self { kind, obstacle: bar.map(|bar| bar.what), unknown }
    }
}

/// What blocks a route.
#[derive(Clone)]
struct Obstacle {
    what: String,
    /// Whether it may not apply.
    unknown: bool,
}

impl Obstacle {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), unknown: false }
    }

    /// A missing component; unknown if it was not looked for.
    fn missing(facts: &Facts, fact: &str, what: impl Into<String>) -> Self {
        match facts.knows(fact) {
            true => Self::new(what),
            false => Self { what: format!("it is unknown whether {}", fact_in_words(fact)), unknown: true },
        }
    }
}

/// What an unknown fact would decide.
fn fact_in_words(fact: &str) -> &'static str {
    match fact {
        "node.kfd" => "this user has permission to open /dev/kfd",
        "node.render" => "this user has permission to open the render node",
        "vulkan.driver" => "RADV is installed",
        "opencl.icd" => "RustICL is installed",
        "env.RUSTICL_ENABLE" => "RUSTICL_ENABLE=radeonsi is set",
        "gpu.forced" => "HSA_OVERRIDE_GFX_VERSION is set",
        _ => "ROCm with kernels for it is installed",
    }
}

/// Chips that run a compatible chip's kernels, with the override.
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

/// The compatible chip for a target, and the override.
pub(crate) fn sibling(target: &str) -> Option<(&'static str, &'static str)> {
    SIBLINGS.iter().find(|(chip, ..)| *chip == target).map(|(_, sibling, version)| (*sibling, *version))
}

/// All routes to a GPU, usable ones first.
pub fn routes(facts: &Facts, gpu: usize) -> Vec<Route> {
    let Some(card) = facts.gpus.get(gpu) else { return Vec::new() };
    let rocm = rocm(facts, card);
    let mut all = vec![
        Route::new(RouteKind::Native, rocm.clone().or_else(|| kernels(facts, card, "gpu.target"))),
        Route::new(RouteKind::Generic, rocm.clone().or_else(|| kernels(facts, card, "gpu.generic"))),
    ];
    if let Some(bar) = sibling_kernels(facts, card) {
        all.push(Route::new(RouteKind::Override, rocm.or(bar)));
    }
    let vulkan = mesa(facts, card, "vulkan.driver", "radv", "RADV is not installed");
    all.push(Route::new(RouteKind::Vulkan, vulkan.or_else(|| unlisted(facts, card))));
    all.push(Route::new(RouteKind::RustIcl, rusticl(facts, card)));
    all.sort_by_key(|route| route.obstacle.is_some());
    all
}

/// What blocks every ROCm program.
fn rocm(facts: &Facts, card: &Table) -> Option<Obstacle> {
    if card.first("gpu.kfd") != Some("true") {
        return Some(Obstacle::new("the GPU has no node in the compute driver (KFD)"));
    }
    match facts.machine.first("node.kfd") {
        None => return Some(Obstacle::missing(facts, "node.kfd", "/dev/kfd does not exist")),
        Some("usable") => {}
        Some(_) => return Some(Obstacle::new("this user has no permission to open /dev/kfd")),
    }
    let flushes = facts.machine.first("param.amdgpu.bc250_flush_pasid_kiq");
    sysfs::hsa_freezes(card.first("gpu.target")?, flushes)
        .then(|| Obstacle::new("a stock kernel can freeze when a ROCm program runs on this board"))
}

/// What keeps ROCm libraries from having kernels for a target of the GPU.
fn kernels(facts: &Facts, card: &Table, name: &str) -> Option<Obstacle> {
    let Some(target) = card.first(name) else { return Some(Obstacle::new("the chip has no such target")) };
    // The runtime then loads code for the other chip and ignores this one's.
    if let Some(forced) = card.first("gpu.forced").filter(|forced| card.first("gpu.target") != Some(forced)) {
        return Some(Obstacle::new(format!("HSA_OVERRIDE_GFX_VERSION sets the target to {forced}")));
    }
    no_kernels(facts, target)
}

/// What is missing if no rocBLAS has kernels for a target.
fn no_kernels(facts: &Facts, target: &str) -> Option<Obstacle> {
    const ROCBLAS: &str = "library.rocblas.target";
    let has = |fact: &str| facts.machine.get(fact).iter().any(|known| known.value == target);
    let found = [ROCBLAS, "wheel.torch.target"].into_iter().any(has);
    (!found).then(|| Obstacle::missing(facts, ROCBLAS, format!("no installed rocBLAS has kernels for {target}")))
}

/// Whether a compatible chip's kernels work: `None` if there is no such chip, otherwise what blocks
/// them.
fn sibling_kernels(facts: &Facts, card: &Table) -> Option<Option<Obstacle>> {
    let (sibling, version) = sibling(card.first("gpu.target")?)?;
    let set = card.first("gpu.forced") == Some(sibling);
    let missing = format!("HSA_OVERRIDE_GFX_VERSION={version} is not set");
    let unset = || (!set).then(|| Obstacle::missing(facts, "gpu.forced", missing));
    Some(no_kernels(facts, sibling).or_else(unset))
}

/// What blocks a Mesa driver.
fn mesa(facts: &Facts, card: &Table, fact: &str, driver: &str, missing: &str) -> Option<Obstacle> {
    if card.first("gpu.driver") != Some("amdgpu") {
        return Some(Obstacle::new("the kernel driver amdgpu is not bound to the GPU"));
    }
    if !facts.machine.get(fact).iter().any(|known| known.value == driver) {
        return Some(Obstacle::missing(facts, fact, missing));
    }
    let nodes = facts.machine.get("node.render");
    let own = card.first("gpu.render").unwrap_or_default();
    match card.first("gpu.node") {
        Some("usable") => None,
        Some("missing") => Some(Obstacle::new(format!("/dev/dri/{own} does not exist"))),
        Some(_) => Some(Obstacle::new(format!("this user has no permission to open /dev/dri/{own}"))),
        // It is unknown which node belongs to the card; any usable one counts.
        None if nodes.iter().any(|node| node.value == "usable") => None,
        None if nodes.is_empty() => {
            Some(Obstacle::missing(facts, "node.render", "there is no render node in /dev/dri"))
        }
        None => Some(Obstacle::new("this user has no permission to open the render node in /dev/dri")),
    }
}

/// Whether Vulkan was queried and did not list the GPU.
fn unlisted(facts: &Facts, card: &Table) -> Option<Obstacle> {
    let error = facts.machine.first("vulkan.error");
    let error = error.map(|error| Obstacle::new(format!("the Vulkan driver failed: {error}")));
    let asked = facts.machine.first("vulkan.asked").is_some() && card.first("gpu.vulkan").is_none();
    error.or_else(|| asked.then(|| Obstacle::new("the Vulkan driver does not list the GPU")))
}

fn rusticl(facts: &Facts, card: &Table) -> Option<Obstacle> {
    let obstacle = mesa(facts, card, "opencl.icd", "rusticl", "Rusticl is not installed");
    obstacle.or_else(|| match facts.machine.first("env.RUSTICL_ENABLE") {
        Some(value) if value.contains("radeonsi") => None,
        Some(_) => Some(Obstacle::new("RUSTICL_ENABLE does not name radeonsi")),
        None => Some(Obstacle::missing(facts, "env.RUSTICL_ENABLE", "RUSTICL_ENABLE=radeonsi is not set")),
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

    fn open(facts: &Facts) -> Vec<RouteKind> {
        routes(facts, 0).into_iter().filter(|route| route.obstacle.is_none()).map(|route| route.kind).collect()
    }

    const NAVI10: &[(&str, &str)] =
        &[("gpu.target", "gfx1010"), ("gpu.generic", "gfx10-1-generic"), ("gpu.kfd", "true"), ("gpu.driver", "amdgpu")];

    #[test]
    fn a_card_without_kernels_uses_vulkan() {
        let machine = [
            ("node.kfd", "usable"),
            ("node.render", "usable"),
            ("vulkan.driver", "radv"),
            ("library.rocblas.target", "gfx1030"),
        ];
        assert_eq!(open(&facts(NAVI10, &machine)), [RouteKind::Vulkan]);
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
        assert_eq!(open(&facts(NAVI10, &machine)), [RouteKind::Native, RouteKind::Vulkan, RouteKind::RustIcl]);
    }

    #[test]
    fn rocm_is_blocked_on_a_stock_bc_250() {
        let card = [("gpu.target", "gfx1013"), ("gpu.kfd", "true"), ("gpu.driver", "amdgpu")];
        let machine = [("node.kfd", "usable"), ("library.rocblas.target", "gfx1013")];
        assert_eq!(open(&facts(&card, &machine)), []);
        let patched = [machine[0], machine[1], ("param.amdgpu.bc250_flush_pasid_kiq", "0")];
        assert_eq!(open(&facts(&card, &patched)), [RouteKind::Native]);
    }

    #[test]
    fn an_override_blocks_the_native_route() {
        let card = [("gpu.target", "gfx1031"), ("gpu.kfd", "true"), ("gpu.forced", "gfx1030")];
        let machine =
            [("node.kfd", "usable"), ("library.rocblas.target", "gfx1030"), ("library.rocblas.target", "gfx1031")];
        assert_eq!(open(&facts(&card, &machine)), [RouteKind::Override]);
        assert_eq!(open(&facts(&card[..2], &machine)), [RouteKind::Native]);
    }

    #[test]
    fn a_card_needs_its_own_render_node() {
        let machine = [("node.render", "usable"), ("node.render", "forbidden"), ("vulkan.driver", "radv")];
        let card = |node| [NAVI10, &[("gpu.render", "renderD129"), ("gpu.node", node)]].concat();
        assert_eq!(open(&facts(&card("usable"), &machine)), [RouteKind::Vulkan]);
        let closed = routes(&facts(&card("forbidden"), &machine), 0);
        assert!(
            closed
                .iter()
                .any(|route| route.obstacle.as_deref()
                    == Some("this user has no permission to open /dev/dri/renderD129"))
        );
        let missing_node = routes(&facts(&card("missing"), &machine), 0);
        assert!(
            missing_node.iter().any(|route| route.obstacle.as_deref() == Some("/dev/dri/renderD129 does not exist"))
        );
    }

    #[test]
    fn a_forbidden_node_blocks_rocm() {
        let found = routes(&facts(NAVI10, &[("node.kfd", "forbidden")]), 0);
        assert_eq!(found[0].obstacle.as_deref(), Some("this user has no permission to open /dev/kfd"));
    }
}
