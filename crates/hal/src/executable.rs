//! Executables: code that a device has loaded, and the contract of each of its entry points.

use std::sync::Arc;

use crate::device::Core;
use crate::driver::ExecutableBackend;
use crate::error::Error;
use crate::native::NativeEntry;

/// How a kernel uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It only reads.
    Read,
    /// It reads and writes.
    ReadWrite,
}

impl Access {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        self == Self::ReadWrite
    }
}

/// The contract of one kernel, the same in every format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name.
    pub name: String,
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Bindings in order.
    pub bindings: Vec<Access>,
    /// Bytes of the constants block, a multiple of four.
    pub constants: usize,
    /// Whether a writable binding may be the very range of a readable one (element-wise kernels).
    pub in_place: bool,
}

/// A form that code can have.
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

/// Code, in one of the forms.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Code {
    /// Host code in this process.
    Native(Vec<NativeEntry>),
    /// SPIR-V words.
    Spirv(Vec<u32>),
    /// OpenCL C source. A kernel takes a pointer for each binding in order, then the constants block by value if there is
    /// one; no lengths, so no `arrayLength` in WGSL.
    OpenClC(String),
    /// An AMD code object (ELF), with kernel arguments as in OpenCL C.
    AmdGcn(Vec<u8>),
}

impl Code {
    /// Its form.
    pub fn format(&self) -> CodeFormat {
        match self {
            Self::Native(_) => CodeFormat::Native,
            Self::Spirv(_) => CodeFormat::Spirv,
            Self::OpenClC(_) => CodeFormat::OpenClC,
            Self::AmdGcn(_) => CodeFormat::AmdGcn,
        }
    }
}

/// Code with the contracts of its entry points, ready to be loaded.
#[derive(Clone, Debug)]
pub struct ExecutableSource {
    /// A name for messages.
    pub label: String,
    /// What can be dispatched.
    pub entry_points: Vec<EntryPoint>,
    /// The code.
    pub code: Code,
}

impl ExecutableSource {
    /// Whether native code uses its bindings as its entry points declare them.
    pub(crate) fn check_accesses(&self) -> Result<(), Error> {
        let Code::Native(natives) = &self.code else { return Ok(()) };
        for entry in &self.entry_points {
            let native = natives.iter().find(|native| native.name == entry.name);
            if let Some(native) = native
                && native.kernel.accesses() != entry.bindings
            {
                return Err(Error::Contract {
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

pub(crate) struct ExecutableInner {
    pub(crate) core: Arc<Core>,
    pub(crate) label: String,
    pub(crate) entry_points: Vec<Arc<EntryPoint>>,
    pub(crate) backend: Arc<dyn ExecutableBackend>,
}

/// One entry point of a loaded executable: what a dispatch takes.
#[derive(Clone)]
pub struct Kernel {
    pub(crate) executable: Executable,
    pub(crate) index: usize,
}

impl Executable {
    /// The name it was loaded under.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// Contracts of all entry points.
    pub fn entry_points(&self) -> impl Iterator<Item = &EntryPoint> {
        self.inner.entry_points.iter().map(AsRef::as_ref)
    }

    /// One entry point by name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let index = self.inner.entry_points.iter().position(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = self.entry_points().map(|entry| entry.name.as_str()).collect();
            Error::invalid(
                format!("executable \"{}\"", self.label()),
                format!("there is no entry point \"{name}\"; it has {}", names.join(", ")),
            )
            .hinted("name one of its entry points")
        })?;
        Ok(Kernel { executable: self.clone(), index })
    }
}

impl Kernel {
    /// Its contract.
    pub fn entry_point(&self) -> &EntryPoint {
        &self.executable.inner.entry_points[self.index]
    }
}
