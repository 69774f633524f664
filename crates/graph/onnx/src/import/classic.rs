//! Classic machine learning: the `ai.onnx.ml` domain.

use std::collections::HashMap;

use roci_graph::ops::classic::{
    Aggregate, Child, Classic, Classify, FirstScore, Labels, Lookup, LookupTable, NodeTest, PostTransform, RowNorm,
    TreeEnsemble, TreeNode,
};
use roci_graph::{DType, Tensor};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = node.op();
    let Some(name) = op.strip_prefix("ai.onnx.ml.") else { return Ok(false) };
    match name {
        "LabelEncoder" => {
            let op = Classic::Lookup(Lookup(label_encoder(node)?));
            node.emit(op)
        }
        "CategoryMapper" => {
            let integers = node.ints("cats_int64s")?.unwrap_or_default();
            let op = Classic::Lookup(Lookup(both_ways(node, integers, "cats_strings")?));
            node.emit(op)
        }
        "ArrayFeatureExtractor" => node.emit(Classic::Columns),
        "Binarizer" => {
            let op = Classic::Binarize { threshold: node.float_or("threshold", 0.0)? };
            node.emit(op)
        }
        "Scaler" => {
            let offset = node.floats("offset")?.unwrap_or_else(|| vec![0.0]);
            let scale = node.floats("scale")?.unwrap_or_else(|| vec![1.0]);
            node.emit(Classic::Scale { offset, scale })
        }
        "Normalizer" => {
            let norm = match node.string_or("norm", "MAX")?.as_str() {
                "MAX" => RowNorm::Max,
                "L1" => RowNorm::L1,
                "L2" => RowNorm::L2,
                other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `norm`"))),
            };
            node.emit(Classic::Normalize(norm))
        }
        "Imputer" => imputer(node),
        "OneHotEncoder" => {
            let categories = match (node.ints("cats_int64s")?, node.strings("cats_strings")?) {
                (Some(integers), None) => Tensor::vector(integers),
                (None, Some(texts)) => Tensor::vector(texts),
                _ => return Err(Error::invalid("expected either `cats_int64s` or `cats_strings`")),
            };
            let op = Classic::OneHot { categories, or_none: node.flag("zeros", true)? };
            node.emit(op)
        }
        "FeatureVectorizer" => {
            // The shapes of the operands determine it too.
            node.ints("inputdimensions")?;
            node.emit(Classic::Vectorize)
        }
        "LinearRegressor" => {
            let targets = index("targets", node.int_or("targets", 1)?)?;
            let coefficients = node.floats("coefficients")?.unwrap_or_default();
            let intercepts = node.floats("intercepts")?;
            let transform = transform(node)?;
            if targets == 0 || targets > coefficients.len() {
                return Err(Error::invalid(format!(
                    "{} coefficients do not match {targets} targets",
                    coefficients.len()
                )));
            }
            let intercepts = intercepts.unwrap_or_else(|| vec![0.0; targets]);
            if intercepts.len() != targets {
                return Err(Error::invalid(format!("{} intercepts do not match {targets} targets", intercepts.len())));
            }
            transformed(node, Classic::Linear { coefficients, intercepts }, transform)
        }
        "LinearClassifier" => linear_classifier(node),
        "TreeEnsembleRegressor" => {
            let targets = index("n_targets", node.int_or("n_targets", 1)?)?;
            let transform = transform(node)?;
            let aggregate = match node.string_or("aggregate_function", "SUM")?.as_str() {
                "SUM" => Aggregate::Sum,
                "AVERAGE" => Aggregate::Average,
                "MIN" => Aggregate::Min,
                "MAX" => Aggregate::Max,
                other => {
                    return Err(Error::invalid(format!("unknown value `{other}` of attribute `aggregate_function`")));
                }
            };
            let base = numbers(node, "base_values")?;
            let (trees, _) = old_trees(node, "target", targets, base, aggregate)?;
            transformed(node, Classic::TreeEnsemble(trees), transform)
        }
        "TreeEnsembleClassifier" => tree_classifier(node),
        "TreeEnsemble" => tree_ensemble(node),
        _ => Ok(false),
    }
}

