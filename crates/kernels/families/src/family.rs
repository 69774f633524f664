//! The entry of a kernel family, and the macros and functions that entries are written with.

use bytemuck::Pod;
use roci_hal::Access;

use crate::cases::{Case, Random};
use crate::{LINEAR_WORKGROUP, MAX_GROUPS};

/// One buffer of a kernel. Its index in the list is its binding number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name in the WGSL source.
    pub name: &'static str,
    /// How the kernel accesses the buffer.
    pub access: Access,
}

/// The layout of a kernel's constants block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Name of the Rust struct.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Members in order, with their byte offsets.
    pub members: &'static [(&'static str, usize)],
}

/// One variant of a family: its name and what distinguishes it.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name of the kernel.
    pub name: &'static str,
    /// Values of the pipeline-overridable constants.
    pub overrides: &'static [(&'static str, f64)],
}

/// Kernels that share a WGSL file, bindings and a constants block.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name of the WGSL file.
    pub file: &'static str,
    /// Its WGSL source.
    pub text: &'static str,
    /// Name of the entry point in the file. A variant's entry point is renamed to the variant.
    pub entry: &'static str,
    /// Type aliases that the file does not define, and functions shared between files. They are
    /// appended to the source, so that line numbers do not change.
    pub aliases: &'static str,
    /// The kernels.
    pub variants: &'static [Variant],
    /// The buffers, by binding number.
    pub bindings: &'static [Binding],
    /// The constants block.
    pub constants: Constants,
    /// Workgroup size in each dimension.
    pub workgroup: [u32; 3],
    /// Whether the output may alias an input, if both are the same range of a buffer.
    pub in_place: bool,
    /// Requires matrix units.
    pub matrix: bool,
    /// Minimum size of the device's own subgroups; 0 for kernels that need none, or that also run
    /// on emulated ones.
    pub min_subgroup: u32,
    /// The test cases of a kernel, which is one of the variants.
    pub cases: fn(kernel: &str, random: &mut Random) -> Vec<Case>,
}

impl Family {
    /// Default values of the fields; those that every family sets are empty.
    pub(crate) const DEFAULT: Family = Family {
        file: "",
        text: "",
        entry: "",
        aliases: "",
        variants: &[],
        bindings: &[],
        constants: Constants { name: "", size: 0, members: &[] },
        workgroup: [LINEAR_WORKGROUP, 1, 1],
        in_place: false,
        matrix: false,
        min_subgroup: 0,
        cases: |_, _| Vec::new(),
    };
}

/// A constants block that determines the grid of its problem.
pub trait Params: Pod {
    /// Workgroup counts that cover the problem.
    fn grid(&self) -> [u32; 3];
}

/// Defines a constants block: a struct of 32-bit fields, and its layout as `CONSTANTS`.
macro_rules! constants {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            /// The layout, which a test compares with the WGSL.
            pub const CONSTANTS: $crate::Constants = $crate::Constants {
                name: stringify!($name),
                size: size_of::<$name>(),
                members: &[$((stringify!($field), std::mem::offset_of!($name, $field))),*],
            };
        }
    };
}
pub(crate) use constants;

/// The variants of a family: `"name": OVERRIDE = value, …;`.
macro_rules! variants {
    ($($name:literal: $($key:ident = $value:literal),*;)*) => {
        &[$($crate::Variant { name: $name, overrides: &[$((stringify!($key), $value as f64)),*] }),*]
    };
}
pub(crate) use variants;

/// A buffer that the kernel reads.
pub(crate) const fn read(name: &'static str) -> Binding {
    Binding { name, access: Access::Read }
}

/// A buffer that the kernel writes.
pub(crate) const fn write(name: &'static str) -> Binding {
    Binding { name, access: Access::ReadWrite }
}

/// A variant without overrides.
pub(crate) const fn plain(name: &'static str) -> Variant {
    Variant { name, overrides: &[] }
}

/// Workgroups of a grid-stride loop over `count` elements.
pub(crate) fn linear(count: u32) -> [u32; 3] {
    [count.div_ceil(LINEAR_WORKGROUP).min(MAX_GROUPS), 1, 1]
}
