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
    GatedConvolution {
        kernel: usize,
    },
    StateSpace {
        kernel: usize,
        heads: usize,
        groups: usize,
        length: usize,
        state: usize,
        biased: bool,
        normed: bool,
    },
    SelectiveScan {
        kernel: usize,
        values: usize,
        rank: usize,
        state: usize,
        norms: ScanNorms,
    },
    TimeMix {
        length: usize,
        rank: usize,
        channel_mix: bool,
    },
    DynamicTimeMix {
        length: usize,
        rank: usize,
        kv_heads: usize,
        channel_mix: bool,
    },
    /// No recurrent block; some layers lack attention or feed-forward.
    None,
}

/// Norms of the step, input and output vectors of a selective scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ScanNorms {
    None,
    Unweighted,
    Weighted,
}

/// Attention and feed-forward.
const ATTENTION: LayerBlocks = LayerBlocks { attention: true, recurrent: false, feed_forward: true };
/// A recurrent block and feed-forward.
const RECURRENT: LayerBlocks = LayerBlocks { attention: false, recurrent: true, feed_forward: true };
const BESIDE: LayerBlocks = LayerBlocks { attention: true, recurrent: true, feed_forward: true };
const ONLY_ATTENTION: LayerBlocks = LayerBlocks { attention: true, recurrent: false, feed_forward: false };
const ONLY_RECURRENT: LayerBlocks = LayerBlocks { attention: false, recurrent: true, feed_forward: false };
const ONLY_FEED_FORWARD: LayerBlocks = LayerBlocks { attention: false, recurrent: false, feed_forward: true };

const NO_BLOCKS: LayerBlocks = LayerBlocks { attention: false, recurrent: false, feed_forward: false };

impl Recurrent {
    /// The blocks of a layer.
    pub(super) fn blocks(&self, layer: usize) -> LayerBlocks {
        self.layers.get(layer).copied().unwrap_or(ATTENTION)
    }

    /// No recurrent blocks, but layers without attention or feed-forward.
    pub(super) fn missing_blocks() -> Self {
        Self { layers: vec![ATTENTION, ONLY_FEED_FORWARD, NO_BLOCKS, ATTENTION], block: RecurrentBlock::None }
    }

    /// Whether a layer has its first norm.
    pub(super) fn has_first_norm(&self, layer: usize) -> bool {
        self.block != RecurrentBlock::None || self.blocks(layer).attention
    }

    /// Whether a layer has attention.
    pub(super) fn has_attention(&self) -> bool {
        self.layers.iter().any(|blocks| blocks.attention)
    }

    /// Whether feed-forward is the channel mixing of RWKV.
    pub(super) fn has_channel_mix(&self) -> bool {
        matches!(
            self.block,
            RecurrentBlock::TimeMix { channel_mix: true, .. }
                | RecurrentBlock::DynamicTimeMix { channel_mix: true, .. }
        )
    }

    /// Whether channel mixing has a gate.
    fn has_output_gate(&self) -> bool {
        matches!(self.block, RecurrentBlock::DynamicTimeMix { channel_mix: true, .. })
    }

