//! Memory types and buffer descriptions.

/// Location and visibility of a buffer.
///
/// Integrated GPUs such as the BC-250 and Strix Halo share the host's memory:
/// [`MemoryType::Shared`] is as fast as [`MemoryType::Device`] there and saves copies. On a
/// discrete card it may be slow or unsupported; see
/// [`DeviceInfo::memory_types`](crate::DeviceInfo::memory_types).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryType {
    /// Device-local, not visible to the host.
    Device,
    /// Host memory that the device can access, for staging.
    Host,
    /// Device-local and host-visible, for zero-copy access.
    Shared,
}

impl MemoryType {
    /// Whether the host can map it.
    pub fn host_visible(self) -> bool {
        matches!(self, Self::Host | Self::Shared)
    }

    /// Whether the device accesses it at full speed.
    pub fn device_local(self) -> bool {
        matches!(self, Self::Device | Self::Shared)
    }
}

/// Parameters of a buffer allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferDesc {
    /// Size in bytes, greater than zero.
    pub size: u64,
    /// Who can access it, and how fast.
    pub memory: MemoryType,
    /// Name for messages.
    pub label: Option<String>,
}

impl BufferDesc {
    /// `size` bytes without a label.
    pub fn new(size: u64, memory: MemoryType) -> Self {
        Self { size, memory, label: None }
    }

    /// `size` bytes of [`MemoryType::Device`].
    pub fn device(size: u64) -> Self {
        Self::new(size, MemoryType::Device)
    }

    /// `size` bytes of [`MemoryType::Host`].
    pub fn host(size: u64) -> Self {
        Self::new(size, MemoryType::Host)
    }

    /// `size` bytes of [`MemoryType::Shared`].
    pub fn shared(size: u64) -> Self {
        Self::new(size, MemoryType::Shared)
    }

    /// Names the buffer in messages.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
