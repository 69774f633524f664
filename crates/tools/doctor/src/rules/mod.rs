//! Rules: their fields (`rule`), the parser (`load`), conditions (`condition`, `matcher`),
//! application to facts and logs (`evaluate`), and forbidden APIs (`forbid`).

mod check;
mod condition;
mod evaluate;
mod forbid;
mod load;
mod matcher;
mod rule;
mod rule_set;
mod system;

pub(crate) use evaluate::RuleMatches;
pub use evaluate::{Evaluation, Evidence, ExcludedRule, Finding, LogLine, Truth};
pub use forbid::Api;
pub use load::RuleError;
pub use rule::{Confidence, Reboot, Rule, Severity, Step};
pub use rule_set::RuleSet;
pub(crate) use rule_set::builtin_texts;
