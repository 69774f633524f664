//! The graph of a tower, for any number of patches.

use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::ops::attention::{Attention, Rotary, Scores};
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::reduction::ReduceKind;
use roci_graph::ops::{AttentionOp, Movement, Norm, Product, Reduction};
use roci_graph::{DType, Graph, Op, Tensor, ValueId};

use crate::Error;
use crate::description::{Activation, Description};
use crate::projector::{Head, Learned, Merge, NormKind, Rope};
use crate::weights::{Weights, layer, transposed};

/// The symbol of the number of patches, and the name of the input that has them.
const PATCHES: &str = "patches";

/// A graph and the order of its inputs.
pub(crate) struct TowerGraph {
    pub(crate) graph: Graph,
    pub(crate) inputs: Vec<Input>,
    /// Length of an output row.
    pub(crate) outputs: usize,
}

/// An input of the graph, with its shape. A dimension of one is the number of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `[1, patches, pixels]`.
    Pixels,
    /// `[1, patches, width]`: learned embeddings of positions.
    Positions,
    /// `[1, patches, pairs]`.
    Cosines,
    Sines,
    /// `[1, 1, 1, patches]`, for layers that attend to the whole image.
    Mask,
    /// `[windows, 1, 1, patches of a window]`.
    WindowMask,
}

/// Builds the graph of a tower.
pub(crate) fn build(weights: Weights<'_>, description: &Description) -> Result<TowerGraph, Error> {
    let graph = Graph { name: "vision tower".to_owned(), ..Graph::default() };
    let mut builder = Builder { graph, weights, description, inputs: Vec::new() };
    let width = description.width;
    let mut x = builder.embed_patches()?;
    if builder.weights.has("v.pre_ln.weight") {
        x = builder.norm(x, "v.pre_ln", width)?;
    }
    let tables = builder.tables();
    for index in 0..description.layers {
        x = builder.layer(x, index, &tables)?;
    }
    if builder.weights.has("v.post_ln.weight") {
        x = builder.norm(x, "v.post_ln", width)?;
    }
    let (x, columns) = builder.merge(x)?;
    let (x, outputs) = builder.head(x, columns)?;
    builder.graph.outputs.push(x);
    Ok(TowerGraph { graph: builder.graph, inputs: builder.inputs, outputs })
}

/// The inputs that every layer reads.
struct Tables {
    rotations: Option<(ValueId, ValueId)>,
    /// The masks for layers with full and with windowed attention.
    masks: Option<(ValueId, ValueId)>,
}

struct Builder<'a> {
    graph: Graph,
    weights: Weights<'a>,
    description: &'a Description,
    inputs: Vec<Input>,
}

