//! Notes about a run that the user should see.

/// A property of a run that the user should know about: reduced precision, or work on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The name of an f64 tensor that is computed in f32.
    NarrowedF64(String),
    /// No kernel supports the operation; the CPU device evaluates its reference definition.
    Reference {
        /// The node's name.
        node: String,
        /// The operation's name.
        op: &'static str,
        /// Why no kernel supports it.
        reason: String,
    },
    /// The operation needs 64-bit integer arithmetic, which devices lack; the host computes it on
    /// every device.
    HostIntegers {
        /// The node's name.
        node: String,
        /// The operation's name.
        op: &'static str,
        /// Why 32 bits may not suffice.
        reason: String,
    },
}
