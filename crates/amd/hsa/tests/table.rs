//! Function tables and exports that are generated from the list of functions.

use roci_hsa::Api;
use roci_hsa::abi::*;

/// A function for every row, as in an emulated runtime.
mod functions {
    use super::*;

    /// Distinguishable result of a function.
    pub(super) trait CalledAs {
        fn called() -> Self;
    }

    impl CalledAs for Status {
        fn called() -> Self {
            Status::INFO_BREAK
        }
    }

    macro_rules! called {
        ($($type:ty = $value:expr),*) => {$(
            impl CalledAs for $type {
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
                <$result as CalledAs>::called()
            }
        )*};
    }
    roci_hsa::for_each_function!(define);
}

#[test]
fn api_from_uses_the_functions_of_a_module() {
    let api: Api = roci_hsa::api_from!(self::functions);
    // SAFETY: these functions ignore their arguments.
    assert_eq!(unsafe { (api.hsa_init)() }, Status::INFO_BREAK);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_signal_load_relaxed)(Signal::NULL) }, 9);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_queue_load_read_index_relaxed)(std::ptr::null()) }, 8);
    let unmap = api.hsa_amd_vmem_unmap.expect("optional functions are in the table");
    // SAFETY: as above.
    assert_eq!(unsafe { unmap(std::ptr::null_mut(), 0) }, Status::INFO_BREAK);
}

#[test]
fn stubs_return_not_supported() {
    let api = Api::unsupported();
    // SAFETY: stubs ignore their arguments.
    assert_eq!(unsafe { (api.hsa_init)() }, Status::ERROR_NOT_SUPPORTED);
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_signal_load_relaxed)(Signal::NULL) }, 0);
    assert!(api.hsa_amd_vmem_unmap.is_none());
}

#[test]
fn functions_missing_from_debians_library_are_optional() {
    let optional: Vec<_> =
        Api::NAMES.iter().zip(Api::REQUIRED).filter(|(_, required)| !**required).map(|(name, _)| *name).collect();
    let images = optional.iter().filter(|name| name.contains("image") || name.contains("sampler")).count();
    assert_eq!((optional.len(), images), (20, 9), "{optional:?}");
}
