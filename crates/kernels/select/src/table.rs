//! The table of kernels, which follows from the families in [`roci_families`].

use std::sync::LazyLock;

use roci_families::{Binding, Constants, FAMILIES, Family, Variant};

use crate::{Compiled, Error, Source};

/// A kernel: one variant of one WGSL file.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec {
    variant: Variant,
    family: &'static Family,
}

/// All kernels, in table order.
pub fn kernels() -> &'static [KernelSpec] {
    static KERNELS: LazyLock<Vec<KernelSpec>> = LazyLock::new(|| {
        let families = FAMILIES.iter().copied().flatten();
        families.flat_map(|family| family.variants.iter().map(move |&variant| KernelSpec { variant, family })).collect()
    });
    &KERNELS
}

/// Finds a kernel by name.
pub fn find(name: &str) -> Result<&'static KernelSpec, Error> {
    let shared = |kernel: &&KernelSpec| kernel.name().bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    kernels().iter().find(|kernel| kernel.name() == name).ok_or_else(|| Error::UnknownKernel {
        name: name.to_owned(),
        nearest: kernels().iter().max_by_key(shared).map_or("", KernelSpec::name),
    })
}

impl KernelSpec {
    /// The kernel's name, which is also the name of its entry point.
    pub fn name(&self) -> &'static str {
        self.variant.name
    }

    /// Name of the WGSL file.
    pub fn file(&self) -> &'static str {
        self.family.file
    }

    /// Pipeline-overridable constants of this variant.
    pub fn overrides(&self) -> &'static [(&'static str, f64)] {
        self.variant.overrides
    }

    /// The buffers, by binding number.
    pub fn bindings(&self) -> &'static [Binding] {
        self.family.bindings
    }

    /// The constants block.
    pub fn constants(&self) -> Constants {
        self.family.constants
    }

    /// Workgroup size in each dimension.
    pub fn workgroup(&self) -> [u32; 3] {
        self.family.workgroup
    }

    /// Whether the output may alias an input, if both are the same range of a buffer.
    pub fn in_place(&self) -> bool {
        self.family.in_place
    }

    /// Whether the kernel uses matrix units; [`runs_on`](Self::runs_on) checks a device for them.
    pub fn needs_matrix(&self) -> bool {
        self.family.matrix
    }

    /// Minimum size of the device's own subgroups; 0 if the kernel does not depend on them.
    pub fn min_subgroup(&self) -> u32 {
        self.family.min_subgroup
    }

    /// The compiled module: parsed, validated, overrides resolved, kernel rules checked.
    pub fn module(&self) -> Result<Compiled, Error> {
        let (source, entry) = (self.source(), Some(self.entry()));
        Ok(source.compile(self.variant.overrides, entry)?)
    }

    /// The complete WGSL source.
    pub(crate) fn source(&self) -> Source {
        Source::new(self.family.file, format!("{}{}", self.family.text, self.family.aliases))
    }

    /// The name of the entry point in the source, and the name that it is renamed to.
    pub(crate) fn entry(&self) -> (&'static str, &'static str) {
        (self.family.entry, self.variant.name)
    }
}
