//! Executables: code loaded on a device, and the interface of its entry points.

use std::sync::Arc;

use crate::device::DeviceCore;
use crate::driver::ExecutableBackend;
use crate::error::Error;
use crate::native::NativeEntry;

/// How a kernel uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read only.
    Read,
    /// Written, and possibly read.
    ReadWrite,
}

impl Access {
    /// Whether the binding may be written.
    pub fn writes(self) -> bool {
        self == Self::ReadWrite
    }
}

/// The interface of one kernel, identical in all code formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Name of the kernel in the code.
    pub name: String,
    /// Invocations per workgroup and dimension.
    pub workgroup_size: [u32; 3],
    /// Access of each binding, in order.
    pub bindings: Vec<Access>,
    /// Size of the constants block in bytes, a multiple of four.
    pub constants: usize,
    /// Whether a written binding may be the same range as a read one (elementwise kernels).
    pub in_place: bool,
}

/// Form in which a device takes kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeFormat {
    /// Host code in this process.
    Native,
    /// SPIR-V for Vulkan.
    Spirv,
    /// OpenCL C source.
    OpenClC,
    /// An AMD code object.
    AmdGcn,
}

/// Code in one of the supported formats.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Code {
    /// Host code in this process.
    Native(Vec<NativeEntry>),
    /// SPIR-V words.
    Spirv(Vec<u32>),
    /// OpenCL C source. Kernel arguments: one pointer per binding, in order, then the constants
    /// block by value if there is one. Lengths are not passed, so WGSL sources cannot use
    /// `arrayLength`.
    OpenClC(String),
    /// An AMD code object (ELF), with kernel arguments as in OpenCL C.
    AmdGcn(Vec<u8>),
}

impl Code {
    /// Form of this code; a device loads it if [`DeviceInfo::formats`](crate::DeviceInfo::formats)
    /// has it.
    pub fn format(&self) -> CodeFormat {
        match self {
            Self::Native(_) => CodeFormat::Native,
            Self::Spirv(_) => CodeFormat::Spirv,
            Self::OpenClC(_) => CodeFormat::OpenClC,
            Self::AmdGcn(_) => CodeFormat::AmdGcn,
        }
    }
}

/// Code with its entry points, the input of [`Device::load`](crate::Device::load).
#[derive(Clone, Debug)]
pub struct ExecutableSource {
    /// Name for messages.
    pub label: String,
    /// Interfaces of the kernels.
    pub entry_points: Vec<EntryPoint>,
    /// The code in one format.
    pub code: Code,
}

impl ExecutableSource {
    /// Checks that native code accesses its bindings as its entry points declare.
    pub(crate) fn check_accesses(&self) -> Result<(), Error> {
        let Code::Native(natives) = &self.code else { return Ok(()) };
        for entry in &self.entry_points {
            let native = natives.iter().find(|native| native.name == entry.name);
            if let Some(native) = native
                && native.kernel.accesses() != entry.bindings
            {
                return Err(Error::BindingMismatch {
                    entry_point: entry.name.clone(),
                    declared: entry.bindings.clone(),
                    used: native.kernel.accesses().to_vec(),
                });
            }
        }
        Ok(())
    }
}

/// Loaded code. Cheap to clone.
#[derive(Clone)]
pub struct Executable {
    pub(crate) inner: Arc<ExecutableInner>,
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable")
            .field("label", &self.label())
            .field("entry_points", &self.inner.entry_points)
            .finish_non_exhaustive()
    }
}

pub(crate) struct ExecutableInner {
    pub(crate) core: Arc<DeviceCore>,
    pub(crate) label: String,
    pub(crate) entry_points: Vec<Arc<EntryPoint>>,
    pub(crate) backend: Arc<dyn ExecutableBackend>,
}

/// An entry point of a loaded executable, for [`Recorder::dispatch`](crate::Recorder::dispatch).
#[derive(Clone)]
pub struct Kernel {
    pub(crate) executable: Executable,
    pub(crate) index: usize,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel")
            .field("executable", &self.executable.label())
            .field("entry_point", &self.executable.inner.entry_points[self.index].name)
            .finish_non_exhaustive()
    }
}

impl Executable {
    /// The label of its source.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// Interfaces of all entry points.
    pub fn entry_points(&self) -> impl Iterator<Item = &EntryPoint> {
        self.inner.entry_points.iter().map(AsRef::as_ref)
    }

    /// Finds an entry point by name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let index = self.inner.entry_points.iter().position(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = self.entry_points().map(|entry| entry.name.as_str()).collect();
            Error::invalid(
                format!("executable \"{}\"", self.label()),
                format!("there is no entry point \"{name}\"; it has {}", names.join(", ")),
            )
            .with_hint("use one of the listed entry points")
        })?;
        Ok(Kernel { executable: self.clone(), index })
    }
}

impl Kernel {
    /// Its interface.
    pub fn entry_point(&self) -> &EntryPoint {
        &self.executable.inner.entry_points[self.index]
    }
}
