//! Test cases of `binary`.

use super::Binary;
use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, Random, case, untouched, words};

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let op = kernel.strip_prefix("binary_").unwrap_or(kernel);
    match op.strip_suffix("_broadcast") {
        Some(op) => broadcast(op, random),
        None => flat(op, random),
    }
}

/// Inputs of a binary operation, and the tolerance.
fn binary_inputs(op: &str, counts: [usize; 2], random: &mut Random) -> ([Vec<f32>; 2], Tolerance) {
    let mut a = random.floats(counts[0], -9.0, 9.0);
    let mut b = random.floats(counts[1], -9.0, 9.0);
    let mut lead = |specials: &[(f32, f32)]| {
        for (&(left, right), (a, b)) in specials.iter().zip(a.iter_mut().zip(b.iter_mut())) {
            (*a, *b) = (left, right);
        }
    };
    let infinity = f32::INFINITY;
    let tolerance = match op {
        "add" | "sub" | "mul" => {
            lead(&[(infinity, 1.0), (f32::NAN, 1.0), (-infinity, 2.0), (f32::MAX, f32::MAX)]);
            Tolerance::Exact
        }
        "min" | "max" => {
            lead(&[(infinity, 1.0), (-infinity, 1.0)]);
            Tolerance::Exact
        }
        "div" => {
            lead(&[(1.0, infinity), (1.0, 0.0), (-1.0, 0.0)]);
            Tolerance::FewUlps
        }
        "pow" => {
            b.iter_mut().step_by(3).for_each(|b| *b = b.round());
            a.iter_mut().skip(1).step_by(3).for_each(|a| *a = a.abs());
            let mut lead = |at: usize, left: f32, right: f32| {
                if let (Some(a), Some(b)) = (a.get_mut(at), b.get_mut(at)) {
                    (*a, *b) = (left, right);
                }
            };
            lead(0, 0.0, 0.0);
            lead(1, 0.0, 2.0);
            lead(2, 0.0, -2.0);
            lead(3, -2.0, 3.0);
            lead(4, -2.0, 0.5);
            Tolerance::ManyUlps
        }
        _ => Tolerance::Exact,
    };
    ([a, b], tolerance)
}

fn flat(op: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |count: u32| {
        let ([a, b], tolerance) = binary_inputs(op, [count as usize; 2], random);
        let buffers = vec![words(&a), words(&b), untouched(count as usize)];
        case(Binary::flat(count), buffers, Element::F32, tolerance, format!("{count} elements"))
    };
    let mut cases: Vec<_> = COUNTS.iter().map(|&count| make(count)).collect();
    cases.push(make(1000).with_one_group());
    cases
}

fn broadcast(op: &str, random: &mut Random) -> Vec<Case> {
    let shapes: [([u32; 4], [u32; 4], [u32; 4]); 8] = [
        ([1, 1, 1, 1], [0; 4], [0; 4]),
        ([1, 1, 1, 300], [0, 0, 0, 1], [0, 0, 0, 1]),
        ([1, 1, 1, 300], [0, 0, 0, 1], [0; 4]),
        ([1, 1, 7, 9], [0, 0, 9, 1], [0, 0, 0, 1]),
        ([1, 1, 7, 9], [0, 0, 1, 0], [0, 0, 9, 1]),
        ([1, 1, 9, 7], [0, 0, 1, 9], [0, 0, 7, 1]),
        ([2, 3, 5, 7], [105, 35, 7, 1], [0, 7, 0, 1]),
        ([2, 0, 5, 7], [1, 1, 1, 1], [1, 1, 1, 1]),
    ];
    let mut make = |(shape, a_strides, b_strides): ([u32; 4], [u32; 4], [u32; 4])| {
        let count = shape.iter().product();
        let extent = |strides: [u32; 4]| {
            let last: u32 = shape.iter().zip(strides).map(|(&size, stride)| size.saturating_sub(1) * stride).sum();
            last as usize + 1
        };
        let ([a, b], tolerance) = binary_inputs(op, [extent(a_strides), extent(b_strides)], random);
        let params = Binary { count, shape, a_strides, b_strides };
        let label = format!("{shape:?} of strides {a_strides:?} and {b_strides:?}");
        case(params, vec![words(&a), words(&b), untouched(count as usize)], Element::F32, tolerance, label)
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make(([4, 6, 5, 7], [0, 35, 0, 1], [210, 35, 7, 1])).with_one_group());
    cases
}
