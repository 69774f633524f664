//! Errors of grammars and JSON schemas.

/// Why a grammar cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// A syntax error.
    #[error("grammar, line {line}, column {column}: {reason}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A reference to an undefined rule.
    #[error("the grammar has no rule `{rule}`")]
    Undefined {
        /// Name of the rule.
        rule: String,
    },
    /// A left-recursive rule.
    #[error("rule `{rule}` of the grammar is left-recursive")]
    LeftRecursion {
        /// Name of the rule.
        rule: String,
    },
    /// No finite text matches the grammar.
    #[error("no finite text matches the grammar: rule `{rule}` never ends")]
    Endless {
        /// Name of the rule that does not terminate.
        rule: String,
    },
    /// The grammar exceeds a limit.
    #[error("the grammar exceeds the limit of {limit} {what}")]
    TooLarge {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Matching exceeds the limit of parallel parse states or of their depth.
    #[error("the grammar is too ambiguous or too deeply nested to match here")]
    TooManyStacks,
    /// A token that the grammar does not allow.
    #[error("the grammar does not allow token {token} here")]
    Refused {
        /// Token id.
        token: u32,
    },
    /// A JSON schema that cannot be converted to a grammar.
    #[error("JSON schema, at `{path}`: {reason}")]
    Schema {
        /// Location as a JSON pointer that starts with `#`.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

impl GrammarError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => {
                "rules are written as `name ::= \"text\" [a-z]+ (other | rule)?`; docs/guide/language-models.md has the whole syntax"
            }
            Self::Undefined { .. } => "define the rule, or correct its name; a grammar starts at `root`",
            Self::LeftRecursion { .. } => {
                "write repetition as `item+` or `item (\",\" item)*`, or put the recursion last"
            }
            Self::Endless { .. } => "give the rule an alternative that does not lead back to it",
            Self::TooLarge { .. } => "write repetition as `{1,100}` rather than as copies, or split the request",
            Self::TooManyStacks => "rewrite the grammar so that fewer alternatives have the same prefix, or nest less",
            Self::Refused { .. } => "this is a bug in roci: please report it with the grammar",
            Self::Schema { .. } => "change the schema there; docs/guide/language-models.md lists the supported keywords",
        }
        .to_owned()
    }
}
