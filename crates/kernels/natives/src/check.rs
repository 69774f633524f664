//! Checks of a launch's constants against its binding, before any memory is touched.
//!
//! Sizes are untrusted and 32 bits wide; their products and sums are computed in 128 bits, which
//! cannot overflow.

use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::{NativeBinding, NativeLaunch};

/// The constants block as `P`.
pub(super) fn constants<P: Pod>(launch: &NativeLaunch<'_>) -> Result<P, String> {
    bytemuck::try_pod_read_unaligned(launch.constants)
        .map_err(|_| format!("expects {} bytes of constants, got {}", size_of::<P>(), launch.constants.len()))
}

/// The launch's bindings; fails unless there are `N`.
pub(super) fn bindings<const N: usize>(launch: &NativeLaunch<'_>) -> Result<[NativeBinding; N], String> {
    launch.bindings.try_into().map_err(|_| format!("expects {N} bindings, got {}", launch.bindings.len()))
}

/// The accesses of a kernel with this many bindings, at most six: it writes the last one and reads
/// the others.
pub(super) fn last_written(bindings: usize) -> &'static [roci_hal::Access] {
    use roci_hal::Access::{Read, ReadWrite};
    const ACCESSES: &[roci_hal::Access] = &[Read, Read, Read, Read, Read, ReadWrite];
    &ACCESSES[ACCESSES.len() - bindings..]
}

/// The number of elements that an array of strided dimensions spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent(u128);

impl Extent {
    /// From the first to the last element of `(count, stride)` dimensions; empty if any dimension
    /// is.
    pub(super) fn of(dimensions: &[(u32, u32)]) -> Extent {
        let mut last = 0;
        for &(count, stride) in dimensions {
            let Some(steps) = count.checked_sub(1) else { return Extent(0) };
            last += u128::from(steps) * u128::from(stride);
        }
        Extent(last + 1)
    }

    /// A dense array of these sizes, outermost first.
    pub(super) fn product(sizes: &[u32]) -> Extent {
        // Saturates: only a product of more than four sizes can overflow, and no binding is that
        // large.
        Extent(sizes.iter().fold(1, |product: u128, &size| product.saturating_mul(size.into())))
    }

    /// An extent of `count` elements.
    pub(super) fn count(count: u128) -> Extent {
        Extent(count)
    }

    /// Number of elements spanned.
    pub(super) fn elements(self) -> u128 {
        self.0
    }

    /// The same extent, `offset` elements further on.
    pub(super) fn offset_by(self, offset: u32) -> Extent {
        if self.0 == 0 { self } else { Extent(self.0 + u128::from(offset)) }
    }
}

/// The bytes of a binding that a launch touches.
#[derive(Clone, Debug)]
pub(super) struct AccessRange {
    name: &'static str,
    bytes: Range<usize>,
}

impl AccessRange {
    /// A read of `extent` elements of `E` from the start of the binding.
    pub(super) fn read<E>(name: &'static str, binding: NativeBinding, extent: Extent) -> Result<AccessRange, String> {
        AccessRange::new::<E>("reads", name, binding, extent)
    }

    /// Like [`AccessRange::read`], for a write.
    pub(super) fn write<E>(name: &'static str, binding: NativeBinding, extent: Extent) -> Result<AccessRange, String> {
        AccessRange::new::<E>("writes", name, binding, extent)
    }

    fn new<E>(verb: &str, name: &'static str, binding: NativeBinding, extent: Extent) -> Result<AccessRange, String> {
        let bound = binding.length / size_of::<E>();
        if extent.elements() > bound as u128 {
            return Err(format!("{verb} {} elements of `{name}`, but {bound} are bound", extent.elements()));
        }
        let start = binding.pointer.addr();
        if extent.elements() > 0 && !start.is_multiple_of(align_of::<E>()) {
            return Err(format!("`{name}` is not aligned to {} bytes", align_of::<E>()));
        }
        // No overflow: the extent fits the binding, whose length is a `usize`.
        let length = extent.elements() as usize * size_of::<E>();
        Ok(AccessRange { name, bytes: start..start + length })
    }

    /// Excludes the first `elements` elements of `E`, which the launch does not touch.
    pub(super) fn skip<E>(mut self, elements: u32) -> AccessRange {
        self.bytes.start = (self.bytes.start + elements as usize * size_of::<E>()).min(self.bytes.end);
        self
    }

    /// Whether the two ranges share a byte.
    pub(super) fn overlaps(&self, other: &AccessRange) -> bool {
        self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
            && !self.bytes.is_empty()
            && !other.bytes.is_empty()
    }

    /// Fails if the two ranges share a byte.
    pub(super) fn disjoint_from(&self, other: &AccessRange) -> Result<(), String> {
        if self.overlaps(other) { Err(format!("`{}` overlaps `{}`", self.name, other.name)) } else { Ok(()) }
    }

    /// Fails if the two ranges share a byte, unless they are identical.
    pub(super) fn disjoint_or_same(&self, other: &AccessRange) -> Result<(), String> {
        if self.overlaps(other) && self.bytes != other.bytes {
            return Err(format!("`{}` partially overlaps `{}`", self.name, other.name));
        }
        Ok(())
    }
}
