//! Values of attributes, as the bytes that C gets.

use roci_hsa::abi::{
    Agent, AgentFeature, DeviceType, Endianness, FloatRoundingMode, IommuVersion, Isa, LinkInfo, MachineModel,
    MemoryPoolAccess, MemoryPoolGlobalFlag, MemoryPoolLocation, Profile, QueueType, Segment,
};

/// Value of an attribute. Its size is part of the interface: the client's buffer is exactly that
/// large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttributeValue(Vec<u8>);

impl AttributeValue {
    pub(crate) fn zeros(count: usize) -> Self {
        Self(vec![0; count])
    }

    /// A string with a terminating NUL.
    pub(crate) fn c_string(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        Self(bytes)
    }

    /// A string without a NUL, where the length is a separate attribute.
    pub(crate) fn characters(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// Length of a string without a NUL.
    pub(crate) fn length(text: &str) -> Self {
        u32::try_from(text.len()).unwrap_or(u32::MAX).into()
    }

    /// A string in an array of 64 bytes, truncated and padded with NULs.
    pub(crate) fn name(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.truncate(63);
        bytes.resize(64, 0);
        Self(bytes)
    }

    /// Address of a static string.
    pub(crate) fn address(text: &'static std::ffi::CStr) -> Self {
        text.as_ptr().expose_provenance().into()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl From<$type> for AttributeValue {
            fn from(value: $type) -> Self {
                Self(value.to_ne_bytes().to_vec())
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize);

macro_rules! wrapped {
    ($($type:ident),* $(,)?) => {$(
        impl From<$type> for AttributeValue {
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

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl From<Agent> for AttributeValue {
    fn from(value: Agent) -> Self {
        value.handle.into()
    }
}

impl From<Isa> for AttributeValue {
    fn from(value: Isa) -> Self {
        value.handle.into()
    }
}

impl From<LinkInfo> for AttributeValue {
    fn from(link: LinkInfo) -> Self {
        let numbers = [link.min_latency, link.max_latency, link.min_bandwidth, link.max_bandwidth];
        let mut bytes = Self::from(numbers).0;
        // The last byte is padding.
        bytes.extend([link.atomic_support_32bit, link.atomic_support_64bit, link.coherent_support, 0]);
        bytes.extend(Self::from([link.link_type.0, link.numa_distance]).0);
        Self(bytes)
    }
}

impl<T: Into<AttributeValue>, const N: usize> From<[T; N]> for AttributeValue {
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
    fn values_have_the_size_of_their_type() {
        assert_eq!(AttributeValue::from(true).bytes(), [1]);
        assert_eq!(AttributeValue::from([1_u16, 2, 3]).bytes().len(), 6);
        assert_eq!(AttributeValue::name(&"x".repeat(100)).bytes().len(), 64);
        assert_eq!(AttributeValue::name(&"x".repeat(100)).bytes()[62..], [b'x', 0]);
        assert_eq!(AttributeValue::c_string("ab").bytes(), b"ab\0");
    }

    #[test]
    fn link_info_has_the_layout_of_c() {
        let link = LinkInfo {
            max_bandwidth: 7,
            coherent_support: 1,
            link_type: LinkInfoType::PCIE,
            numa_distance: 20,
            ..LinkInfo::default()
        };
        let answer = AttributeValue::from(link);
        assert_eq!(answer.bytes().len(), size_of::<LinkInfo>());
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, max_bandwidth)], 7);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, coherent_support)], 1);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, link_type)], 2);
        assert_eq!(answer.bytes()[offset_of!(LinkInfo, numa_distance)], 20);
    }
}
