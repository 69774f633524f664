//! The attention block of a layer.

use roci_kernels::params::{
    LmAttention, LmCombineSplits, LmDecodeAttention, LmRopeKvStore, LmSigmoidGate, Params as _,
};

use super::StepRecorder;
use super::linear::LinearInput;
use super::state::Reduction;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::DeviceAttention;
use crate::options::CacheType;
use crate::scratch::RowBuffer;

impl<'a> StepRecorder<'a> {
    pub(super) fn attention(&mut self, block: &DeviceAttention) -> Result<(), Error> {
        let (shape, scratch, native_kernels) = (self.shape, self.scratch, self.features.native_kernels);
        let tokens = shape.tokens;
        let input = self.normed_residual(block.norm.as_ref(), &block.qkv)?;
        // Offsets that do not fit would be cut off silently.
        let offset = |offset: usize, used: bool| match u16::try_from(offset) {
            _ if !used => Ok(0),
            Ok(offset) => Ok(u32::from(offset) << LmRopeKvStore::OFFSET_SHIFT),
            Err(_) => Err(Error::file(format!("a batch of {tokens} tokens is too large for images"))),
        };
        let rope_positions = offset(shape.rope_positions_offset(), shape.rope_pairs > 0)?;
        let visible_ends = offset(shape.visible_ends_offset(), shape.visible_ends)?;
        let heads = LmRopeKvStore {
            tokens: tokens as u32,
            stride: scratch.qkv.stride as u32,
            flags: block.heads.flags | rope_positions,
            ..block.heads
        };
        let attention = LmAttention {
            tokens: tokens as u32,
            blocks: shape.blocks as u32,
            block: shape.block_tokens as u32,
            q_stride: scratch.qkv.stride as u32,
            y_stride: scratch.attended.stride as u32,
            splits: if self.is_large_batch() || native_kernels { 1 } else { shape.kv_splits as u32 },
            ..block.attention
        };
        let decode =
            LmDecodeAttention::of(&heads, &attention).filter(|_| shape.one_token_per_sequence && !native_kernels);

        // The kernel after a single product adds up its partial sums, except those of output gates.
        let one_shard = matches!(&block.qkv[..], [linear] if linear.matrix.shards.len() == 1);
        let caller_adds = one_shard && decode.is_none() && block.output_gate.is_none();
        let reduction = if caller_adds { Reduction::Caller } else { Reduction::Product };
        let mut partials = None;
        for linear in &block.qkv {
            partials = self.linear_with(linear, &input, tokens, &scratch.qkv, 0, reduction)?;
        }
        let heads = LmRopeKvStore {
            used: partials.map_or(0, |partials| partials.count),
            part_stride: partials.map_or(0, |partials| partials.stride),
            ..heads
        };
        self.barrier();

        let flash = match self.cache {
            CacheType::F16 if decode.is_none() && self.features.coopmat && self.is_large_batch() => {
                KernelId::flash_attention(&attention)
            }
            _ => None,
        };
        // The flash kernel can write 16-bit floats, which the next product on matrix units reads.
        let f16_output = flash.is_some()
            && block.output_gate.is_none()
            && block.output.matrix.columns == block.output.matrix.model_columns
            && self.runs_on_coopmat(&block.output.matrix, tokens);
        let attention = LmAttention { packed: u32::from(f16_output) | visible_ends, ..attention };

        let target = if attention.splits > 1 { &scratch.attention_splits } else { &scratch.attended.range };
        let norms = block.head_norms.as_ref().unwrap_or(&scratch.unused);
        let (qkv, keys, values) = (&scratch.qkv.range, &block.keys, &block.values);
        if let Some(decode) = decode {
            let bindings = [&scratch.inputs, norms, &block.rotations, qkv, keys, values, target];
            self.dispatch(KernelId::decode_attention(self.cache), decode.grid(), &bindings, &decode)?;
        } else {
            let partial_sums = &scratch.partial_sums.range;
            let bindings = [&scratch.inputs, norms, &block.rotations, partial_sums, qkv, keys, values];
            self.dispatch(KernelId::rope_kv_store(self.cache), heads.grid(), &bindings, &heads)?;
            self.barrier();
            let bindings = [&scratch.inputs, qkv, keys, values, target];
            let (kernel, grid) = match flash {
                Some(flash) => (flash, attention.coopmat_grid()),
                None => (KernelId::attention(self.cache), attention.grid()),
            };
            self.dispatch(kernel, grid, &bindings, &attention)?;
        }
        self.barrier();
        if attention.splits > 1 {
            let combine = LmCombineSplits {
                tokens: tokens as u32,
                heads: attention.heads,
                value_length: attention.value_length,
                splits: attention.splits,
                y_stride: scratch.attended.stride as u32,
            };
            let bindings = [&scratch.attention_splits, &scratch.attended.range];
            self.dispatch(KernelId::COMBINE_SPLITS, combine.grid(), &bindings, &combine)?;
            self.barrier();
        }
        let output = match block.output_gate {
            Some(offset) => self.gate_heads(attention.heads * attention.value_length, offset)?,
            None => &scratch.attended,
        };
        self.state.input_changed();
        let input = LinearInput { f16: f16_output, ..LinearInput::f32(output) };
        self.add_to_residual(&block.output, &input, block.post_norm.as_ref())
    }

    /// Multiplies the output of attention with the sigmoid of its gates, which follow the queries,
    /// keys and values.
    fn gate_heads(&mut self, columns: u32, offset: usize) -> Result<&'a RowBuffer, Error> {
        let scratch = self.scratch;
        let constants = LmSigmoidGate {
            tokens: self.shape.tokens as u32,
            columns,
            x_stride: scratch.attended.stride as u32,
            gates_stride: scratch.qkv.stride as u32,
            gates_offset: offset as u32,
            y_stride: scratch.gated.stride as u32,
            flags: 0,
        };
        let bindings = [&scratch.attended.range, &scratch.qkv.range, &scratch.gated.range];
        self.dispatch(KernelId::SIGMOID_GATE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(&scratch.gated)
    }
}

/// Tokens per block of attention, for heads in groups of `group_size` that share keys and values.
pub(crate) fn block_tokens(group_size: usize, coopmat: bool) -> usize {
    let rows = if coopmat { LmAttention::COOPMAT_ROWS } else { LmAttention::ROWS };
    (rows as usize / group_size.max(1)).max(1)
}
