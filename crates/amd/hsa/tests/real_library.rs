//! The real library, if it is installed.

use roci_hsa::search::{self, Options};
use roci_hsa::{Api, Error, KernelDriver, Library, Runtime, Source};
use roci_testkit::require;

/// The library that the dynamic loader finds.
fn library() -> Option<Library> {
    require("libhsa", search::open(&Options::default())).map(|found| found.library)
}

#[test]
fn functions_and_file_are_found() {
    let Some(library) = library() else { return };
    let name = library.path().file_name().expect("a file").to_string_lossy().into_owned();
    assert!(library.path().is_absolute() && name.starts_with("libhsa-runtime64.so"), "{}", library.path().display());
    assert_eq!(Api::NAMES.len(), Api::REQUIRED.len());
}

#[test]
fn a_missing_kernel_driver_is_reported() {
    let Some(library) = library() else { return };
    let path = library.path().to_owned();
    let driver = KernelDriver::probe();
    match Runtime::open(Source::Library(library)) {
        // With a GPU there is no error.
        Ok(runtime) => assert!(!runtime.agents().expect("agents").is_empty()),
        Err(error) => {
            assert!(matches!(&error, Error::Start { library, .. } if *library == path), "{error:?}");
            let (text, remedy) = (error.to_string(), error.remedy().expect("a remedy"));
            assert!(text.contains("does not start (HSA_STATUS_ERROR") && text.contains("/dev/kfd"), "{text}");
            assert!(text.ends_with(&driver.to_string()), "{text}");
            if driver == KernelDriver::NoModule {
                assert!(
                    text.contains("there is no kernel driver") && remedy.contains("modprobe amdgpu"),
                    "{text}: {remedy}"
                );
            }
        }
    }
}
