//! Recorded commands in the form that drivers receive.

use std::sync::Arc;

use crate::driver::{BoundRange, ExecutableBackend};
use crate::executable::{Access, EntryPoint};

/// A validated list of commands.
pub struct Recording {
    /// Name of the command buffer.
    pub label: Option<String>,
    /// The commands. Between two barriers they are independent and may run in any order or at once.
    pub commands: Vec<Command>,
    /// How many slots are bound at replay.
    pub slots: usize,
}

/// One command.
pub enum Command {
    /// Repeats a 32-bit pattern.
    Fill {
        /// Where; offset and length are multiples of four.
        target: Operand,
        /// What.
        pattern: u32,
    },
    /// Copies bytes; source and target do not overlap and are equally long.
    Copy {
        /// From.
        source: Operand,
        /// To.
        target: Operand,
    },
    /// Writes bytes that were captured at recording.
    Update {
        /// What.
        data: Arc<[u8]>,
        /// Where; offset and length are multiples of four.
        target: Operand,
    },
    /// Runs a kernel.
    Dispatch(Dispatch),
    /// Everything above completes, and its writes are visible, before anything below starts.
    Barrier,
}

/// A kernel with its arguments.
pub struct Dispatch {
    /// The code.
    pub executable: Arc<dyn ExecutableBackend>,
    /// Index of the entry point in its source.
    pub entry: usize,
    /// Contract of the entry point.
    pub entry_point: Arc<EntryPoint>,
    /// Workgroup counts; a zero means that nothing runs.
    pub grid: [u32; 3],
    /// One for each binding of the contract.
    pub bindings: Vec<Operand>,
    /// As long as the contract says.
    pub constants: Arc<[u8]>,
}

/// Memory that a command touches.
#[derive(Clone)]
pub enum Operand {
    /// Known at recording.
    Fixed(BoundRange),
    /// Part of what a slot is bound to at replay.
    Slot {
        /// Which slot.
        slot: usize,
        /// First byte, counted from the start of what the slot is bound to.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

impl Operand {
    /// Bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Fixed(range) => range.length,
            Self::Slot { length, .. } => *length,
        }
    }

    /// The memory, given what the slots are bound to.
    pub fn resolve(&self, slots: &[BoundRange]) -> BoundRange {
        match self {
            Self::Fixed(range) => range.clone(),
            Self::Slot { slot, offset, length } => {
                let bound = &slots[*slot];
                BoundRange { buffer: Arc::clone(&bound.buffer), offset: bound.offset + offset, length: *length }
            }
        }
    }
}

impl Command {
    /// The name that messages give it: a kernel's, or the operation's.
    pub fn name(&self) -> &str {
        match self {
            Self::Fill { .. } => "fill",
            Self::Copy { .. } => "copy",
            Self::Update { .. } => "update",
            Self::Dispatch(dispatch) => &dispatch.entry_point.name,
            Self::Barrier => "barrier",
        }
    }

    /// The memory it touches and how.
    pub fn accesses(&self) -> Vec<(&Operand, Access)> {
        match self {
            Self::Fill { target, .. } | Self::Update { target, .. } => vec![(target, Access::ReadWrite)],
            Self::Copy { source, target } => vec![(source, Access::Read), (target, Access::ReadWrite)],
            Self::Dispatch(dispatch) => {
                dispatch.bindings.iter().zip(dispatch.entry_point.bindings.iter().copied()).collect()
            }
            Self::Barrier => Vec::new(),
        }
    }
}
