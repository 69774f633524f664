//! A case of the suite, and how it can end.

use crate::backend::Tag;
use crate::context::Context;
use crate::kernels::KernelError;

/// One case: a plain function with a name.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it is about.
    pub group: &'static str,
    /// What it states, as words joined by underscores.
    pub name: &'static str,
    /// What the backend must be able to do.
    pub needs: &'static [Tag],
    /// The case itself.
    pub run: fn(&Context) -> CaseResult,
}

/// What a case answers.
pub type CaseResult = Result<(), Failure>;

/// Why a case did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// There is no such device here.
    #[error("{0}")]
    Unavailable(String),
    /// A call failed that should have worked.
    #[error("unexpected error: {0}")]
    Hal(#[from] roci_hal::Error),
    /// A call answered something wrong.
    #[error("{0}")]
    Wrong(String),
    /// The suite's kernels cannot be had in a form that the device loads.
    #[error(transparent)]
    Kernels(#[from] KernelError),
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It does not.
    Failed(String),
    /// It was not asked.
    Skipped(String),
}

impl Case {
    /// A case that any driver can be asked.
    pub(crate) const fn new(group: &'static str, name: &'static str, run: fn(&Context) -> CaseResult) -> Self {
        Self { group, name, needs: &[], run }
    }

    /// A case that needs something.
    pub(crate) const fn needing(
        group: &'static str,
        name: &'static str,
        needs: &'static [Tag],
        run: fn(&Context) -> CaseResult,
    ) -> Self {
        Self { group, name, needs, run }
    }

    /// `group/name`, as the lists of a backend name it.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}
