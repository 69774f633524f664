//! Arguments of `roci doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::FormatArgs;

/// Arguments of `roci doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    /// Show everything: every route to each GPU, what was looked at, minor findings, sources, all
    /// facts, unreadable files
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Analyze a log instead of this machine: of rocminfo, clinfo, vulkaninfo, the kernel,
    /// llama.cpp, ollama or PyTorch; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "snapshot", "capture", "report", "html", "deep", "verify"])]
    pub(crate) log: Option<PathBuf>,
    /// Read facts from a copy of another machine's file system (/sys, /proc, /etc, /dev, /usr,
    /// /opt, /var)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["snapshot", "deep", "verify"])]
    pub(crate) root: Option<PathBuf>,
    /// Analyze a snapshot that `--capture` wrote; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["deep", "verify"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// Also write all facts to a snapshot, with identifying data masked
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Also write a report for a bug tracker: FILE.md and FILE.json
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Also write the report as a page that can be attached to a bug: one file without scripts
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also initialize OpenCL and HSA, in separate processes, and list their devices
    ///
    /// On a BC-250 with a stock kernel, HSA can freeze the whole machine: roci refuses to start it
    /// there.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Also run kernels on each device, in separate processes, and check the results
    #[arg(long)]
    pub(crate) verify: bool,
    /// Folder with additional rules (default: ~/.config/roci/rules)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Verbs of `roci doctor`.
#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// List the rules
    Rules(DoctorRulesArgs),
    /// Explain rules: meaning, remedy, sources
    Explain(DoctorExplainArgs),
    /// Show remedies as exact changes of files, apply them after a yes, or take them back
    ///
    /// Without options, every remedy is shown, with the lines before and after, and each is applied
    /// only if you answer yes. A copy of each changed file is kept, from which `--undo` restores it.
    Fix(DoctorFixArgs),
    /// Follow the kernel log and a program's output, and explain problems as they appear
    ///
    /// The program's output and exit code are passed on. Explanations go to standard error. Each
    /// problem is explained once, and counted at the end.
    Watch(DoctorWatchArgs),
}

/// Arguments of `roci doctor rules`.
#[derive(Debug, Args)]
pub(crate) struct DoctorRulesArgs {
    /// List only rules with this word in name, topic or title
    #[arg(value_name = "WORD")]
    pub(crate) word: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor explain`.
#[derive(Debug, Args)]
pub(crate) struct DoctorExplainArgs {
    /// Names of rules, such as `KFD-01`
    #[arg(value_name = "RULE", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor fix`.
#[derive(Debug, Args)]
#[command(after_help = FIX_EXAMPLES)]
pub(crate) struct DoctorFixArgs {
    /// Rules whose remedies are shown (default: all that apply to this machine)
    #[arg(value_name = "RULE", conflicts_with = "undo")]
    pub(crate) ids: Vec<String>,
    /// Apply the remedy of this rule without asking; can be repeated
    #[arg(long, value_name = "RULE", conflicts_with = "undo")]
    pub(crate) yes: Vec<String>,
    /// Take back the last applied remedy, or that of a rule
    #[arg(long, value_name = "RULE", num_args = 0..=1)]
    pub(crate) undo: Option<Option<String>>,
    /// With `--undo`: also restore files that were changed since
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
    /// Show remedies, ask nothing and change nothing
    #[arg(long, conflicts_with = "undo")]
    pub(crate) dry_run: bool,
    /// Change a copy of another machine's file system; commands are shown, but not run
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor watch`.
#[derive(Debug, Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(crate) struct DoctorWatchArgs {
    /// Follow this file instead of the kernel log
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Program to run, with its arguments; without one, Ctrl-C ends the command
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

const WATCH_EXAMPLES: &str = "Examples:
  sudo roci doctor watch                          the kernel log, until Ctrl-C
  roci doctor watch -- llama-server -m model.gguf a program, and the kernel log if it can be read
  roci doctor watch --log server.log              a file that another program writes";

const FIX_EXAMPLES: &str = "Examples:
  roci doctor fix                     show every remedy and ask for each
  roci doctor fix --dry-run           show only
  sudo roci doctor fix --yes MES-05   apply this one
  sudo roci doctor fix --undo MES-05  restore the files as they were
  roci doctor fix --root copy         on a copy of another machine's files";

impl DoctorArgs {
    /// An option for the analysis of a machine or a log that is given with a verb about rules.
    pub(crate) fn misplaced_option(&self) -> Option<&'static str> {
        let given = [
            ("--log", self.log.is_some()),
            ("--root", self.root.is_some() && !matches!(self.command, Some(DoctorCommand::Fix(_)))),
            ("--snapshot", self.snapshot.is_some()),
            ("--capture", self.capture.is_some()),
            ("--report", self.report.is_some()),
            ("--html", self.html.is_some()),
            ("--deep", self.deep),
            ("--verify", self.verify),
        ];
        given.into_iter().find(|(_, given)| *given && self.command.is_some()).map(|(name, _)| name)
    }

    /// Whether results are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.format.json
            || match &self.command {
                None => false,
                Some(DoctorCommand::Rules(arguments)) => arguments.format.json,
                Some(DoctorCommand::Explain(arguments)) => arguments.format.json,
                Some(DoctorCommand::Fix(arguments)) => arguments.format.json,
                Some(DoctorCommand::Watch(_)) => false,
            }
    }
}

pub(super) const DOCTOR_EXAMPLES: &str = "Examples:
  roci doctor                      this machine
  roci doctor -v --report gpu      everything, and gpu.md and gpu.json for a bug tracker
  dmesg | roci doctor --log -      a log
  roci doctor --verify             compute on every device, too
  roci doctor --capture me.json && roci doctor --snapshot me.json
  roci doctor explain OVR-04
  roci doctor fix                  remedies as exact changes, applied after a yes
  roci doctor watch -- PROGRAM     explain problems while a program runs";
