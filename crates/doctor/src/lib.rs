//! What is wrong with this machine, what to do, and is it true.
//!
//! [`Facts`] say what is so: gathered from a machine, or found in a log that somebody pasted. [`Book`] holds the rules, which are
//! data in `rules/*.toml`. [`Book::judge`] lays the rules over the facts and gives [`Finding`]s with their evidence.
//!
//! Nothing here starts HSA, OpenCL or Vulkan: on a BC-250 with a stock kernel the first two can freeze the machine.

mod command_line;
mod conclusion;
mod diagnosis;
mod facts;
mod failures;
mod good;
mod identity;
mod kernel_log;
mod logs;
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
pub mod words;

pub use conclusion::{Cause, Conclusion, Excluded, Explained, Look, Sureness, Told};
pub use diagnosis::{Card, Diagnosis, Names, Unanswered};
pub use facts::{Fact, Facts, Table};
pub use failures::Failure;
pub use good::{Good, known_good};
pub use identity::Identity;
pub use logs::{Event, Log, Reader, Whose};
pub use mask::{Masked, mask};
pub use memory::{Memory, Pool, memory};
pub use report::markdown;
pub use root::Root;
pub use routes::{Route, Way, routes};
pub use rules::{
    Api, Book, Confidence, Evidence, Exclusion, Finding, Judgement, LogLine, Reboot, Rule, RuleError, Severity, Step,
    Truth,
};
pub use snapshot::{Gpu, Probe, Probes, Seen, Snapshot, Target};
pub use value::compare;
