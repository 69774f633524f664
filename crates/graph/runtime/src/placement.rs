//! Where a node runs.

/// Where a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Computed once on the host before anything runs: all operands are constant, or only shapes
    /// matter.
    Precomputed,
    /// On the device as these kernels, in order, before fusion. Empty if the node only reshapes.
    Kernels(Vec<&'static str>),
    /// On the host, for this reason.
    Host(String),
    /// Not supported on such a device, for this reason.
    Refused(String),
    /// Decided only in a run, because it depends on this data.
    Unknown(String),
}
