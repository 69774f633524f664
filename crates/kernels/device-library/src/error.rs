//! Errors of finding the code for a device.

use roci_base::Hint;
use roci_base::env::DEVICE_TARGETS;
use roci_codeobj::TargetId;

/// The command that rebuilds the embedded library.
const REBUILD: &str = "cargo run --release -p roci-device-build";

/// Why there is no code for a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// None of the code objects runs on the device.
    #[error(
        "there are no kernels for {device}: this build has them for {}{}",
        list(considered),
        left_out_note(left_out)
    )]
    Target {
        /// Target id of the device.
        device: TargetId,
        /// Targets in the library.
        considered: Vec<TargetId>,
        /// Targets in the library that `ROCI_DEVICE_TARGETS` excludes.
        left_out: Vec<TargetId>,
    },
    /// `ROCI_DEVICE_TARGETS` is invalid.
    #[error("{} is `{value}`: {reason}", DEVICE_TARGETS.name)]
    Selection {
        /// Value of the variable.
        value: String,
        /// What is invalid.
        reason: String,
        /// Targets that the variable may list.
        embedded: Vec<TargetId>,
    },
    /// The archive is damaged.
    #[error("the device library is damaged: {0}")]
    Damaged(String),
}

/// Formats targets as `ROCI_DEVICE_TARGETS` lists them.
fn list(targets: &[TargetId]) -> String {
    if targets.is_empty() {
        return "no target".to_owned();
    }
    targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn left_out_note(left_out: &[TargetId]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    format!(" ({} excludes {})", DEVICE_TARGETS.name, list(left_out))
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        let variable = DEVICE_TARGETS.name;
        Some(match self {
            Self::Target { device, left_out, .. } if left_out.iter().any(|code| code.runs_on(device).is_ok()) => {
                format!("unset {variable}, or add the excluded target to it")
            }
            Self::Target { device, considered, left_out } => {
                let targets =
                    [considered, left_out, &vec![TargetId::new(device.processor)]].map(Vec::as_slice).concat();
                format!(
                    "in the source tree, `{variable}={} {REBUILD}` adds it; then build `roci` again",
                    list(&targets)
                )
            }
            Self::Selection { embedded, .. } => format!(
                "list some of {}, separated by commas, or unset it; in the source tree, `{REBUILD}` adds others",
                list(embedded)
            ),
            Self::Damaged(_) => format!("in the source tree, `{REBUILD}` rebuilds it; then build `roci` again"),
        })
    }
}
