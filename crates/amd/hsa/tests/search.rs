//! The search for the library, with generated libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use roci_hsa::search::{self, Environment, NAMES, Options, Origin};
use roci_hsa::{Api, Library, Runtime, Source};
use roci_testkit::{require, tools};
use tempfile::TempDir;

/// Builds shared libraries.
struct LibraryBuilder {
    compiler: PathBuf,
    folder: TempDir,
}

impl LibraryBuilder {
    fn find() -> Option<Self> {
        let compiler = require("clang", tools::clang())?.path().to_owned();
        Some(Self { compiler, folder: tempfile::tempdir().expect("a temporary folder") })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds a library `name` with these functions, which take nothing and return 0.
    fn make(&self, name: &str, functions: &[&str]) -> PathBuf {
        let (source, library) = (self.path("library.c"), self.path(name));
        let body: String = functions.iter().map(|name| format!("long {name}(void) {{ return 0; }}\n")).collect();
        std::fs::write(&source, body).expect("the directory is writable");
        std::fs::create_dir_all(library.parent().expect("a folder")).expect("the directory is writable");
        let status = Command::new(&self.compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(status.expect("the compiler starts").success());
        library
    }
}

/// Names of the required functions.
fn required() -> Vec<&'static str> {
    let both = Api::NAMES.iter().zip(Api::REQUIRED);
    both.filter(|(_, required)| **required).map(|(name, _)| *name).collect()
}

/// Options with one path.
fn at(path: &Path) -> Options {
    Options { paths: vec![path.to_owned()], environment: Environment::default() }
}

#[test]
fn search_paths_have_the_documented_order() {
    let options = Options {
        paths: vec!["/given".into(), "also".into()],
        environment: Environment {
            roci_path: Some("/roci".into()),
            iree_path: Some("/iree".into()),
            path: Some("/usr/bin::relative:/roci:/bin:/usr/bin".into()),
        },
    };
    let paths: Vec<_> =
        search::search_paths(&options).into_iter().map(|p| (p.origin, p.path.display().to_string())).collect();
    let expected = [
        (Origin::Option, "/given"),
        (Origin::Option, "also"),
        (Origin::Variable("ROCI_HAL_AMDGPU_LIBHSA_PATH"), "/roci"),
        (Origin::Variable("IREE_HAL_AMDGPU_LIBHSA_PATH"), "/iree"),
        (Origin::Path, "/usr/bin"),
        (Origin::Path, "/bin"),
        (Origin::Loader, NAMES[0]),
        (Origin::Loader, NAMES[1]),
        (Origin::Rocm, "/opt/rocm/lib"),
    ];
    assert_eq!(paths, expected.map(|(origin, path)| (origin, path.to_owned())));
}

#[test]
fn an_empty_environment_leaves_the_loader_and_rocm() {
    let environment = Environment { roci_path: Some("".into()), ..Environment::default() };
    let paths = search::search_paths(&Options { paths: Vec::new(), environment });
    assert_eq!(
        paths.iter().map(|path| path.origin).collect::<Vec<_>>(),
        [Origin::Loader, Origin::Loader, Origin::Rocm]
    );
}

#[test]
fn files_of_any_name_and_directories_are_searched() {
    let Some(maker) = LibraryBuilder::find() else { return };
    for name in ["libhsa-runtime64.so.1.5.0", "renamed.library"] {
        let file = maker.make(name, &required());
        let found = search::open(&at(&file)).expect("it has all functions");
        assert_eq!((found.library.path(), found.origin), (file.as_path(), Origin::Option));
        assert!(found.library.api().hsa_amd_vmem_map.is_none(), "an optional function that is not there");
    }
    let both = ["directory/libhsa-runtime64.so", "directory/libhsa-runtime64.so.1"].map(|n| maker.make(n, &required()));
    let found = search::open(&at(&maker.path("directory"))).expect("the directory contains the library");
    assert_eq!(found.library.path(), both[1], "the versioned name comes first");
}

#[test]
fn failed_attempts_are_listed_with_the_reason() {
    let Some(maker) = LibraryBuilder::find() else { return };
    std::fs::write(maker.path("text.so"), "no library").expect("the directory is writable");
    std::fs::create_dir(maker.path("empty")).expect("the directory is writable");
    maker.make("old/libhsa-runtime64.so.1", &["hsa_init", "hsa_shut_down"]);
    let good = maker.make("good/libhsa-runtime64.so", &required());
    let options = Options {
        paths: ["absent", "text.so", "empty"].map(|name| maker.path(name)).into(),
        environment: Environment {
            iree_path: Some(maker.path("old").into()),
            path: Some(maker.path("good").into()),
            ..Environment::default()
        },
    };
    let found = search::open(&options).expect("the last one works");
    assert_eq!((found.library.path(), found.origin), (good.as_path(), Origin::Path));
    let reasons: Vec<_> = found.failed_attempts.iter().map(|attempt| attempt.to_string()).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[0].ends_with("absent (given search path): does not exist"), "{}", reasons[0]);
    assert!(
        reasons[1].contains("text.so (given search path): ") && reasons[1].contains("file too short"),
        "{}",
        reasons[1]
    );
    assert!(reasons[2].ends_with("contains neither libhsa-runtime64.so.1 nor libhsa-runtime64.so"), "{}", reasons[2]);
    let old = "old/libhsa-runtime64.so.1 (IREE_HAL_AMDGPU_LIBHSA_PATH): missing 119 of 141 functions, the first is \
               `hsa_amd_register_system_event_handler`";
    assert!(reasons[3].ends_with(old), "{}", reasons[3]);

    let runtime = Runtime::open(Source::Search(options)).expect("its hsa_init returns 0");
    assert_eq!((runtime.path(), runtime.failed_attempts().len()), (good.as_path(), 4));
}

#[test]
fn the_error_lists_all_attempts_and_a_remedy() {
    let paths = search::search_paths(&Options::default());
    let attempts = paths.into_iter().map(|path| search::Attempt { path, reason: "does not exist".into() }).collect();
    let error = search::NotFound { attempts };
    assert_eq!(
        error.to_string(),
        "no usable `libhsa-runtime64.so.1` found; tried:\n  \
         libhsa-runtime64.so.1 (search of the dynamic loader): does not exist\n  \
         libhsa-runtime64.so (search of the dynamic loader): does not exist\n  \
         /opt/rocm/lib (default directory of ROCm): does not exist"
    );
    assert!(error.remedy().contains("libhsa-runtime64-1") && error.remedy().contains("ROCI_HAL_AMDGPU_LIBHSA_PATH"));
}

#[test]
fn a_missing_library_is_an_error() {
    let error = Library::load("libhsa-missing.so.7").expect_err("it does not exist").to_string();
    assert!(error.contains("libhsa-missing.so.7") && error.contains("No such file"), "{error}");
}
