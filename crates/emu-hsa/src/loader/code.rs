//! Code objects as the first loader knew them: bytes with a handle, of which clients ask before they load them.

use std::sync::Arc;

use roci_codeobj::CodeObject;
use roci_hsa::abi::{Agent, CodeObjectInfo, CodeObjectType, FloatRoundingMode, MachineModel, Profile, Status};

use super::{Reader, Symbol};
use crate::topology::{self, Answer};

/// A code object that is loaded nowhere.
pub(crate) struct Code {
    reader: Arc<Reader>,
    /// Nothing if the bytes are no code object, which is told to whoever asks about them.
    facts: Option<Facts>,
}

struct Facts {
    version: u32,
    /// The full name of its target.
    target: String,
    symbols: Vec<Arc<Symbol>>,
}

impl Code {
    pub(super) fn new(reader: Reader) -> Self {
        let facts = CodeObject::parse(reader.bytes()).ok().map(|object| Facts {
            version: object.version(),
            target: object.target().full(),
            symbols: Symbol::of(&object, Agent::NULL, 0).into_iter().map(Arc::new).collect(),
        });
        Self { reader: Arc::new(reader), facts }
    }

    /// Its bytes.
    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Its symbols; none if it is no code object.
    pub(crate) fn symbols(&self) -> &[Arc<Symbol>] {
        self.facts.as_ref().map_or(&[], |facts| &facts.symbols)
    }

    /// Whether it is a code object.
    pub(crate) fn valid(&self) -> Result<(), Status> {
        if self.facts.is_some() { Ok(()) } else { Err(Status::ERROR_INVALID_CODE_OBJECT) }
    }

    /// A symbol by its name.
    pub(crate) fn symbol(&self, name: &str) -> Result<Arc<Symbol>, Status> {
        self.valid()?;
        let found = self.symbols().iter().find(|symbol| symbol.name() == name);
        found.cloned().ok_or(Status::ERROR_INVALID_SYMBOL_NAME)
    }

    /// An attribute; those of the virtual machine are the ones that machine code is for.
    pub(crate) fn info(&self, attribute: CodeObjectInfo) -> Result<Option<Answer>, Status> {
        let facts = self.facts.as_ref().ok_or(Status::ERROR_INVALID_CODE_OBJECT)?;
        Ok(Some(match attribute {
            CodeObjectInfo::VERSION => Answer::name(&format!("{}.0", facts.version)),
            CodeObjectInfo::TYPE => CodeObjectType::PROGRAM.0.into(),
            CodeObjectInfo::ISA => topology::isa_of_name(&facts.target).ok_or(Status::ERROR_INVALID_ISA_NAME)?.into(),
            CodeObjectInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
            CodeObjectInfo::PROFILE => Profile::BASE.into(),
            CodeObjectInfo::DEFAULT_FLOAT_ROUNDING_MODE => FloatRoundingMode::NEAR.into(),
            _ => return Ok(None),
        }))
    }
}
