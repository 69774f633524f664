//! Synthetic embedding models and rerankers.

use roci_gguf::{Error, Type, Value};

use super::fill::Fill;
use super::list::List;
use super::{Case, Mixture, Recipe};
use crate::architecture::Pooling;
use crate::architecture::blocks::NormSpan;

/// The parts of such a model outside its layers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each is what `architecture::blocks` says under a like name")]
pub struct EncoderRecipe {
    pub positions: bool,
    pub token_types: bool,
    pub input_norm: bool,
    pub stream_norms: bool,
    /// The first layer has no input norm.
    pub first_unnormed: bool,
    /// Columns and outputs of layers after pooling, with their names and whether they have biases.
    pub pooled: &'static [(&'static str, usize, usize, bool)],
}

/// Positions of models with position embeddings.
const POSITIONS: usize = 256;

impl EncoderRecipe {
    /// The tensors outside the layers.
    pub(super) fn tensors(&self, recipe: &Recipe, list: &mut List) -> Result<(), Error> {
        let embedding = recipe.embedding;
        let fill = Fill::Matrix { inputs: embedding };
        if self.token_types {
            list.add("token_types.weight", &[embedding, 2], Type::F32, fill)?;
        }
        if self.positions {
            list.add("position_embd.weight", &[embedding, POSITIONS], Type::F32, fill)?;
        }
        if self.input_norm {
            recipe.norm("token_embd_norm", embedding, list)?;
        }
        for &(name, columns, outputs, biased) in self.pooled {
            list.linear(name, columns, outputs, biased)?;
        }
        Ok(())
    }
}

/// A case with a pooling type and other metadata, whose keys are relative to the architecture.
fn case(name: &str, pooling: Pooling, recipe: Recipe, own: &[(&str, Value)]) -> Case {
    let number = match pooling {
        Pooling::Unspecified | Pooling::None => 0u32,
        Pooling::Mean => 1,
        Pooling::Cls => 2,
        Pooling::Last => 3,
        Pooling::Rank => 4,
    };
    let key = |key: &str| format!("{}.{key}", recipe.architecture);
    let mut metadata: Vec<(String, Value)> = own.iter().map(|(short, value)| (key(short), value.clone())).collect();
    metadata.push((key("pooling_type"), Value::from(number)));
    if let Some(encoder) = &recipe.encoder {
        if encoder.positions {
            metadata.push((key("context_length"), Value::from(POSITIONS as u32)));
        }
        if encoder.token_types {
            metadata.push(("tokenizer.ggml.token_type_count".to_owned(), Value::from(2u32)));
        }
    }
    Case { metadata, recorded: 40, ..Case::new(name, recipe) }
}

