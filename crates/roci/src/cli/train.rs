//! Arguments of `train-demo`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{FormatArgs, seconds};

/// Arguments of `roci train-demo`.
#[derive(Debug, Args)]
pub(crate) struct TrainDemoArgs {
    /// Device to train on, as `roci devices` prints it; can be given several times (default: cpu)
    ///
    /// The others are compared with the first. `auto` selects the best real device and prints which
    /// and why.
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Train on every device that `roci demo` uses: the CPU, real GPUs, or an emulated GPU if there
    /// is none
    #[arg(long, conflicts_with = "devices")]
    pub(crate) all: bool,
    /// Number of training steps, one batch each
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) steps: u32,
    /// Optimizer
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) optimizer: OptimizerName,
    /// Batch size
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub(crate) batch: u32,
    /// Seed of the images and the initial parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Learning rate (default: 0.05 for sgd, 0.01 for adam)
    #[arg(long, value_name = "X", value_parser = rate)]
    pub(crate) lr: Option<f64>,
    /// Seconds that one submission may run before the device counts as lost (default: ROCI_TIMEOUT,
    /// or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// An optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerName {
    /// Stochastic gradient descent with momentum 0.9 and a weight decay of 0.0001
    #[default]
    Sgd,
    /// Adam with beta1 0.9, beta2 0.999 and epsilon 1e-8
    Adam,
}

/// A positive learning rate.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "not a positive number".into())
}

pub(super) const TRAIN_DEMO_EXAMPLES: &str = "Examples:
  roci train-demo                          on the CPU
  roci train-demo --device cpu --device vulkan:0 --optimizer adam
  roci train-demo --all --steps 20         compare what all devices learn
  roci train-demo --json | jq '.results[].losses'";
