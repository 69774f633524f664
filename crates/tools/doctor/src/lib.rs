//! Diagnoses GPU problems on a machine or in a log, and gives remedies.
//!
//! [`Facts`] come from a machine or from a pasted log. A [`RuleSet`] has the rules, which are data
//! in `rules/*.toml`. [`RuleSet::findings`] applies the rules to the facts and returns [`Finding`]s
//! with evidence.
//!
//! Nothing here starts HSA, OpenCL or Vulkan: on a BC-250 with a stock kernel the first two can
//! freeze the machine.

mod command_line;
mod conclusion;
mod diagnosis;
mod examined;
mod facts;
mod failures;
pub mod finding_text;
pub mod fix;
mod identity;
mod kernel_log;
mod known_good;
mod logs;
mod long_log;
mod mask;
mod memory;
mod pattern;
mod report;
mod root;
mod routes;
mod rules;
mod scan;
mod secrets;
mod snapshot;
mod value;
mod vocabulary;
mod watch;

pub use conclusion::{Cause, Certainty, Conclusion, ExcludedCause, ExplainedCause, LogFact, NextCheck};
pub use diagnosis::{Diagnosis, FailedProbe, GpuDiagnosis, GpuNames};
pub use examined::Examined;
pub use facts::{Fact, Facts, Table};
pub use failures::Failure;
pub use identity::Identity;
pub use known_good::{KnownGood, known_good};
pub use logs::{Event, Log, LogReader, Vendor};
pub use mask::{Masked, mask};
pub use memory::{Memory, Pool, memory};
pub use report::{html, markdown, sections};
pub use root::Root;
pub use routes::{Route, RouteKind, routes};
pub use rules::{
    Api, Confidence, Evaluation, Evidence, ExcludedRule, Finding, LogLine, Reboot, Rule, RuleError, RuleSet, Severity,
    Step, Truth,
};
pub use snapshot::{Gpu, Probe, ProbedDevice, Probes, Snapshot, Target};
pub use value::compare;
pub use watch::{Explanation, Watcher};
