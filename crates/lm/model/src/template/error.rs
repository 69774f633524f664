//! Errors of chat templates.

/// Why a conversation cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template has a syntax error.
    #[error("the chat template has a syntax error{}: {reason}", at(*line))]
    Syntax {
        /// Line, if known.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The template rejects the conversation with `raise_exception`.
    #[error("the chat template rejects this conversation: {reason}")]
    Raised {
        /// Its message.
        reason: String,
    },
    /// Rendering fails.
    #[error("the chat template fails{}: {reason}", at(*line))]
    Render {
        /// Line, if known.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The template exceeds its step limit.
    #[error("the chat template takes more than {limit} steps")]
    Endless {
        /// The limit.
        limit: u64,
    },
    /// The output exceeds its size limit.
    #[error("the chat template writes more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(" (line {line})"))
}

impl TemplateError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Raised { .. } => {
                "change the messages accordingly: most templates require alternating user and assistant messages"
            }
            Self::Syntax { .. } | Self::Render { .. } | Self::Endless { .. } | Self::TooLong { .. } => {
                "choose another template, such as `chatml`, or a newer file of the model"
            }
        }
        .to_owned()
    }
}
