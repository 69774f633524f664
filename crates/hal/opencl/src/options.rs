//! URI parameters of the driver.

use roci_hal::driver::Parameter;
use roci_hal::uri::{DeviceUri, UriError, UriErrorKind};
use roci_hal::{Error, PhysicalInfo};

/// URI parameters that the driver accepts.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter { key: "cpu", help: "`on` allows CPUs for URIs without a device number (default: off)" },
    Parameter { key: "fp16", help: "`off` lowers 16-bit floats even if the device supports them (default: on)" },
    Parameter {
        key: "subgroups",
        help: "`off` lowers sub-groups even if the device supports them; `8`, `16`, `32` or `64` requests a size, \
               lowered if the device has another (default: on)",
    },
    Parameter {
        key: "svm",
        help: "`off` copies host-visible memory instead of using shared virtual memory (default: on)",
    },
    Parameter {
        key: "order",
        help: "`in` uses in-order queues even if the device supports out-of-order execution (default: out)",
    },
    Parameter { key: "memory", help: "memory size such as `12GiB`; overrides what the device reports" },
];

/// Sub-group sizes that a URI may request.
const SUBGROUP_SIZES: [u32; 4] = [8, 16, 32, 64];

/// Parsed URI parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) cpu: bool,
    pub(crate) fp16: bool,
    pub(crate) subgroups: Subgroups,
    pub(crate) svm: bool,
    pub(crate) out_of_order: bool,
    pub(crate) memory: Option<u64>,
}

/// The kind of sub-groups that kernels get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subgroups {
    /// The device's own, where available.
    Native,
    Lowered,
    /// Sub-groups of a size: the device's own if that is its only size, otherwise lowered.
    Of(u32),
}

impl Options {
    /// Parses a URI whose keys were validated.
    pub(crate) fn of(uri: &DeviceUri) -> Result<Self, Error> {
        Ok(Self {
            cpu: switch(uri, "cpu", ["on", "off"], false)?,
            fp16: switch(uri, "fp16", ["on", "off"], true)?,
            subgroups: match uri.parameter("subgroups") {
                None | Some("on") => Subgroups::Native,
                Some("off") => Subgroups::Lowered,
                Some(text) => text
                    .parse()
                    .ok()
                    .filter(|size| SUBGROUP_SIZES.contains(size))
                    .map(Subgroups::Of)
                    .ok_or_else(|| wrong(uri, "subgroups", text, "`on`, `off`, `8`, `16`, `32` or `64`"))?,
            },
            svm: switch(uri, "svm", ["on", "off"], true)?,
            out_of_order: switch(uri, "order", ["out", "in"], true)?,
            memory: match uri.parameter("memory") {
                None => None,
                Some(text) => Some(size(text).ok_or_else(|| wrong(uri, "memory", text, "a size such as `12GiB`"))?),
            },
        })
    }

    /// Applies these options to a device's description.
    pub(crate) fn apply(&self, info: &PhysicalInfo) -> PhysicalInfo {
        let mut info = info.clone();
        if !self.fp16 && std::mem::replace(&mut info.capabilities.fp16_arithmetic, false) {
            info.quirks.push("16-bit floats are lowered, as the URI requests".to_owned());
        }
        let sizes = &mut info.capabilities.subgroup_sizes;
        let lowers = match self.subgroups {
            Subgroups::Native => false,
            Subgroups::Lowered => true,
            Subgroups::Of(size) => *sizes != [size],
        };
        if lowers && !std::mem::take(sizes).is_empty() {
            info.quirks.push("sub-groups are lowered, as the URI requests".to_owned());
        }
        if let Subgroups::Of(size) = self.subgroups {
            info.capabilities.subgroup_width = Some(size);
        }
        info.true_memory = self.memory.or(info.true_memory);
        info
    }
}

/// Parses a switch: the first word is true, the second false.
fn switch(uri: &DeviceUri, key: &str, words: [&str; 2], default: bool) -> Result<bool, Error> {
    match uri.parameter(key) {
        None => Ok(default),
        Some(text) if text == words[0] => Ok(true),
        Some(text) if text == words[1] => Ok(false),
        Some(text) => Err(wrong(uri, key, text, &format!("`{}` or `{}`", words[0], words[1]))),
    }
}

