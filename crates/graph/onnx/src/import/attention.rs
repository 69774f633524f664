//! Attention and rotary embeddings.

use roci_graph::ops::attention::{Attention, AttentionOp, Rotary, Scores};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let heads = |name: &str| -> Result<Option<usize>, Error> {
        let given = node.int(name)?.filter(|heads| *heads != 0);
        given.map(|heads| natural(name, heads)).transpose()
    };
    let op = match node.op().as_str() {
        "Attention" => {
            // The computation is always at least as precise as this requests.
            node.dtype("softmax_precision")?;
            let scores = match node.int_or("qk_matmul_output_mode", 0)? {
                0 => Scores::Products,
                1 => Scores::Capped,
                2 => Scores::Masked,
                3 => Scores::Weights,
                other => {
                    return Err(Error::invalid(format!("unknown value {other} of attribute `qk_matmul_output_mode`")));
                }
            };
            AttentionOp::Attention(Attention {
                scale: node.float("scale")?,
                causal: node.flag("is_causal", false)?,
                pads_mask: node.version() >= 24,
                heads: (heads("q_num_heads")?, heads("kv_num_heads")?),
                softcap: node.float_or("softcap", 0.0)?,
                scores,
            })
        }
        "RotaryEmbedding" => AttentionOp::Rotary(Rotary {
            interleaved: node.flag("interleaved", false)?,
            rotary_dim: natural("rotary_embedding_dim", node.int_or("rotary_embedding_dim", 0)?)?,
            heads: heads("num_heads")?,
        }),
        _ => return Ok(false),
    };
    node.emit(op)
}

fn natural(name: &str, given: i64) -> Result<usize, Error> {
    usize::try_from(given)
        .map_err(|_| Error::invalid(format!("attribute `{name}` is {given}, expected a non-negative number")))
}
