//! Tensors of graphs as arrays of NumPy, and back.

use roci_graph::{DType, OpError, Tensor};
use roci_npy::{Array, Dtype};

/// Element types that both NumPy and the graph support.
const TYPES: [(Dtype, DType); 12] = [
    (Dtype::Bool, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::U16, DType::U16),
    (Dtype::U32, DType::U32),
    (Dtype::U64, DType::U64),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
];

/// Converts an array to a tensor.
pub(crate) fn tensor(array: &Array) -> Result<Tensor, OpError> {
    let dtype = TYPES.iter().find(|(own, _)| *own == array.dtype).map_or(DType::F32, |row| row.1);
    let shape: Vec<usize> = array.shape.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
    Tensor::from_bytes(dtype, shape, &array.data)
}

/// Converts a tensor to an array; `None` for types that NumPy files do not support.
pub(crate) fn array(tensor: &Tensor) -> Option<Array> {
    let dtype = TYPES.iter().find(|(_, other)| *other == tensor.dtype())?.0;
    let shape = tensor.shape().iter().map(|&size| size as u64).collect();
    Some(Array { dtype, shape, data: tensor.to_bytes()? })
}
