//! The attention block of a layer.

use roci_kernels::params::{
    LmAttention, LmCombineSplits, LmDecodeAttention, LmLayerNorm, LmRopeKvStore, LmSigmoidGate, Params as _,
};

use super::linear::LinearInput;
use super::state::Reduction;
use roci_lm::architecture::blocks::NormKind;

use super::StepRecorder;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::DeviceAttention;
use crate::model::TOKENS_PER_SPLIT;
use crate::norms::DeviceNorm;
use crate::options::CacheType;
use crate::scratch::RowBuffer;

/// More positions than any context has, but small enough that adding a position does not overflow.
const MAX_AFTER: u32 = 1 << 30;

/// Minimum number of splits for several query heads per workgroup. With fewer, the context is short,
/// and more workgroups are faster than fewer reads.
const GROUPED_SPLITS: u32 = 2;

impl<'a> StepRecorder<'a> {
    /// Records the block, which adds its output to the residual stream. `input` replaces the
    /// normalized residual stream.
    pub(super) fn attention(&mut self, block: &DeviceAttention, input: Option<&RowBuffer>) -> Result<(), Error> {
        if let Some(latent) = &block.latent {
            return self.latent_attention(block, latent, input);
        }
        let (shape, scratch, native_kernels) = (self.shape, self.scratch, self.features.native_kernels);
        let tokens = shape.tokens;
        let input = match input {
            Some(rows) => LinearInput::f32(rows),
            None => self.normed_residual(block.norm.as_ref(), &block.qkv)?,
        };
        let rope_positions = match u16::try_from(shape.rope_positions_offset()) {
            _ if shape.rope_pairs == 0 => 0,
            Ok(offset) => u32::from(offset) << LmRopeKvStore::OFFSET_SHIFT,
            // The flags have 16 bits for the offset.
            Err(_) => return Err(Error::file(format!("a batch of {tokens} tokens is too large for images"))),
        };
        let non_causal = shape.non_causal && block.bidirectional_images;
        // With sliding windows, image rows attend to all later rows of their image.
        let images = non_causal && block.attention.after == 0 && block.attention.window > 0;
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
            own: if non_causal { shape.own_positions() as u32 } else { 0 },
            after: if images { MAX_AFTER } else { block.attention.after },
            splits: if self.is_large_batch() || native_kernels { 1 } else { self.splits(block) },
            ..block.attention
        };
        let fused =
            LmDecodeAttention::of(&heads, &attention).is_some() && shape.one_token_per_sequence && !native_kernels;

        // The kernel after a single product adds up its partial sums, but not those of output
        // gates.
        let one_shard =
            matches!(&block.qkv[..], [linear] if linear.matrix.shards.len() == 1 && linear.adapters.is_none());
        let caller_adds = one_shard && block.output_gate.is_none() && block.row_norms.is_none();
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
        if let Some([query, key]) = &block.row_norms {
            let [queries, keys] = [heads.heads, heads.kv_heads].map(|heads| heads * block.heads.key_length);
            self.norm_in_place(query, &scratch.qkv, 0, queries)?;
            self.norm_in_place(key, &scratch.qkv, queries, keys)?;
            self.barrier();
        }

        let flash = match self.cache {
            CacheType::F16 if !fused && self.features.coopmat && self.is_large_batch() => {
                // The fused kernel supports neither two-sided windows nor ALiBi.
                let plain = attention.after == 0 && attention.alibi_heads == 0;
                KernelId::flash_attention(&attention).filter(|_| plain)
            }
            _ => None,
        };
        // The flash kernel and the fused one can write 16-bit floats, which the next product on
        // matrix units reads.
        let f16_output = (flash.is_some() || fused)
            && block.output_gate.is_none()
            && block.output.matrix.columns == block.output.matrix.model_columns
            && self.runs_on_coopmat(&block.output.matrix, tokens);
        let packed = u32::from(f16_output);

        let target = if attention.splits > 1 { &scratch.attention_splits } else { &scratch.attended.range };
        let norms = block.head_norms.as_ref().unwrap_or(&scratch.unused);
        let sinks = block.sinks.as_ref().unwrap_or(&scratch.unused);
        let (qkv, keys, values) = (&scratch.qkv.range, &block.keys, &block.values);
        // Causal attention reads the inputs at the start; those at `attention_offset` are a copy.
        let start = if non_causal { 4 * shape.attention_offset() as u64 } else { 0 };
        let attention_inputs = scratch.inputs.range(start, scratch.inputs.length() - start)?;
        // The kernel that combines splits reads f32.
        let attention = LmAttention { packed: if attention.splits > 1 { 0 } else { packed }, ..attention };
        if let Some(decode) = LmDecodeAttention::of(&heads, &attention).filter(|_| fused) {
            let rows = if partials.is_some() { &scratch.partial_sums.range } else { qkv };
            let bindings = [&scratch.inputs, norms, &block.rotations, rows, keys, values, target];
            let is_grouped = attention.splits >= GROUPED_SPLITS && attention.heads > attention.kv_heads;
            let by_subgroups = match self.cache {
                CacheType::F16 if self.features.subgroups => KernelId::decode_attention_subgroups(&decode),
                _ => None,
            };
            let (kernel, grid) = match by_subgroups {
                Some(kernel) if is_grouped => (kernel, decode.grouped_grid()),
                None if is_grouped => (KernelId::decode_attention4(self.cache), decode.grouped_grid()),
                _ => (KernelId::decode_attention(self.cache), decode.grid()),
            };
            self.dispatch(kernel, grid, &bindings, &decode)?;
        } else {
            let partial_sums = &scratch.partial_sums.range;
            let bindings = [&scratch.inputs, norms, &block.rotations, partial_sums, qkv, keys, values];
            self.dispatch(KernelId::rope_kv_store(self.cache), heads.grid(), &bindings, &heads)?;
            self.barrier();
            let bindings = [&attention_inputs, qkv, keys, values, sinks, target];
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
                packed,
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

    /// Number of splits of the keys; with a window, at most one per [`TOKENS_PER_SPLIT`] of its
    /// tokens.
    fn splits(&self, block: &DeviceAttention) -> u32 {
        let window = block.attention.window as usize;
        let most = if window == 0 { usize::MAX } else { window.div_ceil(TOKENS_PER_SPLIT) };
        self.shape.kv_splits.min(most) as u32
    }

    /// Normalizes some columns of rows in place.
    pub(super) fn norm_in_place(
        &mut self,
        norm: &DeviceNorm,
        rows: &RowBuffer,
        offset: u32,
        columns: u32,
    ) -> Result<(), Error> {
        let scratch = self.scratch;
        let stride = rows.stride as u32;
        let flags = [
            (true, LmLayerNorm::IN_PLACE),
            (norm.biased, LmLayerNorm::BIAS),
            (norm.kind == NormKind::Rms, LmLayerNorm::RMS),
        ];
        let constants = LmLayerNorm {
            rows: self.shape.tokens as u32,
            columns,
            x_stride: stride,
            y_stride: stride,
            epsilon: norm.epsilon,
            flags: flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
            first: 0,
            offset,
        };
        let bindings = [&scratch.unused, &norm.weight, &scratch.inputs, &rows.range];
        self.dispatch(KernelId::LAYER_NORM, constants.grid(), &bindings, &constants)
    }

    /// Multiplies the output of attention by the sigmoid of its gates, which follow the queries,
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
            factor: 1.0,
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
