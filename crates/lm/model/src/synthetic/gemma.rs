//! The parts of synthetic Gemma 3n and Gemma 4 models that other architectures lack.

use roci_gguf::{Error, Value};

use super::fill::Fill;
use super::list::List;

/// Sizes and features of Gemma 3n and Gemma 4.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemma {
    /// Which layers have a window.
    pub windows: Vec<bool>,
    /// Length of the heads of layers with a window, if it differs.
    pub window_head: Option<usize>,
    /// Key and value heads of layers with full attention.
    pub whole_kv_heads: usize,
    /// Whether layers with full attention have a value projection.
    pub values: bool,
    /// Number of final layers that read the keys and values of earlier ones. Their feed-forward
    /// networks are twice as long.
    pub shared_kv: usize,
    /// Length of a layer's per-layer embedding, if there is one.
    pub per_layer: Option<usize>,
    /// Multiple residual streams, and low-rank branches parallel to attention.
    pub streams: Option<StreamRecipe>,
    /// Whether each layer has a scale.
    pub output_scale: bool,
}

/// Residual streams of a synthetic model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRecipe {
    /// Number of streams.
    pub count: usize,
    /// Rank of the branch parallel to attention.
    pub rank: usize,
    /// Leading layers with sparse activations.
    pub sparse: usize,
}

impl Gemma {
    /// Gemma 4 without per-layer embeddings, of six layers.
    pub fn dense() -> Self {
        Self {
            windows: vec![true, true, false, true, true, false],
            window_head: Some(16),
            whole_kv_heads: 1,
            values: false,
            shared_kv: 0,
            per_layer: None,
            streams: None,
            output_scale: true,
        }
    }

    /// Gemma 4 with per-layer embeddings, of eight layers of which four share keys and values.
    pub fn small() -> Self {
        Self {
            windows: vec![true, false, true, false, true, true, false, true],
            values: true,
            shared_kv: 4,
            per_layer: Some(32),
            ..Self::dense()
        }
    }

    /// Gemma 3n. llama.cpp requires these sizes and 20 layers with their own keys and values, ten
    /// of which are sparse.
    pub fn streams() -> Self {
        Self {
            windows: (1..=25).map(|number| number % 5 != 0).collect(),
            window_head: None,
            whole_kv_heads: 2,
            values: true,
            shared_kv: 5,
            per_layer: Some(256),
            streams: Some(StreamRecipe { count: 4, rank: 64, sparse: 10 }),
            output_scale: false,
        }
    }

    fn is_shared(&self, layer: usize) -> bool {
        layer + self.shared_kv >= self.windows.len()
    }

    fn is_wide(&self, layer: usize) -> bool {
        self.streams.is_none() && self.is_shared(layer)
    }

    /// Length of the heads of a layer, and number of its key and value heads.
    pub(super) fn heads(&self, layer: usize, head: usize, kv_heads: usize) -> (usize, usize) {
        match self.windows.get(layer) {
            Some(true) => (self.window_head.unwrap_or(head), kv_heads),
            _ => (head, self.whole_kv_heads),
        }
    }

    /// Whether a layer has an attention tensor.
    pub(super) fn has(&self, layer: usize, part: &str) -> bool {
        let computes = self.streams.is_some() || !self.is_shared(layer);
        match part {
            "attn_v" => computes && (self.values || self.windows.get(layer) == Some(&true)),
            "attn_k" | "attn_k_norm.weight" => computes,
            _ => true,
        }
    }

    pub(super) fn feed_forward(&self, layer: usize, length: usize) -> usize {
        if self.is_wide(layer) { 2 * length } else { length }
    }

