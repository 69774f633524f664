//! Arguments of the verbs about models: `run` and `inspect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{FormatArgs, seconds};

/// Arguments of `roci run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The model, an ONNX file; files that it refers to must lie beside it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it (default: `auto`, the best real device)
    #[arg(short, long, value_name = "URI")]
    pub(crate) device: Option<String>,
    /// What an input is: a file of NumPy's (`x=cat.npy`), or `random`; inputs that are not named are random
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
    /// Seconds that the device may work before it counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const RUN_EXAMPLES: &str = "Examples:
  roci run model.onnx                                random inputs, on the best real device
  roci run model.onnx --input image=cat.npy --output results
  roci run model.onnx --device emu://gfx1010 --dim batch=4 --repeat 10";

/// Arguments of `roci inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const INSPECT_EXAMPLES: &str = "Examples:
  roci inspect model.onnx          inputs, outputs, operations, constants
  roci inspect model.onnx --json | jq '.operations'";
