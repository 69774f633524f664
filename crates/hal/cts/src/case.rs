//! A case of the suite, and its outcome.

use crate::backend::Tag;
use crate::context::Context;
use crate::kernels::KernelError;

/// A case: a named function.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Group, the first half of the path.
    pub group: &'static str,
    /// The property that is tested, as words joined by underscores.
    pub name: &'static str,
    /// Tags that the backend must have.
    pub needs: &'static [Tag],
    /// The test function.
    pub run: fn(&Context) -> CaseResult,
}

/// Result of a case.
pub type CaseResult = Result<(), Failure>;

/// Why a case did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The device does not exist on this machine; the case is skipped.
    #[error("{0}")]
    Unavailable(String),
    /// A call failed that should have succeeded.
    #[error("unexpected error: {0}")]
    Hal(#[from] roci_hal::Error),
    /// A call returned a wrong result.
    #[error("{0}")]
    Wrong(String),
    /// The suite's kernels cannot be built in a format that the device loads.
    #[error(transparent)]
    Kernels(#[from] KernelError),
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The property holds.
    Passed,
    /// The property does not hold, with the reason.
    Failed(String),
    /// The case was not run, with the reason.
    Skipped(String),
}

impl Case {
    /// A case without required tags.
    pub(crate) const fn new(group: &'static str, name: &'static str, run: fn(&Context) -> CaseResult) -> Self {
        Self { group, name, needs: &[], run }
    }

    /// A case that requires tags.
    pub(crate) const fn needing(
        group: &'static str,
        name: &'static str,
        needs: &'static [Tag],
        run: fn(&Context) -> CaseResult,
    ) -> Self {
        Self { group, name, needs, run }
    }

    /// `group/name`, as used in the lists of a backend.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}
