//! Not written yet.

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Value};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Classic {
    /// Nothing.
    Nothing,
}

impl Operation for Classic {
    fn name(&self) -> &'static str {
        "Nothing"
    }

    fn infer(&self, _inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        Ok(Vec::new())
    }

    fn eval(&self, _inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        Ok(Vec::new())
    }
}
