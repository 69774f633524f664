//! Attribute queries. The library writes as many bytes as the attribute has, so the buffer is
//! larger than every attribute of fixed size, whatever type the caller reads.

use std::ffi::c_void;

use crate::abi::*;
use crate::c_string;
use crate::error::{Error, check};

/// Bytes of the buffer; the largest attribute of fixed size, the mask of extensions, has 128.
const BUFFER_SIZE: usize = 1024;

/// Aligned for every attribute type.
#[repr(C, align(16))]
struct Buffer([u8; BUFFER_SIZE]);

/// A type that attributes can be read as.
pub trait Value: Sized + sealed::Sealed {
    /// Reads a value from the start of the buffer; bytes that the library did not write are 0.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

/// Queries an attribute by `call` and reads its value.
pub(super) fn get<V: Value>(name: &'static str, call: impl FnOnce(*mut c_void) -> Status) -> Result<V, Error> {
    let mut buffer = Buffer([0; BUFFER_SIZE]);
    check(name, call((&raw mut buffer).cast()))?;
    Ok(V::read(&buffer.0))
}

/// Queries a string whose length the caller has queried.
pub(super) fn get_string(
    name: &'static str,
    length: u32,
    call: impl FnOnce(*mut c_void) -> Status,
) -> Result<String, Error> {
    // Some libraries write a NUL beyond the reported length.
    let mut buffer = vec![0_u8; length as usize + BUFFER_SIZE];
    check(name, call(buffer.as_mut_ptr().cast()))?;
    Ok(c_string::from_bytes(&buffer[..length as usize]))
}

/// The first `N` bytes, padded with zeros.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    let count = N.min(bytes.len());
    first[..count].copy_from_slice(&bytes[..count]);
    first
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Value for $type {
            fn read(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(first(bytes))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i64, usize);

/// Newtypes of a number.
macro_rules! wrapped {
    ($($type:ident($number:ty)),* $(,)?) => {$(
        impl sealed::Sealed for $type {}

        impl Value for $type {
            fn read(bytes: &[u8]) -> Self {
                $type(<$number>::read(bytes))
            }
        }
    )*};
}
wrapped!(
    AgentFeature(u32),
    DeviceType(u32),
    Endianness(u32),
    FloatRoundingMode(u32),
    MachineModel(u32),
    MemoryPoolAccess(u32),
    MemoryPoolGlobalFlag(u32),
    MemoryPoolLocation(u32),
    Profile(u32),
    QueueType(u32),
    RegionGlobalFlag(u32),
    Segment(u32),
    SymbolKind(u32),
);

impl sealed::Sealed for Agent {}

impl Value for Agent {
    fn read(bytes: &[u8]) -> Self {
        Agent { handle: u64::read(bytes) }
    }
}

impl sealed::Sealed for bool {}

impl Value for bool {
    fn read(bytes: &[u8]) -> Self {
        u8::read(bytes) != 0
    }
}

impl sealed::Sealed for Dim3 {}

impl Value for Dim3 {
    fn read(bytes: &[u8]) -> Self {
        let [x, y, z] = <[u32; 3]>::read(bytes);
        Dim3 { x, y, z }
    }
}

impl sealed::Sealed for HdpFlush {}

impl Value for HdpFlush {
    fn read(bytes: &[u8]) -> Self {
        let [mem, reg] = <[usize; 2]>::read(bytes);
        let register = |address| std::ptr::with_exposed_provenance_mut(address);
        HdpFlush { mem_flush_cntl: register(mem), reg_flush_cntl: register(reg) }
    }
}

impl<V: Value + Copy, const N: usize> sealed::Sealed for [V; N] {}

impl<V: Value + Copy, const N: usize> Value for [V; N] {
    fn read(bytes: &[u8]) -> Self {
        std::array::from_fn(|index| V::read(bytes.get(index * size_of::<V>()..).unwrap_or_default()))
    }
}

impl sealed::Sealed for String {}

/// A string in a byte array of fixed size.
impl Value for String {
    fn read(bytes: &[u8]) -> Self {
        c_string::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_the_start_and_missing_bytes_are_zero() {
        assert_eq!(u32::read(&[1, 2, 0, 0, 9]), 0x201);
        assert_eq!(u64::read(&[7]), 7);
        assert_eq!(<[u16; 3]>::read(&[1, 0, 2, 0]), [1, 2, 0]);
        assert_eq!(Dim3::read(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]), Dim3 { x: 1, y: 2, z: 3 });
        assert!(bool::read(&[1]) && bool::read(&[255]) && !bool::read(&[0]));
        assert_eq!(DeviceType::read(&[1, 0, 0, 0]), DeviceType::GPU);
    }
}
