//! Starts roci itself in a child process.

use std::ffi::OsString;

use roci_probe::child::Launcher;

use crate::cli::DriverArgs;
use crate::interrupt;

/// Launches children with the driver options of this process, so that they find the same devices.
pub(crate) fn launcher(drivers: &DriverArgs) -> Launcher<'static> {
    Launcher::new(options(drivers), &interrupt::requested)
}

fn options(drivers: &DriverArgs) -> Vec<OsString> {
    let paths = drivers.amdgpu_libhsa_search_path.iter();
    paths.flat_map(|path| ["--amdgpu-libhsa-search-path".into(), path.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_the_search_paths() {
        let drivers = DriverArgs { amdgpu_libhsa_search_path: vec!["/a".into(), "/b".into()] };
        let name = "--amdgpu-libhsa-search-path";
        assert_eq!(options(&drivers), [name, "/a", name, "/b"]);
        assert_eq!(options(&DriverArgs::default()), [""; 0]);
    }
}
