//! Arguments of `roci doctor`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::FormatArgs;

/// Arguments of `roci doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    /// Show everything: every way to each GPU, findings of little weight, sources, files that could not be read
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Judge a log instead of this machine: of rocminfo, clinfo, vulkaninfo, the kernel, llama.cpp, ollama, PyTorch; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "snapshot", "capture", "report", "deep", "verify"])]
    pub(crate) log: Option<PathBuf>,
    /// Read the facts from a folder that holds another machine's /sys, /proc, /etc, /dev, /usr, /opt, /var
    #[arg(long, value_name = "DIR", conflicts_with_all = ["snapshot", "deep", "verify"])]
    pub(crate) root: Option<PathBuf>,
    /// Judge a machine by what `--capture` wrote there; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["deep", "verify"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// Also write all facts into a file, for others to judge; what tells whose machine it is gets masked
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Also write a report for a bug tracker: FILE.md and FILE.json
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Also start OpenCL and HSA, in processes of their own, and ask them for their devices
    ///
    /// On a BC-250 with a stock kernel HSA can freeze the whole machine: roci refuses to start it there.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Also compute on each device, in processes of their own, and check the results
    #[arg(long)]
    pub(crate) verify: bool,
    /// Folder with more rules (default: ~/.config/roci/rules)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What else `roci doctor` tells.
#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// List the rules
    Rules(DoctorRulesArgs),
    /// Explain rules: what they mean, what to do, who says so
    Explain(DoctorExplainArgs),
}

/// Arguments of `roci doctor rules`.
#[derive(Debug, Args)]
pub(crate) struct DoctorRulesArgs {
    /// Only those with this word in name, topic or title
    #[arg(value_name = "WORD")]
    pub(crate) word: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor explain`.
#[derive(Debug, Args)]
pub(crate) struct DoctorExplainArgs {
    /// Names of rules, as `KFD-01`
    #[arg(value_name = "RULE", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

impl DoctorArgs {
    /// What says which machine or log to judge, where rules are asked for instead.
    pub(crate) fn out_of_place(&self) -> Option<&'static str> {
        let given = [
            ("--log", self.log.is_some()),
            ("--root", self.root.is_some()),
            ("--snapshot", self.snapshot.is_some()),
            ("--capture", self.capture.is_some()),
            ("--report", self.report.is_some()),
            ("--deep", self.deep),
            ("--verify", self.verify),
        ];
        given.into_iter().find(|(_, given)| *given && self.command.is_some()).map(|(name, _)| name)
    }

    /// Whether results are to be JSON.
    pub(crate) fn json(&self) -> bool {
        self.format.json
            || match &self.command {
                None => false,
                Some(DoctorCommand::Rules(arguments)) => arguments.format.json,
                Some(DoctorCommand::Explain(arguments)) => arguments.format.json,
            }
    }
}

pub(super) const DOCTOR_EXAMPLES: &str = "Examples:
  roci doctor                      this machine
  roci doctor -v --report gpu      everything, and gpu.md and gpu.json for a bug tracker
  dmesg | roci doctor --log -      a log
  roci doctor --verify             compute on every device, too
  roci doctor --capture me.json && roci doctor --snapshot me.json
  roci doctor explain OVR-04";
