//! Options for mixtures of experts, for all commands that run language models.

use clap::Args;

/// Options for mixtures of experts.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct ExpertArgs {
    /// Compute the experts of all layers on the CPU, and everything else on the device (default:
    /// with `auto`, only as many as do not fit the device's memory)
    #[arg(long, requires = "model", conflicts_with = "n_cpu_moe")]
    pub(crate) cpu_moe: bool,
    /// Compute the experts of the first LAYERS layers on the CPU
    #[arg(long, value_name = "LAYERS", requires = "model")]
    pub(crate) n_cpu_moe: Option<usize>,
}

impl ExpertArgs {
    /// Number of leading layers whose experts run on the CPU; `None` if neither option is given.
    pub(crate) fn layers(&self) -> Option<usize> {
        if self.cpu_moe { Some(usize::MAX) } else { self.n_cpu_moe }
    }
}
