//! Queries and keys of multi-head latent attention.

use super::Reference;
use super::attention::Projected;
use super::ops::rotate;
use crate::architecture::blocks::{Attention, Latent, Linear};

impl Reference {
    /// The query heads of a token, which attend to the cached latents, and its key, whose end is the
    /// latent.
    pub(super) fn project_latent(
        &self,
        block: &Attention,
        latent: &Latent,
        input: Vec<f32>,
        position: usize,
    ) -> Projected {
        let low_rank = latent.low_rank.as_ref().map(|query| {
            let projected = self.weights.apply(&query.projection, &input);
            self.weights.norm(&query.norm, &projected)
        });
        let projected = self.weights.apply(&block.query, low_rank.as_ref().unwrap_or(&input));
        let mut query = Vec::with_capacity(block.heads * block.key_length);
        for (head, projected) in projected.chunks(latent.query_length).enumerate() {
            let (plain, rotated) = projected.split_at(latent.query_length - block.rotated_length());
            let mut rotated = rotated.to_vec();
            rotate(&block.rope, &mut rotated, position);
            query.extend(rotated);
            query.extend(self.to_latent(latent, &latent.keys[head], plain));
        }
        let mut key = self.weights.apply(&block.key, &input);
        rotate(&block.rope, &mut key, position);
        key.extend(self.weights.norm(&latent.norm, &self.weights.apply(&block.value, &input)));
        Projected { input, query, own: (key, Vec::new()) }
    }

    /// The part of a query without position embedding, multiplied with the projection to its keys.
    fn to_latent(&self, latent: &Latent, linear: &Linear, plain: &[f32]) -> Vec<f32> {
        if !latent.transposed_keys {
            return self.weights.apply(linear, plain);
        }
        let mut sums = vec![0f64; linear.matrix.columns];
        for (row, value) in plain.iter().enumerate() {
            for (sum, weight) in sums.iter_mut().zip(self.weights.row(&linear.matrix, row)) {
                *sum += f64::from(*value) * f64::from(*weight);
            }
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}
