//! Speculative decoding for `run`, `chat` and `serve`: the draft model and the engine's settings.

use std::sync::Arc;

use roci_engine::{DraftModel, DraftModelError, Drafter, Forward, PredictionHead, Speculation};
use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm_device::DeviceModel;
use roci_tokenizer::{Kind, Tokenizer};

use super::LanguageError;
use super::load;
use crate::cli::{Speculate, SpeculationArgs};

/// A source of drafts, described but not loaded.
pub(super) enum Source {
    /// A draft model.
    Draft(Arc<Gguf>, Model),
    /// The model's prediction head.
    Head(Model),
}

/// Opens the draft model or describes the prediction head for a model with this tokenizer and
/// context. Reports errors before the model is loaded.
pub(super) fn open(
    arguments: &SpeculationArgs,
    target: &Gguf,
    tokenizer: &Tokenizer,
    context: u32,
) -> Result<Option<Source>, LanguageError> {
    let method = arguments.method();
    if let Some(option) = arguments.unused() {
        return Err(LanguageError::Speculation { option, method: method.map_or("off", Speculate::name) });
    }
    if matches!(method, Some(Speculate::Mtp | Speculate::Auto)) && arguments.draft.is_none() {
        let head = Model::prediction_head(target, context)?;
        return match (head, method) {
            (Some(head), _) => Ok(Some(Source::Head(head))),
            (None, Some(Speculate::Mtp)) => Err(LanguageError::NoPredictionHead),
            (None, _) => Ok(None),
        };
    }
    let Some(path) = &arguments.draft else {
        return match method {
            Some(Speculate::Draft) => Err(LanguageError::NoDraft),
            _ => Ok(None),
        };
    };
    let file = Arc::new(load::open(path)?);
    let model = Model::new(&file, Some(context))?;
    if model.is_recurrent() {
        return Err(DraftModelError::Recurrent.into());
    }
    let own = Tokenizer::from_metadata(file.metadata())?;
    match difference(tokenizer, &own) {
        Some(difference) => Err(LanguageError::DraftVocabulary { path: path.clone(), difference }),
        None => Ok(Some(Source::Draft(file, model))),
    }
}

/// How the vocabulary of a draft model differs. Unused tokens at the end are ignored: models of a
/// family are padded to different sizes.
fn difference(target: &Tokenizer, draft: &Tokenizer) -> Option<String> {
    let count = |tokenizer: &Tokenizer| {
        let is_used = |token: &u32| tokenizer.kind(*token).is_some_and(|kind| kind != Kind::Unused);
        (0..tokenizer.len() as u32).rev().find(is_used).map_or(0, |last| last + 1)
    };
    let (expected, found) = (count(target), count(draft));
    if expected != found {
        return Some(format!("{found} tokens instead of {expected}"));
    }
    let text = |tokenizer: &Tokenizer, token| tokenizer.text(token).unwrap_or_default().to_owned();
    let token = (0..expected).find(|&token| target.text(token) != draft.text(token))?;
    Some(format!("token {token} is `{}` instead of `{}`", text(draft, token), text(target, token)))
}

/// The engine's settings. `load` loads a model onto the devices.
pub(super) fn start(
    arguments: &SpeculationArgs,
    source: Option<Source>,
    target: (&Arc<Gguf>, &DeviceModel),
    load: impl FnOnce(&Arc<Gguf>, Model, &str) -> Result<DeviceModel, LanguageError>,
) -> Result<Speculation, LanguageError> {
    let (file, limits) = (target.0, target.1.limits());
    let drafter = match source {
        Some(Source::Draft(file, model)) => {
            let draft = load(&file, model, "loading the draft model")?;
            Some(Drafter::Model(DraftModel::new(Box::new(draft), limits)?))
        }
        Some(Source::Head(model)) => {
            let head = load(file, model, "loading the prediction head")?;
            Some(Drafter::Head(PredictionHead::new(Box::new(head), limits)?))
        }
        None => arguments.method().map(|_| Drafter::Lookup),
    };
    let adaptive = arguments.method() == Some(Speculate::Auto);
    Ok(Speculation { drafter, draft_tokens: arguments.draft_tokens(), adaptive })
}

#[cfg(test)]
mod tests {
    use roci_gguf::Value;
    use roci_lm::synthetic::{Case, talking};

    use super::*;

    fn tokenizer(case: &Case) -> Tokenizer {
        Tokenizer::from_metadata(case.open().expect("it is valid").metadata()).expect("it has a vocabulary")
    }

    /// Appends tokens of a type to the vocabulary.
    fn padded(kind: i32) -> Case {
        let mut case = talking();
        for (key, value) in &mut case.metadata {
            let changed: Option<Value> = match (key.as_str(), &*value) {
                ("tokenizer.ggml.tokens", Value::Array(roci_gguf::Array::String(list))) => {
                    Some([&list[..], &["[PAD369]".to_owned()]].concat().into())
                }
                ("tokenizer.ggml.token_type", Value::Array(roci_gguf::Array::I32(list))) => {
                    Some([&list[..], &[kind]].concat().into())
                }
                ("tokenizer.ggml.scores", Value::Array(roci_gguf::Array::F32(list))) => {
                    Some([&list[..], &[0.0]].concat().into())
                }
                _ => None,
            };
            *value = changed.unwrap_or_else(|| value.clone());
        }
        case
    }

    #[test]
    fn only_padding_may_differ() {
        let target = tokenizer(&talking());
        assert_eq!(difference(&target, &target), None);
        assert_eq!(difference(&target, &tokenizer(&padded(5))), None);
        let more = difference(&target, &tokenizer(&padded(1))).expect("they differ");
        assert!(more.contains("instead of"), "{more}");
    }
}
