//! Reductions along axes.

use roci_graph::ops::Reduction;
use roci_graph::ops::reduction::{LossReduction, ReduceKind};
use roci_graph::{DType, Tensor};

use super::ProbeList;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
    let folds = [
        ("sum", ReduceKind::Sum),
        ("mean", ReduceKind::Mean),
        ("max", ReduceKind::Max),
        ("min", ReduceKind::Min),
        ("product", ReduceKind::Product),
        ("l1", ReduceKind::L1),
        ("l2", ReduceKind::L2),
        ("sum of squares", ReduceKind::SumSquare),
        ("log of sum", ReduceKind::LogSum),
        ("log of sum of exp", ReduceKind::LogSumExp),
    ];
    for (name, fold) in folds {
        list.add(format!("reduce {name}"), move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input_in(&[5, 77], 0.5, 1.5);
            let axes = builder.list(&[-1]);
            vec![builder.op(Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false }, &[x, axes])]
        });
    }
    for (name, axes) in
        [("reduce sum, middle axis", &[1][..]), ("reduce sum, outer axes", &[0, 2]), ("reduce sum, all", &[])]
    {
        list.add(name, move |builder| {
            builder.tolerance = roci_tolerance::Tolerance::Layers;
            let x = builder.input(&[6, 17, 19]);
            let op = Reduction::Reduce { fold: ReduceKind::Sum, keep: true, noop_with_empty_axes: false };
            let operands = if axes.is_empty() { vec![x] } else { vec![x, builder.list(axes)] };
            vec![builder.op(op, &operands)]
        });
    }
    list.add_typed(DType::F16, "reduce mean, f16", |builder| {
        let x = builder.input(&[5, 77]);
        let axes = builder.list(&[-1]);
        vec![
            builder
                .op(Reduction::Reduce { fold: ReduceKind::Mean, keep: true, noop_with_empty_axes: false }, &[x, axes]),
        ]
    });
    list.add("reduce max, i32", |builder| {
        let x = builder.input_of(DType::I32, &[5, 77], -1000.0, 1000.0);
        let axes = builder.list(&[1]);
        vec![
            builder
                .op(Reduction::Reduce { fold: ReduceKind::Max, keep: false, noop_with_empty_axes: false }, &[x, axes]),
        ]
    });
    for (name, largest, last) in
        [("arg-max", true, false), ("arg-min", false, false), ("arg-max, last of equals", true, true)]
    {
        list.add(name, move |builder| {
            // Integers, so that some are equal.
            let x = builder.input_of(DType::I32, &[7, 33], 0.0, 9.0);
            vec![builder.op(Reduction::ArgExtreme { largest, axis: -1, keep: false, last }, &[x])]
        });
    }
    list.add("arg-max, first axis", |builder| {
        let x = builder.input(&[7, 33]);
        vec![builder.op(Reduction::ArgExtreme { largest: true, axis: 0, keep: true, last: false }, &[x])]
    });
    let runs = [
        ("cumsum", false, false, false),
        ("cumsum, exclusive, from the end", false, true, true),
        ("cumprod", true, false, false),
    ];
    for (name, product, exclusive, reverse) in runs {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input_in(&[5, 37], 0.8, 1.2);
            let axis = builder.known(Tensor::scalar(1i64));
            vec![builder.op(Reduction::Cumulate { product, exclusive, reverse }, &[x, axis])]
        });
    }
    list.add("negative log-likelihood", |builder| {
        let x = builder.input_in(&[9, 5], -3.0, -0.1);
        let classes = builder.input_of(DType::I64, &[9], 0.0, 5.0);
        vec![
            builder
                .op(Reduction::NegativeLogLikelihood { reduction: LossReduction::None, ignore: None }, &[x, classes]),
        ]
    });
}
