//! Errors of vision towers.

use roci_base::Hint;

use crate::projector::projector_types;

/// Why a tower cannot be loaded, or an image cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is damaged, or lacks a key or a tensor.
    #[error(transparent)]
    File(#[from] roci_gguf::Error),
    /// The file is not a vision tower.
    #[error("the file has the architecture `{0}`, not the `clip` of vision towers")]
    Architecture(String),
    /// The tower has no vision encoder.
    #[error("the file has no vision encoder")]
    NoVision,
    /// The projector type is not supported.
    #[error("the projector type `{0}` is not supported")]
    Projector(String),
    /// A part of the tower is not supported.
    #[error("{0} are not supported")]
    Unsupported(&'static str),
    /// A key has an invalid value.
    #[error("the key `{key}` is {value}, {expected}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// The shape of a tensor does not match the sizes in the file.
    #[error("tensor `{tensor}` has the shape {found:?}, expected {expected:?}")]
    Shape {
        /// The tensor.
        tensor: String,
        /// Its shape, contiguous dimension first.
        found: Vec<u64>,
        /// The shape that these sizes require.
        expected: Vec<u64>,
    },
    /// The image cannot be read.
    #[error("{0}")]
    Image(String),
    /// The tower cannot run on the device.
    #[error(transparent)]
    Run(#[from] roci_runtime::Error),
    /// Output values are infinite or NaN.
    #[error("the tower returned values that are not finite")]
    NotFinite,
    /// The number of output values is wrong: a bug.
    #[error("the tower returned {found} values where {expected} were expected")]
    Output {
        /// Values that the graph returned.
        found: usize,
        /// Values that the description requires.
        expected: usize,
    },
}

impl Error {
    /// A key with an invalid value.
    pub(crate) fn value(key: impl Into<String>, value: impl ToString, expected: &'static str) -> Self {
        Self::Value { key: key.into(), value: value.to_string(), expected }
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Run(error) => match error {
                roci_runtime::Error::Memory { .. } | roci_runtime::Error::Binding { .. } => {
                    "use a smaller image or another device".to_owned()
                }
                _ => return error.hint(),
            },
            Self::Architecture(_) => "give the model's mmproj file, which is published next to its GGUF file".into(),
            Self::NoVision => "it is for audio only: give an mmproj file with a vision encoder".into(),
            Self::Projector(_) => format!("supported are {}", projector_types().collect::<Vec<_>>().join(", ")),
            Self::Unsupported(_) => "use the mmproj file of another model".into(),
            Self::Value { .. } | Self::Shape { .. } => "the file is damaged: download it again".into(),
            Self::NotFinite => {
                "the mmproj file is damaged: download it again; or the device computes wrongly: use another device"
                    .into()
            }
            Self::Image(reason) if ["limit", "at most", "too l"].iter().any(|part| reason.contains(part)) => {
                "scale the image down, or save it again".into()
            }
            Self::Image(_) => "give a PNG or JPEG file".into(),
            Self::Output { .. } => "this is a bug in roci: please report it with the name of the model".into(),
        })
    }
}
