//! Folders for the user's data.

use std::path::{Path, PathBuf};

use roci_base::env;

/// The folder for persistent data, `$XDG_DATA_HOME/roci`; `None` if neither XDG_DATA_HOME nor HOME
/// is set.
pub(crate) fn data() -> Option<PathBuf> {
    let base = match env::XDG_DATA_HOME.get_raw() {
        Some(base) => PathBuf::from(base),
        None => Path::new(&env::HOME.get_raw()?).join(".local/share"),
    };
    // The XDG specification requires relative paths to be ignored.
    base.is_absolute().then(|| base.join("roci"))
}
