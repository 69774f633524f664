//! Code objects of the legacy loader (HSA 1.0): bytes with a handle, which clients query before
//! they load them.

use std::sync::Arc;

use roci_codeobj::CodeObject;
use roci_hsa::abi::{Agent, CodeObjectInfo, CodeObjectType, FloatRoundingMode, MachineModel, Profile, Status};

use super::{Reader, Symbol};
use crate::topology::{self, AttributeValue};

/// A code object that is not loaded.
pub(crate) struct LegacyCodeObject {
    reader: Arc<Reader>,
    /// `None` if the bytes are not a valid code object; queries then fail.
    parsed: Option<ParsedCodeObject>,
}

struct ParsedCodeObject {
    version: u32,
    /// Full target id.
    target: String,
    symbols: Vec<Arc<Symbol>>,
}

impl LegacyCodeObject {
    pub(super) fn new(reader: Reader) -> Self {
        let parsed = CodeObject::parse(reader.bytes()).ok().map(|object| ParsedCodeObject {
            version: object.version(),
            target: object.target().full(),
            symbols: Symbol::from_code_object(&object, Agent::NULL, 0).into_iter().map(Arc::new).collect(),
        });
        Self { reader: Arc::new(reader), parsed }
    }

    /// Reader to load it from.
    pub(crate) fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Symbols; empty if the bytes are invalid.
    pub(crate) fn symbols(&self) -> &[Arc<Symbol>] {
        self.parsed.as_ref().map_or(&[], |parsed| &parsed.symbols)
    }

    /// An error if the bytes are not a valid code object.
    pub(crate) fn check(&self) -> Result<(), Status> {
        if self.parsed.is_some() { Ok(()) } else { Err(Status::ERROR_INVALID_CODE_OBJECT) }
    }

    pub(crate) fn symbol(&self, name: &str) -> Result<Arc<Symbol>, Status> {
        self.check()?;
        let found = self.symbols().iter().find(|symbol| symbol.name() == name);
        found.cloned().ok_or(Status::ERROR_INVALID_SYMBOL_NAME)
    }

    /// Attribute; `None` if unknown.
    pub(crate) fn info(&self, attribute: CodeObjectInfo) -> Result<Option<AttributeValue>, Status> {
        let parsed = self.parsed.as_ref().ok_or(Status::ERROR_INVALID_CODE_OBJECT)?;
        Ok(Some(match attribute {
            CodeObjectInfo::VERSION => AttributeValue::name(&format!("{}.0", parsed.version)),
            CodeObjectInfo::TYPE => CodeObjectType::PROGRAM.0.into(),
            CodeObjectInfo::ISA => {
                topology::isa_from_name(&parsed.target).ok_or(Status::ERROR_INVALID_ISA_NAME)?.into()
            }
            CodeObjectInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
            CodeObjectInfo::PROFILE => Profile::BASE.into(),
            CodeObjectInfo::DEFAULT_FLOAT_ROUNDING_MODE => FloatRoundingMode::NEAR.into(),
            _ => return Ok(None),
        }))
    }
}
