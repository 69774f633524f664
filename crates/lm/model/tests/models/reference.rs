//! The reference: windows, chunks, and tokens that do not exist.

use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::Mixer;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, Recipe};

use crate::case;

/// With one layer and a window of 3, the token before the window does not affect the logits;
/// without a window it does.
#[test]
fn tokens_before_the_window_have_no_effect() {
    let last = |window: Option<u32>, first: u32| {
        let recipe = Recipe { layers: 1, window, ..Recipe::default() };
        let case = Case { recipe, ..case("llama") };
        let file = case.open().expect("the synthetic file is valid");
        let reference = Reference::new(&file, Model::new(&file, None).expect("the architecture is supported"))
            .expect("the file has all weights");
        let mut text = SequenceState::default();
        let tokens = [first, 5, 6, 7];
        tokens
            .map(|token| reference.logits(&mut text, token).expect("the token is in the vocabulary"))
            .into_iter()
            .last()
    };
    assert_eq!(last(Some(3), 1), last(Some(3), 2));
    assert_ne!(last(Some(4), 1), last(Some(4), 2));
    assert_ne!(last(None, 1), last(None, 2));
    assert_eq!(last(Some(4), 1), last(None, 1));
}

#[test]
fn a_token_outside_the_vocabulary_is_an_error() {
    let case = case("llama");
    let file = case.open().expect("the synthetic file is valid");
    let reference = Reference::new(&file, Model::new(&file, None).expect("the architecture is supported"))
        .expect("the file has all weights");
    let error = reference.logits(&mut SequenceState::default(), 64).expect_err("the vocabulary has 64 tokens");
    assert_eq!(error.to_string(), "token 64 is not in the vocabulary of 64 tokens");
}

/// With one layer and chunks of 3, tokens before the chunk do not affect the logits; those in it do.
#[test]
fn tokens_of_earlier_chunks_have_no_effect() {
    let last = |length: usize, chunk: Option<u32>, changed: usize| {
        let case = Case { recipe: Recipe { layers: 1, ..Recipe::default() }, ..case("llama") };
        let file = case.open().expect("the synthetic file is valid");
        let mut model = Model::new(&file, None).expect("the architecture is supported");
        if let Mixer::Attention(block) = &mut model.layers[0].mixers[0] {
            block.chunk = chunk;
        }
        let reference = Reference::new(&file, model).expect("the file has all weights");
        let mut text = SequenceState::default();
        let tokens = (0..length).map(|at| if at == changed { 9 } else { 5 });
        tokens.map(|token| reference.logits(&mut text, token).expect("the token is in the vocabulary")).last()
    };
    let unchanged = usize::MAX;
    // The fourth token starts a chunk, and the fifth sees it and the fourth.
    assert_eq!(last(4, Some(3), 2), last(4, Some(3), unchanged));
    assert_eq!(last(5, Some(3), 2), last(5, Some(3), unchanged));
    assert_ne!(last(5, Some(3), 3), last(5, Some(3), unchanged));
    assert_ne!(last(3, Some(3), 0), last(3, Some(3), unchanged));
    assert_ne!(last(4, None, 2), last(4, None, unchanged));
    assert_eq!(last(3, Some(3), 0), last(3, None, 0));
}
