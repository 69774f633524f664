//! The machine-learning domain.

use std::collections::HashMap;

use roci_graph::ops::classic::{
    Aggregate, Classic, Classify, Labels, Lookup, Map, Next, Norm, Second, Split, Test, Transform, Trees,
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
                "MAX" => Norm::Max,
                "L1" => Norm::L1,
                "L2" => Norm::L2,
                other => return Err(Error::invalid(format!("`norm` is `{other}`"))),
            };
            node.emit(Classic::Normalize(norm))
        }
        "Imputer" => imputer(node),
        "OneHotEncoder" => {
            let categories = match (node.ints("cats_int64s")?, node.strings("cats_strings")?) {
                (Some(integers), None) => Tensor::vector(integers),
                (None, Some(texts)) => Tensor::vector(texts),
                _ => return Err(Error::invalid("either `cats_int64s` or `cats_strings` is wanted")),
            };
            let op = Classic::OneHot { categories, or_none: node.flag("zeros", true)? };
            node.emit(op)
        }
        "FeatureVectorizer" => {
            // The operands' shapes say it too.
            node.ints("inputdimensions")?;
            node.emit(Classic::Vectorize)
        }
        "LinearRegressor" => {
            let targets = index("targets", node.int_or("targets", 1)?)?;
            let coefficients = node.floats("coefficients")?.unwrap_or_default();
            let intercepts = node.floats("intercepts")?;
            let transform = transform(node)?;
            if targets == 0 || targets > coefficients.len() {
                return Err(Error::invalid(format!("{} coefficients for {targets} targets", coefficients.len())));
            }
            let intercepts = intercepts.unwrap_or_else(|| vec![0.0; targets]);
            if intercepts.len() != targets {
                return Err(Error::invalid(format!("{} intercepts for {targets} targets", intercepts.len())));
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
                other => return Err(Error::invalid(format!("`aggregate_function` is `{other}`"))),
            };
            let base = numbers(node, "base_values")?;
            let (trees, _) = old_trees(node, "target", targets, base, aggregate)?;
            transformed(node, Classic::Trees(trees), transform)
        }
        "TreeEnsembleClassifier" => tree_classifier(node),
        "TreeEnsemble" => tree_ensemble(node),
        _ => Ok(false),
    }
}

/// A number that counts or points.
fn index(what: &str, given: i64) -> Result<usize, Error> {
    usize::try_from(given).map_err(|_| Error::invalid(format!("`{what}` is {given}")))
}

/// A list of numbers, or a tensor with the same name and an ending.
fn numbers(node: &NodeContext<'_, '_>, name: &str) -> Result<Vec<f64>, Error> {
    let wide = node.tensor(&format!("{name}_as_tensor"))?;
    let narrow = node.floats(name)?;
    match (narrow, wide) {
        (Some(narrow), None) => Ok(narrow.into_iter().map(f64::from).collect()),
        (None, Some(wide)) => Ok(wide.floats()?),
        (None, None) => Ok(Vec::new()),
        _ => Err(Error::invalid(format!("`{name}` is given twice"))),
    }
}

fn transform(node: &NodeContext<'_, '_>) -> Result<Transform, Error> {
    Ok(match node.string_or("post_transform", "NONE")?.as_str() {
        "NONE" => Transform::None,
        "SOFTMAX" => Transform::Softmax,
        "LOGISTIC" => Transform::Logistic,
        "SOFTMAX_ZERO" => Transform::SoftmaxZero,
        "PROBIT" => Transform::Probit,
        other => return Err(Error::invalid(format!("`post_transform` is `{other}`"))),
    })
}

/// Scores, and what becomes of them.
fn transformed(node: &mut NodeContext<'_, '_>, scores: Classic, transform: Transform) -> Result<bool, Error> {
    if transform == Transform::None {
        return node.emit(scores);
    }
    // Whether these change a single score is a matter of opinion.
    let single = match &scores {
        Classic::Linear { intercepts, .. } => intercepts.len() == 1,
        Classic::Trees(trees) => trees.targets() == 1,
        _ => false,
    };
    if single && transform != Transform::Probit {
        return Err(Error::invalid("this `post_transform` of a single score is not supported"));
    }
    let input = node.required(0)?;
    let scores = node.step(scores, &[input]);
    node.emit_with(Classic::Transform(transform), &[Some(scores)])
}

fn label_encoder(node: &NodeContext<'_, '_>) -> Result<Vec<Map>, Error> {
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
    Ok(vec![Map::new(keys, values, default)?])
}

