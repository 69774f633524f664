//! Memory types and what a buffer is asked to be.

/// Where a buffer lives and who can reach it.
///
/// Integrated GPUs such as the BC-250 and Strix Halo share the host's memory: there [`MemoryType::Shared`] is as fast as
/// [`MemoryType::Device`] and saves every copy. On a discrete card it may be slow or absent; ask [`crate::DeviceInfo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryType {
    /// Fast for the device, out of the host's reach.
    Device,
    /// The host's memory, which the device can reach: staging.
    Host,
    /// Fast for the device and mappable by the host: zero-copy.
    Shared,
}

impl MemoryType {
    /// Whether the host can map it.
    pub fn host_visible(self) -> bool {
        matches!(self, Self::Host | Self::Shared)
    }

    /// Whether the device reaches it at full speed.
    pub fn device_local(self) -> bool {
        matches!(self, Self::Device | Self::Shared)
    }
}

/// What a buffer is asked to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferDesc {
    /// Bytes, more than zero.
    pub size: u64,
    /// Where.
    pub memory: MemoryType,
    /// A name for messages.
    pub label: Option<String>,
}

impl BufferDesc {
    /// `size` bytes for the device alone.
    pub fn device(size: u64) -> Self {
        Self { size, memory: MemoryType::Device, label: None }
    }

    /// `size` bytes in the host's memory.
    pub fn host(size: u64) -> Self {
        Self { size, memory: MemoryType::Host, label: None }
    }

    /// `size` bytes for device and host both.
    pub fn shared(size: u64) -> Self {
        Self { size, memory: MemoryType::Shared, label: None }
    }

    /// Names it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
