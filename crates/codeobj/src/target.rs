//! Target ids: a processor and what the code assumes about two features of it, such as `gfx90a:sramecc+:xnack-`.

use std::fmt;
use std::str::FromStr;

use crate::Processor;

/// What a target id says about a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Nothing: the code works either way (or the processor does not have the feature).
    #[default]
    Any,
    /// `-`: the feature must be off.
    Off,
    /// `+`: the feature must be on.
    On,
}

/// The triple that stands in front of a processor in a full target id.
const TRIPLE: &str = "amdgcn-amd-amdhsa-";

/// What code is made for, or what a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// The chip or generic target.
    pub processor: Processor,
    /// Error correction of on-chip memory.
    pub sramecc: Setting,
    /// Replaying of memory accesses that faulted.
    pub xnack: Setting,
}

/// Why a text is no target id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A processor that is not in the table.
    #[error("`{text}` names no known AMD GPU processor: `{processor}`")]
    Processor {
        /// The whole text.
        text: String,
        /// The part that is wrong.
        processor: String,
    },
    /// A feature that does not exist, is given twice, or has neither `+` nor `-`.
    #[error("`{text}` has a wrong feature, `{feature}`: write `sramecc+`, `sramecc-`, `xnack+` or `xnack-`, each once")]
    Feature {
        /// The whole text.
        text: String,
        /// The part that is wrong.
        feature: String,
    },
    /// A feature that the processor does not have.
    #[error("{processor} has no `{feature}`")]
    Unsupported {
        /// The processor.
        processor: Processor,
        /// The feature.
        feature: &'static str,
    },
}

/// Why code does not run on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// It is for another processor.
    #[error("the code is for {code}, the device is {device}")]
    Processor {
        /// What the code is for.
        code: Processor,
        /// What the device is.
        device: Processor,
    },
    /// It is for a generic target, but of a version from before the device's chip.
    #[error("the code is for version {version} of {code}, which does not cover {device}")]
    GenericVersion {
        /// What the code is for.
        code: Processor,
        /// Its version.
        version: u8,
        /// What the device is.
        device: Processor,
    },
    /// It wants a feature on that is off, or off that is on.
    #[error("the code needs {feature} {}, on the device it is {}", on_off(*code), on_off(!*code))]
    Feature {
        /// The feature.
        feature: &'static str,
        /// What the code needs.
        code: bool,
    },
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl TargetId {
    /// The target of this processor with nothing said about features.
    pub fn new(processor: Processor) -> Self {
        Self { processor, sramecc: Setting::Any, xnack: Setting::Any }
    }

    /// Whether code for this target runs on `device`.
    ///
    /// The processor must be the same, or a generic target that covers it. A feature that the code says something about
    /// must be so on the device; one that the *device* says nothing about counts as off there, as `gfx1010` is
    /// `gfx1010:xnack-` to ROCm. The version of generic code is not known here: see
    /// [`CodeObject::runs_on`](crate::CodeObject::runs_on).
    pub fn runs_on(&self, device: &TargetId) -> Result<(), Mismatch> {
        let (code, chip) = (self.processor, device.processor);
        if code != chip && !code.covers().any(|covered| covered == chip) {
            return Err(Mismatch::Processor { code, device: chip });
        }
        let features = [("sramecc", self.sramecc, device.sramecc), ("xnack", self.xnack, device.xnack)];
        for (feature, wanted, has) in features {
            let wanted = match wanted {
                Setting::Any => continue,
                Setting::Off => false,
                Setting::On => true,
            };
            if wanted != (has == Setting::On) {
                return Err(Mismatch::Feature { feature, code: wanted });
            }
        }
        Ok(())
    }

    /// The id with its triple, as ROCm's runtime names it: `amdgcn-amd-amdhsa--gfx1010:xnack-`.
    pub fn full(&self) -> String {
        format!("{TRIPLE}-{self}")
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feature = |name: &str, setting| match setting {
            Setting::Any => String::new(),
            Setting::Off => format!(":{name}-"),
            Setting::On => format!(":{name}+"),
        };
        let text = [self.processor.name(), &feature("sramecc", self.sramecc), &feature("xnack", self.xnack)].concat();
        f.pad(&text)
    }
}