/// A number used as a count or an index.
fn index(what: &str, given: i64) -> Result<usize, Error> {
    usize::try_from(given).map_err(|_| Error::invalid(format!("`{what}` is {given}, expected a non-negative number")))
}

/// A list of numbers, or a tensor attribute of the same name with a suffix.
fn numbers(node: &NodeContext<'_, '_>, name: &str) -> Result<Vec<f64>, Error> {
    let wide = node.tensor(&format!("{name}_as_tensor"))?;
    let narrow = node.floats(name)?;
    match (narrow, wide) {
        (Some(narrow), None) => Ok(narrow.into_iter().map(f64::from).collect()),
        (None, Some(wide)) => Ok(wide.floats()?),
        (None, None) => Ok(Vec::new()),
        _ => Err(Error::invalid(format!("`{name}` is given both as a list and as a tensor"))),
    }
}

fn transform(node: &NodeContext<'_, '_>) -> Result<PostTransform, Error> {
    Ok(match node.string_or("post_transform", "NONE")?.as_str() {
        "NONE" => PostTransform::None,
        "SOFTMAX" => PostTransform::Softmax,
        "LOGISTIC" => PostTransform::Logistic,
        "SOFTMAX_ZERO" => PostTransform::SoftmaxZero,
        "PROBIT" => PostTransform::Probit,
        other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `post_transform`"))),
    })
}

/// Emits the scores, then their transform.
fn transformed(node: &mut NodeContext<'_, '_>, scores: Classic, transform: PostTransform) -> Result<bool, Error> {
    if transform == PostTransform::None {
        return node.emit(scores);
    }
    // Runtimes disagree on whether these transforms change a single score.
    let single = match &scores {
        Classic::Linear { intercepts, .. } => intercepts.len() == 1,
        Classic::TreeEnsemble(trees) => trees.targets() == 1,
        _ => false,
    };
    if single && transform != PostTransform::Probit {
        return Err(Error::invalid("this `post_transform` of a single score is not supported"));
    }
    let input = node.required(0)?;
    let scores = node.step(scores, &[input]);
    node.emit_with(Classic::Transform(transform), &[Some(scores)])
}

fn label_encoder(node: &NodeContext<'_, '_>) -> Result<Vec<LookupTable>, Error> {
    if node.version() < 2 {
        let count = node.strings("classes_strings")?.unwrap_or_default().len();
        return both_ways(node, (0..count as i64).collect(), "classes_strings");
    }
    let list = |kind: &str| -> Result<Tensor, Error> {
        let all = [
            node.tensor(&format!("{kind}_tensor"))?,
            node.strings(&format!("{kind}_strings"))?.map(Tensor::vector),
            node.ints(&format!("{kind}_int64s"))?.map(Tensor::vector),
            node.floats(&format!("{kind}_floats"))?.map(Tensor::vector),
        ];
        let mut all = all.into_iter().flatten();
        let first = all.next().ok_or_else(|| Error::invalid(format!("the {kind} are missing")))?;
        if all.next().is_some() {
            return Err(Error::invalid(format!("the {kind} are given twice")));
        }
        Ok(first)
    };
    let (keys, values) = (list("keys")?, list("values")?);
    let text = node.string_or("default_string", "_Unused")?;
    let (integer, float) = (node.int_or("default_int64", -1)?, node.float_or("default_float", -0.0)?);
    let default = match (node.tensor("default_tensor")?, values.dtype()) {
        (Some(default), _) => default,
        (None, DType::String) => Tensor::scalar(text),
        (None, DType::I64) => Tensor::scalar(integer),
        (None, DType::F32) => Tensor::scalar(float),
        (None, other) if other.is_integer() => Tensor::from_floats(other, [], &[-1.0])?,
        (None, other) => Tensor::from_floats(other, [], &[-0.0])?,
    };
    Ok(vec![LookupTable::new(keys, values, default)?])
}

/// LabelEncoder of opset 1: between integers and strings, depending on the operand's type.
fn both_ways(node: &NodeContext<'_, '_>, integers: Vec<i64>, texts: &str) -> Result<Vec<LookupTable>, Error> {
    let texts = node.strings(texts)?.unwrap_or_default();
    let text = node.string_or("default_string", "_Unused")?;
    let integer = node.int_or("default_int64", -1)?;
    let (integers, texts) = (Tensor::vector(integers), Tensor::vector(texts));
    Ok(vec![
        LookupTable::new(integers.clone(), texts.clone(), Tensor::scalar(text))?,
        LookupTable::new(texts, integers, Tensor::scalar(integer))?,
    ])
}

