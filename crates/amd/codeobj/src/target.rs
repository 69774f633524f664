//! Target IDs: a processor and the settings of two of its features, such as
//! `gfx90a:sramecc+:xnack-`.

use std::fmt;
use std::str::FromStr;

use crate::Processor;

/// Setting of a feature in a target ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Unspecified: the code works either way, or the processor lacks the feature.
    #[default]
    Any,
    /// `-`: the feature must be off.
    Off,
    /// `+`: the feature must be on.
    On,
}

/// Prefix of a full target ID.
const TRIPLE: &str = "amdgcn-amd-amdhsa-";

/// The target of code, or the identity of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// The chip or generic target.
    pub processor: Processor,
    /// Error correction of on-chip memory (`sramecc`).
    pub sramecc: Setting,
    /// Retry of memory accesses after a page fault (`xnack`).
    pub xnack: Setting,
}

/// Why a string is not a target ID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Unknown processor.
    #[error("unknown AMD GPU processor `{processor}` in `{text}`")]
    Processor {
        /// The whole string.
        text: String,
        /// The processor part of it.
        processor: String,
    },
    /// A feature that does not exist, is given twice, or lacks its `+` or `-`.
    #[error("invalid feature `{feature}` in `{text}`: write `sramecc+`, `sramecc-`, `xnack+` or `xnack-`, each once")]
    Feature {
        /// The whole string.
        text: String,
        /// The feature part of it.
        feature: String,
    },
    /// A feature that the processor does not have.
    #[error("{processor} has no `{feature}`")]
    Unsupported {
        /// Processor in the target ID, which has the feature appended.
        processor: Processor,
        /// `xnack` or `sramecc`.
        feature: &'static str,
    },
}

/// Why code does not run on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Code for another processor.
    #[error("the code is for {code}, the device is {device}")]
    Processor {
        /// Processor that the code was compiled for.
        code: Processor,
        /// Processor of the GPU that should run it.
        device: Processor,
    },
    /// Code for a generic target, of a version that does not cover the chip.
    #[error("the code is for version {version} of {code}, which does not cover {device}")]
    GenericVersion {
        /// Generic target of the code.
        code: Processor,
        /// Generic version of the code.
        version: u8,
        /// Processor of the GPU that should run it.
        device: Processor,
    },
    /// A feature setting that differs from the device's.
    #[error("the code needs {feature} {}, but it is {} on the device", on_off(*code), on_off(!*code))]
    Feature {
        /// `sramecc` or `xnack`.
        feature: &'static str,
        /// Setting that the code needs: on or off.
        code: bool,
    },
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl TargetId {
    /// A target with unspecified features.
    pub fn new(processor: Processor) -> Self {
        Self { processor, sramecc: Setting::Any, xnack: Setting::Any }
    }

    /// Whether code for this target runs on `device`.
    ///
    /// The processors must be equal, or the code's generic target must cover the device. A feature
    /// that the code specifies must have the same setting on the device. A feature that the
    /// *device* leaves unspecified is off, as ROCm treats `gfx1010` like `gfx1010:xnack-`. The
    /// version of generic code is not checked here; see
    /// [`CodeObject::runs_on`](crate::CodeObject::runs_on).
    pub fn runs_on(&self, device: &TargetId) -> Result<(), Mismatch> {
        let (code, chip) = (self.processor, device.processor);
        if code != chip && !code.covers().any(|covered| covered == chip) {
            return Err(Mismatch::Processor { code, device: chip });
        }
        let features = [("sramecc", self.sramecc, device.sramecc), ("xnack", self.xnack, device.xnack)];
        for (feature, expected, has) in features {
            let expected = match expected {
                Setting::Any => continue,
                Setting::Off => false,
                Setting::On => true,
            };
            if expected != (has == Setting::On) {
                return Err(Mismatch::Feature { feature, code: expected });
            }
        }
        Ok(())
    }

    /// The ID with its triple, as the ROCm runtime prints it: `amdgcn-amd-amdhsa--gfx1010:xnack-`.
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

    /// Parses `gfx1010:xnack-`, with or without the triple.
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
    fn ids_round_trip() {
        for text in ["gfx1010", "gfx1010:xnack-", "gfx90a:sramecc+:xnack-", "gfx10-1-generic:xnack+", "gfx9-4-generic"]
        {
            assert_eq!(target(text).to_string(), text);
            assert_eq!(target(&target(text).full()), target(text));
        }
        assert_eq!(target("gfx90a:xnack-:sramecc+").to_string(), "gfx90a:sramecc+:xnack-", "features have an order");
        assert_eq!(target("amdgcn-amd-amdhsa-gfx906").to_string(), "gfx906", "old bundles have one dash fewer");
        assert_eq!(target("gfx1010:xnack-").full(), "amdgcn-amd-amdhsa--gfx1010:xnack-");
    }

    #[test]
    fn errors_name_the_invalid_part() {
        let message = |text: &str| text.parse::<TargetId>().expect_err(text).to_string();
        assert!(message("gfx9999").contains("`gfx9999`"));
        assert!(message("").contains("unknown AMD GPU processor"));
        assert!(message("gfx1010:xnack").contains("`xnack`"));
        assert!(message("gfx1010:xnack-:xnack-").contains("each once"));
        assert!(message("gfx1010:").contains("invalid feature"));
        assert_eq!(message("gfx1030:xnack+"), "gfx1030 has no `xnack`");
        assert_eq!(message("gfx1010:sramecc+"), "gfx1010 has no `sramecc`");
    }

    #[test]
    fn code_runs_on_its_processor_and_generic_code_on_covered_chips() {
        let runs = |code: &str, device: &str| target(code).runs_on(&target(device)).is_ok();
        assert!(runs("gfx1010", "gfx1010") && !runs("gfx1010", "gfx1012") && !runs("gfx1030", "gfx1031"));
        assert!(runs("gfx10-1-generic", "gfx1013") && !runs("gfx10-1-generic", "gfx1030"));
        assert!(runs("gfx9-generic", "gfx906:sramecc+:xnack-"), "sramecc is unspecified");
        assert!(!runs("gfx1010", "gfx10-1-generic"), "a device is never a generic target");
    }

    #[test]
    fn specified_features_must_match_the_device() {
        let runs = |code: &str, device: &str| target(code).runs_on(&target(device));
        assert_eq!(runs("gfx90a", "gfx90a:sramecc+:xnack+"), Ok(()));
        assert_eq!(runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack+"), Ok(()));
        assert_eq!(runs("gfx1010:xnack-", "gfx1010"), Ok(()), "unspecified on the device means off");
        let error = runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-").expect_err("xnack is off");
        assert_eq!(error.to_string(), "the code needs xnack on, but it is off on the device");
        assert!(runs("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-").is_err());
        assert!(runs("gfx10-1-generic:xnack+", "gfx1010:xnack-").is_err());
    }
}
