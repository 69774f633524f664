//! Products of matrices.

use roci_graph::ops::Product;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::product::Subscript;

use super::List;
use crate::commands::matrix::compare::Tolerance;

/// A plain product.
pub(super) fn matmul() -> Product {
    Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 }
}

pub(super) fn add(list: &mut List) {
    let shapes: [(&str, &[usize], &[usize]); 5] = [
        ("mm", &[33, 65], &[65, 47]),
        ("bmm", &[3, 17, 29], &[3, 29, 23]),
        ("matmul, one matrix for a batch", &[3, 17, 29], &[29, 23]),
        ("matmul, batches broadcast", &[2, 1, 9, 13], &[3, 13, 11]),
        ("matrix by vector", &[67, 130], &[130]),
    ];
    for (name, a, b) in shapes {
        list.add_both(name, move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let (a, b) = (sketch.input(a), sketch.input(b));
            vec![sketch.op(matmul(), &[a, b])]
        });
    }
    list.add("mm, larger", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (a, b) = (sketch.input(&[129, 67]), sketch.input(&[67, 131]));
        vec![sketch.op(matmul(), &[a, b])]
    });
    list.add("vector by vector", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (a, b) = (sketch.input(&[4, 130]), sketch.input(&[130]));
        vec![sketch.op(matmul(), &[a, b])]
    });
    list.add_both("linear", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (x, w, bias) = (sketch.input(&[5, 128]), sketch.weight(&[64, 128]), sketch.weight(&[64]));
        let op = Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
        vec![sketch.op(op, &[x, w, bias])]
    });
    list.add("linear, relu", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (x, w, bias) = (sketch.input(&[5, 128]), sketch.weight(&[128, 64]), sketch.weight(&[64]));
        let product = sketch.op(matmul(), &[x, w]);
        let sum = sketch.op(Binary::Add, &[product, bias]);
        vec![sketch.op(Unary::Relu, &[sum])]
    });
    list.add("gemm, transposed and scaled", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (a, b, c) = (sketch.input(&[31, 19]), sketch.input(&[23, 31]), sketch.input(&[1, 23]));
        let op = Product::MatMul { transpose_a: true, transpose_b: true, alpha: 0.5, beta: -2.0 };
        vec![sketch.op(op, &[a, b, c])]
    });
    einsum(list);
}

fn einsum(list: &mut List) {
    let name = |names: &str| Subscript { before: names.chars().collect(), ..Subscript::default() };
    let forms: [(&'static str, &[&[usize]]); 5] = [
        ("bij,bjk->bik", &[&[3, 9, 11], &[3, 11, 7]]),
        ("bhqd,bhkd->bhqk", &[&[2, 3, 5, 8], &[2, 3, 7, 8]]),
        ("ij->ji", &[&[9, 13]]),
        ("ij,ij->", &[&[9, 13], &[9, 13]]),
        ("i,j->ij", &[&[17], &[19]]),
    ];
    for (form, shapes) in forms {
        list.add(format!("einsum {form}"), move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let (from, to) = form.split_once("->").unwrap_or((form, ""));
            let operands: Vec<_> = shapes.iter().map(|shape| sketch.input(shape)).collect();
            let op = Product::Einsum { inputs: from.split(',').map(name).collect(), output: name(to) };
            vec![sketch.op(op, &operands)]
        });
    }
}