fn wrong(uri: &DeviceUri, key: &str, value: &str, expected: &str) -> Error {
    let reason = UriErrorKind::BadValue { key: key.into(), value: value.into(), expected: expected.into() };
    UriError::new(uri.to_string(), reason).into()
}

/// Parses a size such as `512MiB` or `12GiB` into bytes.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix("GiB") {
        Some(number) => (number, 1 << 30),
        None => (text.strip_suffix("MiB")?, 1u64 << 20),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_base::Hint;
    use roci_hal::{Capabilities, DeviceKind};

    fn options(uri: &str) -> Result<Options, Error> {
        Options::of(&uri.parse()?)
    }

    #[test]
    fn a_uri_without_parameters_uses_every_feature() -> Result<(), Error> {
        let plain = options("opencl:0")?;
        assert!(plain.fp16 && plain.svm && plain.out_of_order && !plain.cpu);
        assert_eq!(plain.subgroups, Subgroups::Native);
        let other = options("opencl?cpu=on&fp16=off&subgroups=off&svm=off&order=in&memory=3GiB")?;
        assert!(!other.fp16 && !other.svm && !other.out_of_order && other.cpu);
        assert_eq!(other.subgroups, Subgroups::Lowered);
        assert_eq!(options("opencl?subgroups=on")?.subgroups, Subgroups::Native);
        assert_eq!(options("opencl?subgroups=16")?.subgroups, Subgroups::Of(16));
        assert_eq!(other.memory, Some(3 << 30));
        Ok(())
    }

    #[test]
    fn errors_of_invalid_values_list_the_valid_ones() {
        for (uri, words) in [
            ("opencl?fp16=no", "`on` or `off`"),
            ("opencl?order=both", "`out` or `in`"),
            ("opencl?subgroups=4", "`on`, `off`, `8`, `16`, `32` or `64`"),
            ("opencl?subgroups=wide", "`on`, `off`, `8`, `16`, `32` or `64`"),
            ("opencl?memory=12", "such as `12GiB`"),
            ("opencl?memory=0GiB", "such as `12GiB`"),
            ("opencl?memory=99999999999999GiB", "such as `12GiB`"),
        ] {
            let error = options(uri).expect_err(uri);
            let message = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn disabled_features_are_removed_and_noted() -> Result<(), Error> {
        let capabilities = Capabilities { fp16_arithmetic: true, subgroup_sizes: vec![32], ..Capabilities::default() };
        let info = PhysicalInfo { capabilities, ..PhysicalInfo::new("card", DeviceKind::DiscreteGpu) };
        assert_eq!(options("opencl")?.apply(&info), info);
        let lowered = options("opencl?fp16=off&subgroups=off")?.apply(&info);
        assert!(!lowered.capabilities.fp16_arithmetic && lowered.capabilities.subgroup_sizes.is_empty());
        assert_eq!(lowered.quirks.len(), 2);
        assert_eq!(lowered.capabilities.subgroup_width, None);
        Ok(())
    }

    #[test]
    fn a_chosen_subgroup_size_is_native_only_if_it_is_the_only_one() -> Result<(), Error> {
        for (own, stay) in [(&[8][..], true), (&[8, 16], false), (&[32], false), (&[], false)] {
            let capabilities = Capabilities { subgroup_sizes: own.to_vec(), ..Capabilities::default() };
            let info = PhysicalInfo { capabilities, ..PhysicalInfo::new("card", DeviceKind::DiscreteGpu) };
            let applied = options("opencl?subgroups=8")?.apply(&info);
            assert_eq!(applied.capabilities.subgroup_width, Some(8));
            assert_eq!(applied.capabilities.subgroup_sizes, if stay { own } else { &[] });
            assert_eq!(applied.quirks.len(), usize::from(!stay && !own.is_empty()), "{own:?}");
        }
        Ok(())
    }
}
