//! Combinations of kernel, firmware, Mesa and ROCm that are known to work for a chip. They are data, in `good.toml`.

use serde::{Deserialize, Serialize};

use crate::routes::Way;
use crate::rules::Confidence;

static GOOD: &str = include_str!("good.toml");

/// What others found to work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Good {
    /// The chips that it is about.
    pub targets: Vec<String>,
    /// Releases of the kernel; nothing where none is known to matter.
    pub kernel: Option<String>,
    /// Firmware.
    pub firmware: Option<String>,
    /// Releases of Mesa.
    pub mesa: Option<String>,
    /// Releases of ROCm, and where they come from.
    pub rocm: Option<String>,
    /// Which PyTorch.
    pub pytorch: Option<String>,
    /// The way to compute that gives the least trouble.
    pub route: Way,
    /// What to set or to leave alone.
    #[serde(default)]
    pub settings: Vec<String>,
    /// How sure the sources are.
    pub confidence: Confidence,
    /// Who says so.
    pub sources: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    good: Vec<Good>,
}

/// The combination for a chip, such as `gfx1151`; nothing where none is known.
pub fn known_good(target: &str) -> Option<Good> {
    // The tests read the whole file; here a fault in it would be no reason to fail.
    let Document { good } = toml::from_str(GOOD).ok()?;
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
    fn the_file_is_right() {
        let Document { good } = toml::from_str(GOOD).expect("it is TOML");
        let mut seen: Vec<&str> = Vec::new();
        for entry in &good {
            // What computes without Mesa needs none.
            let ways = entry.mesa.is_some() || entry.route == Way::Native && entry.rocm.is_some();
            assert!(!entry.sources.is_empty() && ways, "{entry:?}");
            for target in &entry.targets {
                assert!(Target::named(target).is_some() && !seen.contains(&target.as_str()), "{target}");
                seen.push(target);
            }
        }
        for target in TARGETS {
            assert!(seen.contains(&target.name), "{} has none", target.name);
        }
    }

    #[test]
    fn a_chip_finds_its_own() {
        let found = known_good("gfx1012").expect("it is there");
        assert!(found.pytorch.is_some_and(|text| text.contains("device-gfx1012")));
        assert_eq!(known_good("gfx1013").map(|found| found.route), Some(Way::Vulkan));
        assert_eq!(known_good("gfx600"), None);
    }
}