impl FromStr for TargetId {
    type Err = TargetError;

    /// Reads `gfx1010:xnack-`, with or without the triple before it.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let short = text.strip_prefix(TRIPLE).map_or(text, |rest| rest.strip_prefix('-').unwrap_or(rest));
        let mut parts = short.split(':');
        let name = parts.next().unwrap_or_default();
        let processor = Processor::from_name(name)
            .ok_or_else(|| TargetError::Processor { text: text.into(), processor: name.into() })?;
        let mut target = Self::new(processor);
        for part in parts {
            let wrong = || TargetError::Feature { text: text.into(), feature: part.into() };
            let setting = match part.as_bytes().last() {
                Some(b'+') => Setting::On,
                Some(b'-') => Setting::Off,
                _ => return Err(wrong()),
            };
            let (feature, supported, slot) = match &part[..part.len() - 1] {
                "sramecc" => ("sramecc", processor.supports_sramecc(), &mut target.sramecc),
                "xnack" => ("xnack", processor.supports_xnack(), &mut target.xnack),
                _ => return Err(wrong()),
            };
            if !supported {
                return Err(TargetError::Unsupported { processor, feature });
            }
            if *slot != Setting::Any {
                return Err(wrong());
            }
            *slot = setting;
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> TargetId {
        text.parse().expect(text)
    }

    #[test]
    fn ids_are_read_and_printed_in_one_form() {
        for text in ["gfx1010", "gfx1010:xnack-", "gfx90a:sramecc+:xnack-", "gfx10-1-generic:xnack+", "gfx9-4-generic"]
        {
            assert_eq!(target(text).to_string(), text);
            assert_eq!(target(&target(text).full()), target(text));
        }
        assert_eq!(target("gfx90a:xnack-:sramecc+").to_string(), "gfx90a:sramecc+:xnack-", "features have an order");
        assert_eq!(target("amdgcn-amd-amdhsa-gfx906").to_string(), "gfx906", "old bundles have one dash less");
        assert_eq!(target("gfx1010:xnack-").full(), "amdgcn-amd-amdhsa--gfx1010:xnack-");
    }

    #[test]
    fn what_is_wrong_in_an_id_is_said() {
        let message = |text: &str| text.parse::<TargetId>().expect_err(text).to_string();
        assert!(message("gfx9999").contains("`gfx9999`"));
        assert!(message("").contains("names no known"));
        assert!(message("gfx1010:xnack").contains("`xnack`"));
        assert!(message("gfx1010:xnack-:xnack-").contains("each once"));
        assert!(message("gfx1010:").contains("wrong feature"));
        assert_eq!(message("gfx1030:xnack+"), "gfx1030 has no `xnack`");
        assert_eq!(message("gfx1010:sramecc+"), "gfx1010 has no `sramecc`");
    }

    #[test]
    fn code_runs_on_its_processor_and_on_what_a_generic_target_covers() {
        let runs = |code: &str, device: &str| target(code).runs_on(&target(device)).is_ok();
        assert!(runs("gfx1010", "gfx1010") && !runs("gfx1010", "gfx1012") && !runs("gfx1030", "gfx1031"));
        assert!(runs("gfx10-1-generic", "gfx1013") && !runs("gfx10-1-generic", "gfx1030"));
        assert!(runs("gfx9-generic", "gfx906:sramecc+:xnack-"), "it says nothing about sramecc");
        assert!(!runs("gfx1010", "gfx10-1-generic"), "a device is no generic target");
    }

    #[test]
    fn features_must_agree_where_the_code_names_them() {
        let runs = |code: &str, device: &str| target(code).runs_on(&target(device));
        assert_eq!(runs("gfx90a", "gfx90a:sramecc+:xnack+"), Ok(()));
        assert_eq!(runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack+"), Ok(()));
        assert_eq!(runs("gfx1010:xnack-", "gfx1010"), Ok(()), "what a device does not say is off");
        let error = runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-").expect_err("it is off");
        assert_eq!(error.to_string(), "the code needs xnack on, on the device it is off");
        assert!(runs("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-").is_err());
        assert!(runs("gfx10-1-generic:xnack+", "gfx1010:xnack-").is_err());
    }
}
