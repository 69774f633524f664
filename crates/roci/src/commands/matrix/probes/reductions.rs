//! Folds along axes.

use roci_graph::ops::Reduction;
use roci_graph::ops::reduction::{Fold, LossReduction};
use roci_graph::{DType, Tensor};

use super::List;
use crate::commands::matrix::compare::Tolerance;

pub(super) fn add(list: &mut List) {
    let folds = [
        ("sum", Fold::Sum),
        ("mean", Fold::Mean),
        ("max", Fold::Max),
        ("min", Fold::Min),
        ("product", Fold::Product),
        ("l1", Fold::L1),
        ("l2", Fold::L2),
        ("sum of squares", Fold::SumSquare),
        ("log of sum", Fold::LogSum),
        ("log of sum of exp", Fold::LogSumExp),
    ];
    for (name, fold) in folds {
        list.add(format!("reduce {name}"), move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let x = sketch.input_in(&[5, 77], 0.5, 1.5);
            let axes = sketch.list(&[-1]);
            vec![sketch.op(Reduction::Reduce { fold, keep: false, none_is_none: false }, &[x, axes])]
        });
    }
    for (name, axes) in
        [("reduce sum, middle axis", &[1][..]), ("reduce sum, outer axes", &[0, 2]), ("reduce sum, all", &[])]
    {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::of(1e-3);
            let x = sketch.input(&[6, 17, 19]);
            let op = Reduction::Reduce { fold: Fold::Sum, keep: true, none_is_none: false };
            let operands = if axes.is_empty() { vec![x] } else { vec![x, sketch.list(axes)] };
            vec![sketch.op(op, &operands)]
        });
    }
    list.add_of(DType::F16, "reduce mean, f16", |sketch| {
        let x = sketch.input(&[5, 77]);
        let axes = sketch.list(&[-1]);
        vec![sketch.op(Reduction::Reduce { fold: Fold::Mean, keep: true, none_is_none: false }, &[x, axes])]
    });
    list.add("reduce max, i32", |sketch| {
        let x = sketch.input_of(DType::I32, &[5, 77], -1000.0, 1000.0);
        let axes = sketch.list(&[1]);
        vec![sketch.op(Reduction::Reduce { fold: Fold::Max, keep: false, none_is_none: false }, &[x, axes])]
    });
    for (name, largest, last) in
        [("arg-max", true, false), ("arg-min", false, false), ("arg-max, last of equals", true, true)]
    {
        list.add(name, move |sketch| {
            // Whole numbers, so that some are equal.
            let x = sketch.input_of(DType::I32, &[7, 33], 0.0, 9.0);
            vec![sketch.op(Reduction::ArgExtreme { largest, axis: -1, keep: false, last }, &[x])]
        });
    }
    list.add("arg-max, first axis", |sketch| {
        let x = sketch.input(&[7, 33]);
        vec![sketch.op(Reduction::ArgExtreme { largest: true, axis: 0, keep: true, last: false }, &[x])]
    });
    let runs = [
        ("cumsum", false, false, false),
        ("cumsum, exclusive, from the end", false, true, true),
        ("cumprod", true, false, false),
    ];
    for (name, product, exclusive, reverse) in runs {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let x = sketch.input_in(&[5, 37], 0.8, 1.2);
            let axis = sketch.known(Tensor::scalar(1i64));
            vec![sketch.op(Reduction::Cumulate { product, exclusive, reverse }, &[x, axis])]
        });
    }
    list.add("negative log-likelihood", |sketch| {
        let x = sketch.input_in(&[9, 5], -3.0, -0.1);
        let classes = sketch.input_of(DType::I64, &[9], 0.0, 5.0);
        vec![
            sketch.op(Reduction::NegativeLogLikelihood { reduction: LossReduction::None, ignore: None }, &[x, classes]),
        ]
    });
}
