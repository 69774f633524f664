//! Multi-head latent attention of synthetic models.

use roci_gguf::{Error, Value};

use super::Recipe;
use super::fill::Fill;
use super::list::List;

/// Sizes of multi-head latent attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatentRecipe {
    /// Length of the vector that queries are computed from, if it is not the input.
    pub query_rank: Option<usize>,
    /// Length of the latent.
    pub rank: usize,
    /// Length of the part of a query without position embedding.
    pub plain: usize,
    /// Length of the rotated part.
    pub rotated: usize,
    /// Length of the output of a head.
    pub output: usize,
    /// One tensor for the projections from the latent to keys and values, as in older files.
    pub older: bool,
}

impl LatentRecipe {
    /// V3-like sizes.
    pub fn small() -> Self {
        Self { query_rank: Some(32), rank: 64, plain: 64, rotated: 32, output: 32, older: false }
    }

    pub(super) fn metadata(&self, heads: usize) -> Vec<(&'static str, Value)> {
        let Self { rank, plain, rotated, output, .. } = *self;
        let lengths = match self.older {
            true => [plain + rotated, output, heads, 0, 0],
            false => [rank + rotated, rank, 1, plain + rotated, output],
        };
        let [key, value, kv_heads, key_mla, value_mla] = lengths.map(|length| Value::from(length as u32));
        let rank = |rank: usize| Value::from(rank as u32);
        let mut pairs = vec![
            ("attention.key_length", key),
            ("attention.value_length", value),
            ("attention.head_count_kv", kv_heads),
            ("attention.q_lora_rank", rank(self.query_rank.unwrap_or(0))),
            ("attention.kv_lora_rank", rank(self.rank)),
            ("rope.dimension_count", rank(rotated)),
        ];
        if !self.older {
            pairs.extend([("attention.key_length_mla", key_mla), ("attention.value_length_mla", value_mla)]);
        }
        pairs
    }

    /// The tensors of the attention block of a layer.
    pub(super) fn attention(&self, layer: usize, recipe: &Recipe, list: &mut List) -> Result<(), Error> {
        let Self { query_rank, rank, plain, rotated, output, older } = *self;
        let (embedding, heads) = (recipe.embedding, recipe.heads);
        let name = |part: &str| format!("blk.{layer}.{part}");
        let queries = heads * (plain + rotated);
        match query_rank {
            None => list.linear(&name("attn_q"), embedding, queries, false)?,
            Some(rank) => {
                list.linear(&name("attn_q_a"), embedding, rank, false)?;
                list.plain(&name("attn_q_a_norm.weight"), rank, Fill::Norm)?;
                list.linear(&name("attn_q_b"), rank, queries, false)?;
            }
        }
        list.linear(&name("attn_kv_a_mqa"), embedding, rank + rotated, false)?;
        list.plain(&name("attn_kv_a_norm.weight"), rank, Fill::Norm)?;
        if older {
            list.linear(&name("attn_kv_b"), rank, heads * (plain + output), false)?;
        } else {
            list.matrix(&name("attn_k_b.weight"), &[plain, rank, heads])?;
            list.matrix(&name("attn_v_b.weight"), &[rank, output, heads])?;
        }
        list.linear(&name("attn_output"), heads * output, embedding, false)
    }
}
