//! Parses the tables at the start of a file: header, metadata, tensor list.

use std::collections::HashSet;

use crate::cursor::Cursor;
use crate::value::KINDS;
use crate::{Array, Error, Metadata, TensorInfo, Type, Value};

pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// The key that overrides [`DEFAULT_ALIGNMENT`].
pub(crate) const ALIGNMENT: &str = "general.alignment";
/// Alignment of tensor data in bytes, unless the file overrides it.
pub(crate) const DEFAULT_ALIGNMENT: u64 = 32;
/// Maximum depth of nested arrays. Converters do not write nested arrays.
const DEPTH: usize = 8;
/// Maximum number of tensor dimensions, as in ggml.
pub(crate) const DIMENSIONS: usize = 4;
/// Minimum size of a metadata entry: length of the key, type ID, a value of one byte.
const MIN_PAIR_BYTES: u64 = 8 + 4 + 1;
/// Minimum size of a tensor entry: length of the name, number of dimensions, type, offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;

/// Content of a file's tables.
pub(crate) struct Tables {
    pub(crate) version: u32,
    pub(crate) metadata: Metadata,
    /// Tensors, each with its byte offset from the start of the file. The data is inside the file.
    pub(crate) tensors: Vec<(TensorInfo, u64)>,
}

/// Reads the tables and checks that every tensor's data is inside the file.
pub(crate) fn tables(bytes: &[u8]) -> Result<Tables, Error> {
    let mut cursor = Cursor::new(bytes);
    let version = version(&mut cursor)?;
    let tensor_count = cursor.u64()?;
    cursor.location = "the number of keys".to_owned();
    let pair_count = cursor.count(MIN_PAIR_BYTES)?;
    let metadata = metadata(&mut cursor, pair_count)?;
    let alignment = alignment(&metadata)?;
    cursor.location = "the list of tensors".to_owned();
    let mut tensors = infos(&mut cursor, tensor_count)?;
    let data = cursor.offset().next_multiple_of(alignment);
    set_offsets(&mut tensors, data, alignment, bytes.len() as u64)?;
    Ok(Tables { version, metadata, tensors })
}

fn version(cursor: &mut Cursor<'_>) -> Result<u32, Error> {
    let magic: [u8; 4] = cursor.number()?;
    if &magic != MAGIC {
        return Err(Error::Magic(format!("{:?}", magic.escape_ascii().to_string())));
    }
    match cursor.u32()? {
        version @ (2 | 3) => Ok(version),
        swapped if (1..=3).contains(&swapped.swap_bytes()) => Err(Error::BigEndian),
        version => Err(Error::Version(version)),
    }
}

fn metadata(cursor: &mut Cursor<'_>, count: usize) -> Result<Metadata, Error> {
    let mut metadata = Metadata::new();
    for number in 0..count {
        cursor.location = format!("key number {number}");
        let key = cursor.string()?;
        cursor.location = format!("key `{}`", key.escape_debug());
        let kind = cursor.u32()?;
        let value = value(cursor, kind)?;
        if metadata.insert(key, value).is_some() {
            return Err(cursor.invalid("duplicate key"));
        }
    }
    Ok(metadata)
}

fn value(cursor: &mut Cursor<'_>, kind: u32) -> Result<Value, Error> {
    Ok(match kind {
        0 => Value::U8(cursor.number().map(u8::from_le_bytes)?),
        1 => Value::I8(cursor.number().map(i8::from_le_bytes)?),
        2 => Value::U16(cursor.number().map(u16::from_le_bytes)?),
        3 => Value::I16(cursor.number().map(i16::from_le_bytes)?),
        4 => Value::U32(cursor.number().map(u32::from_le_bytes)?),
        5 => Value::I32(cursor.number().map(i32::from_le_bytes)?),
        6 => Value::F32(cursor.number().map(f32::from_le_bytes)?),
        7 => Value::Bool(boolean(cursor)?),
        8 => Value::String(cursor.string()?.to_owned()),
        9 => Value::Array(array(cursor, DEPTH)?),
        10 => Value::U64(cursor.number().map(u64::from_le_bytes)?),
        11 => Value::I64(cursor.number().map(i64::from_le_bytes)?),
        12 => Value::F64(cursor.number().map(f64::from_le_bytes)?),
        _ => return Err(cursor.invalid(format!("unknown value type {kind}"))),
    })
}

