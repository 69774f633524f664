//! User advice attached to errors.

/// What the user can do about an error. The command line prints it after `hint:`, below `error:`.
///
/// The errors of all crates implement this trait, so that one place prints them.
pub trait Hint {
    /// One sentence without a full stop; `None` if there is no advice.
    fn hint(&self) -> Option<String>;
}
