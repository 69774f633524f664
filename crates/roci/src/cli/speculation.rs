//! Options of speculative decoding, for `run`, `chat` and `serve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use roci_engine::Speculation;

/// Options of speculative decoding.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Speculative decoding")]
pub(crate) struct SpeculationArgs {
    /// Speculative decoding: draft tokens and evaluate several in one step, which changes the speed
    /// but not the text. `draft` uses the model of `--draft`, `mtp` the model's own prediction
    /// head, `ngram` repeats what followed the same tokens earlier. `auto` uses the first of these
    /// that is available, and pauses while that is slower (default: `draft` with `--draft`, else
    /// `off`)
    #[arg(long, value_name = "METHOD", value_enum, hide_possible_values = true)]
    pub(crate) speculate: Option<Speculate>,
    /// Draft model, a smaller GGUF file with the same vocabulary
    #[arg(long, value_name = "MODEL")]
    pub(crate) draft: Option<PathBuf>,
    /// Maximum number of drafted tokens in one step (default: 4)
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) draft_tokens: Option<usize>,
}

/// Methods of speculative decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Speculate {
    /// No speculation.
    Off,
    /// A draft model.
    Draft,
    /// The model's prediction head (multi-token prediction).
    Mtp,
    /// N-gram lookup in the text so far.
    #[value(name = "ngram")]
    Lookup,
    /// The first available method; pauses while measured times show that it is slower.
    Auto,
}

impl Speculate {
    /// The value of `--speculate`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Draft => "draft",
            Self::Mtp => "mtp",
            Self::Lookup => "ngram",
            Self::Auto => "auto",
        }
    }
}

impl SpeculationArgs {
    /// The selected method; `None` for no speculation.
    pub(crate) fn method(&self) -> Option<Speculate> {
        let default = self.draft.is_some().then_some(Speculate::Draft);
        self.speculate.or(default).filter(|method| *method != Speculate::Off)
    }

    /// An option that has no effect in combination with the others.
    pub(crate) fn unused(&self) -> Option<&'static str> {
        match self.method() {
            None | Some(Speculate::Lookup | Speculate::Mtp) if self.draft.is_some() => Some("--draft"),
            None if self.draft_tokens.is_some() => Some("--draft-tokens"),
            _ => None,
        }
    }

    /// Maximum number of drafted tokens.
    pub(crate) fn draft_tokens(&self) -> usize {
        self.draft_tokens.unwrap_or(Speculation::DRAFT_TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_model_is_used_unless_another_method_is_chosen() {
        let draft = SpeculationArgs { draft: Some("small.gguf".into()), ..SpeculationArgs::default() };
        assert_eq!((draft.method(), draft.unused()), (Some(Speculate::Draft), None));
        for (method, unused) in
            [(Speculate::Auto, None), (Speculate::Lookup, Some("--draft")), (Speculate::Off, Some("--draft"))]
        {
            let arguments = SpeculationArgs { speculate: Some(method), ..draft.clone() };
            assert_eq!(arguments.unused(), unused, "{method:?}");
        }
        let none = SpeculationArgs { draft_tokens: Some(3), ..SpeculationArgs::default() };
        assert_eq!((none.method(), none.unused()), (None, Some("--draft-tokens")));
    }
}
