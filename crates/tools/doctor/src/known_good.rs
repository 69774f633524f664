//! Versions of kernel, firmware, Mesa and ROCm that are known to work for a chip, from
//! `known_good.toml`.

use serde::{Deserialize, Serialize};

use crate::routes::RouteKind;
use crate::rules::Confidence;

static GOOD: &str = include_str!("known_good.toml");

/// Versions that users report as working.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct KnownGood {
    /// Targets it applies to.
    pub targets: Vec<String>,
    /// Kernel versions; `None` if every version works.
    pub kernel: Option<String>,
    /// Firmware versions.
    pub firmware: Option<String>,
    /// Mesa versions.
    pub mesa: Option<String>,
    /// ROCm versions and their source.
    pub rocm: Option<String>,
    /// PyTorch wheel.
    pub pytorch: Option<String>,
    /// The most reliable compute route.
    pub route: RouteKind,
    /// Settings to make or to avoid.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Quality of the sources.
    pub confidence: Confidence,
    /// Sources of the entry.
    pub sources: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownGoodDocument {
    good: Vec<KnownGood>,
}

/// The entry for a target such as `gfx1151`.
pub fn known_good(target: &str) -> Option<KnownGood> {
    // A test parses the whole file; an error here must not stop the diagnosis.
    let KnownGoodDocument { good } = toml::from_str(GOOD).ok()?;
    let mut found = good.into_iter().find(|good| good.targets.iter().any(|known| known == target))?;
    let fill = |text: &mut Option<String>| *text = text.take().map(|text| text.replace("{target}", target));
    [&mut found.rocm, &mut found.pytorch].into_iter().for_each(fill);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{TARGETS, Target};

    #[test]
    fn the_file_is_valid() {
        let KnownGoodDocument { good } = toml::from_str(GOOD).expect("it is TOML");
        let mut seen: Vec<&str> = Vec::new();
        for entry in &good {
            // A native route needs no Mesa.
            let ways = entry.mesa.is_some() || entry.route == RouteKind::Native && entry.rocm.is_some();
            assert!(!entry.sources.is_empty() && ways, "{entry:?}");
            for target in &entry.targets {
                assert!(Target::by_name(target).is_some() && !seen.contains(&target.as_str()), "{target}");
                seen.push(target);
            }
        }
        for target in TARGETS {
            assert!(seen.contains(&target.name), "{} has none", target.name);
        }
    }

    #[test]
    fn a_chip_finds_its_entry() {
        let found = known_good("gfx1012").expect("it exists");
        assert!(found.pytorch.is_some_and(|text| text.contains("device-gfx1012")));
        assert_eq!(known_good("gfx1013").map(|found| found.route), Some(RouteKind::Vulkan));
        assert_eq!(known_good("gfx600"), None);
    }
}
