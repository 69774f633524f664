//! Gated delta nets of synthetic models.

use roci_gguf::{Error, Value};

use super::fill::Fill;
use super::list::List;

/// Sizes and features of a model with gated delta nets beside attention.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is what `architecture::DeltaNetConfig` says under a like name")]
pub struct Hybrid {
    /// Which layers are gated delta nets.
    pub layers: HybridLayers,
    pub kernel: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub length: usize,
    /// How the file stores the projections of the input.
    pub projections: Projections,
    /// Sections of MRoPE.
    pub sections: Option<[u32; 4]>,
    /// Length of the shared expert's activated vector, in models with experts.
    pub shared_feed_forward: usize,
}

/// Which layers are gated delta nets.
#[derive(Clone, Debug, PartialEq)]
pub enum HybridLayers {
    /// All but every n-th.
    Interval(usize),
    /// Those that a list in the file names.
    Listed(Vec<bool>),
}

/// How a file stores the projections of a gated delta net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projections {
    /// `ssm_in`: queries, keys, values and gates in groups; `ssm_ba`: rates and decays in groups.
    Grouped,
    /// `attn_qkv` and `attn_gate`; rates and decays in groups.
    Fused,
    /// `attn_qkv` and `attn_gate`; `ssm_beta` and `ssm_alpha`.
    Separate,
}

impl Hybrid {
    pub(super) fn is_recurrent(&self, layer: usize) -> bool {
        match &self.layers {
            HybridLayers::Interval(interval) => !(layer + 1).is_multiple_of(*interval),
            HybridLayers::Listed(layers) => layers.get(layer).copied().unwrap_or(false),
        }
    }

    pub(super) fn metadata(&self, head: usize) -> Vec<(&'static str, Value)> {
        let mut pairs = vec![
            ("ssm.conv_kernel", Value::from(self.kernel as u32)),
            ("ssm.group_count", Value::from(self.key_heads as u32)),
            ("ssm.time_step_rank", Value::from(self.heads as u32)),
            ("ssm.state_size", Value::from(self.length as u32)),
            ("ssm.inner_size", Value::from((self.heads * self.length) as u32)),
            ("expert_shared_feed_forward_length", Value::from(self.shared_feed_forward as u32)),
            // Half of each head.
            ("rope.dimension_count", Value::from(head as u32 / 2)),
        ];
        pairs.push(match &self.layers {
            HybridLayers::Interval(interval) => ("full_attention_interval", Value::from(*interval as u32)),
            HybridLayers::Listed(layers) => ("attention.recurrent_layers", Value::from(layers.clone())),
        });
        pairs.extend(self.sections.map(|sections| {
            let sections: Vec<i32> = sections.iter().map(|&pairs| pairs as i32).collect();
            ("rope.dimension_sections", Value::from(sections))
        }));
        pairs
    }

    pub(super) fn mixer(&self, layer: usize, embedding: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (keys, values) = (self.key_heads * self.length, self.heads * self.length);
        if self.projections == Projections::Grouped {
            list.matrix(&name("ssm_in.weight"), &[embedding, 2 * keys + 2 * values])?;
        } else {
            list.matrix(&name("attn_qkv.weight"), &[embedding, 2 * keys + values])?;
            list.matrix(&name("attn_gate.weight"), &[embedding, values])?;
        }
        if self.projections == Projections::Separate {
            list.matrix(&name("ssm_beta.weight"), &[embedding, self.heads])?;
            list.matrix(&name("ssm_alpha.weight"), &[embedding, self.heads])?;
        } else {
            list.matrix(&name("ssm_ba.weight"), &[embedding, 2 * self.heads])?;
        }
        list.plain_matrix(&name("ssm_conv1d.weight"), &[self.kernel, 2 * keys + values])?;
        list.plain(&name("ssm_dt.bias"), self.heads, Fill::Bias)?;
        list.plain(&name("ssm_a"), self.heads, Fill::Decay)?;
        list.plain(&name("ssm_norm.weight"), self.length, Fill::Norm)?;
        list.matrix(&name("ssm_out.weight"), &[values, embedding])
    }

    pub(super) fn shared_expert(&self, layer: usize, embedding: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        list.plain(&name("ffn_gate_inp_shexp.weight"), embedding, Fill::Matrix { inputs: embedding })?;
        list.matrix(&name("ffn_gate_shexp.weight"), &[embedding, self.shared_feed_forward])?;
        list.matrix(&name("ffn_up_shexp.weight"), &[embedding, self.shared_feed_forward])?;
        list.matrix(&name("ffn_down_shexp.weight"), &[self.shared_feed_forward, embedding])
    }
}
