//! Copies elements that are selected by a table per axis.

use crate::{OpError, Tensor, each_type, shape};

/// An index outside of the operand.
pub(in crate::ops) const OUTSIDE: usize = usize::MAX;

/// Copies the elements whose offsets are sums, over all axes of the result, of what `source`
/// returns for an axis and an index along it.
///
/// Where that is [`OUTSIDE`], the result is the element of `fill`, which must have the same type.
pub(in crate::ops) fn pick(
    from: &Tensor,
    shape: Vec<usize>,
    fill: Option<&Tensor>,
    source: impl Fn(usize, usize) -> Result<usize, OpError>,
) -> Result<Tensor, OpError> {
    // The other sizes of an empty shape may be arbitrarily large, so build no tables.
    if shape::count(&shape)? == 0 {
        return Tensor::zeros(from.dtype(), shape);
    }
    // The tables need no more memory than the result.
    drop(shape::reserve::<usize>(&shape)?);
    let table = |(axis, &size): (usize, &usize)| (0..size).map(|at| source(axis, at)).collect();
    let tables = shape.iter().enumerate().map(table).collect::<Result<Vec<Vec<usize>>, _>>()?;
    each_type!(any: from, |T, v| {
        let fill = fill.map(Tensor::slice::<T>).transpose()?.and_then(<[T]>::first);
        let mut result = shape::reserve::<T>(&shape)?;
        copy(v, tables, fill, &mut result)?;
        Tensor::new(shape, result)
    })
}

fn copy<T: Clone>(from: &[T], mut tables: Vec<Vec<usize>>, fill: Option<&T>, into: &mut Vec<T>) -> Result<(), OpError> {
    // The last axes are often contiguous.
    let (mut run, mut base) = (1usize, 0usize);
    while let Some(last) = tables.last() {
        let Some(&first) = last.first() else { return Ok(()) };
        if last.contains(&OUTSIDE) || last.windows(2).any(|pair| pair[1] != pair[0].wrapping_add(run)) {
            break;
        }
        base += first;
        run *= last.len();
        tables.pop();
    }
    let inner = tables.pop().unwrap_or_else(|| vec![0]);
    let wrong = || OpError::invalid("an element is out of range");
    let mut index = vec![0; tables.len()];
    loop {
        let mut offset = Some(base);
        for (table, &at) in tables.iter().zip(&index) {
            offset = offset.filter(|_| table[at] != OUTSIDE).map(|offset| offset + table[at]);
        }
        for &at in &inner {
            match offset.filter(|_| at != OUTSIDE) {
                Some(offset) if run == 1 => into.push(from.get(offset + at).ok_or_else(wrong)?.clone()),
                Some(offset) => into.extend_from_slice(from.get(offset + at..offset + at + run).ok_or_else(wrong)?),
                None => {
                    let fill = fill.ok_or_else(wrong)?;
                    into.extend(std::iter::repeat_n(fill, run).cloned());
                }
            }
        }
        let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < tables[axis].len()) else {
            return Ok(());
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}
