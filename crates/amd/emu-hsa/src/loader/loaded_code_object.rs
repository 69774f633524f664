//! Code objects in device memory.

use std::ops::Range;
use std::sync::Arc;

use roci_codeobj::{CodeObject, LoadError};
use roci_emu::{Error, Module};
use roci_hsa::abi::{
    self, Agent, CodeObjectStorageType, LoadedCodeObjectInfo, LoadedCodeObjectKind, SegmentDescriptor, Status,
};

use super::Reader;
use crate::gpu::Gpu;
use crate::handle::new_handle;
use crate::mapping::PAGE;
use crate::topology::AttributeValue;

/// Reserved device memory, released on drop.
struct MemoryReservation {
    gpu: Arc<Gpu>,
    bytes: u64,
}

impl MemoryReservation {
    fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self, Status> {
        let bytes = bytes.checked_next_multiple_of(PAGE as u64).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        if !gpu.reserve(bytes) {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        Ok(Self { gpu: Arc::clone(gpu), bytes })
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.gpu.release(self.bytes);
    }
}

/// A code object that is loaded on a GPU.
pub(crate) struct LoadedCodeObject {
    handle: u64,
    executable: abi::Executable,
    reader: Arc<Reader>,
    /// Offset of its first segment in the file.
    offset: usize,
    module: Module,
    size: u64,
    reservation: MemoryReservation,
}

impl LoadedCodeObject {
    /// Loads a code object. `resolve` returns the addresses of symbols that are defined elsewhere.
    pub(super) fn new(
        executable: abi::Executable,
        gpu: &Arc<Gpu>,
        reader: &Arc<Reader>,
        object: &CodeObject<'_>,
        resolve: impl Fn(&str) -> Option<u64>,
    ) -> Result<Self, Status> {
        let first = object.segments().iter().min_by_key(|segment| segment.address);
        let first = first.ok_or(Status::ERROR_INVALID_CODE_OBJECT)?;
        let offset = first.data.as_ptr().addr().wrapping_sub(reader.bytes().as_ptr().addr());
        let size = object.image_size();
        let reservation = MemoryReservation::new(gpu, size)?;
        let mut undefined = false;
        let module = gpu.emulator.load_with(object, |name| {
            let address = resolve(name);
            undefined |= address.is_none();
            address
        });
        let module = module.map_err(|error| status(&error))?;
        // ELF allows undefined weak symbols; HSA runtimes do not.
        if undefined {
            return Err(Status::ERROR_VARIABLE_UNDEFINED);
        }
        let reader = Arc::clone(reader);
        Ok(Self { handle: new_handle(), executable, reader, offset, module, size, reservation })
    }

    /// Makes its kernels available to packets.
    pub(super) fn register_kernels(&self) {
        self.reservation.gpu.add_kernels(self.module.kernels());
    }

    /// Makes later dispatches of its kernels fail.
    pub(super) fn unregister_kernels(&self) {
        self.reservation.gpu.remove_kernels(self.module.kernels());
    }

    pub(crate) fn handle(&self) -> abi::LoadedCodeObject {
        abi::LoadedCodeObject { handle: self.handle }
    }

    pub(crate) fn executable(&self) -> abi::Executable {
        self.executable
    }

    /// Load address.
    pub(super) fn base(&self) -> u64 {
        self.module.address()
    }

    /// Addresses of its image.
    pub(crate) fn range(&self) -> Range<u64> {
        self.base()..self.base() + self.size
    }

    pub(crate) fn agent(&self) -> Agent {
        self.reservation.gpu.agent
    }

    /// Description of its memory for debuggers. The image is one segment.
    pub(crate) fn descriptor(&self) -> SegmentDescriptor {
        SegmentDescriptor {
            agent: self.agent(),
            executable: self.executable,
            code_object_storage_type: CodeObjectStorageType::MEMORY,
            code_object_storage_base: std::ptr::without_provenance(self.reader.address() as usize),
            code_object_storage_size: self.reader.bytes().len(),
            code_object_storage_offset: self.offset,
            segment_base: std::ptr::without_provenance(self.base() as usize),
            segment_size: self.size as usize,
        }
    }

    /// Attribute; `None` if unknown. The storage is always memory, since readers copy files.
    pub(crate) fn info(&self, attribute: LoadedCodeObjectInfo) -> Option<AttributeValue> {
        use LoadedCodeObjectInfo as Info;
        Some(match attribute {
            Info::EXECUTABLE => self.executable.handle.into(),
            Info::KIND => LoadedCodeObjectKind::AGENT.0.into(),
            Info::AGENT => self.agent().handle.into(),
            Info::CODE_OBJECT_STORAGE_TYPE => CodeObjectStorageType::MEMORY.0.into(),
            Info::CODE_OBJECT_STORAGE_MEMORY_BASE => self.reader.address().into(),
            Info::CODE_OBJECT_STORAGE_MEMORY_SIZE => (self.reader.bytes().len() as u64).into(),
            // The image starts at ELF address 0, so delta and base are equal.
            Info::LOAD_DELTA | Info::LOAD_BASE => self.base().into(),
            Info::LOAD_SIZE => self.size.into(),
            Info::URI_LENGTH => AttributeValue::length(self.reader.uri()),
            Info::URI => AttributeValue::characters(self.reader.uri()),
            _ => return None,
        })
    }
}

/// Status of a failed load.
fn status(error: &Error) -> Status {
    match error {
        Error::WrongChip { .. } => Status::ERROR_INCOMPATIBLE_ARGUMENTS,
        Error::Load(LoadError::Undefined(_)) => Status::ERROR_VARIABLE_UNDEFINED,
        Error::Load(_) => Status::ERROR_INVALID_CODE_OBJECT,
        _ => Status::ERROR_OUT_OF_RESOURCES,
    }
}
