//! The block of multi-head latent attention of a layer.

use roci_hal::Binding;
use roci_kernels::params::{LmAttention, LmCombineSplits, LmRopeKvStore, Params as _, StridedCopy};

use super::StepRecorder;
use super::expert_tiles::ExpertTile;
use super::linear::{ExpertPairs, LinearInput};
use crate::Error;
use crate::kernel_id::KernelId;
use crate::latent::{DeviceLatent, HeadMatrices};
use crate::layer::{DeviceAttention, DeviceLinear};
use crate::pack::GROUP;
use crate::scratch::RowBuffer;

/// Rows of this length in the memory of longer ones.
fn rows(buffer: &RowBuffer, stride: usize) -> RowBuffer {
    RowBuffer { range: buffer.range.clone(), stride }
}

impl StepRecorder<'_> {
    /// The block, and its output added to the residual stream. `input` replaces the normalized
    /// residual stream.
    pub(super) fn latent_attention(
        &mut self,
        block: &DeviceAttention,
        latent: &DeviceLatent,
        input: Option<&RowBuffer>,
    ) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let tokens = shape.tokens;
        let heads = block.attention.heads as usize;
        let (key_length, rank) = (block.attention.key_length as usize, block.attention.value_length as usize);
        let queries = rows(&scratch.gated, heads * latent.query_length);
        let absorbed = rows(&scratch.convolved, heads * key_length);

        let consumers: Vec<DeviceLinear> = block.qkv.iter().chain([&latent.first]).cloned().collect();
        let input = match input {
            Some(rows) => LinearInput::f32(rows),
            None => self.normed_residual(block.norm.as_ref(), &consumers)?,
        };
        for linear in &block.qkv {
            self.linear(linear, &input, tokens, &scratch.qkv, 0)?;
        }
        // It is read before the absorbed queries take its place.
        let low_rank = rows(&scratch.convolved, latent.first.matrix.rows.next_multiple_of(GROUP));
        let target = if latent.low_rank.is_some() { &low_rank } else { &queries };
        self.linear(&latent.first, &input, tokens, target, 0)?;
        self.barrier();
        self.norm_in_place(&latent.norm, &scratch.qkv, latent.rotated_length as u32, rank as u32)?;
        if let Some((norm, query)) = &latent.low_rank {
            self.norm_in_place(norm, &low_rank, 0, latent.first.matrix.rows as u32)?;
            self.barrier();
            self.state.input_changed();
            self.linear(query, &LinearInput::f32(&low_rank), tokens, &queries, 0)?;
        }
        self.barrier();
        self.store_latents(block)?;
        self.copy_rotated(latent, &queries, &absorbed, heads, key_length)?;
        self.state.input_changed();
        let each = [latent.query_length, key_length];
        let heads = (heads, self.head_tile(latent, heads)?);
        self.head_products(&latent.keys, heads, &rows(&queries, each[0]), &rows(&absorbed, each[1]))?;
        self.barrier();
        self.attend_to_latents(block, &absorbed)?;
        self.state.input_changed();
        let outputs = rows(&scratch.gated, latent.output_length);
        self.head_products(&latent.values, heads, &rows(&scratch.attended, rank), &outputs)?;
        self.barrier();
        self.state.input_changed();
        let outputs = rows(&scratch.gated, heads.0 * latent.output_length);
        self.add_to_residual(&block.output, &LinearInput::f32(&outputs), block.post_norm.as_ref())
    }

    /// Rotates and stores the keys, whose ends are the latents.
    fn store_latents(&mut self, block: &DeviceAttention) -> Result<(), Error> {
        let scratch = self.scratch;
        let constants = LmRopeKvStore {
            tokens: self.shape.tokens as u32,
            heads: 0,
            kv_heads: 1,
            flags: block.heads.flags | LmRopeKvStore::VALUES_IN_KEYS,
            stride: scratch.qkv.stride as u32,
            ..block.heads
        };
        self.rope_kv_store(block, &scratch.qkv, &constants)
    }

    /// Rotates heads in `rows`, and stores keys.
    fn rope_kv_store(
        &mut self,
        block: &DeviceAttention,
        rows: &RowBuffer,
        constants: &LmRopeKvStore,
    ) -> Result<(), Error> {
        let scratch = self.scratch;
        // No value is written. Bindings that may be written are distinct.
        let no_values = &scratch.attention_splits;
        let parts = &scratch.partial_sums.range;
        let bindings = [&scratch.inputs, &scratch.unused, &block.rotations, parts, &rows.range, &block.keys, no_values];
        self.dispatch(KernelId::rope_kv_store(self.cache), constants.grid(), &bindings, constants)
    }

    /// Copies the rotated part of each query, before its rotation, to the start of the absorbed query.
    fn copy_rotated(
        &mut self,
        latent: &DeviceLatent,
        queries: &RowBuffer,
        absorbed: &RowBuffer,
        heads: usize,
        key_length: usize,
    ) -> Result<(), Error> {
        let pairs = (self.shape.tokens * heads) as u32;
        let rotated = latent.rotated_length as u32;
        let constants = StridedCopy {
            count: pairs * rotated,
            source_offset: (latent.query_length - latent.rotated_length) as u32,
            shape: [1, 1, 1, pairs, rotated],
            strides: [0, 0, 0, latent.query_length as i32, 1],
            target_offset: 0,
            run: rotated,
            pitch: key_length as u32,
        };
        let bindings = [&queries.range, &absorbed.range].map(|range| Binding::from(range.clone()));
        // A specialized kernel would index constant arrays.
        let (kernel, grid) = (KernelId::STRIDED_COPY, constants.grid());
        self.kernels.dispatch(&mut self.commands, kernel, grid, &bindings, bytemuck::bytes_of(&constants), false)
    }

    /// Rotates the absorbed queries, and attends to the cached latents.
    fn attend_to_latents(&mut self, block: &DeviceAttention, absorbed: &RowBuffer) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let tokens = shape.tokens as u32;
        let stride = absorbed.stride as u32;
        self.rope_kv_store(block, absorbed, &LmRopeKvStore { tokens, kv_heads: 0, stride, ..block.heads })?;
        self.barrier();
        let LmAttention { heads, value_length, .. } = block.attention;
        let whole = self.is_large_batch() || self.features.native_kernels;
        let attention = LmAttention {
            tokens,
            blocks: shape.blocks as u32,
            block: shape.block_tokens as u32,
            q_stride: stride,
            y_stride: heads * value_length,
            own: shape.own_positions() as u32,
            splits: if whole { 1 } else { shape.kv_splits as u32 },
            ..block.attention
        };
        let start = 4 * shape.attention_offset() as u64;
        let inputs = scratch.inputs.range(start, scratch.inputs.length() - start)?;
        let is_split = attention.splits > 1;
        let target = if is_split { &scratch.attention_splits } else { &scratch.attended.range };
        let bindings = [&inputs, &absorbed.range, &block.keys, &block.values, &scratch.unused, target];
        self.dispatch(KernelId::attention(self.cache), attention.grid(), &bindings, &attention)?;
        self.barrier();
        if is_split {
            let (splits, y_stride) = (attention.splits, attention.y_stride);
            let combine = LmCombineSplits { tokens, heads, value_length, splits, y_stride, packed: 0 };
            let bindings = [&scratch.attention_splits, &scratch.attended.range];
            self.dispatch(KernelId::COMBINE_SPLITS, combine.grid(), &bindings, &combine)?;
            self.barrier();
        }
        Ok(())
    }

    /// The tile for the products of heads. Pairs are grouped by head once per step, because tokens
    /// have the same heads in all layers.
    fn head_tile(&mut self, latent: &DeviceLatent, heads: usize) -> Result<Option<ExpertTile>, Error> {
        let (HeadMatrices::Planar(keys), HeadMatrices::Planar(values)) = (&latent.keys, &latent.values) else {
            return Ok(None);
        };
        let pairs = self.shape.tokens * heads;
        let tile = self.tile_of([keys, values], pairs, heads);
        if let Some(tile) = tile.filter(|tile| self.state.head_tile != Some((*tile, heads))) {
            let scratch = self.scratch;
            self.group_pairs(tile, (pairs, heads), &scratch.head_ids, &scratch.head_tiles)?;
            self.state.head_tile = Some((tile, heads));
        }
        Ok(tile)
    }

    /// A product with the matrix of its head for each pair of a token and a head.
    fn head_products(
        &mut self,
        matrices: &HeadMatrices,
        (heads, tile): (usize, Option<ExpertTile>),
        x: &RowBuffer,
        y: &RowBuffer,
    ) -> Result<(), Error> {
        let pairs = ExpertPairs {
            pairs: self.shape.tokens * heads,
            experts: heads,
            sharing: 1,
            ids: &self.scratch.head_ids,
            tile: tile.map(|tile| (tile, &self.scratch.head_tiles)),
        };
        match matrices {
            HeadMatrices::Planar(shards) => self.expert_linear(shards, &LinearInput::f32(x), y, 0, pairs),
            HeadMatrices::Native(products) => self.native_expert_products(products, x, y, pairs),
        }
    }
}
