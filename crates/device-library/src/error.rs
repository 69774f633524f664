//! What can go wrong on the way from a device to its code.

use roci_codeobj::TargetId;
use roci_hal::Hint;
use roci_hal::env::DEVICE_TARGETS;

/// The command that makes the embedded library.
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
        /// What the device is.
        device: TargetId,
        /// What there is code for.
        considered: Vec<TargetId>,
        /// What there is code for too, but `ROCI_DEVICE_TARGETS` does not name.
        left_out: Vec<TargetId>,
    },
    /// `ROCI_DEVICE_TARGETS` is wrong.
    #[error("{} is `{value}`: {reason}", DEVICE_TARGETS.name)]
    Selection {
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
        /// What it may name.
        embedded: Vec<TargetId>,
    },
    /// The archive is not what it should be.
    #[error("the device library is damaged: {0}")]
    Damaged(String),
}

/// Targets as they stand in `ROCI_DEVICE_TARGETS`.
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
    format!(" ({} leaves out {})", DEVICE_TARGETS.name, list(left_out))
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        let variable = DEVICE_TARGETS.name;
        Some(match self {
            Self::Target { device, left_out, .. } if left_out.iter().any(|code| code.runs_on(device).is_ok()) => {
                format!("unset {variable}, or name in it what was left out")
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
                "name some of {}, separated by commas, or leave it unset; in the source tree, `{REBUILD}` embeds others",
                list(embedded)
            ),
            Self::Damaged(_) => format!("in the source tree, `{REBUILD}` makes it anew; then build `roci` again"),
        })
    }
}
