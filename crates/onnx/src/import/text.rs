//! Not written yet.

use super::NodeContext;
use crate::Error;

pub(super) fn import(_node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    Ok(false)
}