    pub(super) fn metadata(&self, kv_heads: usize, feed_forward: usize) -> Vec<(&'static str, Value)> {
        let layers = 0..self.windows.len();
        let of_each = |count: &dyn Fn(usize) -> usize| -> Value {
            layers.clone().map(|layer| count(layer) as u32).collect::<Vec<_>>().into()
        };
        let mut pairs = vec![
            ("attention.sliding_window_pattern", Value::from(self.windows.clone())),
            ("attention.shared_kv_layers", Value::from(self.shared_kv as u32)),
            ("embedding_length_per_layer_input", Value::from(self.per_layer.unwrap_or(0) as u32)),
            ("feed_forward_length", of_each(&|layer| self.feed_forward(layer, feed_forward))),
        ];
        if let Some(head) = self.window_head {
            pairs.extend([
                ("attention.key_length_swa", Value::from(head as u32)),
                ("attention.value_length_swa", Value::from(head as u32)),
                ("rope.dimension_count_swa", Value::from(head as u32)),
                ("attention.head_count_kv", of_each(&|layer| self.heads(layer, 0, kv_heads).1)),
            ]);
        }
        if let Some(StreamRecipe { count, sparse, .. }) = self.streams {
            let cutoff = |layer: usize| if layer < sparse { 1.644_853_5 } else { f32::NEG_INFINITY };
            pairs.extend([
                ("altup.num_inputs", Value::from(count as u32)),
                ("altup.active_idx", Value::from(0u32)),
                ("activation_sparsity_scale", layers.map(cutoff).collect::<Vec<_>>().into()),
            ]);
        }
        pairs
    }

    /// Tensors outside the layers. In layers with full attention, `head / 8` pairs of each head
    /// rotate.
    pub(super) fn global(
        &self,
        embedding: usize,
        head: usize,
        vocabulary: usize,
        list: &mut List,
    ) -> Result<(), Error> {
        if self.window_head.is_some() {
            list.plain("rope_freqs.weight", head / 2, Fill::PartialFactors { rotated: head / 8 })?;
        }
        if let Some(length) = self.per_layer {
            let all = length * self.windows.len();
            list.matrix("per_layer_token_embd.weight", &[all, vocabulary])?;
            list.matrix("per_layer_model_proj.weight", &[embedding, all])?;
            list.plain("per_layer_proj_norm.weight", length, Fill::Norm)?;
        }
        if let Some(StreamRecipe { count, .. }) = self.streams {
            list.matrix("altup_proj.weight", &[embedding, embedding, count - 1])?;
            list.matrix("altup_unembd_proj.weight", &[embedding, embedding, count - 1])?;
        }
        Ok(())
    }

    /// Tensors of a layer that other architectures lack.
    pub(super) fn layer(&self, layer: usize, embedding: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        if self.output_scale {
            list.plain(&name("layer_output_scale"), 1, Fill::Norm)?;
        }
        if let Some(length) = self.per_layer {
            list.matrix(&name("inp_gate"), &[embedding, length])?;
            list.matrix(&name("proj"), &[length, embedding])?;
            list.plain(&name("post_norm"), embedding, Fill::Norm)?;
        }
        let Some(StreamRecipe { count, rank, .. }) = self.streams else { return Ok(()) };
        list.matrix(&name("laurel_l"), &[embedding, rank])?;
        list.matrix(&name("laurel_r"), &[rank, embedding])?;
        list.plain(&name("laurel_post_norm"), embedding, Fill::Norm)?;
        list.plain_matrix(&name("altup_router"), &[embedding, count])?;
        list.plain(&name("altup_router_norm"), embedding, Fill::Norm)?;
        list.plain_matrix(&name("altup_predict_coef"), &[count, count * count])?;
        list.plain_matrix(&name("altup_correct_coef"), &[count, count])?;
        list.plain(&name("altup_correct_scale"), embedding, Fill::Norm)
    }

    /// A mixture of experts parallel to the dense network.
    pub(super) fn mixture(
        layer: usize,
        embedding: usize,
        feed_forward: usize,
        count: usize,
        list: &mut List,
    ) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        list.plain_matrix(&name("ffn_gate_inp.weight"), &[embedding, count])?;
        list.plain(&name("ffn_gate_inp.scale"), embedding, Fill::Norm)?;
        for norm in ["pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"] {
            list.plain(&name(&format!("{norm}.weight")), embedding, Fill::Norm)?;
        }
        list.matrix(&name("ffn_gate_up_exps.weight"), &[embedding, 2 * feed_forward, count])?;
        list.matrix(&name("ffn_down_exps.weight"), &[feed_forward, embedding, count])?;
        list.plain(&name("ffn_down_exps.scale"), count, Fill::Norm)
    }
}
