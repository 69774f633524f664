//! Where things of the user are kept.

use std::path::{Path, PathBuf};

use roci_hal::env;

/// The folder for what cannot be made again, `$XDG_DATA_HOME/roci`; `None` where the user has none.
pub(crate) fn data() -> Option<PathBuf> {
    let base = match env::XDG_DATA_HOME.get_raw() {
        Some(base) => PathBuf::from(base),
        None => Path::new(&env::HOME.get_raw()?).join(".local/share"),
    };
    // The specification wants relative paths to be passed over.
    base.is_absolute().then(|| base.join("roci"))
}