fn imputer(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let (floats, integers) = (node.floats("imputed_value_floats")?, node.ints("imputed_value_int64s")?);
    let (float, integer) = (node.float_or("replaced_value_float", 0.0)?, node.int_or("replaced_value_int64", 0)?);
    // Integers beyond 2^53 are not exact as floats.
    let exact = |integer: i64| {
        let float = integer as f64;
        if float as i64 == integer {
            Ok(float)
        } else {
            Err(Error::invalid(format!("integer {integer} is not exact as a float")))
        }
    };
    let op = match (floats, integers) {
        (Some(floats), None) => {
            Classic::Impute { missing: f64::from(float), values: floats.into_iter().map(f64::from).collect() }
        }
        (None, Some(integers)) => Classic::Impute {
            missing: exact(integer)?,
            values: integers.into_iter().map(exact).collect::<Result<_, _>>()?,
        },
        _ => return Err(Error::invalid("expected either `imputed_value_floats` or `imputed_value_int64s`")),
    };
    node.emit(op)
}

fn labels(node: &NodeContext<'_, '_>, integers: &str) -> Result<Labels, Error> {
    match (node.ints(integers)?, node.strings("classlabels_strings")?) {
        (Some(integers), None) => Ok(Labels::Integers(integers)),
        (None, Some(texts)) => Ok(Labels::Texts(texts)),
        _ => Err(Error::invalid(format!("expected either `{integers}` or `classlabels_strings`"))),
    }
}

/// How the first class's score follows from the second's. Only these transforms agree between
/// implementations.
fn second(transform: PostTransform) -> Result<FirstScore, Error> {
    match transform {
        PostTransform::None => Ok(FirstScore::Rest),
        PostTransform::Logistic => Ok(FirstScore::Opposite),
        _ => Err(Error::invalid("this `post_transform` of a single score for two classes is not supported")),
    }
}

fn linear_classifier(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let labels = labels(node, "classlabels_ints")?;
    let transform = transform(node)?;
    // One-vs-one and one-vs-rest give the same result here.
    node.int("multi_class")?;
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let count = labels.count();
    let intercepts = node.floats("intercepts")?.unwrap_or_else(|| vec![0.0; count]);
    let (second, above) = match (intercepts.len(), count) {
        (1, 2) => (second(transform)?, Some(0.0)),
        (scores, classes) if scores == classes && classes > 1 => (FirstScore::Given, None),
        (scores, classes) => return Err(Error::invalid(format!("{scores} scores do not match {classes} classes"))),
    };
    let input = node.required(0)?;
    let scores = node.step(Classic::Linear { coefficients, intercepts }, &[input]);
    node.emit_with(Classic::Classify(Classify { labels, transform, second, above }), &[Some(scores)])
}

fn tree_classifier(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let labels = labels(node, "classlabels_int64s")?;
    let transform = transform(node)?;
    let classes = labels.count();
    let ids = node.ints("class_ids")?.unwrap_or_default();
    // With two classes, leaves may have the score of one class only.
    let only = (classes == 2 && ids.iter().all(|id| Some(id) == ids.first())).then(|| ids.first().copied()).flatten();
    let base = numbers(node, "base_values")?;
    if only.is_some() && base.len() > usize::from(only == Some(0)) {
        return Err(Error::invalid(format!("{} base values for scores of one class are not supported", base.len())));
    }
    let (trees, positive) = old_trees(node, "class", if only == Some(0) { 1 } else { classes }, base, Aggregate::Sum)?;
    // Nonnegative scores are probabilities, so the first is one minus the second.
    let above = only.map(|_| if positive { 0.5 } else { 0.0 });
    let second = match (only, transform) {
        (Some(0), PostTransform::None) if !positive => FirstScore::Opposite,
        (Some(0), transform) => second(transform)?,
        _ => FirstScore::Given,
    };
    let input = node.required(0)?;
    let scores = node.step(Classic::TreeEnsemble(trees), &[input]);
    node.emit_with(Classic::Classify(Classify { labels, transform, second, above }), &[Some(scores)])
}

