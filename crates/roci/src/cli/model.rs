//! Arguments of the verbs for models: `run` and `inspect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::language::{LanguageArgs, PromptArgs};
use super::{FormatArgs, seconds};

/// Arguments of `roci run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Model, an ONNX or GGUF file; external data and shards must be in the same folder
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it (default: `auto`, the best real device); given
    /// several times, the layers of a language model are split over the devices
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Value of an input: a NumPy array (`x=cat.npy`), an image (`x=cat.jpg`), or `random`, the
    /// default of inputs that are not named
    #[arg(short, long = "input", value_name = "NAME=FILE")]
    pub(crate) inputs: Vec<String>,
    /// Size of a symbolic dimension (`batch=8`; default: 1)
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub(crate) dims: Vec<String>,
    /// Write each output to this folder as a NumPy array
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Number of runs; the best time is printed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Profile each kernel: print the time by operation, and write a trace for Perfetto
    /// (`ui.perfetto.dev`)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "roci-trace.json")]
    pub(crate) profile: Option<PathBuf>,
    /// Precision of matrix products and convolutions: `f16` stores weights in f16, accumulates in
    /// f32 and uses the GPU's matrix units; results have about three digits
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    pub(crate) precision: Precision,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    #[command(flatten)]
    pub(crate) text: PromptArgs,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
    /// Seconds that one submission may run before the device counts as lost (default: ROCI_TIMEOUT,
    /// or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Precision of matrix products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats, accumulated in 32 bits.
    F16,
}

/// Preprocessing of images.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Images")]
pub(crate) struct ImageArgs {
    /// Divisor of pixel values from 0 to 255, for float inputs
    #[arg(long, value_name = "NUMBER", default_value_t = 255.0, value_parser = scale)]
    pub(crate) image_scale: f64,
    /// Subtracted from each channel after scaling: one number, or one per channel
    /// (`0.485,0.456,0.406`)
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) image_mean: Vec<f64>,
    /// Divisor of each channel after the mean is subtracted: one number, or one per channel
    /// (`0.229,0.224,0.225`)
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = scale)]
    pub(crate) image_std: Vec<f64>,
    /// Order of the channels
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    pub(crate) image_order: ImageOrder,
    /// How an image is fitted to the size of the input
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub(crate) image_fit: ImageFit,
}

/// Order of an image's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageOrder {
    /// Red first.
    #[default]
    Rgb,
    /// Blue first.
    Bgr,
}

/// How an image is fitted to a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageFit {
    /// Scale both sides independently.
    #[default]
    Stretch,
    /// Scale to cover the size, and crop.
    Crop,
    /// Scale to fit the size, and pad with black.
    Pad,
}

impl ImageArgs {
    /// The options in the image decoder's types.
    pub(crate) fn decoder(&self) -> roci_image::Options {
        roci_image::Options {
            scale: self.image_scale,
            mean: self.image_mean.clone(),
            std: self.image_std.clone(),
            order: match self.image_order {
                ImageOrder::Rgb => roci_image::ChannelOrder::Rgb,
                ImageOrder::Bgr => roci_image::ChannelOrder::Bgr,
            },
            fit: match self.image_fit {
                ImageFit::Stretch => roci_image::Fit::Stretch,
                ImageFit::Crop => roci_image::Fit::Crop,
                ImageFit::Pad => roci_image::Fit::Pad,
            },
        }
    }
}

/// A finite number other than zero.
fn scale(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    if number.is_finite() && number != 0.0 { Ok(number) } else { Err("not a finite number other than zero".into()) }
}

pub(super) const RUN_EXAMPLES: &str = "Examples:
  roci run model.onnx                                random inputs, on the best real device
  roci run model.onnx --input image=cat.npy --output results
  roci run model.onnx --input image=cat.jpg --image-mean 0.485,0.456,0.406 --image-std 0.229,0.224,0.225
  roci run model.onnx --device cpu --profile=trace.json
  roci run model.onnx --device emu://gfx1010 --dim batch=4 --repeat 10
  roci run model.gguf -p 'Once upon a time' -n 100 --seed 1
  roci run model.gguf --mmproj mmproj.gguf --image cat.jpg -p 'What is this?'
  roci run model.gguf -p - --system 'Answer in one word.' --json < question.txt";

/// Arguments of `roci inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Model, an ONNX file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Size of a symbolic dimension (`batch=8`), used in shapes and in estimates of work and
    /// memory; estimates default to 1
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub(crate) dims: Vec<String>,
    /// List all nodes with types and shapes, as small models do by default
    #[arg(long)]
    pub(crate) nodes: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const INSPECT_EXAMPLES: &str = "Examples:
  roci inspect model.onnx                     inputs, outputs, operations, work, memory, where nodes run
  roci inspect model.onnx --nodes             every node with types and shapes
  roci inspect model.onnx --dim batch=8       work and memory for a batch of 8
  roci inspect model.onnx --json | jq '.graph[] | select(.runs.vulkan.location != \"kernels\")'";
