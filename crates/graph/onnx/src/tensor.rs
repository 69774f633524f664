//! Tensors as ONNX stores them.

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use prost::Message;
use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::{DType, Data, Tensor, Value};

use crate::Error;
use crate::proto::{
    DimensionValue, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, TypeProto, TypeValue,
};

/// The location of external data.
const EXTERNAL: i32 = 1;

/// The type for ONNX's number.
pub fn dtype(number: i32) -> Result<DType, Error> {
    Ok(match number {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        8 => DType::String,
        9 => DType::Bool,
        10 => DType::F16,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        16 => DType::BF16,
        other => return Err(Error::invalid(format!("elements of type {} are not supported", name(other)))),
    })
}

/// ONNX's name of an unsupported type.
fn name(number: i32) -> String {
    let names = [
        (0, "undefined"),
        (14, "complex64"),
        (15, "complex128"),
        (17, "float8e4m3fn"),
        (18, "float8e4m3fnuz"),
        (19, "float8e5m2"),
        (20, "float8e5m2fnuz"),
        (21, "uint4"),
        (22, "int4"),
        (23, "float4e2m1"),
        (24, "float8e8m0"),
        (25, "uint2"),
        (26, "int2"),
    ];
    names.iter().find(|row| row.0 == number).map_or_else(|| number.to_string(), |row| row.1.to_owned())
}

/// Whether elements have 4 bits.
pub(crate) fn is_packed(number: i32) -> bool {
    matches!(number, 21 | 22)
}

/// A constant of a graph: as [`tensor`], with 4-bit integers widened to 8 bits.
pub(crate) fn initializer(proto: &TensorProto, folder: Option<&Path>) -> Result<Tensor, Error> {
    if !is_packed(proto.data_type) {
        return tensor(proto, folder);
    }
    let shape = dims(&proto.dims)?;
    let count = roci_graph::shape::count(&shape)?;
    let bytes = match &proto.raw_data {
        _ if proto.data_location == EXTERNAL => external(proto, folder)?,
        Some(bytes) => bytes.clone(),
        None => proto.int32_data.iter().map(|&word| word as u8).collect(),
    };
    if bytes.len() != count.div_ceil(2) {
        let reason = format!("{count} 4-bit elements do not match {} bytes", bytes.len());
        return Err(Error::invalid(format!("tensor `{}`: {reason}", proto.name)));
    }
    // The low nibble of a byte comes first.
    let nibbles = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(count);
    let data = match proto.data_type {
        21 => Data::U8(nibbles.collect()),
        _ => Data::I8(nibbles.map(|half| (half << 4) as i8 >> 4).collect()),
    };
    Ok(Tensor::from_data(shape, data)?)
}

/// Reads a tensor; `folder` is the folder of external data.
pub fn tensor(proto: &TensorProto, folder: Option<&Path>) -> Result<Tensor, Error> {
    let context = |error: String| Error::invalid(format!("tensor `{}`: {error}", proto.name));
    let dtype = dtype(proto.data_type).map_err(|error| context(error.to_string()))?;
    let shape = dims(&proto.dims).map_err(|error| context(error.to_string()))?;
    if proto.data_location == EXTERNAL {
        let bytes = external(proto, folder)?;
        return Tensor::from_bytes(dtype, shape, &bytes).map_err(|error| context(error.to_string()));
    }
    if let Some(bytes) = &proto.raw_data
        && dtype != DType::String
    {
        return Tensor::from_bytes(dtype, shape, bytes).map_err(|error| context(error.to_string()));
    }
    let words = &proto.int32_data;
    let data = match dtype {
        DType::F32 => Data::F32(proto.float_data.clone()),
        DType::F64 => Data::F64(proto.double_data.clone()),
        DType::I64 => Data::I64(proto.int64_data.clone()),
        DType::U64 => Data::U64(proto.uint64_data.clone()),
        DType::U32 => Data::U32(proto.uint64_data.iter().map(|&wide| wide as u32).collect()),
        DType::I32 => Data::I32(words.clone()),
        DType::I16 => Data::I16(words.iter().map(|&word| word as i16).collect()),
        DType::I8 => Data::I8(words.iter().map(|&word| word as i8).collect()),
        DType::U16 => Data::U16(words.iter().map(|&word| word as u16).collect()),
        DType::U8 => Data::U8(words.iter().map(|&word| word as u8).collect()),
        DType::Bool => Data::Bool(words.iter().map(|&word| word != 0).collect()),
        DType::F16 => Data::F16(words.iter().map(|&word| f16::from_bits(word as u16)).collect()),
        DType::BF16 => Data::BF16(words.iter().map(|&word| bf16::from_bits(word as u16)).collect()),
        DType::String => Data::String(proto.string_data.iter().map(|bytes| text(bytes)).collect::<Result<_, _>>()?),
    };
    Tensor::from_data(shape, data).map_err(|error| context(error.to_string()))
}

/// A string of a model.
pub(crate) fn text(bytes: &[u8]) -> Result<String, Error> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::invalid("a string is not UTF-8"))
}

fn dims(dims: &[i64]) -> Result<Vec<usize>, Error> {
    let size = |&size: &i64| usize::try_from(size).map_err(|_| Error::invalid(format!("dimension {size} is negative")));
    dims.iter().map(size).collect()
}

