//! Errors of changes to a machine.

use roci_base::Hint;

/// Why a change is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FixError {
    /// A file cannot be read or written.
    #[error("cannot change `{path}`: {source}")]
    Io {
        /// Path in the tree.
        path: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A file or folder is a symbolic link, which is not followed.
    #[error("`{path}` is a symbolic link")]
    Link {
        /// Path in the tree.
        path: String,
    },
    /// A file does not look as it should.
    #[error("`{path}` is not as expected: {reason}")]
    Unexpected {
        /// Path in the tree.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A file was changed after the change was planned, or after it was made.
    #[error("`{path}` was changed since")]
    Changed {
        /// Path in the tree.
        path: String,
    },
    /// A later fix changed the file again.
    #[error("`{path}` was changed again by the fix of {id}")]
    ChangedByFix {
        /// Path in the tree.
        path: String,
        /// Rule of the later fix.
        id: String,
    },
    /// The machine gives no place for the change.
    #[error("{0}")]
    NoPlace(String),
    /// A value is not allowed.
    #[error("the change is refused: {0}")]
    Invalid(String),
    /// Nothing was applied under this name.
    #[error("no applied change is recorded for `{id}`")]
    NotApplied {
        /// Rule, or number of a record.
        id: String,
    },
    /// A command failed.
    #[error("`{command}` failed: {reason}")]
    Command {
        /// As in a shell.
        command: String,
        /// Exit status or error.
        reason: String,
    },
}

impl FixError {
    pub(crate) fn unexpected(path: &str, reason: impl Into<String>) -> Self {
        Self::Unexpected { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn outside(path: &str) -> Self {
        Self::unexpected(path, "its path leaves the tree")
    }
}

impl Hint for FixError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "changes need root: run the same command with sudo".into()
            }
            Self::Io { .. } => "nothing else was changed; `roci doctor explain RULE` has the steps by hand".into(),
            Self::Link { .. } => "change the file that the link points to by hand".into(),
            Self::Unexpected { .. } | Self::NoPlace(_) | Self::Invalid(_) => {
                "make the change by hand: `roci doctor explain RULE` has the steps".into()
            }
            Self::Changed { .. } => "look at the file; `--undo --force` overwrites it with the copy".into(),
            Self::ChangedByFix { id, .. } => format!("take that one back first: `roci doctor fix --undo {id}`"),
            Self::NotApplied { .. } => "`roci doctor fix --undo` without a name takes back the last one".into(),
            Self::Command { .. } => "run it by hand, or take the change back: `roci doctor fix --undo`".into(),
        })
    }
}
