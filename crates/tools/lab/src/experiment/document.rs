//! Structure of the file. Unknown keys are errors.

use std::collections::{BTreeMap, BTreeSet};

use roci_doctor::Api;
use serde::Deserialize;
use toml::Spanned;

use super::values::Scalar;
use super::{ExecutorOptions, MetricAggregation, MetricDirection};

/// A whole file. Workload files have the same structure, without name and strategies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Document {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) goal: Option<String>,
    pub(super) targets: Vec<Spanned<String>>,
    pub(super) notes: Vec<String>,
    pub(super) workload: Option<Spanned<String>>,
    pub(super) command: Option<Vec<String>>,
    pub(super) shell: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) env: BTreeMap<String, Scalar>,
    pub(super) unset: Vec<String>,
    pub(super) directory: Option<String>,
    pub(super) image: Option<String>,
    pub(super) uses: Option<BTreeSet<Api>>,
    pub(super) repeats: Option<u32>,
    pub(super) variables: BTreeMap<String, Scalar>,
    pub(super) phase: Vec<PhaseDocument>,
    pub(super) metric: Vec<MetricDocument>,
    pub(super) success: Option<SuccessDocument>,
    pub(super) baseline: Option<BaselineDocument>,
    pub(super) limits: LimitsDocument,
    pub(super) executor: Option<ExecutorOptions>,
    pub(super) strategy: Vec<Spanned<StrategyDocument>>,
    pub(super) matrix: Vec<Spanned<MatrixDocument>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseDocument {
    pub(super) name: String,
    pub(super) pattern: Spanned<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricDocument {
    pub(super) name: String,
    pub(super) pattern: Spanned<String>,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) better: MetricDirection,
    #[serde(default)]
    pub(super) take: MetricAggregation,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SuccessDocument {
    pub(super) exit: Option<Vec<i32>>,
    pub(super) phase: Option<Spanned<String>>,
    pub(super) partial: Option<Spanned<String>>,
    pub(super) metric: Vec<MetricCriterionDocument>,
    pub(super) wrong: Vec<Spanned<String>>,
    pub(super) right: Vec<Spanned<String>>,
    pub(super) fault: Vec<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricCriterionDocument {
    pub(super) name: Spanned<String>,
    pub(super) ratio: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BaselineDocument {
    pub(super) label: Option<String>,
    pub(super) strategy: Option<Spanned<String>>,
    pub(super) values: BTreeMap<Spanned<String>, f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsDocument {
    pub(super) deadline: Option<Spanned<Scalar>>,
    /// `never` disables it.
    pub(super) stall: Option<Spanned<Scalar>>,
    pub(super) memory: Option<Spanned<Scalar>>,
    pub(super) grace: Option<Spanned<Scalar>>,
    pub(super) queue: Option<Spanned<Scalar>>,
}

/// A strategy, or the settings that a value of an axis adds to one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StrategyDocument {
    pub(super) name: String,
    pub(super) hypothesis: Option<String>,
    pub(super) changes: Option<String>,
    /// An earlier strategy that this one extends.
    pub(super) extends: Option<Spanned<String>>,
    pub(super) command: Option<Vec<String>>,
    pub(super) shell: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) env: BTreeMap<String, Scalar>,
    pub(super) unset: Vec<String>,
    pub(super) directory: Option<String>,
    pub(super) image: Option<String>,
    pub(super) uses: Option<BTreeSet<Api>>,
    pub(super) needs: Vec<Spanned<RequirementDocument>>,
    pub(super) after: Vec<Spanned<DependencyDocument>>,
    pub(super) skip: Option<String>,
    pub(super) repeats: Option<u32>,
    pub(super) limits: LimitsDocument,
    pub(super) executor: Option<ExecutorOptions>,
}

/// A requirement of the machine: exactly one of these keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct RequirementDocument {
    pub(super) kernel_parameter: Option<String>,
    pub(super) kernel: Option<String>,
    pub(super) module_parameter: Option<String>,
    pub(super) package: Option<String>,
    pub(super) file: Option<String>,
    pub(super) environment: Option<String>,
    pub(super) fact: Option<String>,
    pub(super) manual: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DependencyDocument {
    pub(super) strategy: String,
    pub(super) result: Option<ResultWord>,
    pub(super) phase: Option<String>,
    pub(super) past: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResultWord {
    Ended,
    Passed,
    Failed,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MatrixDocument {
    /// Prefix of the strategy names.
    pub(super) prefix: Option<String>,
    pub(super) axis: Vec<AxisDocument>,
    /// Combinations to exclude: values by axis.
    pub(super) exclude: Vec<Spanned<BTreeMap<String, Scalar>>>,
    /// What all of them share.
    pub(super) strategy: StrategyDocument,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AxisDocument {
    pub(super) name: String,
    /// Values that replace the axis's name in double braces.
    pub(super) values: Vec<Scalar>,
    /// Values with their own settings.
    pub(super) value: Vec<StrategyDocument>,
}