/// Reads a tensor's external data, which must be in the model's folder or below it.
fn external(proto: &TensorProto, folder: Option<&Path>) -> Result<Vec<u8>, Error> {
    use std::io::{Read, Seek, SeekFrom};
    let entry = |key: &str| proto.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str());
    let wrong = |reason: &str| Error::invalid(format!("tensor `{}`: {reason}", proto.name));
    let number = |key: &str| -> Result<Option<u64>, Error> {
        entry(key).map(|text| text.parse().map_err(|_| wrong(&format!("`{key}` is `{text}`")))).transpose()
    };
    let location = entry("location").ok_or_else(|| wrong("the external data has no location"))?;
    let relative = PathBuf::from(location);
    // A model must not read arbitrary files.
    let inside = relative
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if !inside {
        return Err(wrong(&format!("the external data `{location}` is not in the model's folder")));
    }
    let folder = folder.ok_or_else(|| wrong("the tensor has external data, but the model was not read from a file"))?;
    let path = folder.join(relative);
    let failed = |error| Error::File { path: path.clone(), error };
    // Opening a pipe would block until there is a writer.
    if !std::fs::metadata(&path).map_err(failed)?.is_file() {
        return Err(wrong(&format!("`{location}` is not a regular file")));
    }
    let mut file = std::fs::File::open(&path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?.unwrap_or(size.saturating_sub(offset));
    if offset.checked_add(length).is_none_or(|end| end > size) {
        return Err(wrong(&format!("{length} bytes at offset {offset} of `{location}`, which has {size} bytes")));
    }
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// A sparse tensor, converted to a dense one.
pub(crate) fn dense(proto: &SparseTensorProto, folder: Option<&Path>) -> Result<Tensor, Error> {
    let part = |part: &Option<TensorProto>| -> Result<Tensor, Error> {
        tensor(part.as_ref().ok_or_else(|| Error::invalid("a sparse tensor has no values or no indices"))?, folder)
    };
    let (values, indices) = (part(&proto.values)?, part(&proto.indices)?);
    let shape = dims(&proto.dims)?;
    let strides = roci_graph::shape::strides(&shape);
    let count = roci_graph::shape::count_bounded(&shape)?;
    let places = indices.integers()?;
    let flat: Vec<usize> = match indices.rank() {
        1 => places.iter().map(|&at| usize::try_from(at).unwrap_or(usize::MAX)).collect(),
        _ => places
            .chunks(shape.len().max(1))
            .map(|index| {
                index
                    .iter()
                    .zip(&strides)
                    .map(|(&at, stride)| usize::try_from(at).unwrap_or(usize::MAX).saturating_mul(*stride))
                    .fold(0, usize::saturating_add)
            })
            .collect(),
    };
    if flat.len() != values.len() || flat.iter().any(|&at| at >= count) {
        return Err(Error::invalid("the indices of a sparse tensor do not match its shape"));
    }
    macro_rules! scatter {
        ($($variant:ident),*) => {
            match values.data() {
                $(Data::$variant(elements) => {
                    let mut all = vec![Default::default(); count];
                    for (&at, element) in flat.iter().zip(elements) {
                        all[at] = element.clone();
                    }
                    Data::$variant(all)
                })*
            }
        };
    }
    let data = scatter!(Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64, String);
    Ok(Tensor::from_data(shape, data)?)
}

/// The type of a value.
pub(crate) fn declared(proto: &TypeProto) -> Result<Option<DeclaredType>, Error> {
    Ok(match &proto.value {
        None => None,
        Some(TypeValue::Tensor(tensor)) if tensor.elem_type == 0 => None,
        Some(TypeValue::Tensor(tensor)) => {
            let dim = |dim: &crate::proto::Dimension| match &dim.value {
                Some(DimensionValue::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Known),
                Some(DimensionValue::DimParam(name)) if !name.is_empty() => Dim::Symbol(name.clone()),
                _ => Dim::Unknown,
            };
            let dims = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(dim).collect());
            Some(DeclaredType::Tensor { dtype: dtype(tensor.elem_type)?, dims })
        }
        Some(TypeValue::Sequence(inner)) => element(inner)?.map(|inner| DeclaredType::Sequence(Box::new(inner))),
        Some(TypeValue::Optional(inner)) => element(inner)?.map(|inner| DeclaredType::Optional(Box::new(inner))),
    })
}

fn element(inner: &crate::proto::ElementType) -> Result<Option<DeclaredType>, Error> {
    inner.elem_type.as_deref().map_or(Ok(None), declared)
}

/// Reads a value from ONNX's test data: a tensor, sequence or optional value, depending on the
/// type.
pub fn value_from_file(path: &Path, kind: Option<&DeclaredType>) -> Result<Value, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
    let bad = |error: prost::DecodeError| Error::Protobuf(error.to_string());
    match kind {
        Some(DeclaredType::Sequence(_)) => sequence(&SequenceProto::decode(&bytes[..]).map_err(bad)?),
        Some(DeclaredType::Optional(_)) => optional(&OptionalProto::decode(&bytes[..]).map_err(bad)?),
        _ => Ok(tensor(&TensorProto::decode(&bytes[..]).map_err(bad)?, None)?.into()),
    }
}

fn sequence(proto: &SequenceProto) -> Result<Value, Error> {
    let tensors = proto.tensor_values.iter().map(|one| Ok(tensor(one, None)?.into()));
    let sequences = proto.sequence_values.iter().map(sequence);
    let optionals = proto.optional_values.iter().map(optional);
    Ok(Value::Sequence(tensors.chain(sequences).chain(optionals).collect::<Result<_, Error>>()?))
}

fn optional(proto: &OptionalProto) -> Result<Value, Error> {
    let inner = if let Some(one) = &proto.tensor_value {
        Some(Value::from(tensor(one, None)?))
    } else if let Some(one) = &proto.sequence_value {
        Some(sequence(one)?)
    } else if let Some(one) = &proto.optional_value {
        Some(optional(one)?)
    } else {
        None
    };
    Ok(Value::Optional(inner.map(Box::new)))
}
