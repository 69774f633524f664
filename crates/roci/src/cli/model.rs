//! Arguments of the verbs about models: `run` and `inspect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::language::{LanguageArgs, PromptArgs};
use super::{FormatArgs, seconds};

/// Arguments of `roci run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The model, an ONNX or GGUF file; files that it refers to, and parts of a split one, must lie beside it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it (default: `auto`, the best real device); language models can be split over
    /// several
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// What an input is: a file of NumPy's (`x=cat.npy`), a picture (`x=cat.jpg`), or `random`; inputs that are not named are
    /// random
    #[arg(short, long = "input", value_name = "NAME=FILE")]
    pub(crate) inputs: Vec<String>,
    /// The size of a dimension that the model leaves open (`batch=8`); 1 where nothing is said
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub(crate) dims: Vec<String>,
    /// Write the outputs there, one file of NumPy's each
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Run so often, and tell the best time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Measure each kernel: print time by operation, and write a trace for Perfetto (`ui.perfetto.dev`)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "roci-trace.json")]
    pub(crate) profile: Option<PathBuf>,
    /// What products are computed in: `f16` reads weights as 16-bit floats, sums in 32 bits, and uses matrix units where a GPU
    /// has them; about three digits
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    pub(crate) precision: Precision,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    #[command(flatten)]
    pub(crate) text: PromptArgs,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
    /// Seconds that the device may work before it counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What products are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats, summed in 32 bits.
    F16,
}

/// How pictures become numbers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct ImageArgs {
    /// What levels from 0 to 255 are divided by, for inputs of floats
    #[arg(long, value_name = "NUMBER", default_value_t = 255.0, value_parser = scale)]
    pub(crate) image_scale: f64,
    /// Taken from each channel after that: one number, or one a channel (`0.485,0.456,0.406`)
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) image_mean: Vec<f64>,
    /// What each channel is divided by then: one number, or one a channel (`0.229,0.224,0.225`)
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = scale)]
    pub(crate) image_std: Vec<f64>,
    /// Which channel comes first
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    pub(crate) image_order: ImageOrder,
    /// How a picture of another shape is brought to the model's
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub(crate) image_fit: ImageFit,
}

/// Which channel of a picture comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageOrder {
    /// Red.
    #[default]
    Rgb,
    /// Blue.
    Bgr,
}

/// How a picture gets another shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageFit {
    /// Both sides as they must be.
    #[default]
    Stretch,
    /// As large as it must be, and what stands over is cut off.
    Crop,
    /// As large as it may be, with black around it.
    Pad,
}

/// A number that can be divided by.
fn scale(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    if number.is_finite() && number != 0.0 { Ok(number) } else { Err("not a number to divide by".into()) }
}

pub(super) const RUN_EXAMPLES: &str = "Examples:
  roci run model.onnx                                random inputs, on the best real device
  roci run model.onnx --input image=cat.npy --output results
  roci run model.onnx --input image=cat.jpg --image-mean 0.485,0.456,0.406 --image-std 0.229,0.224,0.225
  roci run model.onnx --device cpu --profile=trace.json
  roci run model.onnx --device emu://gfx1010 --dim batch=4 --repeat 10
  roci run model.gguf -p 'Once upon a time' -n 100 --seed 1
  roci run model.gguf -p - --system 'Answer in one word.' --json < question.txt";

/// Arguments of `roci inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The size of a dimension that the model leaves open (`batch=8`): shapes have it in place of the name, and figures of
    /// work and memory are for it; those are for 1 where nothing is said
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub(crate) dims: Vec<String>,
    /// List all nodes with types and shapes, which is done for small models anyhow
    #[arg(long)]
    pub(crate) nodes: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const INSPECT_EXAMPLES: &str = "Examples:
  roci inspect model.onnx                     inputs, outputs, operations, work, memory, what runs where
  roci inspect model.onnx --nodes             every node with types and shapes
  roci inspect model.onnx --dim batch=8       work and memory for a batch of 8
  roci inspect model.onnx --json | jq '.graph[] | select(.runs.vulkan.where != \"kernels\")'";
