//! Value kinds of kernel arguments.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value kind of a kernel argument. The launcher fills hidden arguments, not the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum ValueKind {
    /// Passed by value in the kernarg segment.
    #[default]
    ByValue,
    /// Address of a buffer in global memory.
    GlobalBuffer,
    /// LDS offset of memory that the launch allocates.
    DynamicSharedPointer,
    /// Address of a sampler descriptor.
    Sampler,
    /// Address of an image descriptor.
    Image,
    /// Address of a pipe.
    Pipe,
    /// Address of a device queue.
    Queue,
    /// Global offset in dimension 0, 1 or 2; i64.
    HiddenGlobalOffset(u8),
    /// Padding; unused.
    HiddenNone,
    /// Address of the `printf` buffer.
    HiddenPrintfBuffer,
    /// Address of the hostcall buffer.
    HiddenHostcallBuffer,
    /// Address of the device heap (`malloc`).
    HiddenHeapV1,
    /// Address of the default device queue.
    HiddenDefaultQueue,
    /// Address of the completion action of enqueued kernels.
    HiddenCompletionAction,
    /// Address of the data for grid-wide synchronization.
    HiddenMultigridSyncArg,
    /// Number of complete work-groups in dimension 0, 1 or 2; u32.
    HiddenBlockCount(u8),
    /// Work-group size in dimension 0, 1 or 2; u16.
    HiddenGroupSize(u8),
    /// Size of the partial work-group at the end of dimension 0, 1 or 2; u16; 0 if there is none.
    HiddenRemainder(u8),
    /// Number of grid dimensions; u16.
    HiddenGridDims,
    /// Dynamically allocated LDS in bytes; u32.
    HiddenDynamicLdsSize,
    /// High 32 bits of the private (scratch) aperture; before gfx9.
    HiddenPrivateBase,
    /// High 32 bits of the shared (LDS) aperture; before gfx9.
    HiddenSharedBase,
    /// Address of the queue; before gfx9.
    HiddenQueuePointer,
    /// A kind that this version does not know.
    Other(String),
}

/// Value kinds and their names in the metadata.
const NAMES: [(ValueKind, &str); 31] = [
    (ValueKind::ByValue, "by_value"),
    (ValueKind::GlobalBuffer, "global_buffer"),
    (ValueKind::DynamicSharedPointer, "dynamic_shared_pointer"),
    (ValueKind::Sampler, "sampler"),
    (ValueKind::Image, "image"),
    (ValueKind::Pipe, "pipe"),
    (ValueKind::Queue, "queue"),
    (ValueKind::HiddenGlobalOffset(0), "hidden_global_offset_x"),
    (ValueKind::HiddenGlobalOffset(1), "hidden_global_offset_y"),
    (ValueKind::HiddenGlobalOffset(2), "hidden_global_offset_z"),
    (ValueKind::HiddenNone, "hidden_none"),
    (ValueKind::HiddenPrintfBuffer, "hidden_printf_buffer"),
    (ValueKind::HiddenHostcallBuffer, "hidden_hostcall_buffer"),
    (ValueKind::HiddenHeapV1, "hidden_heap_v1"),
    (ValueKind::HiddenDefaultQueue, "hidden_default_queue"),
    (ValueKind::HiddenCompletionAction, "hidden_completion_action"),
    (ValueKind::HiddenMultigridSyncArg, "hidden_multigrid_sync_arg"),
    (ValueKind::HiddenBlockCount(0), "hidden_block_count_x"),
    (ValueKind::HiddenBlockCount(1), "hidden_block_count_y"),
    (ValueKind::HiddenBlockCount(2), "hidden_block_count_z"),
    (ValueKind::HiddenGroupSize(0), "hidden_group_size_x"),
    (ValueKind::HiddenGroupSize(1), "hidden_group_size_y"),
    (ValueKind::HiddenGroupSize(2), "hidden_group_size_z"),
    (ValueKind::HiddenRemainder(0), "hidden_remainder_x"),
    (ValueKind::HiddenRemainder(1), "hidden_remainder_y"),
    (ValueKind::HiddenRemainder(2), "hidden_remainder_z"),
    (ValueKind::HiddenGridDims, "hidden_grid_dims"),
    (ValueKind::HiddenDynamicLdsSize, "hidden_dynamic_lds_size"),
    (ValueKind::HiddenPrivateBase, "hidden_private_base"),
    (ValueKind::HiddenSharedBase, "hidden_shared_base"),
    (ValueKind::HiddenQueuePointer, "hidden_queue_ptr"),
];

impl ValueKind {
    /// Name in the metadata.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => NAMES.iter().find(|(kind, _)| kind == known).map_or("unknown", |(_, name)| name),
        }
    }

    /// Whether the launcher fills it, not the caller.
    pub fn is_hidden(&self) -> bool {
        self.name().starts_with("hidden_")
    }
}

impl From<String> for ValueKind {
    fn from(name: String) -> Self {
        let known = NAMES.iter().find(|(_, known)| *known == name);
        known.map(|(kind, _)| kind.clone()).unwrap_or(Self::Other(name))
    }
}

impl From<ValueKind> for String {
    fn from(kind: ValueKind) -> Self {
        kind.name().to_owned()
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_kinds_round_trip() {
        for (kind, name) in &NAMES {
            assert_eq!(ValueKind::from((*name).to_owned()), *kind);
            assert_eq!(kind.name(), *name);
        }
        let newer = ValueKind::from("hidden_from_the_future".to_owned());
        assert_eq!(newer.name(), "hidden_from_the_future");
        assert!(newer.is_hidden() && !ValueKind::GlobalBuffer.is_hidden());
    }
}
