//! Errors of this crate.

use roci_base::Hint;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device URI, the device, or work on it failed.
    #[error(transparent)]
    Device(#[from] roci_hal::Error),
    /// The WGSL text does not compile, or breaks a rule that some driver needs.
    #[error(transparent)]
    Wgsl(#[from] roci_wgsl::Error),
    /// The device runs precompiled code only.
    #[error("`{device}` cannot run WGSL: its driver takes {formats} only")]
    NoWgsl {
        /// Device URI.
        device: String,
        /// Code formats of the device.
        formats: String,
    },
    /// clang could not compile the kernel for an AMD GPU.
    #[error("clang cannot compile WGSL for {target}: {reason}")]
    Clang {
        /// Chip name, such as `gfx1010`.
        target: String,
        /// What clang reported, or why it could not be started.
        reason: String,
    },
    /// The ONNX file cannot be read, or uses something that is not supported.
    #[cfg(feature = "onnx")]
    #[error(transparent)]
    Onnx(#[from] roci_onnx::Error),
    /// The ONNX model failed on its device.
    #[cfg(feature = "onnx")]
    #[error(transparent)]
    Session(#[from] roci_runtime::Error),
    /// The ONNX model has no input of this name.
    #[cfg(feature = "onnx")]
    #[error("the model has no input `{name}`")]
    Input {
        /// The name given.
        name: String,
        /// The model's input names, separated by commas.
        expected: String,
    },
    /// An input of the ONNX model was not given.
    #[cfg(feature = "onnx")]
    #[error("input `{name}` is missing")]
    MissingInput {
        /// The input's name.
        name: String,
    },
    /// The GGUF file cannot be read.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    Gguf(#[from] roci_gguf::Error),
    /// The language model's architecture is not supported, or its metadata is inconsistent.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    Architecture(#[from] roci_lm::architecture::ModelError),
    /// The language model's tokenizer is not supported.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    Tokenizer(#[from] roci_tokenizer::Error),
    /// The chat template rejects the conversation.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    Template(#[from] roci_lm::template::TemplateError),
    /// The language model does not fit on its device, or cannot be computed there.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    LanguageModel(#[from] roci_lm_device::Error),
    /// The request is invalid, or the device failed while it was computed.
    #[cfg(feature = "gguf")]
    #[error(transparent)]
    Engine(#[from] roci_engine::EngineError),
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Device(error) => error.hint(),
            Self::Wgsl(_) => None,
            Self::NoWgsl { .. } => Some("open a Vulkan or OpenCL device; `roci devices` lists them".into()),
            Self::Clang { .. } => Some(
                "install clang and lld 16 or newer with the AMDGPU target (Debian: `clang-22 lld-22`), or open the GPU \
                 through Vulkan"
                    .into(),
            ),
            #[cfg(feature = "onnx")]
            Self::Onnx(error) => error.hint(),
            #[cfg(feature = "onnx")]
            Self::Session(error) => error.hint(),
            #[cfg(feature = "onnx")]
            Self::Input { expected, .. } => Some(format!("its inputs are: {expected}")),
            #[cfg(feature = "onnx")]
            Self::MissingInput { .. } => None,
            #[cfg(feature = "gguf")]
            Self::Gguf(error) => error.hint(),
            #[cfg(feature = "gguf")]
            Self::Architecture(error) => error.hint(),
            #[cfg(feature = "gguf")]
            Self::Tokenizer(error) => error.hint(),
            #[cfg(feature = "gguf")]
            Self::Template(error) => Some(error.hint()),
            #[cfg(feature = "gguf")]
            Self::LanguageModel(error) => error.hint(),
            #[cfg(feature = "gguf")]
            Self::Engine(error) => error.hint(),
        }
    }
}