/// From integers to texts and back: which way depends on the operand.
fn both_ways(node: &NodeContext<'_, '_>, integers: Vec<i64>, texts: &str) -> Result<Vec<Map>, Error> {
    let texts = node.strings(texts)?.unwrap_or_default();
    let text = node.string_or("default_string", "_Unused")?;
    let integer = node.int_or("default_int64", -1)?;
    let (integers, texts) = (Tensor::vector(integers), Tensor::vector(texts));
    Ok(vec![
        Map::new(integers.clone(), texts.clone(), Tensor::scalar(text))?,
        Map::new(texts, integers, Tensor::scalar(integer))?,
    ])
}

fn imputer(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let (floats, integers) = (node.floats("imputed_value_floats")?, node.ints("imputed_value_int64s")?);
    let (float, integer) = (node.float_or("replaced_value_float", 0.0)?, node.int_or("replaced_value_int64", 0)?);
    // Integers beyond 2^53 have no place in a float.
    let exact = |integer: i64| {
        let float = integer as f64;
        if float as i64 == integer { Ok(float) } else { Err(Error::invalid(format!("{integer} is too large"))) }
    };
    let op = match (floats, integers) {
        (Some(floats), None) => {
            Classic::Impute { missing: f64::from(float), values: floats.into_iter().map(f64::from).collect() }
        }
        (None, Some(integers)) => Classic::Impute {
            missing: exact(integer)?,
            values: integers.into_iter().map(exact).collect::<Result<_, _>>()?,
        },
        _ => return Err(Error::invalid("either `imputed_value_floats` or `imputed_value_int64s` is wanted")),
    };
    node.emit(op)
}

fn labels(node: &NodeContext<'_, '_>, integers: &str) -> Result<Labels, Error> {
    match (node.ints(integers)?, node.strings("classlabels_strings")?) {
        (Some(integers), None) => Ok(Labels::Integers(integers)),
        (None, Some(texts)) => Ok(Labels::Texts(texts)),
        _ => Err(Error::invalid(format!("either `{integers}` or `classlabels_strings` is wanted"))),
    }
}

/// What a single score of two classes says of the first: implementations agree on these alone.
fn second(transform: Transform) -> Result<Second, Error> {
    match transform {
        Transform::None => Ok(Second::Rest),
        Transform::Logistic => Ok(Second::Opposite),
        _ => Err(Error::invalid("this `post_transform` of a single score for two classes is not supported")),
    }
}

