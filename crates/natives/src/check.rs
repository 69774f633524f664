//! Holding a launch's constants against its bindings, before anything is touched.
//!
//! Sizes come from outside and are 32 bits wide; products and sums of them are taken in 128 bits, where none overflows.

use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::{NativeBinding, NativeLaunch};

/// The constants block as `P`.
pub(super) fn constants<P: Pod>(launch: &NativeLaunch<'_>) -> Result<P, String> {
    bytemuck::try_pod_read_unaligned(launch.constants)
        .map_err(|_| format!("takes {} bytes of constants, given are {}", size_of::<P>(), launch.constants.len()))
}

/// The launch's bindings, of which there must be `N`.
pub(super) fn bindings<const N: usize>(launch: &NativeLaunch<'_>) -> Result<[NativeBinding; N], String> {
    launch.bindings.try_into().map_err(|_| format!("takes {N} bindings, given are {}", launch.bindings.len()))
}

/// How a kernel with this many bindings, at most four, uses them: it writes the last one and reads the others.
pub(super) fn last_written(bindings: usize) -> &'static [roci_hal::Access] {
    use roci_hal::Access::{Read, ReadWrite};
    const MOST: &[roci_hal::Access] = &[Read, Read, Read, ReadWrite];
    &MOST[MOST.len() - bindings..]
}

/// How far an array of strided dimensions reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent(u128);

impl Extent {
    /// From the first to behind the last element of `(count, stride)` dimensions; nothing if any is empty.
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
        // Saturating, as only a product of more than four sizes can overflow, and no binding is that large.
        Extent(sizes.iter().fold(1, |product: u128, &size| product.saturating_mul(size.into())))
    }

    /// So many elements.
    pub(super) fn words(count: u128) -> Extent {
        Extent(count)
    }

    /// Elements spanned.
    pub(super) fn elements(self) -> u128 {
        self.0
    }

    /// As far behind `offset` elements.
    pub(super) fn after(self, offset: u32) -> Extent {
        if self.0 == 0 { self } else { Extent(self.0 + u128::from(offset)) }
    }
}

/// The bytes of a binding that a launch touches.
#[derive(Clone, Debug)]
pub(super) struct Access {
    name: &'static str,
    bytes: Range<usize>,
}

impl Access {
    /// Reading `extent` elements of `E` from the start of the binding.
    pub(super) fn read<E>(name: &'static str, binding: NativeBinding, extent: Extent) -> Result<Access, String> {
        Access::new::<E>("reads", name, binding, extent)
    }

    /// Writing, as [`Access::read`].
    pub(super) fn write<E>(name: &'static str, binding: NativeBinding, extent: Extent) -> Result<Access, String> {
        Access::new::<E>("writes", name, binding, extent)
    }

    fn new<E>(verb: &str, name: &'static str, binding: NativeBinding, extent: Extent) -> Result<Access, String> {
        let bound = binding.length / size_of::<E>();
        if extent.elements() > bound as u128 {
            return Err(format!("{verb} {} elements of `{name}`, bound are {bound}", extent.elements()));
        }
        let start = binding.pointer.addr();
        if extent.elements() > 0 && !start.is_multiple_of(align_of::<E>()) {
            return Err(format!("`{name}` is not aligned to {} bytes", align_of::<E>()));
        }
        // In range: the extent fits the binding, whose length is a `usize`.
        let length = extent.elements() as usize * size_of::<E>();
        Ok(Access { name, bytes: start..start + length })
    }

    /// The same without the first `elements` elements of `E`, which the launch does not touch.
    pub(super) fn skip<E>(mut self, elements: u32) -> Access {
        self.bytes.start = (self.bytes.start + elements as usize * size_of::<E>()).min(self.bytes.end);
        self
    }

    /// Whether both touch a common byte.
    pub(super) fn overlaps(&self, other: &Access) -> bool {
        self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
            && !self.bytes.is_empty()
            && !other.bytes.is_empty()
    }

    /// Fails if both touch a common byte.
    pub(super) fn apart_from(&self, other: &Access) -> Result<(), String> {
        if self.overlaps(other) { Err(format!("`{}` overlaps `{}`", self.name, other.name)) } else { Ok(()) }
    }

    /// Fails if both touch a common byte, unless they are the very same bytes.
    pub(super) fn apart_or_same(&self, other: &Access) -> Result<(), String> {
        if self.overlaps(other) && self.bytes != other.bytes {
            return Err(format!("`{}` overlaps `{}` without being the same", self.name, other.name));
        }
        Ok(())
    }
}