impl Builder<'_> {
    fn input(&mut self, kind: Input, name: &str, dims: Vec<Dim>) -> ValueId {
        let id = self.graph.value(name);
        self.graph.values[id.index()].declared = Some(DeclaredType::Tensor { dtype: DType::F32, dims: Some(dims) });
        self.graph.inputs.push(id);
        self.inputs.push(kind);
        id
    }

    /// An input `[1, patches, width]`.
    fn per_patch(&mut self, kind: Input, name: &str, width: usize) -> ValueId {
        self.input(kind, name, vec![Dim::Known(1), Dim::Symbol(PATCHES.to_owned()), Dim::Known(width)])
    }

    fn node(&mut self, name: &str, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.graph.node(name, op, inputs)
    }

    fn constant(&mut self, name: &str, tensor: Tensor) -> ValueId {
        self.graph.constant(name, tensor)
    }

    fn add(&mut self, name: &str, a: ValueId, b: ValueId) -> ValueId {
        self.node(name, Binary::Add, &[a, b])
    }

    /// Reshapes a value; one size may be -1.
    fn reshape(&mut self, name: &str, x: ValueId, shape: &[i64]) -> ValueId {
        let shape = self.constant(name, Tensor::vector(shape.to_vec()));
        self.node(name, Movement::Reshape { allow_zero: false }, &[x, shape])
    }

    /// A product with a matrix `[inputs, outputs]`, plus the bias with this name if there is one.
    fn product(&mut self, x: ValueId, name: &str, matrix: Tensor, outputs: usize) -> Result<ValueId, Error> {
        let matrix = self.constant(name, matrix);
        let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
        let y = self.node(name, product, &[x, matrix]);
        let bias = format!("{name}.bias");
        if !self.weights.has(&bias) {
            return Ok(y);
        }
        let vector = self.weights.vector(&bias, outputs)?;
        let vector = self.constant(&bias, vector);
        Ok(self.add(&bias, y, vector))
    }

    fn linear(&mut self, x: ValueId, name: &str, inputs: usize, outputs: usize) -> Result<ValueId, Error> {
        let matrix = self.weights.matrix(&format!("{name}.weight"), inputs, outputs)?;
        self.product(x, name, matrix, outputs)
    }

    /// The number of outputs of a matrix in the file.
    fn outputs(&self, name: &str) -> Result<usize, Error> {
        let tensor = self.weights.0.expect_tensor(name)?;
        Ok(tensor.info().shape().get(1).map_or(1, |size| *size as usize))
    }

    fn norm(&mut self, x: ValueId, name: &str, width: usize) -> Result<ValueId, Error> {
        let kind = self.description.projector.norm;
        self.norm_of(x, &format!("{name}.weight"), Some(&format!("{name}.bias")), kind, width)
    }

    fn norm_of(
        &mut self,
        x: ValueId,
        weight: &str,
        bias: Option<&str>,
        kind: NormKind,
        width: usize,
    ) -> Result<ValueId, Error> {
        let scale = self.weights.vector(weight, width)?;
        let scale = self.constant(weight, scale);
        let mut operands = vec![x, scale];
        let bias = bias.filter(|bias| self.weights.has(bias));
        if let (Some(bias), NormKind::Layer) = (bias, kind) {
            let vector = self.weights.vector(bias, width)?;
            operands.push(self.constant(bias, vector));
        }
        let (rms, epsilon) = (kind == NormKind::Rms, self.description.epsilon);
        let y = self.node(weight, Norm::Layer { axis: -1, epsilon, rms, stash: DType::F32 }, &operands);
        match bias {
            Some(bias) if rms => {
                let vector = self.weights.vector(bias, width)?;
                let vector = self.constant(bias, vector);
                Ok(self.add(bias, y, vector))
            }
            _ => Ok(y),
        }
    }

    /// Hidden states of the patches before the first layer.
    fn embed_patches(&mut self) -> Result<ValueId, Error> {
        let (width, patch) = (self.description.width, self.description.patch);
        let pixels = 3 * patch * patch;
        let shape = [patch, patch, 3, width];
        let mut kernel = self.weights.floats("v.patch_embd.weight", &shape)?;
        // Video towers have a kernel for each of two frames; both frames are the same image.
        if self.weights.has("v.patch_embd.weight.1") {
            let second = self.weights.floats("v.patch_embd.weight.1", &shape)?;
            kernel.iter_mut().zip(&second).for_each(|(one, other)| *one += other);
        }
        let x = self.per_patch(Input::Pixels, PATCHES, pixels);
        let mut x = self.product(x, "v.patch_embd", transposed(&kernel, pixels, width), width)?;
        if self.description.projector.learned != Learned::None {
            let positions = self.per_patch(Input::Positions, "positions", width);
            x = self.add("v.position_embd", x, positions);
        }
        Ok(x)
    }

    fn tables(&mut self) -> Tables {
        let pairs = self.description.head() / 2;
        let rotations = (self.description.projector.rope != Rope::None)
            .then(|| (self.per_patch(Input::Cosines, "cosines", pairs), self.per_patch(Input::Sines, "sines", pairs)));
        let masks = self.description.windows.map(|_| {
            let (one, any) = (|| Dim::Known(1), |name: &str| Dim::Symbol(name.to_owned()));
            let whole = self.input(Input::Mask, "mask", vec![one(), one(), one(), any(PATCHES)]);
            let dims = vec![any("windows"), one(), one(), any("window")];
            (whole, self.input(Input::WindowMask, "window mask", dims))
        });
        Tables { rotations, masks }
    }

    fn layer(&mut self, x: ValueId, index: usize, tables: &Tables) -> Result<ValueId, Error> {
        let width = self.description.width;
        let normed = self.norm(x, &layer(index, "ln1"), width)?;
        let attended = self.attention(normed, index, tables)?;
        let attended = self.linear(attended, &layer(index, "attn_out"), width, width)?;
        let x = self.add(&layer(index, "attention"), x, attended);
        let normed = self.norm(x, &layer(index, "ln2"), width)?;
        let fed = self.feed_forward(normed, index)?;
        Ok(self.add(&layer(index, "feed_forward"), x, fed))
    }

    fn attention(&mut self, x: ValueId, index: usize, tables: &Tables) -> Result<ValueId, Error> {
        let (width, heads) = (self.description.width, self.description.heads);
        let [mut q, mut k, mut v] = self.projections(x, index)?;
        if let Some((cosines, sines)) = tables.rotations {
            let interleaved = self.description.projector.rope == Rope::Adjacent;
            let rotary = Rotary { interleaved, rotary_dim: 0, heads: Some(heads) };
            let name = layer(index, "rope");
            [q, k] = [q, k].map(|x| self.node(&name, AttentionOp::Rotary(rotary), &[x, cosines, sines]));
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
            scale: None,
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

    fn feed_forward(&mut self, x: ValueId, index: usize) -> Result<ValueId, Error> {
        let width = self.description.width;
        let [mut up, mut down, gate] = ["ffn_up", "ffn_down", "ffn_gate"].map(|what| layer(index, what));
        // Old converters swapped the names; the shapes tell.
        let info = self.weights.0.expect_tensor(&format!("{up}.weight"))?.info();
        if info.shape().first() != Some(&(width as u64)) {
            std::mem::swap(&mut up, &mut down);
        }
        let hidden = self.outputs(&format!("{up}.weight"))?;
        let mut y = self.linear(x, &up, width, hidden)?;
        if self.weights.has(&format!("{gate}.weight")) {
            let gated = self.linear(x, &gate, width, hidden)?;
            let activated = self.activation(gated, self.description.activation);
            y = self.node(&gate, Binary::Mul, &[activated, y]);
        } else {
            y = self.activation(y, self.description.activation);
        }
        self.linear(y, &down, hidden, width)
    }

    fn activation(&mut self, x: ValueId, activation: Activation) -> ValueId {
        let kind = match activation {
            Activation::Gelu => Unary::Gelu { tanh: true },
            Activation::QuickGelu => Unary::Swish { alpha: 1.702 },
            Activation::Silu => Unary::Swish { alpha: 1.0 },
        };
        self.node("activation", kind, &[x])
    }

    /// Rows of merged squares, and the length of a row.
    fn merge(&mut self, x: ValueId) -> Result<(ValueId, usize), Error> {
        let (width, square) = (self.description.width, self.description.square());
        let concatenated = |builder: &mut Self, x| builder.reshape("merge", x, &[1, -1, (square * width) as i64]);
        Ok(match self.description.projector.merge {
            Merge::Mean => {
                let squares = self.reshape("merge", x, &[1, -1, square as i64, width as i64]);
                let axes = self.constant("merge", Tensor::vector(vec![2i64]));
                let mean = Reduction::Reduce { fold: ReduceKind::Mean, keep: false, noop_with_empty_axes: false };
                (self.node("merge", mean, &[squares, axes]), width)
            }
            Merge::Concatenate => (concatenated(self, x), square * width),
            Merge::Product if !self.weights.has("mm.patch_merger.weight") => (x, width),
            Merge::Product => {
                let x = self.norm_of(x, "mm.input_norm.weight", None, NormKind::Rms, width)?;
                let x = concatenated(self, x);
                // The file orders columns by channel, the rows here by patch.
                let rows = self.weights.floats("mm.patch_merger.weight", &[square * width, width])?;
                let by_patch = |at: usize| {
                    let (row, column) = (at / (square * width), at % (square * width));
                    rows[row * square * width + column % width * square + column / width]
                };
                let rows: Vec<f32> = (0..rows.len()).map(by_patch).collect();
                (self.product(x, "mm.patch_merger", transposed(&rows, square * width, width), width)?, width)
            }
        })
    }

    /// Embeddings of the language model, and their length.
    fn head(&mut self, x: ValueId, columns: usize) -> Result<(ValueId, usize), Error> {
        match self.description.projector.head {
            Head::Norm => {
                let x = self.norm_of(x, "mm.soft_emb_norm.weight", None, NormKind::Rms, columns)?;
                let name = "mm.input_projection.weight";
                let tensor = self.weights.0.expect_tensor(name)?;
                let outputs = tensor.info().shape().first().map_or(0, |size| *size as usize);
                let values = self.weights.floats(name, &[outputs, columns])?;
                let matrix =
                    Tensor::new([columns, outputs], values).map_err(|_| Error::Unsupported("empty matrices"))?;
                Ok((self.product(x, "mm.input_projection", matrix, outputs)?, outputs))
            }
            Head::Mlp(first, second) => {
                let [first, second] = [first, second].map(|index| format!("mm.{index}"));
                let hidden = self.outputs(&format!("{first}.weight"))?;
                let outputs = self.outputs(&format!("{second}.weight"))?;
                let y = self.linear(x, &first, columns, hidden)?;
                let y = self.activation(y, Activation::Gelu);
                Ok((self.linear(y, &second, hidden, outputs)?, outputs))
            }
        }
    }
}
