//! What is wrong with a grammar or a schema.

/// Why a grammar cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// The text is not a grammar.
    #[error("grammar, line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A rule is named that is not defined.
    #[error("the grammar has no rule `{rule}`")]
    Undefined {
        /// Its name.
        rule: String,
    },
    /// A rule may start with itself.
    #[error("rule `{rule}` of the grammar may start with itself")]
    LeftRecursion {
        /// Its name.
        rule: String,
    },
    /// No text whatsoever satisfies the grammar.
    #[error("no text satisfies the grammar: rule `{rule}` never ends")]
    Endless {
        /// The rule where it starts.
        rule: String,
    },
    /// A limit on what one request may cost.
    #[error("the grammar has {what}, more than the {limit} that are allowed")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
    /// A text was followed in more ways at once, or deeper, than is allowed.
    #[error("the grammar is too ambiguous or too deep to be followed at this place")]
    TooManyWays,
    /// A token that the grammar does not allow.
    #[error("the grammar does not allow token {token} here")]
    Refused {
        /// The token.
        token: u32,
    },
    /// A schema that cannot be made into a grammar.
    #[error("JSON schema, at `{path}`: {reason}")]
    Schema {
        /// Where, as a JSON pointer that starts with `#`.
        path: String,
        /// What is wrong there.
        reason: String,
    },
}

impl GrammarError {
    /// What to do, as one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => {
                "rules are written as `name ::= \"text\" [a-z]+ (other | rule)?`; docs/llm.md has the whole syntax"
            }
            Self::Undefined { .. } => "define the rule, or correct its name; a grammar starts at `root`",
            Self::LeftRecursion { .. } => {
                "write repetition as `item+` or `item (\",\" item)*`, or put the recursion last"
            }
            Self::Endless { .. } => "give the rule an alternative that does not lead back to it",
            Self::TooLarge { .. } => "write repetition as `{1,100}` rather than as copies, or split the request",
            Self::TooManyWays => "write the grammar so that fewer alternatives start alike, or nest less",
            Self::Refused { .. } => "this is a fault of the program: please report it with the grammar",
            Self::Schema { .. } => "change the schema there; docs/llm.md lists what is understood",
        }
        .to_owned()
    }
}
