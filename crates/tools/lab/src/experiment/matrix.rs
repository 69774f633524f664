//! Expands a matrix: strategies for all combinations of axis values, without excluded ones.

use std::collections::BTreeMap;

use super::document::{AxisDocument, MatrixDocument, StrategyDocument};

/// Maximum number of strategies in an experiment.
pub(super) const MAX_STRATEGIES: usize = 10_000;

/// A combination: the parts of the strategy in merge order, and the values by axis.
pub(super) struct Combination {
    pub(super) name: String,
    pub(super) parts: Vec<StrategyDocument>,
    pub(super) axes: BTreeMap<String, String>,
}

/// All combinations; the last axis changes fastest.
pub(super) fn expand(matrix: &MatrixDocument) -> Result<Vec<Combination>, String> {
    if matrix.axis.is_empty() {
        return Err("a matrix needs an axis: `[[matrix.axis]]`".into());
    }
    let axes = matrix.axis.iter().map(values).collect::<Result<Vec<_>, _>>()?;
    let total = axes.iter().try_fold(1usize, |total, (_, values)| total.checked_mul(values.len()));
    if total.is_none_or(|total| total > MAX_STRATEGIES) {
        return Err(format!("the matrix has more than {MAX_STRATEGIES} combinations"));
    }
    for exclude in &matrix.exclude {
        for (axis, value) in exclude.get_ref() {
            let values = axes.iter().find(|(name, _)| name == axis).map(|(_, values)| values);
            let values = values.ok_or_else(|| format!("`exclude` names the axis `{axis}`, which does not exist"))?;
            if !values.iter().any(|known| known.name == value.0) {
                return Err(format!("`exclude` names the value `{}`, which the axis `{axis}` does not have", value.0));
            }
        }
    }
    let mut all = vec![Combination {
        name: matrix.prefix.clone().unwrap_or_default(),
        parts: vec![matrix.strategy.clone()],
        axes: BTreeMap::new(),
    }];
    for (axis, values) in &axes {
        let with = |before: &Combination, value: &StrategyDocument| {
            let name =
                [before.name.as_str(), &value.name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>();
            let mut axes = before.axes.clone();
            axes.insert(axis.clone(), value.name.clone());
            let parts = before.parts.iter().chain([value]).cloned().collect();
            Combination { name: name.join("/"), parts, axes }
        };
        all = all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
    }
    let excluded = |axes: &BTreeMap<String, String>| {
        let fits = |exclude: &BTreeMap<String, super::values::Scalar>| {
            !exclude.is_empty() && exclude.iter().all(|(axis, value)| axes.get(axis) == Some(&value.0))
        };
        matrix.exclude.iter().any(|exclude| fits(exclude.get_ref()))
    };
    all.retain(|combination| !excluded(&combination.axes));
    Ok(all)
}

/// The values of an axis, each with the settings that it adds.
fn values(axis: &AxisDocument) -> Result<(String, Vec<StrategyDocument>), String> {
    if axis.name.is_empty() {
        return Err("an axis of the matrix has no `name`".into());
    }
    let plain = axis.values.iter().map(|text| StrategyDocument { name: text.0.clone(), ..StrategyDocument::default() });
    let values: Vec<_> = plain.chain(axis.value.iter().cloned()).collect();
    match values.iter().any(|value| value.name.is_empty()) {
        _ if values.is_empty() => Err(format!("the axis `{}` has no values", axis.name)),
        true => Err(format!("a value of the axis `{}` has no name", axis.name)),
        false => Ok((axis.name.clone(), values)),
    }
}
