//! LoRA adapters, added to the weights.

use super::Reference;
use crate::adapter::Adapter;

impl Reference {
    /// Adds an adapter, times a scale, to the weights.
    ///
    /// # Errors
    /// If its tensors cannot be read.
    pub fn add_adapter(&mut self, adapter: &Adapter, scale: f32) -> Result<(), roci_gguf::Error> {
        for tensor in adapter.tensors() {
            let (a, b) = (adapter.a(tensor)?, adapter.b(tensor)?);
            let Some((weights, rank)) = self.weights.tensor_mut(tensor).zip(adapter.rank(tensor)) else { continue };
            let columns = if tensor == self.model.embedding.tensor { b.len() / rank } else { a.len() / rank };
            for (row, weights) in weights.chunks_exact_mut(columns).enumerate() {
                for (column, weight) in weights.iter_mut().enumerate() {
                    // Rows of A belong to tokens if embeddings are looked up in it.
                    let product = |index: usize| match tensor == self.model.embedding.tensor {
                        true => b[column * rank + index] * a[row * rank + index],
                        false => b[row * rank + index] * a[index * columns + column],
                    };
                    *weight += scale * (0..rank).map(product).sum::<f32>();
                }
            }
        }
        Ok(())
    }
}
