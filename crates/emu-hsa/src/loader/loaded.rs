//! Code objects in the memory of a GPU.

use std::ops::Range;
use std::sync::Arc;

use roci_codeobj::{CodeObject, LoadError};
use roci_emu::{Error, Module};
use roci_hsa::abi::{
    self, Agent, CodeObjectStorageType, LoadedCodeObjectInfo, LoadedCodeObjectKind, SegmentDescriptor, Status,
};

use super::{Reader, new_handle};
use crate::gpu::Gpu;
use crate::mapping::PAGE;
use crate::topology::Answer;

/// Memory of a GPU, given back when dropped.
struct Taken {
    gpu: Arc<Gpu>,
    bytes: u64,
}

impl Taken {
    fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self, Status> {
        let bytes = bytes.checked_next_multiple_of(PAGE as u64).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        if !gpu.take(bytes) {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        Ok(Self { gpu: Arc::clone(gpu), bytes })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.gpu.give_back(self.bytes);
    }
}

/// A code object that is loaded on a GPU. Its kernels are known there until it is unloaded.
pub(crate) struct Loaded {
    handle: u64,
    executable: abi::Executable,
    reader: Arc<Reader>,
    /// Where its first segment is in the file.
    offset: usize,
    module: Module,
    size: u64,
    taken: Taken,
}

impl Loaded {
    /// Loads a code object, with `resolve` giving the addresses of variables that are defined elsewhere.
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
        let taken = Taken::new(gpu, size)?;
        let mut undefined = false;
        let module = gpu.emulator.load_with(object, |name| {
            let address = resolve(name);
            undefined |= address.is_none();
            address
        });
        let module = module.map_err(|error| status(&error))?;
        // The ELF specification lets weak symbols be nowhere; no HSA runtime does.
        if undefined {
            return Err(Status::ERROR_VARIABLE_UNDEFINED);
        }
        let reader = Arc::clone(reader);
        Ok(Self { handle: new_handle(), executable, reader, offset, module, size, taken })
    }

    /// Makes its kernels known to the GPU.
    pub(super) fn begin(&self) {
        self.taken.gpu.add_kernels(self.module.kernels());
    }

    /// Makes its kernels unknown: no new run of theirs begins.
    pub(super) fn end(&self) {
        self.taken.gpu.remove_kernels(self.module.kernels());
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> abi::LoadedCodeObject {
        abi::LoadedCodeObject { handle: self.handle }
    }

    /// Its executable.
    pub(crate) fn executable(&self) -> abi::Executable {
        self.executable
    }

    /// Where it is loaded.
    pub(super) fn base(&self) -> u64 {
        self.module.address()
    }

    /// The addresses that it takes.
    pub(crate) fn range(&self) -> Range<u64> {
        self.base()..self.base() + self.size
    }

    /// The GPU that it is loaded on.
    pub(crate) fn agent(&self) -> Agent {
        self.taken.gpu.agent
    }

    /// What debuggers want to know of its memory, which is one segment.
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

    /// An attribute. The bytes are always in memory, also those of a file.
    pub(crate) fn info(&self, attribute: LoadedCodeObjectInfo) -> Option<Answer> {
        use LoadedCodeObjectInfo as Info;
        Some(match attribute {
            Info::EXECUTABLE => self.executable.handle.into(),
            Info::KIND => LoadedCodeObjectKind::AGENT.0.into(),
            Info::AGENT => self.agent().handle.into(),
            Info::CODE_OBJECT_STORAGE_TYPE => CodeObjectStorageType::MEMORY.0.into(),
            Info::CODE_OBJECT_STORAGE_MEMORY_BASE => self.reader.address().into(),
            Info::CODE_OBJECT_STORAGE_MEMORY_SIZE => (self.reader.bytes().len() as u64).into(),
            // Addresses in the file count from 0, which is where the image begins.
            Info::LOAD_DELTA | Info::LOAD_BASE => self.base().into(),
            Info::LOAD_SIZE => self.size.into(),
            Info::URI_LENGTH => Answer::length(self.reader.uri()),
            Info::URI => Answer::characters(self.reader.uri()),
            _ => return None,
        })
    }
}

/// What clients are told when a code object cannot be loaded.
fn status(error: &Error) -> Status {
    match error {
        Error::WrongChip { .. } => Status::ERROR_INCOMPATIBLE_ARGUMENTS,
        Error::Load(LoadError::Undefined(_)) => Status::ERROR_VARIABLE_UNDEFINED,
        Error::Load(_) => Status::ERROR_INVALID_CODE_OBJECT,
        _ => Status::ERROR_OUT_OF_RESOURCES,
    }
}