/// Embedding models and rerankers. The recorded values are the vector of a text and that of its
/// first half; with pooling type `none`, the vectors of all tokens of both.
pub fn embedders() -> Vec<Case> {
    let both_ways = || ("attention.causal", Value::from(false));
    let parts = EncoderRecipe { token_types: true, input_norm: true, stream_norms: true, ..Default::default() };
    let plain = |architecture| Recipe {
        architecture,
        kv_heads: 4,
        layer_norm: true,
        norm_bias: true,
        pre_norms: false,
        feed_forward_norm: None,
        encoder: Some(parts),
        ..Recipe::default()
    };
    let bert = || Recipe {
        bias: true,
        output_bias: true,
        feed_forward_bias: true,
        gated: false,
        encoder: Some(EncoderRecipe { positions: true, ..parts }),
        ..plain("bert")
    };
    let ranking = |pooled| Recipe { encoder: Some(EncoderRecipe { positions: true, pooled, ..parts }), ..bert() };
    let gemma = |pooled| Recipe {
        architecture: "gemma-embedding",
        head: 24,
        head_norms: Some(NormSpan::Head),
        post_norms: true,
        layers: 7,
        window: Some(12),
        base: 1_000_000.0,
        encoder: Some(EncoderRecipe { pooled, ..EncoderRecipe::default() }),
        ..Recipe::default()
    };
    let window_base = || ("rope.freq_base_swa", Value::from(10_000.0f32));
    let modern = |pooled| Recipe {
        architecture: "modern-bert",
        layers: 5,
        kv_heads: 4,
        layer_norm: true,
        fused: true,
        window: Some(12),
        base: 160_000.0,
        encoder: Some(EncoderRecipe { input_norm: true, first_unnormed: true, pooled, ..EncoderRecipe::default() }),
        ..Recipe::default()
    };
    let qwen3 = |pooled| Recipe {
        architecture: "qwen3",
        head: 24,
        head_norms: Some(NormSpan::Head),
        encoder: Some(EncoderRecipe { pooled, ..EncoderRecipe::default() }),
        ..Recipe::default()
    };
    let moe = Recipe {
        layers: 4,
        fused: true,
        bias: true,
        output_bias: true,
        feed_forward_bias: true,
        gated: false,
        experts: Some((8, 2)),
        mixture: Mixture { step: 2, ..Mixture::default() },
        ..plain("nomic-bert-moe")
    };
    let jina = Recipe {
        heads: 6,
        kv_heads: 6,
        embedding: 96,
        fused: true,
        bias: true,
        output_bias: true,
        feed_forward_bias: true,
        ..plain("jina-bert-v2")
    };
    let labels = || ("classifier.output_labels", Value::from(vec!["yes", "no"]));
    vec![
        case("bert", Pooling::Cls, bert(), &[both_ways()]),
        case("bert-tokens", Pooling::None, bert(), &[both_ways()]),
        case("bert-mean", Pooling::Mean, Recipe { fused: true, ..bert() }, &[both_ways()]),
        case(
            "bert-rank",
            Pooling::Rank,
            ranking(&[("cls", 64, 64, true), ("cls.output", 64, 1, true)]),
            &[both_ways()],
        ),
        case("bert-rank-direct", Pooling::Rank, ranking(&[("cls.output", 64, 1, true)]), &[both_ways()]),
        case("nomic-bert", Pooling::Mean, plain("nomic-bert"), &[both_ways()]),
        case("nomic-bert-moe", Pooling::Mean, moe, &[both_ways(), ("moe_every_n_layers", Value::from(2u32))]),
        case("jina-bert-v2", Pooling::Mean, jina, &[both_ways()]),
        case(
            "jina-bert-v3",
            Pooling::Mean,
            Recipe {
                fused: true,
                bias: true,
                output_bias: true,
                feed_forward_bias: true,
                gated: false,
                ..plain("jina-bert-v3")
            },
            &[both_ways()],
        ),
        case("gemma-embedding", Pooling::Mean, gemma(&[]), &[window_base()]),
        case(
            "gemma-embedding-dense",
            Pooling::Mean,
            gemma(&[("dense_2", 64, 96, false), ("dense_3", 96, 64, false)]),
            &[
                window_base(),
                ("dense_2_feat_in", Value::from(64u32)),
                ("dense_2_feat_out", Value::from(96u32)),
                ("dense_3_feat_in", Value::from(96u32)),
                ("dense_3_feat_out", Value::from(64u32)),
            ],
        ),
        case("qwen3-embedding", Pooling::Last, qwen3(&[]), &[]),
        case("qwen3-rank", Pooling::Rank, qwen3(&[("cls.output", 64, 2, false)]), &[labels()]),
        case("modern-bert", Pooling::Mean, modern(&[]), &[both_ways(), window_base()]),
        case(
            "modern-bert-rank",
            Pooling::Rank,
            modern(&[("cls", 64, 64, false), ("cls.output", 64, 1, true)]),
            &[both_ways(), window_base(), ("hidden_activation", Value::from("silu"))],
        ),
        case("eurobert", Pooling::Mean, Recipe { architecture: "eurobert", ..Recipe::default() }, &[both_ways()]),
        case("llama-embed", Pooling::Mean, Recipe { architecture: "llama-embed", ..Recipe::default() }, &[both_ways()]),
    ]
}
