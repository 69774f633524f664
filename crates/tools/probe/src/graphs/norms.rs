//! Normalizations.

use roci_graph::DType;
use roci_graph::ops::Norm;

use super::ProbeList;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
    for (name, shape) in [("batch norm 1d", &[6, 17][..]), ("batch norm 2d", &[2, 17, 9, 7])] {
        list.add_both(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(shape);
            let (scale, bias, mean) = (builder.weight(&[17]), builder.weight(&[17]), builder.weight(&[17]));
            let variance = builder.weight_in(&[17], 0.5, 2.0);
            let op = Norm::Batch { epsilon: 1e-5, momentum: None };
            vec![builder.op(op, &[x, scale, bias, mean, variance])]
        });
    }
    for (name, rms) in [("layer norm", false), ("rms norm", true)] {
        list.add_both(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let (x, scale) = (builder.input(&[3, 5, 65]), builder.weight(&[65]));
            let mut operands = vec![x, scale];
            if !rms {
                operands.push(builder.weight(&[65]));
            }
            vec![builder.op(Norm::Layer { axis: -1, epsilon: 1e-5, rms, stash: DType::F32 }, &operands)]
        });
    }
    for (name, groups) in [("group norm", Some(3)), ("instance norm", None)] {
        list.add_both(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(&[2, 12, 7, 9]);
            let (scale, bias) = (builder.weight(&[12]), builder.weight(&[12]));
            vec![builder.op(Norm::Group { groups, epsilon: 1e-5, by_group: false }, &[x, scale, bias])]
        });
    }
    let others = [
        ("l2 norm of rows", Norm::Lp { axis: -1, euclidean: true }),
        ("mean and variance norm", Norm::MeanVariance { axes: vec![0, 2, 3] }),
        ("local response norm", Norm::LocalResponse { size: 5, alpha: 1e-2, beta: 0.75, bias: 1.0 }),
    ];
    for (name, op) in others {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(&[2, 9, 7, 5]);
            vec![builder.op(op.clone(), &[x])]
        });
    }
}
