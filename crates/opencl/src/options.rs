//! What a URI asks of the driver.

use roci_hal::driver::Parameter;
use roci_hal::uri::{DeviceUri, UriError, UriReason};
use roci_hal::{Error, PhysicalInfo};

/// The parameters that URIs may have.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter { key: "cpu", help: "`on` lets a URI without a device's number take a processor (default: off)" },
    Parameter { key: "fp16", help: "`off` lowers 16-bit floats even where the device has them (default: on)" },
    Parameter {
        key: "subgroups",
        help: "`off` lowers sub-groups even where the device has them, 8, 16, 32 or 64 asks for that size, lowered \
               where the device has another (default: on)",
    },
    Parameter {
        key: "svm",
        help: "`off` copies what host and device share even where they could see it both (default: on)",
    },
    Parameter {
        key: "order",
        help: "`in` keeps the order of commands even where the device needs none (default: out)",
    },
    Parameter { key: "memory", help: "memory to believe in, such as `12GiB`, whatever the device reports" },
];

/// Sizes of sub-groups that can be asked for.
const SUBGROUP_SIZES: [u32; 4] = [8, 16, 32, 64];

/// The values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) cpu: bool,
    pub(crate) fp16: bool,
    pub(crate) subgroups: Subgroups,
    pub(crate) svm: bool,
    pub(crate) out_of_order: bool,
    pub(crate) memory: Option<u64>,
}

/// Which sub-groups kernels get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subgroups {
    /// The device's own, where it has them.
    Native,
    /// Lowered ones.
    Lowered,
    /// Those of a size: the device's own where it has no other size, lowered ones elsewhere.
    Of(u32),
}

impl Options {
    /// Reads a URI whose keys are known already.
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

    /// A device as these options leave it.
    pub(crate) fn apply(&self, info: &PhysicalInfo) -> PhysicalInfo {
        let mut info = info.clone();
        if !self.fp16 && std::mem::replace(&mut info.capabilities.fp16_arithmetic, false) {
            info.quirks.push("16-bit floats are lowered, as the URI says".to_owned());
        }
        let sizes = &mut info.capabilities.subgroup_sizes;
        let lowers = match self.subgroups {
            Subgroups::Native => false,
            Subgroups::Lowered => true,
            Subgroups::Of(size) => *sizes != [size],
        };
        if lowers && !std::mem::take(sizes).is_empty() {
            info.quirks.push("sub-groups are lowered, as the URI says".to_owned());
        }
        if let Subgroups::Of(size) = self.subgroups {
            info.capabilities.subgroup_width = Some(size);
        }
        info.true_memory = self.memory.or(info.true_memory);
        info
    }
}

/// The value of a switch: the first word is yes, the second no.
fn switch(uri: &DeviceUri, key: &str, words: [&str; 2], default: bool) -> Result<bool, Error> {
    match uri.parameter(key) {
        None => Ok(default),
        Some(text) if text == words[0] => Ok(true),
        Some(text) if text == words[1] => Ok(false),
        Some(text) => Err(wrong(uri, key, text, &format!("`{}` or `{}`", words[0], words[1]))),
    }
}

fn wrong(uri: &DeviceUri, key: &str, value: &str, expected: &str) -> Error {
    let reason = UriReason::BadValue { key: key.into(), value: value.into(), expected: expected.into() };
    UriError::new(uri.to_string(), reason).into()
}

/// Bytes of `512MiB` and `12GiB`.
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
    use roci_hal::{Capabilities, DeviceKind, Hint};

    fn options(uri: &str) -> Result<Options, Error> {
        Options::of(&uri.parse()?)
    }

    #[test]
    fn a_plain_uri_takes_what_the_device_offers() -> Result<(), Error> {
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
    fn wrong_values_say_what_would_do() {
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
            let said = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn what_is_switched_off_is_gone_and_told() -> Result<(), Error> {
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
    fn sub_groups_of_a_chosen_size_are_the_devices_own_only_where_it_has_no_other() -> Result<(), Error> {
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
