//! Errors of packets.

use roci_hsa::abi::Status;

/// Why a packet stops its queue.
pub(crate) struct PacketError {
    pub(crate) status: Status,
    pub(crate) message: String,
    /// Address of a memory fault, and whether the access was a write.
    pub(crate) fault: Option<(u64, bool)>,
}

impl PacketError {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), fault: None }
    }
}
