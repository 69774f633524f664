//! Finds and opens the HSA library by the command line, the environment and default paths.

use std::path::PathBuf;

use roci_base::env;
use roci_hal::Error;
use roci_hsa::search::{self, Attempt, Environment, Options, Origin};
use roci_hsa::{Runtime, Source};

/// Finds and initializes the library.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Runtime, Error> {
    let environment = Environment {
        roci_path: env::LIBHSA_PATH.get_raw(),
        iree_path: env::IREE_LIBHSA_PATH.get_raw(),
        path: env::PATH.get_raw(),
    };
    let options = Options { paths: paths.to_vec(), environment };
    let unavailable = |reason: String, hint: String| Error::Unavailable { what: "HSA".into(), reason, hint };
    let found = search::open(&options).map_err(|error| unavailable(error.to_string(), error.remedy()))?;
    let failed = failed_by_name(&found.failed_attempts);
    Runtime::open(Source::Library(found.library)).map_err(|error| {
        let hint = error.remedy().unwrap_or_else(|| "`roci devices` shows what each driver finds".to_owned());
        unavailable(format!("{error}{failed}"), hint)
    })
}

/// The libraries that the user named and that could not be loaded, as the end of a message.
fn failed_by_name(attempts: &[Attempt]) -> String {
    let named = attempts.iter().filter(|attempt| matches!(attempt.path.origin, Origin::Option | Origin::Variable(_)));
    let named: Vec<_> = named.map(ToString::to_string).collect();
    if named.is_empty() { String::new() } else { format!("; skipped: {}", named.join("; ")) }
}