/// Reads trees in the older form: nodes are identified by tree and node IDs, and include the
/// leaves. Also returns whether all weights are nonnegative. With one target, target IDs are
/// ignored.
fn old_trees(
    node: &NodeContext<'_, '_>,
    votes: &str,
    targets: usize,
    base: Vec<f64>,
    aggregate: Aggregate,
) -> Result<(TreeEnsemble, bool), Error> {
    let ints = |name: &str| node.ints(name).map(Option::unwrap_or_default);
    let (tree_ids, node_ids) = (ints("nodes_treeids")?, ints("nodes_nodeids")?);
    let (yes, no, columns) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?, ints("nodes_featureids")?);
    let modes = node.strings("nodes_modes")?.unwrap_or_default();
    let values = numbers(node, "nodes_values")?;
    // Hit rates do not affect the result.
    numbers(node, "nodes_hitrates")?;
    let count = tree_ids.len();
    let missing = node.ints("nodes_missing_value_tracks_true")?.unwrap_or_else(|| vec![0; count]);
    let sizes = [node_ids.len(), yes.len(), no.len(), columns.len(), modes.len(), values.len(), missing.len()];
    if sizes.iter().any(|size| *size != count) {
        return Err(Error::invalid(format!("the attributes of {count} tree nodes have {sizes:?} entries")));
    }
    let places: HashMap<(i64, i64), usize> =
        tree_ids.iter().copied().zip(node_ids.iter().copied()).enumerate().map(|(place, id)| (id, place)).collect();
    if places.len() != count {
        return Err(Error::invalid("duplicate tree node"));
    }
    let mut splits = Vec::new();
    let mut leaves = Vec::new();
    let nexts: Vec<Child> = modes
        .iter()
        .map(|mode| {
            if mode == "LEAF" {
                leaves.push(Vec::new());
                return Child::Leaf(leaves.len() - 1);
            }
            splits.push(());
            Child::Node(splits.len() - 1)
        })
        .collect();
    let find = |tree: i64, id: i64| {
        let place = places.get(&(tree, id)).copied();
        place.ok_or_else(|| Error::invalid(format!("tree {tree} has no node {id}")))
    };
    let mut splits = Vec::with_capacity(splits.len());
    for (at, mode) in modes.iter().enumerate().filter(|(_, mode)| *mode != "LEAF") {
        let value = values[at];
        let test = match mode.as_str() {
            "BRANCH_LEQ" => NodeTest::LessOrEqual(value),
            "BRANCH_LT" => NodeTest::Less(value),
            "BRANCH_GTE" => NodeTest::GreaterOrEqual(value),
            "BRANCH_GT" => NodeTest::Greater(value),
            "BRANCH_EQ" => NodeTest::Equal(value),
            "BRANCH_NEQ" => NodeTest::NotEqual(value),
            other => return Err(Error::invalid(format!("unknown tree node mode `{other}`"))),
        };
        splits.push(TreeNode {
            column: index("nodes_featureids", columns[at])?,
            test,
            missing_holds: missing[at] != 0,
            yes: nexts[find(tree_ids[at], yes[at])?],
            no: nexts[find(tree_ids[at], no[at])?],
        });
    }
    let (vote_trees, vote_nodes) = (ints(&format!("{votes}_treeids"))?, ints(&format!("{votes}_nodeids"))?);
    let (ids, weights) = (ints(&format!("{votes}_ids"))?, numbers(node, &format!("{votes}_weights"))?);
    if [vote_nodes.len(), ids.len(), weights.len()].iter().any(|size| *size != vote_trees.len()) {
        return Err(Error::invalid("the attributes of leaf weights have different lengths"));
    }
    for (at, (tree, id)) in vote_trees.iter().zip(&vote_nodes).enumerate() {
        // Weights of nodes that are not leaves are never used.
        if let Child::Leaf(leaf) = nexts[find(*tree, *id)?] {
            let target = if targets == 1 { 0 } else { index("ids", ids[at])? };
            leaves[leaf].push((target, weights[at]));
        }
    }
    // The root of a tree is its first node.
    let mut seen = std::collections::HashSet::new();
    let firsts = (0..count).filter(|at| seen.insert(tree_ids[*at]));
    let roots = firsts.map(|at| nexts[at]).collect();
    let positive = weights.iter().all(|weight| *weight >= 0.0);
    Ok((TreeEnsemble::new(splits, leaves, roots, (targets, base), aggregate, Some(DType::F32))?, positive))
}

