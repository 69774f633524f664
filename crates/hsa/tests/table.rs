//! Others make tables from the list: with functions of their own, and with exports from the rows.

use roci_hsa::Api;
use roci_hsa::abi::*;

/// Functions of our own for every row, as an emulated runtime has them.
mod functions {
    use super::*;

    /// What a function returns here: tells that it was called.
    pub(super) trait Called {
        fn called() -> Self;
    }

    impl Called for Status {
        fn called() -> Self {
            Status::INFO_BREAK
        }
    }

    macro_rules! called {
        ($($type:ty = $value:expr),*) => {$(
            impl Called for $type {
                fn called() -> Self {
                    $value
                }
            }
        )*};
    }
    called!(() = (), u32 = 7, u64 = 8, i64 = 9);

    macro_rules! define {
        ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
            pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                $(let _ = $argument;)*
                <$result as Called>::called()
            }
        )*};
    }
    roci_hsa::for_each_function!(define);
}

#[test]
fn a_table_is_made_from_functions_of_ones_own() {
    let api: Api = roci_hsa::api_from!(self::functions);
    // SAFETY: the functions above do nothing with their arguments.
    assert_eq!(unsafe { (api.hsa_init)() }, Status::INFO_BREAK);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_signal_load_relaxed)(Signal::NULL) }, 9);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_queue_load_read_index_relaxed)(std::ptr::null()) }, 8);
    let unmap = api.hsa_amd_vmem_unmap.expect("optional functions are there too");
    // SAFETY: as above.
    assert_eq!(unsafe { unmap(std::ptr::null_mut(), 0) }, Status::INFO_BREAK);
}

#[test]
fn a_table_without_functions_refuses() {
    let api = Api::unsupported();
    // SAFETY: the functions of such a table do nothing.
    assert_eq!(unsafe { (api.hsa_init)() }, Status::ERROR_NOT_SUPPORTED);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_signal_load_relaxed)(Signal::NULL) }, 0);
    assert!(api.hsa_amd_vmem_unmap.is_none());
}

#[test]
fn what_debians_library_lacks_is_optional() {
    let optional: Vec<_> =
        Api::NAMES.iter().zip(Api::REQUIRED).filter(|(_, required)| !**required).map(|(name, _)| *name).collect();
    let images = optional.iter().filter(|name| name.contains("image") || name.contains("sampler")).count();
    assert_eq!((optional.len(), images), (20, 9), "{optional:?}");
}
