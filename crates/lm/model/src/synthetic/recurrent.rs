//! Synthetic models with short convolutions or state spaces.

use roci_gguf::{Error, Type, Value};

use super::fill::Fill;
use super::list::List;
use super::{Case, Mixture, Recipe};
use crate::architecture::LayerBlocks;
use crate::architecture::blocks::NormSpan;

/// The layers of a model with recurrent blocks other than gated delta nets.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrent {
    /// The blocks of each layer.
    pub layers: Vec<LayerBlocks>,
    /// Sizes of the recurrent blocks.
    pub block: RecurrentBlock,
}

/// Sizes and features of a recurrent block.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is what `architecture::RecurrentConfig` says under a like name")]
pub enum RecurrentBlock {
    GatedConvolution { kernel: usize },
    StateSpace { kernel: usize, heads: usize, groups: usize, length: usize, state: usize, biased: bool, normed: bool },
}

/// Attention and feed-forward.
const ATTENTION: LayerBlocks = LayerBlocks { attention: true, recurrent: false, feed_forward: true };
/// A recurrent block and feed-forward.
const RECURRENT: LayerBlocks = LayerBlocks { attention: false, recurrent: true, feed_forward: true };
const BESIDE: LayerBlocks = LayerBlocks { attention: true, recurrent: true, feed_forward: true };
const ONLY_ATTENTION: LayerBlocks = LayerBlocks { attention: true, recurrent: false, feed_forward: false };
const ONLY_RECURRENT: LayerBlocks = LayerBlocks { attention: false, recurrent: true, feed_forward: false };
const ONLY_FEED_FORWARD: LayerBlocks = LayerBlocks { attention: false, recurrent: false, feed_forward: true };

impl Recurrent {
    /// The blocks of a layer.
    pub(super) fn blocks(&self, layer: usize) -> LayerBlocks {
        self.layers.get(layer).copied().unwrap_or(ATTENTION)
    }

    /// Whether a layer has attention.
    pub(super) fn has_attention(&self) -> bool {
        self.layers.iter().any(|blocks| blocks.attention)
    }

    /// The name of the final norm.
    pub(super) fn output_norm(&self) -> &'static str {
        match self.block {
            RecurrentBlock::GatedConvolution { .. } => "token_embd_norm",
            RecurrentBlock::StateSpace { .. } => "output_norm",
        }
    }

    pub(super) fn metadata(&self, recipe: &Recipe) -> Vec<(&'static str, Value)> {
        let each = |value: usize, of: fn(&LayerBlocks) -> bool| -> Value {
            let value = |blocks| if of(blocks) { value as i32 } else { 0 };
            Value::from(self.layers.iter().map(value).collect::<Vec<i32>>())
        };
        let heads = if self.has_attention() { recipe.heads } else { 0 };
        let mut pairs = vec![
            ("attention.head_count", Value::from(heads as u32)),
            ("attention.head_count_kv", each(recipe.kv_heads, |blocks| blocks.attention)),
            ("feed_forward_length", each(recipe.feed_forward, |blocks| blocks.feed_forward)),
            // llama.cpp reads this key, although the model lacks the block.
            ("attention.layer_norm_epsilon", Value::from(1e-5f32)),
        ];
        match self.block {
            RecurrentBlock::GatedConvolution { kernel } => {
                pairs.push(("shortconv.l_cache", Value::from(kernel as u32)));
            }
            RecurrentBlock::StateSpace { kernel, heads, groups, length, state, .. } => pairs.extend([
                ("ssm.conv_kernel", Value::from(kernel as u32)),
                ("ssm.time_step_rank", Value::from(heads as u32)),
                ("ssm.group_count", Value::from(groups as u32)),
                ("ssm.inner_size", Value::from((heads * length) as u32)),
                ("ssm.state_size", Value::from(state as u32)),
            ]),
        }
        pairs
    }

    pub(super) fn mixer(&self, layer: usize, embedding: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (kernel, heads, groups, length, state, biased, normed) = match self.block {
            RecurrentBlock::GatedConvolution { kernel } => {
                list.matrix(&name("shortconv.in_proj.weight"), &[embedding, 3 * embedding])?;
                list.plain_matrix(&name("shortconv.conv.weight"), &[kernel, embedding])?;
                return list.matrix(&name("shortconv.out_proj.weight"), &[embedding, embedding]);
            }
            RecurrentBlock::StateSpace { kernel, heads, groups, length, state, biased, normed } => {
                (kernel, heads, groups, length, state, biased, normed)
            }
        };
        let values = heads * length;
        let channels = values + 2 * groups * state;
        list.matrix(&name("ssm_in.weight"), &[embedding, values + channels + heads])?;
        list.plain_matrix(&name("ssm_conv1d.weight"), &[kernel, channels])?;
        if biased {
            list.plain(&name("ssm_conv1d.bias"), channels, Fill::Bias)?;
        }
        list.plain(&name("ssm_dt.bias"), heads, Fill::Bias)?;
        list.add(&name("ssm_a"), &[1, heads], Type::F32, Fill::Decay)?;
        list.add(&name("ssm_d"), &[1, heads], Type::F32, Fill::Norm)?;
        if normed {
            list.add(&name("ssm_norm.weight"), &[values / groups, groups], Type::F32, Fill::Norm)?;
        }
        if self.blocks(layer) == BESIDE {
            // The converter of Falcon H1 omits `.weight`.
            list.plain(&name("ffn_norm"), embedding, Fill::Norm)?;
        }
        list.matrix(&name("ssm_out.weight"), &[values, embedding])
    }
}