/// Reads trees in the newest form, which lists leaves separately.
fn tree_ensemble(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let ints = |name: &str| node.ints(name).map(Option::unwrap_or_default);
    let floats = |name: &str| -> Result<Vec<f64>, Error> {
        Ok(node.tensor(name)?.map(|tensor| tensor.floats()).transpose()?.unwrap_or_default())
    };
    let (columns, splits) = (ints("nodes_featureids")?, floats("nodes_splits")?);
    let modes = node.tensor("nodes_modes")?.map(|tensor| tensor.integers()).transpose()?.unwrap_or_default();
    let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
    let (yes_leaf, no_leaf) = (ints("nodes_trueleafs")?, ints("nodes_falseleafs")?);
    floats("nodes_hitrates")?;
    let count = modes.len();
    let missing = node.ints("nodes_missing_value_tracks_true")?.unwrap_or_else(|| vec![0; count]);
    let lists = [columns.len(), splits.len(), yes.len(), no.len(), yes_leaf.len(), no_leaf.len(), missing.len()];
    if lists.iter().any(|size| *size != count) {
        return Err(Error::invalid(format!("the attributes of {count} tree nodes have {lists:?} entries")));
    }
    let members = floats("membership_values")?;
    let mut members = members.split(|member| member.is_nan());
    let next = |leaf: i64, at: i64| -> Result<Child, Error> {
        let at = index("tree node index", at)?;
        Ok(if leaf != 0 { Child::Leaf(at) } else { Child::Node(at) })
    };
    let mut nodes = Vec::with_capacity(count);
    for at in 0..count {
        let test = match modes[at] {
            0 => NodeTest::LessOrEqual(splits[at]),
            1 => NodeTest::Less(splits[at]),
            2 => NodeTest::GreaterOrEqual(splits[at]),
            3 => NodeTest::Greater(splits[at]),
            4 => NodeTest::Equal(splits[at]),
            5 => NodeTest::NotEqual(splits[at]),
            6 => {
                let all = members.next().ok_or_else(|| Error::invalid("`membership_values` has too few entries"))?;
                NodeTest::Member(all.to_vec())
            }
            other => return Err(Error::invalid(format!("unknown tree node mode {other}"))),
        };
        nodes.push(TreeNode {
            column: index("nodes_featureids", columns[at])?,
            test,
            missing_holds: missing[at] != 0,
            yes: next(yes_leaf[at], yes[at])?,
            no: next(no_leaf[at], no[at])?,
        });
    }
    let (ids, weights) = (ints("leaf_targetids")?, floats("leaf_weights")?);
    if ids.len() != weights.len() {
        return Err(Error::invalid(format!("{} leaf targets do not match {} leaf weights", ids.len(), weights.len())));
    }
    let leaf = |(id, weight): (&i64, &f64)| Ok(vec![(index("leaf_targetids", *id)?, *weight)]);
    let leaves = ids.iter().zip(&weights).map(leaf).collect::<Result<_, Error>>()?;
    let root = |root: i64| Ok(Child::Node(index("tree_roots", root)?));
    let roots = ints("tree_roots")?.into_iter().map(root).collect::<Result<_, Error>>()?;
    let aggregate = match node.int_or("aggregate_function", 1)? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return Err(Error::invalid(format!("unknown value {other} of attribute `aggregate_function`"))),
    };
    if node.int_or("post_transform", 0)? != 0 {
        return Err(Error::invalid("a `post_transform` of a TreeEnsemble is not supported"));
    }
    let targets = index("n_targets", node.int_or("n_targets", 1)?)?;
    let trees = TreeEnsemble::new(nodes, leaves, roots, (targets, Vec::new()), aggregate, None)?;
    node.emit(Classic::TreeEnsemble(trees))
}
