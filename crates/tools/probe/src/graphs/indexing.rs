//! Operations whose indices are data.

use roci_graph::ops::Indexing;
use roci_graph::ops::indexing::Scatter;
use roci_graph::{DType, Tensor};

use super::ProbeList;

pub(super) fn add(list: &mut ProbeList) {
    list.add_both("embedding", |builder| {
        let (table, words) = (builder.weight(&[50, 33]), builder.input_of(DType::I64, &[2, 9], 0.0, 50.0));
        vec![builder.op(Indexing::Gather { axis: 0 }, &[table, words])]
    });
    list.add("gather, middle axis", |builder| {
        let (x, at) = (builder.input(&[3, 11, 5]), builder.input_of(DType::I64, &[2, 4], -11.0, 11.0));
        vec![builder.op(Indexing::Gather { axis: 1 }, &[x, at])]
    });
    list.add("gather elements", |builder| {
        let (x, at) = (builder.input(&[5, 7]), builder.input_of(DType::I64, &[3, 7], 0.0, 5.0));
        vec![builder.op(Indexing::GatherElements { axis: 0 }, &[x, at])]
    });
    list.add("gather nd", |builder| {
        let (x, at) = (builder.input(&[4, 5, 6]), builder.input_of(DType::I64, &[7, 2], 0.0, 4.0));
        vec![builder.op(Indexing::GatherNd { batch_dims: 0 }, &[x, at])]
    });
    // No two updates in a column have the same index: which of them wins is unspecified.
    const ROWS: [f64; 10] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0];
    for (name, reduction) in [("scatter elements", Scatter::Replace), ("scatter elements, add", Scatter::Add)] {
        list.add(name, move |builder| {
            let (x, news) = (builder.input(&[9, 5]), builder.input(&[2, 5]));
            let at = builder.listed(DType::I64, &[2, 5], &ROWS);
            vec![builder.op(Indexing::ScatterElements { axis: 0, reduction }, &[x, at, news])]
        });
    }
    list.add("scatter add, same places", |builder| {
        let (x, news) = (builder.input(&[9]), builder.input(&[40]));
        let at = builder.input_of(DType::I64, &[40], 0.0, 9.0);
        vec![builder.op(Indexing::ScatterElements { axis: 0, reduction: Scatter::Add }, &[x, at, news])]
    });
    list.add("scatter nd", |builder| {
        let (x, news) = (builder.input(&[7, 4, 3]), builder.input(&[3, 3]));
        let at = builder.listed(DType::I64, &[3, 2], &[0.0, 1.0, 3.0, 2.0, 6.0, 3.0]);
        vec![builder.op(Indexing::ScatterNd { reduction: Scatter::Replace }, &[x, at, news])]
    });
    list.add("one-hot", |builder| {
        let classes = builder.input_of(DType::I64, &[11], 0.0, 6.0);
        let (depth, values) = (builder.list(&[6]), builder.known(Tensor::vector(vec![0.0f32, 1.0])));
        vec![builder.op(Indexing::OneHot { axis: -1 }, &[classes, depth, values])]
    });
    for (name, largest) in [("top-k", true), ("top-k, smallest", false)] {
        list.add(name, move |builder| {
            let (x, count) = (builder.input(&[5, 37]), builder.list(&[6]));
            builder.op_with(Indexing::TopK { axis: -1, largest }, &[Some(x), Some(count)], 2)
        });
    }
    list.add("non-zero", |builder| {
        let x = builder.input_of(DType::I32, &[5, 7], 0.0, 3.0);
        vec![builder.op(Indexing::NonZero, &[x])]
    });
}
