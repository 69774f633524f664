//! Options of mixtures of experts, for all verbs that run language models.

use clap::Args;

/// Options of mixtures of experts.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct ExpertArgs {
    /// Compute the experts of all layers on the CPU, and the rest on the device (default: those that
    /// do not fit the memory of the device that `auto` takes)
    #[arg(long, requires = "model", conflicts_with = "n_cpu_moe")]
    pub(crate) cpu_moe: bool,
    /// The same for the experts of the first layers only
    #[arg(long, value_name = "LAYERS", requires = "model")]
    pub(crate) n_cpu_moe: Option<usize>,
}

impl ExpertArgs {
    /// Layers, from the first on, whose experts run on the CPU; `None` if neither option is given.
    pub(crate) fn layers(&self) -> Option<usize> {
        if self.cpu_moe { Some(usize::MAX) } else { self.n_cpu_moe }
    }
}