/// Models with short convolutions or state spaces, most of them beside attention.
pub(super) fn recurrent() -> Vec<Case> {
    let case = |name: &str, recipe: Recipe, metadata: &[(&str, Value)]| {
        let own = |(key, value): &(&str, Value)| (format!("{}.{key}", recipe.architecture), value.clone());
        let metadata = metadata.iter().map(own).collect();
        Case { recorded: 80, metadata, ..Case::new(name, recipe) }
    };
    let of = |architecture, layers: &[LayerBlocks], block| Recipe {
        architecture,
        layers: layers.len(),
        recurrent: Some(Recurrent { layers: layers.to_vec(), block }),
        ..Recipe::default()
    };
    let heads = Some(NormSpan::Head);
    let convolutions = [RECURRENT, RECURRENT, ATTENTION, RECURRENT];
    let lfm2 = |architecture, kernel| Recipe {
        head_norms: heads,
        ..of(architecture, &convolutions, RecurrentBlock::GatedConvolution { kernel })
    };
    let sigmoid = ("expert_gating_func", Value::from(2u32));
    let space = |heads, groups, length, state| RecurrentBlock::StateSpace {
        kernel: 4,
        heads,
        groups,
        length,
        state,
        biased: true,
        normed: true,
    };
    // llama.cpp requires twice the embedding length.
    let granite = || of("granitehybrid", &[RECURRENT, ATTENTION, RECURRENT], space(8, 1, 16, 32));
    let scales = [
        ("embedding_scale", Value::from(3.0f32)),
        ("residual_scale", Value::from(0.4f32)),
        ("attention.scale", Value::from(0.1f32)),
        ("logit_scale", Value::from(0.75f32)),
        ("rope.scaling.finetuned", Value::from(false)),
    ];
    let single = [ONLY_RECURRENT, ONLY_FEED_FORWARD, ONLY_RECURRENT, ONLY_ATTENTION, ONLY_FEED_FORWARD];
    let nemotron = |architecture| Recipe {
        gated: false,
        tied: false,
        head: 24,
        feed_forward_norm: None,
        ..of(architecture, &single, space(6, 2, 16, 32))
    };
    vec![
        case("lfm2", lfm2("lfm2", 3), &[]),
        case("lfm2-window", Recipe { window: Some(5), ..lfm2("lfm2", 4) }, &[]),
        case(
            "lfm2moe",
            Recipe {
                experts: Some((8, 3)),
                mixture: Mixture { dense: 1, selection_bias: true, ..Mixture::default() },
                ..lfm2("lfm2moe", 3)
            },
            &[sigmoid],
        ),
        case("granitehybrid", granite(), &scales),
        case(
            "granitehybrid-experts",
            Recipe {
                experts: Some((8, 3)),
                mixture: Mixture { shared: Some(64), ..Mixture::default() },
                ..of("granitehybrid", &[RECURRENT, ATTENTION, RECURRENT], space(4, 2, 32, 16))
            },
            &[],
        ),
        case("nemotron_h", nemotron("nemotron_h"), &[]),
        case(
            "nemotron_h_moe",
            Recipe {
                experts: Some((8, 3)),
                mixture: Mixture { shared: Some(64), selection_bias: true, ..Mixture::default() },
                ..nemotron("nemotron_h_moe")
            },
            &[("expert_weights_norm", Value::from(true)), ("expert_weights_scale", Value::from(2.5f32))],
        ),
        case("mamba2", of("mamba2", &[ONLY_RECURRENT, ONLY_RECURRENT], space(8, 1, 16, 32)), &[]),
        case(
            "falcon-h1",
            Recipe { head: 24, feed_forward_norm: None, ..of("falcon-h1", &[BESIDE, BESIDE], space(6, 1, 16, 32)) },
            &[],
        ),
        case(
            "falcon-h1-plain",
            Recipe {
                feed_forward_norm: None,
                ..of(
                    "falcon-h1",
                    &[BESIDE, BESIDE],
                    RecurrentBlock::StateSpace {
                        kernel: 3,
                        heads: 4,
                        groups: 2,
                        length: 24,
                        state: 16,
                        biased: true,
                        normed: false,
                    },
                )
            },
            &[],
        ),
    ]
}
