//! Recorded commands as drivers receive them.

use std::sync::Arc;

use crate::driver::{BoundRange, ExecutableBackend};
use crate::executable::{Access, EntryPoint};

/// A validated list of commands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recording {
    /// Label of the command buffer.
    pub label: Option<String>,
    /// The commands. Commands between two barriers are independent: they may run concurrently and
    /// in any order.
    pub commands: Vec<Command>,
    /// Number of slots that each replay binds.
    pub slots: usize,
}

/// What a recording consists of, checked.
#[derive(Debug)]
pub enum Command {
    /// Repeats a 32-bit pattern.
    Fill {
        /// Destination. Offset and length are multiples of four.
        target: Operand,
        /// The pattern, in native byte order.
        pattern: u32,
    },
    /// Copies bytes. Source and target have equal length and do not overlap.
    Copy {
        /// Range to read.
        source: Operand,
        /// Range to write.
        target: Operand,
    },
    /// Writes bytes that were captured at record time.
    Update {
        /// The bytes.
        data: Arc<[u8]>,
        /// Destination. Offset and length are multiples of four.
        target: Operand,
    },
    /// Dispatches a kernel.
    Dispatch(Dispatch),
    /// Execution and memory barrier: all earlier commands complete, and their writes become
    /// visible, before any later command starts.
    Barrier,
}

/// A kernel dispatch with its arguments.
pub struct Dispatch {
    /// The loaded code.
    pub executable: Arc<dyn ExecutableBackend>,
    /// Index of the entry point in
    /// [`ExecutableSource::entry_points`](crate::ExecutableSource::entry_points).
    pub entry: usize,
    /// The entry point's interface.
    pub entry_point: Arc<EntryPoint>,
    /// Workgroup count per dimension. If any is zero, nothing runs.
    pub grid: [u32; 3],
    /// One operand per binding of the entry point.
    pub bindings: Vec<Operand>,
    /// The constants block. Its length is [`EntryPoint::constants`].
    pub constants: Arc<[u8]>,
}

impl std::fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatch")
            .field("entry_point", &self.entry_point.name)
            .field("grid", &self.grid)
            .field("bindings", &self.bindings)
            .field("constants", &self.constants)
            .finish_non_exhaustive()
    }
}

/// Memory that a command accesses.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A buffer range that is known at record time.
    Fixed(BoundRange),
    /// Part of the range that a replay binds to a slot.
    Slot {
        /// Index of the slot.
        slot: usize,
        /// First byte, relative to the start of the bound range.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
}

impl Operand {
    /// Length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Fixed(range) => range.length,
            Self::Slot { length, .. } => *length,
        }
    }

    /// The buffer range, given the ranges bound to the slots.
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
    /// Name for messages: the kernel's name, or the name of the operation.
    pub fn name(&self) -> &str {
        match self {
            Self::Fill { .. } => "fill",
            Self::Copy { .. } => "copy",
            Self::Update { .. } => "update",
            Self::Dispatch(dispatch) => &dispatch.entry_point.name,
            Self::Barrier => "barrier",
        }
    }

    /// The operands and how the command accesses them.
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