fn linear_classifier(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let labels = labels(node, "classlabels_ints")?;
    let transform = transform(node)?;
    // Both ways of training come to the same here.
    node.int("multi_class")?;
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let count = labels.count();
    let intercepts = node.floats("intercepts")?.unwrap_or_else(|| vec![0.0; count]);
    let (second, above) = match (intercepts.len(), count) {
        (1, 2) => (second(transform)?, Some(0.0)),
        (scores, classes) if scores == classes && classes > 1 => (Second::Given, None),
        (scores, classes) => return Err(Error::invalid(format!("{scores} scores for {classes} classes"))),
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
    // With two classes, leaves may speak of one alone.
    let only = (classes == 2 && ids.iter().all(|id| Some(id) == ids.first())).then(|| ids.first().copied()).flatten();
    let base = numbers(node, "base_values")?;
    if only.is_some() && base.len() > usize::from(only == Some(0)) {
        return Err(Error::invalid(format!("{} base values for scores of one class are not supported", base.len())));
    }
    let (trees, positive) = old_trees(node, "class", if only == Some(0) { 1 } else { classes }, base, Aggregate::Sum)?;
    // Scores that are never negative are shares of 1.
    let above = only.map(|_| if positive { 0.5 } else { 0.0 });
    let second = match (only, transform) {
        (Some(0), Transform::None) if !positive => Second::Opposite,
        (Some(0), transform) => second(transform)?,
        _ => Second::Given,
    };
    let input = node.required(0)?;
    let scores = node.step(Classic::Trees(trees), &[input]);
    node.emit_with(Classic::Classify(Classify { labels, transform, second, above }), &[Some(scores)])
}

/// Trees as all versions but the newest state them: nodes by the ids of trees and nodes, leaves among them. Says too
/// whether no weight is negative. Where there is one target alone, ids of targets say nothing.
fn old_trees(
    node: &NodeContext<'_, '_>,
    votes: &str,
    targets: usize,
    base: Vec<f64>,
    aggregate: Aggregate,
) -> Result<(Trees, bool), Error> {
    let ints = |name: &str| node.ints(name).map(Option::unwrap_or_default);
    let (tree_ids, node_ids) = (ints("nodes_treeids")?, ints("nodes_nodeids")?);
    let (yes, no, columns) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?, ints("nodes_featureids")?);
    let modes = node.strings("nodes_modes")?.unwrap_or_default();
    let values = numbers(node, "nodes_values")?;
    // How often nodes are visited says nothing about the result.
    numbers(node, "nodes_hitrates")?;
    let count = tree_ids.len();
    let missing = node.ints("nodes_missing_value_tracks_true")?.unwrap_or_else(|| vec![0; count]);
    let sizes = [node_ids.len(), yes.len(), no.len(), columns.len(), modes.len(), values.len(), missing.len()];
    if sizes.iter().any(|size| *size != count) {
        return Err(Error::invalid(format!("{count} nodes with {sizes:?} entries")));
    }
    let places: HashMap<(i64, i64), usize> =
        tree_ids.iter().copied().zip(node_ids.iter().copied()).enumerate().map(|(place, id)| (id, place)).collect();
    if places.len() != count {
        return Err(Error::invalid("a node of a tree is given twice"));
    }
    let mut splits = Vec::new();
    let mut leaves = Vec::new();
    let nexts: Vec<Next> = modes
        .iter()
        .map(|mode| {
            if mode == "LEAF" {
                leaves.push(Vec::new());
                return Next::Leaf(leaves.len() - 1);
            }
            splits.push(());
            Next::Node(splits.len() - 1)
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
            "BRANCH_LEQ" => Test::LessOrEqual(value),
            "BRANCH_LT" => Test::Less(value),
            "BRANCH_GTE" => Test::GreaterOrEqual(value),
            "BRANCH_GT" => Test::Greater(value),
            "BRANCH_EQ" => Test::Equal(value),
            "BRANCH_NEQ" => Test::NotEqual(value),
            other => return Err(Error::invalid(format!("a node of the mode `{other}`"))),
        };
        splits.push(Split {
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
        return Err(Error::invalid("lists of votes of different lengths"));
    }
    for (at, (tree, id)) in vote_trees.iter().zip(&vote_nodes).enumerate() {
        // Votes of nodes that are no leaves are never asked for.
        if let Next::Leaf(leaf) = nexts[find(*tree, *id)?] {
            let target = if targets == 1 { 0 } else { index("ids", ids[at])? };
            leaves[leaf].push((target, weights[at]));
        }
    }
    // A tree begins at the first of its nodes.
    let mut seen = std::collections::HashSet::new();
    let firsts = (0..count).filter(|at| seen.insert(tree_ids[*at]));
    let roots = firsts.map(|at| nexts[at]).collect();
    let positive = weights.iter().all(|weight| *weight >= 0.0);
    Ok((Trees::new(splits, leaves, roots, (targets, base), aggregate, Some(DType::F32))?, positive))
}

/// The newest form, in which leaves are a list of their own.
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
        return Err(Error::invalid(format!("{count} nodes with {lists:?} entries")));
    }
    let members = floats("membership_values")?;
    let mut members = members.split(|member| member.is_nan());
    let next = |leaf: i64, at: i64| -> Result<Next, Error> {
        let at = index("a place in a tree", at)?;
        Ok(if leaf != 0 { Next::Leaf(at) } else { Next::Node(at) })
    };
    let mut nodes = Vec::with_capacity(count);
    for at in 0..count {
        let test = match modes[at] {
            0 => Test::LessOrEqual(splits[at]),
            1 => Test::Less(splits[at]),
            2 => Test::GreaterOrEqual(splits[at]),
            3 => Test::Greater(splits[at]),
            4 => Test::Equal(splits[at]),
            5 => Test::NotEqual(splits[at]),
            6 => {
                let all = members.next().ok_or_else(|| Error::invalid("`membership_values` ends too early"))?;
                Test::Member(all.to_vec())
            }
            other => return Err(Error::invalid(format!("a node of the mode {other}"))),
        };
        nodes.push(Split {
            column: index("nodes_featureids", columns[at])?,
            test,
            missing_holds: missing[at] != 0,
            yes: next(yes_leaf[at], yes[at])?,
            no: next(no_leaf[at], no[at])?,
        });
    }
    let (ids, weights) = (ints("leaf_targetids")?, floats("leaf_weights")?);
    if ids.len() != weights.len() {
        return Err(Error::invalid(format!("{} targets and {} weights of leaves", ids.len(), weights.len())));
    }
    let leaf = |(id, weight): (&i64, &f64)| Ok(vec![(index("leaf_targetids", *id)?, *weight)]);
    let leaves = ids.iter().zip(&weights).map(leaf).collect::<Result<_, Error>>()?;
    let root = |root: i64| Ok(Next::Node(index("tree_roots", root)?));
    let roots = ints("tree_roots")?.into_iter().map(root).collect::<Result<_, Error>>()?;
    let aggregate = match node.int_or("aggregate_function", 1)? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return Err(Error::invalid(format!("`aggregate_function` is {other}"))),
    };
    if node.int_or("post_transform", 0)? != 0 {
        return Err(Error::invalid("a `post_transform` of a TreeEnsemble is not supported"));
    }
    let targets = index("n_targets", node.int_or("n_targets", 1)?)?;
    let trees = Trees::new(nodes, leaves, roots, (targets, Vec::new()), aggregate, None)?;
    node.emit(Classic::Trees(trees))
}
