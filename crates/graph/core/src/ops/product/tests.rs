use super::*;
use crate::ops::window::Padding;

fn run(op: &Product, inputs: &[Tensor]) -> Result<Tensor, OpError> {
    let values: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    let operands: Vec<_> = values.iter().map(Some).collect();
    op.eval(&Inputs::new(&operands, 1))?[0].tensor().cloned()
}

fn matmul(transpose_a: bool, transpose_b: bool) -> Product {
    Product::MatMul { transpose_a, transpose_b, alpha: 1.0, beta: 1.0 }
}

fn window(pads: &[(usize, usize)]) -> Window {
    Window { kernel: vec![], strides: vec![], dilations: vec![], padding: Padding::Explicit(pads.to_vec()) }
}

#[test]
fn integer_matrices_wrap() -> Result<(), OpError> {
    let a = Tensor::new([1, 2], vec![u32::MAX, 1])?;
    let b = Tensor::new([2, 1], vec![2u32, 1])?;
    assert_eq!(run(&matmul(false, false), &[a, b])?, Tensor::new([1, 1], vec![u32::MAX])?);
    Ok(())
}

#[test]
fn many_rows_use_several_blocks() -> Result<(), OpError> {
    let (batch, rows, depth, columns) = (2, 70, 300, 3);
    let a: Vec<i64> = (0..(rows * depth) as i64).map(|one| one % 7 - 3).collect();
    let b: Vec<i64> = (0..(batch * depth * columns) as i64).map(|one| one % 5 - 2).collect();
    let (left, right) = (Tensor::new([rows, depth], a.clone())?, Tensor::new([batch, depth, columns], b.clone())?);
    let result = run(&matmul(false, false), &[left, right])?;
    let at = |place: usize| {
        let (matrix, row, column) = (place / columns / rows, place / columns % rows, place % columns);
        (0..depth).map(|k| a[row * depth + k] * b[(matrix * depth + k) * columns + column]).sum::<i64>()
    };
    assert_eq!(result, Tensor::new([batch, rows, columns], (0..batch * rows * columns).map(at).collect())?);
    Ok(())
}

#[test]
fn empty_products_are_zeros_and_impossible_ones_errors() -> Result<(), OpError> {
    let zeros = |shape: &[usize]| Tensor::zeros(DType::F32, shape);
    assert_eq!(run(&matmul(false, false), &[zeros(&[2, 0])?, zeros(&[0, 3])?])?, zeros(&[2, 3])?);
    assert_eq!(run(&matmul(true, false), &[zeros(&[0, 2])?, zeros(&[0, 3])?])?, zeros(&[2, 3])?);
    assert_eq!(run(&matmul(false, true), &[zeros(&[0, 2])?, zeros(&[3, 2])?])?, zeros(&[0, 3])?);
    assert!(run(&matmul(false, false), &[zeros(&[1 << 40, 0])?, zeros(&[0, 1])?]).is_err());
    assert_eq!(run(&Product::Det, &[zeros(&[0, 1 << 40, 1 << 40])?])?, zeros(&[0])?);
    assert!(run(&matmul(false, false), &[zeros(&[2, 3])?, zeros(&[2, 3])?]).is_err());
    assert!(run(&matmul(true, false), &[zeros(&[2])?, zeros(&[2, 3])?]).is_err());
    assert!(run(&matmul(false, false), &[zeros(&[])?, zeros(&[2])?]).is_err());
    Ok(())
}

#[test]
fn convolutions_reject_mismatched_shapes() -> Result<(), OpError> {
    let zeros = |shape: &[usize]| Tensor::zeros(DType::F32, shape);
    let conv = |groups| Product::Conv { window: window(&[]), groups };
    for groups in [0, 3, usize::MAX] {
        assert!(run(&conv(groups), &[zeros(&[1, 4, 5])?, zeros(&[4, 2, 3])?]).is_err());
    }
    assert_eq!(run(&conv(2), &[zeros(&[0, 4, 5])?, zeros(&[4, 2, 3])?])?, zeros(&[0, 4, 3])?);
    // Without channels neither input nor weights have elements, and the other sizes are arbitrary.
    let (wide, kernel) = ([1, 0, 1 << 28, 1 << 28], [2, 0, 1 << 28, 1 << 28]);
    assert_eq!(run(&conv(1), &[zeros(&wide)?, zeros(&kernel)?])?, zeros(&[1, 2, 1, 1])?);
    assert!(run(&conv(1), &[zeros(&[1, 4, 2])?, zeros(&[4, 4, 3])?]).is_err());
    assert!(run(&conv(1), &[zeros(&[1, 4])?, zeros(&[4, 4])?]).is_err());
    Ok(())
}

#[test]
fn transposed_convolutions_reject_hostile_attributes() -> Result<(), OpError> {
    let operands = [Tensor::zeros(DType::F32, [1, 1, 3])?, Tensor::zeros(DType::F32, [1, 1, 2])?];
    let op = |window: Window, padding: usize, shape: Option<Vec<usize>>| Product::ConvTranspose {
        window,
        groups: 1,
        output_padding: vec![padding],
        output_shape: shape,
    };
    assert_eq!(run(&op(window(&[(1, 1)]), 0, None), &operands)?.shape(), [1, 1, 2]);
    assert_eq!(run(&op(window(&[]), 0, Some(vec![2])), &operands)?.shape(), [1, 1, 2]);
    assert!(run(&op(window(&[(9, 9)]), 0, None), &operands).is_err());
    assert!(run(&op(window(&[]), usize::MAX, None), &operands).is_err());
    assert!(run(&op(window(&[]), 0, Some(vec![1 << 40])), &operands).is_err());
    assert!(run(&op(Window { strides: vec![1 << 40], ..window(&[]) }, 0, None), &operands).is_err());
    Ok(())
}
