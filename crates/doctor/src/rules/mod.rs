//! Rules: what they say (`rule`), how they are read from TOML (`load`), the conditions (`condition`, `matcher`), and how they are
//! laid over facts and logs (`judge`), and what they forbid to start (`forbid`).

mod book;
mod check;
mod condition;
mod forbid;
mod judge;
mod load;
mod matcher;
mod rule;
mod system;

pub use book::Book;
pub use forbid::Api;
pub(crate) use judge::Hits;
pub use judge::{Evidence, Exclusion, Finding, Judgement, LogLine, Truth};
pub use load::RuleError;
pub use rule::{Confidence, Reboot, Rule, Severity, Step};
