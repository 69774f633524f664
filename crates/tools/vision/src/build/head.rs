//! From the last layer to embeddings of the language model.

use roci_graph::ops::Reduction;
use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::reduction::ReduceKind;
use roci_graph::{Tensor, ValueId};

use super::{Builder, LAYER_NORM_EPSILON};
use crate::Error;
use crate::description::Activation;
use crate::projector::{Head, Merge, NormKind};
use crate::weights::transposed;

impl Builder<'_> {
    /// Features of a layer for a layer of the language model, if the file has a head for them.
    pub(super) fn deepstack(&mut self, x: ValueId, index: usize) -> Result<Option<ValueId>, Error> {
        let name = |what: &str| format!("v.deepstack.{index}.{what}");
        if !self.weights.has(&name("norm.weight")) {
            return Ok(None);
        }
        let columns = self.description.square() * self.description.width;
        let x = self.reshape("deepstack", x, &[1, -1, columns as i64]);
        let x = self.norm(x, &name("norm"), columns)?;
        let hidden = self.outputs(&format!("{}.weight", name("fc1")))?;
        let outputs = self.outputs("mm.2.weight")?;
        let x = self.linear(x, &name("fc1"), columns, hidden)?;
        let x = self.activation(x, Activation::Gelu);
        Ok(Some(self.linear(x, &name("fc2"), hidden, outputs)?))
    }

    /// Rows of merged squares, and the length of a row.
    pub(super) fn merge(&mut self, x: ValueId) -> Result<(ValueId, usize), Error> {
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
    pub(super) fn head(&mut self, x: ValueId, columns: usize) -> Result<(ValueId, usize), Error> {
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
            Head::PlainNorm => self.project(x, columns),
            Head::Standardized => {
                let root = self.constant("mm", Tensor::vector(vec![(columns as f32).sqrt()]));
                let mut x = self.node("mm", Binary::Mul, &[x, root]);
                if self.weights.has("v.std_bias") && self.weights.has("v.std_scale") {
                    let bias = self.weights.vector("v.std_bias", columns)?;
                    let bias = self.constant("v.std_bias", bias);
                    x = self.node("v.std_bias", Binary::Sub, &[x, bias]);
                    x = self.scaled(x, "v.std_scale")?;
                }
                self.project(x, columns)
            }
            Head::Linear => {
                let outputs = self.outputs("mm.model.fc.weight")?;
                Ok((self.linear(x, "mm.model.fc", columns, outputs)?, outputs))
            }
            Head::NormMlp => {
                let [weight, bias] = ["weight", "bias"].map(|what| format!("mm.model.mlp.0.{what}"));
                let x = self.norm_by(x, &weight, Some(&bias), (NormKind::Layer, LAYER_NORM_EPSILON), columns)?;
                self.mlp(x, "mm.model.mlp.1", "mm.model.mlp.3", columns)
            }
            Head::Mlp(first, second) => {
                let [first, second] = [first, second].map(|index| format!("mm.{index}"));
                self.mlp(x, &first, &second, columns)
            }
        }
    }

    /// RMS norm without weights, then a product. Returns the rows and their length.
    fn project(&mut self, x: ValueId, columns: usize) -> Result<(ValueId, usize), Error> {
        let x = self.plain_norm(x, "mm", columns);
        let outputs = self.outputs("mm.input_projection.weight")?;
        Ok((self.linear(x, "mm.input_projection", columns, outputs)?, outputs))
    }

    /// Two products with GELU between them, and the length of the result.
    fn mlp(&mut self, x: ValueId, first: &str, second: &str, columns: usize) -> Result<(ValueId, usize), Error> {
        let hidden = self.outputs(&format!("{first}.weight"))?;
        let outputs = self.outputs(&format!("{second}.weight"))?;
        let y = self.linear(x, first, columns, hidden)?;
        let y = self.activation(y, Activation::Gelu);
        Ok((self.linear(y, second, hidden, outputs)?, outputs))
    }
}
