//! Answers to questions about attributes, as the bytes that C gets.

use roci_hsa::abi::{
    Agent, AgentFeature, DeviceType, Endianness, FloatRoundingMode, IommuVersion, Isa, LinkInfo, MachineModel,
    MemoryPoolAccess, MemoryPoolGlobalFlag, MemoryPoolLocation, Profile, QueueType, Segment,
};

/// The bytes of an answer. How many they are is part of the interface: C has room for no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    /// Zeros.
    pub(crate) fn zeros(count: usize) -> Self {
        Self(vec![0; count])
    }

    /// Text with a zero behind it.
    pub(crate) fn text(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        Self(bytes)
    }

    /// Text without a zero behind it, where the length is an attribute of its own.
    pub(crate) fn characters(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// Its length.
    pub(crate) fn length(text: &str) -> Self {
        u32::try_from(text.len()).unwrap_or(u32::MAX).into()
    }

    /// Text in an array of 64 characters, of which the last is zero.
    pub(crate) fn name(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.truncate(63);
        bytes.resize(64, 0);
        Self(bytes)
    }

    /// The address of text that stays, with a zero behind it.
    pub(crate) fn address(text: &'static std::ffi::CStr) -> Self {
        text.as_ptr().expose_provenance().into()
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl From<$type> for Answer {
            fn from(value: $type) -> Self {
                Self(value.to_ne_bytes().to_vec())
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize);

macro_rules! wrapped {
    ($($type:ident),* $(,)?) => {$(
        impl From<$type> for Answer {
            fn from(value: $type) -> Self {
                value.0.into()
            }
        }
    )*};
}
wrapped!(
    AgentFeature,
    DeviceType,
    Endianness,
    FloatRoundingMode,
    IommuVersion,
    MachineModel,
    MemoryPoolAccess,
    MemoryPoolGlobalFlag,
    MemoryPoolLocation,
    Profile,
    QueueType,
    Segment,
);

impl From<bool> for Answer {
    fn from(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl From<Agent> for Answer {
    fn from(value: Agent) -> Self {
        value.handle.into()
    }
}

impl From<Isa> for Answer {
    fn from(value: Isa) -> Self {
        value.handle.into()
    }
}

impl From<LinkInfo> for Answer {
    fn from(link: LinkInfo) -> Self {
        let numbers = [link.min_latency, link.max_latency, link.min_bandwidth, link.max_bandwidth];
        let mut bytes = Self::from(numbers).0;
        // The last one fills up to the next number.
        bytes.extend([link.atomic_support_32bit, link.atomic_support_64bit, link.coherent_support, 0]);
        bytes.extend(Self::from([link.link_type.0, link.numa_distance]).0);
        Self(bytes)
    }
}

impl<T: Into<Answer>, const N: usize> From<[T; N]> for Answer {
    fn from(values: [T; N]) -> Self {
        Self(values.into_iter().flat_map(|value| value.into().0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    use roci_hsa::abi::LinkInfoType;

    #[test]
    fn answers_have_the_size_of_their_type() {
        assert_eq!(Answer::from(true).bytes(), [1]);
        assert_eq!(Answer::from([1_u16, 2, 3]).bytes().len(), 6);
        assert_eq!(Answer::name(&"x".repeat(100)).bytes().len(), 64);
        assert_eq!(Answer::name(&"x".repeat(100)).bytes()[62..], [b'x', 0]);
        assert_eq!(Answer::text("ab").bytes(), b"ab\0");
    }

    #[test]
    fn a_link_is_laid_out_as_in_c() {
        let link = LinkInfo {
            max_bandwidth: 7,
            coherent_support: 1,
            link_type: LinkInfoType::PCIE,
            numa_distance: 20,
            ..LinkInfo::default()
        };
        let answer = Answer::from(link);
        assert_eq!(answer.bytes().len(), size_of::<LinkInfo>());
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, max_bandwidth)], 7);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, coherent_support)], 1);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, link_type)], 2);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, numa_distance)], 20);
    }
}
