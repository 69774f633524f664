//! Hyperparameters of mixtures of experts.

use super::blocks::{ExpertGroups, ExpertScores};
use super::error::ModelError;
use super::keys::{Keys, MAX_LAYERS, MAX_LENGTH};
use super::traits::{ArchitectureTraits, SharedExpertTraits};

/// Mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Experts {
    /// Total number of experts.
    pub count: usize,
    /// Experts per token.
    pub experts_per_token: usize,
    /// Length of an expert's activated vector.
    pub feed_forward: usize,
    /// Length of the shared expert's activated vector, if the file has it.
    pub shared_feed_forward: Option<usize>,
    /// How scores become weights.
    pub scores: ExpertScores,
    /// Whether weights are divided by their sum.
    pub normalized: bool,
    /// Factor of the weights.
    pub scale: f32,
    /// Groups of experts.
    pub groups: Option<ExpertGroups>,
}

const MAX_EXPERTS: u64 = 1 << 12;

/// Keys that dense models may have too, without effect.
const ONLY_WITH_EXPERTS: [&str; 8] = [
    "expert_used_count",
    "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
    "expert_shared_count",
    "expert_group_used_count",
    "expert_gating_func",
    "expert_weights_norm",
    "expert_weights_scale",
];

impl Experts {
    pub(super) fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<Self>, ModelError> {
        // Dense models may declare zero experts.
        let declared = keys.metadata.get::<u64>(&keys.key("expert_count"))?.unwrap_or(0);
        if declared == 0 && !traits.experts {
            for key in ONLY_WITH_EXPERTS {
                keys.key(key);
            }
            return Ok(None);
        }
        let count = keys.needed("expert_count", MAX_EXPERTS)?;
        let experts_per_token = keys.needed("expert_used_count", MAX_EXPERTS)?;
        if experts_per_token > count {
            let reason = format!("{experts_per_token} experts per token are out of range: 1 to {count}");
            return Err(ModelError::config(keys.key("expert_used_count"), reason));
        }
        let feed_forward = match keys.count("expert_feed_forward_length", MAX_LENGTH)? {
            Some(length) => length,
            None => keys.needed("feed_forward_length", MAX_LENGTH)?,
        };
        let (scores, normalized) = scores(keys, traits)?;
        Ok(Some(Self {
            count,
            experts_per_token,
            feed_forward,
            shared_feed_forward: shared_length(keys, traits, feed_forward)?,
            scores,
            normalized,
            scale: keys.scale("expert_weights_scale")?.unwrap_or(1.0),
            groups: groups(keys, count, experts_per_token)?,
        }))
    }
}

/// The groups of experts.
fn groups(keys: &Keys<'_>, experts: usize, experts_per_token: usize) -> Result<Option<ExpertGroups>, ModelError> {
    let count = keys.integer("expert_group_count")?.unwrap_or(0);
    let used = keys.integer("expert_group_used_count")?.unwrap_or(0);
    if count <= 1 {
        return Ok(None);
    }
    let wrong = |key: &str, reason: String| Err(ModelError::config(keys.key(key), reason));
    let Some(count) =
        usize::try_from(count).ok().filter(|count| experts.is_multiple_of(*count) && 2 * count <= experts)
    else {
        return wrong("expert_group_count", format!("{count} groups of {experts} experts are not equal groups"));
    };
    let used = usize::try_from(used).unwrap_or(0);
    if used == 0 || used > count || used * (experts / count) < experts_per_token {
        let reason = format!("{used} of {count} groups do not have {experts_per_token} of {experts} experts");
        return wrong("expert_group_used_count", reason);
    }
    Ok(Some(ExpertGroups { count, used }))
}

/// How scores become weights, and whether these are normalized.
fn scores(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<(ExpertScores, bool), ModelError> {
    let normalized = keys.flag("expert_weights_norm")?.unwrap_or(traits.normalized);
    match keys.integer("expert_gating_func")? {
        None | Some(0) => Ok((traits.scores, normalized)),
        Some(1) => Ok((ExpertScores::Softmax, normalized)),
        Some(2) => Ok((ExpertScores::Sigmoid, normalized)),
        // The softmax over the chosen experts.
        Some(3) => Ok((ExpertScores::Softmax, true)),
        Some(other) => {
            let reason =
                format!("unknown function {other}; known: 1 (softmax), 2 (sigmoid), 3 (softmax of the chosen)");
            Err(ModelError::config(keys.key("expert_gating_func"), reason))
        }
    }
}

/// The length of the shared expert's activated vector, if the architecture has one.
fn shared_length(keys: &Keys<'_>, traits: &ArchitectureTraits, each: usize) -> Result<Option<usize>, ModelError> {
    let length = keys.integer("expert_shared_feed_forward_length")?.unwrap_or(0);
    let count = keys.integer("expert_shared_count")?.unwrap_or(0);
    if traits.shared_expert == SharedExpertTraits::None {
        return Ok(None);
    }
    if length > 0 {
        return keys.count("expert_shared_feed_forward_length", MAX_LENGTH);
    }
    if count > 0 {
        return Ok(keys.count("expert_shared_count", MAX_LENGTH)?.map(|count| count.saturating_mul(each)));
    }
    Ok(None)
}

/// Which layers have experts.
pub(super) fn expert_layers(keys: &Keys<'_>, any: bool, layers: usize) -> Result<Vec<bool>, ModelError> {
    let dense = keys.integer("leading_dense_block_count")?.unwrap_or(0);
    let step = keys.count("interleave_moe_layer_step", MAX_LAYERS)?.unwrap_or(1);
    if let Some(every) = keys.integer("moe_every_n_layers")? {
        return Ok((0..layers).map(|layer| any && every > 0 && layer as i64 % every == 1).collect());
    }
    Ok((0..layers).map(|layer| any && layer as i64 >= dense && (layer + 1).is_multiple_of(step)).collect())
}