fn array(cursor: &mut Cursor<'_>, depth: usize) -> Result<Array, Error> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(cursor.invalid(format!("arrays are nested more than {DEPTH} deep")));
    };
    let kind = cursor.u32()?;
    let Some((_, least)) = KINDS.get(kind as usize) else {
        return Err(cursor.invalid(format!("unknown array element type {kind}")));
    };
    let count = cursor.count(*least)?;
    Ok(match kind {
        0 => Array::U8(cursor.take(count as u64)?.to_vec()),
        1 => Array::I8(numbers(cursor, count, i8::from_le_bytes)?),
        2 => Array::U16(numbers(cursor, count, u16::from_le_bytes)?),
        3 => Array::I16(numbers(cursor, count, i16::from_le_bytes)?),
        4 => Array::U32(numbers(cursor, count, u32::from_le_bytes)?),
        5 => Array::I32(numbers(cursor, count, i32::from_le_bytes)?),
        6 => Array::F32(numbers(cursor, count, f32::from_le_bytes)?),
        7 => Array::Bool(each(count, || boolean(cursor))?),
        8 => Array::String(each(count, || cursor.string().map(str::to_owned))?),
        9 => Array::Array(each(count, || array(cursor, depth))?),
        10 => Array::U64(numbers(cursor, count, u64::from_le_bytes)?),
        11 => Array::I64(numbers(cursor, count, i64::from_le_bytes)?),
        _ => Array::F64(numbers(cursor, count, f64::from_le_bytes)?),
    })
}

fn numbers<T, const N: usize>(cursor: &mut Cursor<'_>, count: usize, read: fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
    let bytes = cursor.take((count * N) as u64)?;
    Ok(bytes.as_chunks().0.iter().map(|number| read(*number)).collect())
}

fn each<T>(count: usize, mut read: impl FnMut() -> Result<T, Error>) -> Result<Vec<T>, Error> {
    // The capacity is safe: the count was checked against the remaining bytes.
    let mut list = Vec::with_capacity(count);
    for _ in 0..count {
        list.push(read()?);
    }
    Ok(list)
}

fn boolean(cursor: &mut Cursor<'_>) -> Result<bool, Error> {
    match cursor.number()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(cursor.invalid(format!("invalid bool {other}: it must be 0 or 1"))),
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, Error> {
    match metadata.get::<u32>(ALIGNMENT)? {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(alignment) if alignment.is_power_of_two() => Ok(alignment.into()),
        Some(alignment) => Err(Error::WrongValue {
            key: ALIGNMENT.to_owned(),
            expected: "a power of two".to_owned(),
            found: alignment.to_string(),
        }),
    }
}

/// The tensor list. Offsets are relative to the start of the data section, as in the file.
fn infos(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<(TensorInfo, u64)>, Error> {
    cursor.expect_room(count, MIN_TENSOR_BYTES)?;
    let mut names = HashSet::new();
    let mut tensors = Vec::with_capacity(count as usize);
    for number in 0..count {
        cursor.location = format!("tensor number {number}");
        let name = cursor.string()?;
        cursor.location = format!("tensor `{}`", name.escape_debug());
        if !names.insert(name) {
            return Err(cursor.invalid("duplicate tensor name"));
        }
        let dimensions = cursor.u32()? as usize;
        if !(1..=DIMENSIONS).contains(&dimensions) {
            return Err(cursor.invalid(format!("{dimensions} dimensions, but 1 to {DIMENSIONS} are supported")));
        }
        let shape = each(dimensions, || cursor.u64())?;
        let id = cursor.u32()?;
        let Some(kind) = Type::from_id(id) else {
            return Err(Error::UnknownType { tensor: name.to_owned(), id, name: Type::unsupported_name(id) });
        };
        let info = TensorInfo::checked(name, &shape, kind).map_err(|reason| cursor.invalid(reason))?;
        tensors.push((info, cursor.u64()?));
    }
    Ok(tensors)
}

/// Makes offsets relative to the start of the file, and checks alignment, bounds and overlaps.
fn set_offsets(tensors: &mut [(TensorInfo, u64)], data: u64, alignment: u64, length: u64) -> Result<(), Error> {
    for (info, offset) in tensors.iter_mut() {
        let location = format!("tensor `{}`", info.name().escape_debug());
        if !offset.is_multiple_of(alignment) {
            let reason = format!("its data does not start at a multiple of {alignment}");
            return Err(Error::Invalid { location, offset: data.saturating_add(*offset), reason });
        }
        *offset = offset.saturating_add(data);
        let available = length.saturating_sub(*offset);
        if info.byte_len() > available {
            return Err(Error::Truncated { location, offset: *offset, needed: info.byte_len(), available });
        }
    }
    let mut by_offset: Vec<_> =
        tensors.iter().map(|(info, offset)| (*offset, info)).filter(|(_, info)| info.byte_len() > 0).collect();
    by_offset.sort_unstable_by_key(|(offset, _)| *offset);
    for pair in by_offset.windows(2) {
        let [(first, earlier), (second, later)] = pair else { continue };
        if first + earlier.byte_len() > *second {
            return Err(Error::Invalid {
                location: format!("tensor `{}`", later.name().escape_debug()),
                offset: *second,
                reason: format!("its data overlaps that of `{}`", earlier.name().escape_debug()),
            });
        }
    }
    Ok(())
}
