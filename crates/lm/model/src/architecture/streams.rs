//! Assembles multiple residual streams and low-rank branches parallel to the mixer.

use super::blocks::{LowRankBranch, StreamMixing, Streams};
use super::build::Builder;
use super::config::StreamConfig;
use super::error::ModelError;
use super::keys::MAX_LENGTH;

impl Builder<'_> {
    pub(super) fn streams(&self) -> Result<Option<Streams>, ModelError> {
        let Some(StreamConfig { count, active }) = self.config.streams else { return Ok(None) };
        let embedding = self.config.embedding;
        let [starts] = self.stacked("altup_proj", [embedding], embedding, count - 1)?;
        let [ends] = self.stacked("altup_unembd_proj", [embedding], embedding, count - 1)?;
        Ok(Some(Streams { starts, ends, active }))
    }

    pub(super) fn stream_mixing(&self, index: usize) -> Result<Option<StreamMixing>, ModelError> {
        let Some(StreamConfig { count, .. }) = self.config.streams else { return Ok(None) };
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(Some(StreamMixing {
            router_norm: self.norm(&name("altup_router_norm"), embedding)?,
            router: self.linear(&name("altup_router"), count, embedding, false)?,
            predict: self.linear(&name("altup_predict_coef"), count * count, count, false)?,
            correct: self.linear(&name("altup_correct_coef"), count, count, false)?,
            correct_scale: self.vector(&name("altup_correct_scale.weight"), embedding)?,
        }))
    }

    pub(super) fn low_rank(&self, index: usize) -> Result<Option<LowRankBranch>, ModelError> {
        if !self.traits.streams {
            return Ok(None);
        }
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let down = name("laurel_l");
        // The file has no key for the rank.
        let rank = self.file.tensor(&format!("{down}.weight")).and_then(|tensor| tensor.info().shape().get(1).copied());
        let rank = rank.filter(|rank| (1..=MAX_LENGTH).contains(rank)).unwrap_or(1) as usize;
        Ok(Some(LowRankBranch {
            down: self.linear(&down, rank, embedding, false)?,
            up: self.linear(&name("laurel_r"), embedding, rank, false)?,
            post_norm: self.norm(&name("laurel_post_norm"), embedding)?,
        }))
    }
}
