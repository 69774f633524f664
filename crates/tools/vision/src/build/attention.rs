//! Attention of a layer.

use roci_graph::ops::attention::{Attention, Rotary, Scores};
use roci_graph::ops::{AttentionOp, Movement};
use roci_graph::{Tensor, ValueId};

use super::{Builder, Tables};
use crate::Error;
use crate::projector::Rope;
use crate::weights::{layer, transposed};

impl Builder<'_> {
    /// Gathers the pairs of both halves of a head, so that a pair is one element of each half.
    fn pair_halves(&mut self, x: ValueId, name: &str) -> ValueId {
        let (width, head) = (self.description.width as i64, self.description.head() as i64);
        let parts = self.reshape(name, x, &[-1, 2, 2, head / 4]);
        let parts = self.node(name, Movement::Transpose { perm: Some(vec![0, 2, 1, 3]) }, &[parts]);
        self.reshape(name, parts, &[1, -1, width])
    }

    /// The norm of queries or keys, if the file has it: of each head or of all.
    fn norm_heads(&mut self, x: ValueId, name: &str) -> Result<ValueId, Error> {
        let weight = format!("{name}.weight");
        let Some(tensor) = self.weights.0.tensor(&weight) else { return Ok(x) };
        let (width, head, kind) = (self.description.width, self.description.head(), self.description.projector.norm);
        if tensor.info().values() != head as u64 {
            return self.norm_of(x, &weight, None, kind, width);
        }
        let heads = self.reshape(name, x, &[1, -1, self.description.heads as i64, head as i64]);
        let heads = self.norm_of(heads, &weight, None, kind, head)?;
        Ok(self.reshape(name, heads, &[1, -1, width as i64]))
    }

    pub(super) fn attention(&mut self, x: ValueId, index: usize, tables: &Tables) -> Result<ValueId, Error> {
        let (width, heads) = (self.description.width, self.description.heads);
        let [q, k, mut v] = self.projections(x, index)?;
        let mut q = self.norm_heads(q, &layer(index, "attn_q_norm"))?;
        let mut k = self.norm_heads(k, &layer(index, "attn_k_norm"))?;
        if let Some((cosines, sines)) = tables.rotations {
            let interleaved = self.description.projector.rope == Rope::Adjacent;
            let rotary = Rotary { interleaved, rotary_dim: 0, heads: Some(heads) };
            let name = layer(index, "rope");
            if self.description.projector.rope == Rope::Quarters {
                [q, k] = [q, k].map(|x| self.pair_halves(x, &name));
            }
            [q, k] = [q, k].map(|x| self.node(&name, AttentionOp::Rotary(rotary), &[x, cosines, sines]));
        }
        if self.description.projector.normed_values {
            let (name, head) = (layer(index, "attn_v"), self.description.head());
            let values = self.reshape(&name, v, &[1, -1, heads as i64, head as i64]);
            let values = self.plain_norm(values, &name, head);
            v = self.reshape(&name, values, &[1, -1, width as i64]);
        }
        let windowed = self.description.is_windowed(index);
        let window = self
            .description
            .windows
            .filter(|_| windowed)
            .map(|windows| (windows.side * windows.side * self.description.square()) as i64);
        if let Some(window) = window {
            let name = layer(index, "window");
            [q, k, v] = [q, k, v].map(|x| self.reshape(&name, x, &[-1, window, width as i64]));
        }
        let attention = Attention {
            scale: self.description.projector.normed_values.then_some(1.0),
            causal: false,
            pads_mask: false,
            heads: (Some(heads), Some(heads)),
            softcap: 0.0,
            scores: Scores::Weights,
        };
        let mask = tables.masks.map(|(whole, windows)| if windowed { windows } else { whole });
        let operands: Vec<ValueId> = [q, k, v].into_iter().chain(mask).collect();
        let y = self.node(&layer(index, "attention"), AttentionOp::Attention(attention), &operands);
        Ok(match window {
            Some(_) => self.reshape(&layer(index, "window"), y, &[1, -1, width as i64]),
            None => y,
        })
    }

    /// Queries, keys and values, from one fused matrix or from three.
    fn projections(&mut self, x: ValueId, index: usize) -> Result<[ValueId; 3], Error> {
        let width = self.description.width;
        let fused = layer(index, "attn_qkv");
        if !self.weights.has(&format!("{fused}.weight")) {
            let mut linear = |what: &str| self.linear(x, &layer(index, what), width, width);
            return Ok([linear("attn_q")?, linear("attn_k")?, linear("attn_v")?]);
        }
        let matrix = self.weights.floats(&format!("{fused}.weight"), &[width, 3 * width])?;
        let bias = format!("{fused}.bias");
        let bias = if self.weights.has(&bias) { Some(self.weights.floats(&bias, &[3 * width])?) } else { None };
        let mut parts = Vec::new();
        for part in 0..3 {
            let rows = transposed(&matrix[part * width * width..][..width * width], width, width);
            let mut y = self.product(x, &layer(index, ["attn_q", "attn_k", "attn_v"][part]), rows, width)?;
            if let Some(bias) = &bias {
                let vector = self.constant(&fused, Tensor::vector(bias[part * width..][..width].to_vec()));
                y = self.add(&fused, y, vector);
            }
            parts.push(y);
        }
        Ok([parts[0], parts[1], parts[2]])
    }
}
