//! What is wrong with a chat template.

/// Why a conversation cannot be written as a template says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template cannot be read.
    #[error("the chat template cannot be read{}: {reason}", at(*line))]
    Syntax {
        /// The line, if known.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The template itself refuses the conversation.
    #[error("the chat template refuses this conversation: {reason}")]
    Raised {
        /// What it says.
        reason: String,
    },
    /// Something in the template fails.
    #[error("the chat template fails{}: {reason}", at(*line))]
    Render {
        /// The line, if known.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The template does not come to an end in reasonable time.
    #[error("the chat template takes more than {limit} steps")]
    Endless {
        /// How many are allowed.
        limit: u64,
    },
    /// The template writes without end.
    #[error("the chat template writes more than {limit} bytes")]
    TooLong {
        /// How many are allowed.
        limit: usize,
    },
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(" (line {line})"))
}

impl TemplateError {
    /// What to do, as one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Raised { .. } => "change the messages as it says: most templates want user and assistant in turn",
            Self::Syntax { .. } | Self::Render { .. } | Self::Endless { .. } | Self::TooLong { .. } => {
                "choose another template, such as `chatml`, or a newer file of the model"
            }
        }
        .to_owned()
    }
}