    /// The name of the final norm.
    pub(super) fn output_norm(&self) -> &'static str {
        match self.block {
            RecurrentBlock::GatedConvolution { .. } => "token_embd_norm",
            _ => "output_norm",
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
            RecurrentBlock::None => {
                pairs[0] = ("attention.head_count", each(recipe.heads, |blocks| blocks.attention));
                pairs.pop();
            }
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
            RecurrentBlock::TimeMix { length, rank, channel_mix } => {
                pairs.extend([
                    ("wkv.head_size", Value::from(length as u32)),
                    ("token_shift_count", Value::from(1 + u32::from(channel_mix))),
                ]);
                let rank = Value::from(rank as u32);
                let keys = [
                    "attention.decay_lora_rank",
                    "attention.iclr_lora_rank",
                    "attention.value_residual_mix_lora_rank",
                    "attention.gate_lora_rank",
                ];
                pairs.extend(keys.map(|key| (key, rank.clone())));
            }
            RecurrentBlock::DynamicTimeMix { length, rank, kv_heads, channel_mix } => {
                pairs.extend([
                    ("wkv.head_size", Value::from(length as u32)),
                    ("token_shift_count", Value::from(1 + u32::from(channel_mix))),
                    ("time_mix_extra_dim", Value::from(rank as u32)),
                    ("time_decay_extra_dim", Value::from(2 * rank as u32)),
                ]);
                if kv_heads > 0 {
                    pairs.push(("attention.head_count_kv", Value::from(kv_heads as u32)));
                }
            }
            RecurrentBlock::SelectiveScan { kernel, values, rank, state, norms } => pairs.extend([
                ("ssm.conv_kernel", Value::from(kernel as u32)),
                ("ssm.time_step_rank", Value::from(rank as u32)),
                ("ssm.inner_size", Value::from(values as u32)),
                ("ssm.state_size", Value::from(state as u32)),
                ("ssm.dt_b_c_rms", Value::from(norms == ScanNorms::Unweighted)),
            ]),
        }
        pairs
    }

    pub(super) fn mixer(&self, layer: usize, embedding: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (kernel, heads, groups, length, state, biased, normed) = match self.block {
            RecurrentBlock::None => return Ok(()),
            RecurrentBlock::GatedConvolution { kernel } => {
                list.matrix(&name("shortconv.in_proj.weight"), &[embedding, 3 * embedding])?;
                list.plain_matrix(&name("shortconv.conv.weight"), &[kernel, embedding])?;
                return list.matrix(&name("shortconv.out_proj.weight"), &[embedding, embedding]);
            }
            RecurrentBlock::StateSpace { kernel, heads, groups, length, state, biased, normed } => {
                (kernel, heads, groups, length, state, biased, normed)
            }
            RecurrentBlock::TimeMix { rank, channel_mix, .. } => {
                return time_mix(layer, embedding, (rank, channel_mix), list);
            }
            RecurrentBlock::DynamicTimeMix { length, rank, kv_heads, channel_mix } => {
                let keys = if kv_heads > 0 { kv_heads * length } else { embedding };
                return dynamic_time_mix(layer, embedding, (length, rank, keys, channel_mix), list);
            }
            RecurrentBlock::SelectiveScan { kernel, values, rank, state, norms } => {
                list.matrix(&name("ssm_in.weight"), &[embedding, 2 * values])?;
                list.plain_matrix(&name("ssm_conv1d.weight"), &[kernel, values])?;
                list.plain(&name("ssm_conv1d.bias"), values, Fill::Bias)?;
                list.matrix(&name("ssm_x.weight"), &[values, rank + 2 * state])?;
                if norms == ScanNorms::Weighted {
                    for (part, length) in [("ssm_dt_norm", rank), ("ssm_b_norm", state), ("ssm_c_norm", state)] {
                        list.plain(&name(&format!("{part}.weight")), length, Fill::Norm)?;
                    }
                }
                list.matrix(&name("ssm_dt.weight"), &[rank, values])?;
                list.plain(&name("ssm_dt.bias"), values, Fill::Bias)?;
                list.add(&name("ssm_a"), &[state, values], Type::F32, Fill::Decay)?;
                list.plain(&name("ssm_d"), values, Fill::Norm)?;
                return list.matrix(&name("ssm_out.weight"), &[values, embedding]);
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

/// The tensors of time mixing. Those of the first layer's mixture of values have no effect.
/// `rich` adds gates and norms of heads.
fn time_mix(layer: usize, embedding: usize, (rank, rich): (usize, bool), list: &mut List) -> Result<(), Error> {
    let name = |part: &str| format!("blk.{layer}.time_mix_{part}");
    for part in ["w", "a", "v"] {
        list.plain(&name(&format!("{part}0.weight")), embedding, Fill::Bias)?;
        list.matrix(&name(&format!("{part}1.weight")), &[embedding, rank])?;
        list.matrix(&name(&format!("{part}2.weight")), &[rank, embedding])?;
    }
    let inputs = if rich { 6 } else { 5 };
    list.add(&name("lerp_fused.weight"), &[embedding, 1, 1, inputs], Type::F32, Fill::Bias)?;
    if rich {
        list.matrix(&name("g1.weight"), &[embedding, rank])?;
        list.matrix(&name("g2.weight"), &[rank, embedding])?;
        list.plain(&name("ln.weight"), embedding, Fill::Norm)?;
        list.plain(&name("ln.bias"), embedding, Fill::Bias)?;
    }
    for part in ["k_k", "k_a", "r_k"] {
        list.plain(&name(&format!("{part}.weight")), embedding, Fill::Norm)?;
    }
    for part in ["key", "value", "receptance", "output"] {
        list.matrix(&name(&format!("{part}.weight")), &[embedding, embedding])?;
    }
    Ok(())
}

/// The tensors of time mixing of RWKV 6. `rich` adds a bonus and norms of heads.
fn dynamic_time_mix(
    layer: usize,
    embedding: usize,
    (length, rank, keys, rich): (usize, usize, usize, bool),
    list: &mut List,
) -> Result<(), Error> {
    let name = |part: &str| format!("blk.{layer}.time_mix_{part}");
    list.matrix(&name("w1.weight"), &[embedding, 5 * rank])?;
    list.matrix(&name("w2.weight"), &[rank, embedding, 5])?;
    list.add(&name("lerp_x.weight"), &[embedding, 1, 1], Type::F32, Fill::Bias)?;
    // Older files have a tensor for each of the factors.
    if rich && layer > 0 {
        for part in ["w", "k", "v", "r", "g"] {
            list.add(&name(&format!("lerp_{part}.weight")), &[embedding, 1, 1], Type::F32, Fill::Bias)?;
        }
    } else {
        list.add(&name("lerp_fused.weight"), &[embedding, 1, 1, 5], Type::F32, Fill::Bias)?;
    }
    if rich {
        list.add(&name("first.weight"), &[length, embedding / length], Type::F32, Fill::Norm)?;
        list.plain(&name("ln.weight"), embedding, Fill::Norm)?;
        list.plain(&name("ln.bias"), embedding, Fill::Bias)?;
    }
    list.plain(&name("decay.weight"), embedding, Fill::Bias)?;
    list.matrix(&name("decay_w1.weight"), &[embedding, 2 * rank])?;
    list.matrix(&name("decay_w2.weight"), &[2 * rank, embedding])?;
    for (part, outputs) in [("key", keys), ("value", keys), ("receptance", embedding)] {
        list.linear(&name(part), embedding, outputs, !rich)?;
    }
    for part in ["gate", "output"] {
        list.matrix(&name(&format!("{part}.weight")), &[embedding, embedding])?;
    }
    Ok(())
}

/// The feed-forward network of RWKV.
pub(super) fn channel_mix(layer: usize, recipe: &Recipe, list: &mut List) -> Result<(), Error> {
    let (embedding, inside) = (recipe.embedding, recipe.feed_forward);
    let name = |part: &str| format!("blk.{layer}.channel_mix_{part}.weight");
    recipe.norm(&format!("blk.{layer}.attn_norm_2"), embedding, list)?;
    list.plain(&name("lerp_k"), embedding, Fill::Bias)?;
    if recipe.recurrent.as_ref().is_some_and(Recurrent::has_output_gate) {
        list.plain(&name("lerp_r"), embedding, Fill::Bias)?;
        list.matrix(&name("receptance"), &[embedding, embedding])?;
    }
    list.matrix(&name("key"), &[embedding, inside])?;
    list.matrix(&name("value"), &[inside, embedding])
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
    // llama.cpp requires twice the embedding length here too.
    let scan = |rank, state, norms| RecurrentBlock::SelectiveScan { kernel: 4, values: 128, rank, state, norms };
    // llama.cpp computes shorter heads wrongly.
    let time_mix = |channel_mix| RecurrentBlock::TimeMix { length: 64, rank: 8, channel_mix };
    let dynamic_time_mix =
        |kv_heads, channel_mix| RecurrentBlock::DynamicTimeMix { length: 64, rank: 8, kv_heads, channel_mix };
    let jamba = || of("jamba", &[RECURRENT, ATTENTION, RECURRENT], scan(4, 16, ScanNorms::Weighted));
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
        case("mamba", of("mamba", &[ONLY_RECURRENT; 3], scan(8, 16, ScanNorms::None)), &[]),
        case("mamba-norms", of("mamba", &[ONLY_RECURRENT; 2], scan(36, 24, ScanNorms::Unweighted)), &[]),
        case(
            "rwkv7",
            Recipe {
                embedding: 128,
                layer_norm: true,
                norm_bias: true,
                tied: false,
                ..of("rwkv7", &[RECURRENT; 3], time_mix(true))
            },
            &[],
        ),
        case(
            "rwkv6",
            Recipe {
                embedding: 128,
                layer_norm: true,
                norm_bias: true,
                tied: false,
                ..of("rwkv6", &[RECURRENT; 3], dynamic_time_mix(0, true))
            },
            &[("rescale_every_n_layers", Value::from(2u32))],
        ),
        case(
            "rwkv6qwen2",
            Recipe { embedding: 128, tied: false, ..of("rwkv6qwen2", &[RECURRENT; 2], dynamic_time_mix(1, false)) },
            &[],
        ),
        case("arwkv7", Recipe { embedding: 128, tied: false, ..of("arwkv7", &[RECURRENT; 3], time_mix(false)) }, &[]),
        case("jamba", jamba(), &[]),
        case(
            "jamba-experts",
            Recipe { experts: Some((4, 2)), mixture: Mixture { step: 2, ..Mixture::default() }, ..jamba() },
            &[],
        ),
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
