//! Matrix products and convolutions.

use roci_graph::ops::Product;
use roci_graph::ops::product::Subscript;

use super::NodeContext;
use super::pool::{sizes, window};
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "MatMul" => node.emit(matmul()),
        "Gemm" => gemm(node),
        "com.microsoft.FusedMatMul" => {
            let alpha = node.float_or("alpha", 1.0)?;
            let (transpose_a, transpose_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
            if node.flag("transBatchA", false)? || node.flag("transBatchB", false)? {
                return Err(Error::invalid("transposed batches are not supported"));
            }
            node.emit(Product::MatMul { transpose_a, transpose_b, alpha, beta: 1.0 })
        }
        "Einsum" => {
            let equation = node.string("equation")?.ok_or_else(|| Error::invalid("attribute `equation` is missing"))?;
            let op = einsum(&equation)?;
            node.emit(op)
        }
        "Det" => node.emit(Product::Det),
        "Conv" => {
            let op = Product::Conv { window: window(node)?, groups: groups(node, "group")? };
            node.emit(op)
        }
        "ConvTranspose" => {
            let (output_padding, output_shape) = (sizes(node, "output_padding")?, sizes(node, "output_shape")?);
            let op = Product::ConvTranspose {
                window: window(node)?,
                groups: groups(node, "group")?,
                output_padding,
                output_shape: Some(output_shape).filter(|sizes| !sizes.is_empty()),
            };
            node.emit(op)
        }
        "DeformConv" => {
            let (groups, offset_groups) = (groups(node, "group")?, groups(node, "offset_group")?);
            let op = Product::DeformConv { window: window(node)?, groups, offset_groups };
            node.emit(op)
        }
        "MatMulInteger" => node.emit(Product::MatMulInteger),
        "ConvInteger" => {
            let op = Product::ConvInteger { window: window(node)?, groups: groups(node, "group")? };
            node.emit(op)
        }
        "QLinearMatMul" => quantized(node, Product::MatMulInteger, [-2, -1]),
        "QLinearConv" => {
            let op = Product::ConvInteger { window: window(node)?, groups: groups(node, "group")? };
            quantized(node, op, [1, 1])
        }
        _ => Ok(false),
    }
}

fn matmul() -> Product {
    Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 }
}

fn gemm(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let (alpha, beta) = (node.float_or("alpha", 1.0)?, node.float_or("beta", 1.0)?);
    let (transpose_a, transpose_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
    if node.version() < 7 {
        // Before opset 7 the attribute enabled broadcasting of operand C; now its shape determines
        // this.
        node.flag("broadcast", false)?;
    }
    node.emit(Product::MatMul { transpose_a, transpose_b, alpha, beta })
}

fn groups(node: &NodeContext<'_, '_>, name: &str) -> Result<usize, Error> {
    let groups = node.int_or(name, 1)?;
    usize::try_from(groups)
        .map_err(|_| Error::invalid(format!("attribute `{name}` is {groups}, expected a non-negative number")))
}

/// A product of bytes, requantized to bytes. Operands: tensor, scale and zero point twice, then
/// scale and zero point of the result, then the bias.
fn quantized(node: &mut NodeContext<'_, '_>, op: Product, axes: [i64; 2]) -> Result<bool, Error> {
    let mut all = [None; 9];
    for (index, one) in all.iter_mut().enumerate() {
        *one = if index < 8 { Some(node.required(index)?) } else { node.input(index) };
    }
    let [a, a_scale, a_zero, b, b_scale, b_zero, scale, zero, bias] = all;
    let mut operands = vec![a, b, a_zero, b_zero];
    operands.extend(bias.map(Some));
    let sums = node.add(op, &operands, 1)[0];
    node.emit_with(Product::Requantize { axes }, &[Some(sums), a_scale, b_scale, scale, zero])
}

/// Parses an equation such as `...ij,jk->...ik`. Without an output it has the labels that occur
/// once, sorted.
fn einsum(equation: &str) -> Result<Product, Error> {
    let plain: String = equation.chars().filter(|one| !one.is_whitespace()).collect();
    let (left, right) = match plain.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (plain.as_str(), None),
    };
    let inputs = left.split(',').map(subscript).collect::<Result<Vec<_>, _>>()?;
    let output = match right {
        Some(right) => subscript(right)?,
        None => {
            let mut names: Vec<char> =
                inputs.iter().flat_map(|one| one.before.iter().chain(&one.after)).copied().collect();
            names.sort_unstable();
            let once = |name: &&char| names.iter().filter(|other| other == name).count() == 1;
            let after = names.iter().filter(once).copied().collect();
            Subscript { before: Vec::new(), dots: inputs.iter().any(|one| one.dots), after }
        }
    };
    Ok(Product::Einsum { inputs, output })
}

fn subscript(term: &str) -> Result<Subscript, Error> {
    let (before, after) = term.split_once("...").unwrap_or((term, ""));
    if let Some(other) = before.chars().chain(after.chars()).find(|one| !one.is_ascii_alphabetic()) {
        return Err(Error::invalid(format!("unexpected `{other}` in the equation's term `{term}`")));
    }
    let dots = term.contains("...");
    Ok(Subscript { before: before.chars().collect(), dots, after: after.chars().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_parsed_or_rejected() -> Result<(), Error> {
        let Product::Einsum { inputs, output } = einsum("b...a, ac")? else { return Ok(()) };
        assert_eq!((inputs.len(), output.dots), (2, true));
        assert_eq!(output.after, ['b', 'c']);
        for bad in ["i.j->i", "i1->i", "i->i->i", "......i->i", "é->"] {
            assert!(einsum(bad).is_err(), "{bad}");
        }
        Ok(())
    }
}
