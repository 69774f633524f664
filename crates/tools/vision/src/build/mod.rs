//! The graph of a tower, for any number of patches.

mod attention;
mod head;

use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::{Elementwise, Movement, Norm, Product};
use roci_graph::{DType, Graph, Op, Tensor, ValueId};

use crate::Error;
use crate::description::{Activation, Description};
use crate::projector::{Learned, NormKind, Rope};
use crate::weights::{Weights, layer, transposed};

/// The symbol of the number of patches, and the name of the input that has them.
const PATCHES: &str = "patches";

/// Added to the variance in layer norms whose epsilon is not in the file: PyTorch's default.
const LAYER_NORM_EPSILON: f32 = 1e-5;

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
    if description.projector.class {
        x = builder.append_class(x)?;
    }
    if builder.weights.has("v.pre_ln.weight") {
        x = builder.norm(x, "v.pre_ln", width)?;
    }
    let tables = builder.tables();
    let mut features = Vec::new();
    for index in 0..description.layers {
        x = builder.layer(x, index, &tables)?;
        features.extend(builder.deepstack(x, index)?);
    }
    if builder.weights.has("v.post_ln.weight") {
        x = builder.norm(x, "v.post_ln", width)?;
    }
    if description.projector.class {
        let bounds = [0i64, -1, 1].map(|bound| builder.constant("class", Tensor::vector(vec![bound])));
        x = builder.node("class", Movement::Slice, &[x, bounds[0], bounds[1], bounds[2]]);
    }
    let (x, columns) = builder.merge(x)?;
    let (mut x, mut outputs) = builder.head(x, columns)?;
    if !features.is_empty() {
        outputs *= 1 + features.len();
        let parts: Vec<ValueId> = std::iter::once(x).chain(features).collect();
        x = builder.node("deepstack", Movement::Concat { axis: -1 }, &parts);
    }
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
        let x = self.clamped(x, &format!("{name}.input"))?;
        let y = self.product(x, name, matrix, outputs)?;
        self.clamped(y, &format!("{name}.output"))
    }

    /// Clamps to the range of the file, if it has one.
    fn clamped(&mut self, x: ValueId, name: &str) -> Result<ValueId, Error> {
        let bound = |bound: &str| -> Result<Option<f32>, Error> {
            let name = format!("{name}_{bound}");
            let values = if self.weights.has(&name) { self.weights.floats(&name, &[1])? } else { Vec::new() };
            Ok(values.first().copied())
        };
        let (least, most) = (bound("min")?, bound("max")?);
        if least.is_none() && most.is_none() {
            return Ok(x);
        }
        let bounds = [least.unwrap_or(f32::MIN), most.unwrap_or(f32::MAX)];
        let [least, most] = bounds.map(|bound| self.constant(name, Tensor::scalar(bound)));
        Ok(self.node(name, Elementwise::Clip, &[x, least, most]))
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
        self.norm_by(x, weight, bias, (kind, self.description.epsilon), width)
    }

    fn norm_by(
        &mut self,
        x: ValueId,
        weight: &str,
        bias: Option<&str>,
        (kind, epsilon): (NormKind, f32),
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
        let rms = kind == NormKind::Rms;
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
        let layerless = self.description.projector.layerless;
        let shape = if layerless { vec![pixels, width] } else { vec![patch, patch, 3, width] };
        let mut kernel = self.weights.floats("v.patch_embd.weight", &shape)?;
        // Video towers have a kernel for each of two frames; both frames are the same image.
        if self.weights.has("v.patch_embd.weight.1") {
            let second = self.weights.floats("v.patch_embd.weight.1", &shape)?;
            kernel.iter_mut().zip(&second).for_each(|(one, other)| *one += other);
        }
        let mut x = self.per_patch(Input::Pixels, PATCHES, pixels);
        x = self.patch_norm(x, 1, pixels)?;
        x = self.product(x, "v.patch_embd", transposed(&kernel, pixels, width), width)?;
        x = self.patch_norm(x, 2, width)?;
        if self.description.projector.learned != Learned::None {
            let positions = self.per_patch(Input::Positions, "positions", width);
            x = self.add("v.position_embd", x, positions);
        }
        self.patch_norm(x, 3, width)
    }

    /// One of the norms of towers without layers: of the pixels, of the product with them, or of
    /// the sum with position embeddings.
    fn patch_norm(&mut self, x: ValueId, number: usize, width: usize) -> Result<ValueId, Error> {
        if !self.description.projector.layerless {
            return Ok(x);
        }
        let [weight, bias] = ["weight", "bias"].map(|what| format!("v.patch_norm.{number}.{what}"));
        self.weights.0.expect_tensor(&bias)?;
        self.norm_by(x, &weight, Some(&bias), (NormKind::Layer, LAYER_NORM_EPSILON), width)
    }

    /// Appends the class embedding, whose position is behind those of the patches.
    fn append_class(&mut self, x: ValueId) -> Result<ValueId, Error> {
        let Description { width, image, patch, .. } = *self.description;
        let patches = (image / patch).pow(2);
        let mut class = self.weights.floats("v.class_embd", &[width])?;
        let positions = self.weights.floats("v.position_embd.weight", &[width, patches + 1])?;
        class.iter_mut().zip(&positions[patches * width..]).for_each(|(class, position)| *class += position);
        let class = Tensor::new([1, 1, width], class).map_err(|_| Error::Unsupported("empty matrices"))?;
        let class = self.constant("v.class_embd", class);
        Ok(self.node("v.class_embd", Movement::Concat { axis: 1 }, &[x, class]))
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
        let attended = self.scaled(attended, &layer(index, "ls1.weight"))?;
        let attended = self.post_norm(attended, &layer(index, "attn_post_norm.weight"))?;
        let x = self.add(&layer(index, "attention"), x, attended);
        let normed = self.norm(x, &layer(index, "ln2"), width)?;
        let fed = self.feed_forward(normed, index)?;
        let fed = self.post_norm(fed, &layer(index, "ffn_post_norm.weight"))?;
        let fed = self.scaled(fed, &layer(index, "ls2.weight"))?;
        let x = self.add(&layer(index, "feed_forward"), x, fed);
        self.scaled(x, &layer(index, "out_scale.weight"))
    }

    /// The norm of a block's output, if the file has it.
    fn post_norm(&mut self, x: ValueId, weight: &str) -> Result<ValueId, Error> {
        match self.weights.has(weight) {
            true => self.norm_of(x, weight, None, self.description.projector.norm, self.description.width),
            false => Ok(x),
        }
    }

    /// RMS norm without weights.
    fn plain_norm(&mut self, x: ValueId, name: &str, width: usize) -> ValueId {
        let scale = self.constant(name, Tensor::vector(vec![1f32; width]));
        let epsilon = self.description.epsilon;
        self.node(name, Norm::Layer { axis: -1, epsilon, rms: true, stash: DType::F32 }, &[x, scale])
    }

    /// The product with a vector or a number of the file, if it has it.
    fn scaled(&mut self, x: ValueId, name: &str) -> Result<ValueId, Error> {
        let Some(tensor) = self.weights.0.tensor(name) else { return Ok(x) };
        let length = if tensor.info().values() == 1 { 1 } else { self.description.width };
        let vector = self.weights.vector(name, length)?;
        let vector = self.constant(name, vector);
        Ok(self.node(name, Binary::Mul, &[x, vector]))
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
}
