//! Writes a file: the tables, then the tensors in order, in chunks of any size.

use std::io::Write;

use crate::parse::{ALIGNMENT, DEFAULT_ALIGNMENT, MAGIC};
use crate::{Array, Error, Metadata, TensorInfo, Value};

/// A writer for files of version 3.
///
/// Types and shapes of all tensors are given at the start, so the output is written sequentially
/// without buffering.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    /// Tensors that are not complete yet, in reverse order: the current one is last.
    remaining: Vec<TensorInfo>,
    /// Bytes written of the current tensor.
    written: u64,
    alignment: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the tables.
    ///
    /// # Errors
    /// If the tables are inconsistent, or if the output fails.
    pub fn start(mut out: W, metadata: &Metadata, tensors: &[TensorInfo]) -> Result<Self, Error> {
        let alignment = u64::from(metadata.get::<u32>(ALIGNMENT)?.unwrap_or(DEFAULT_ALIGNMENT as u32));
        if !alignment.is_power_of_two() {
            return Err(Error::Write(format!("`{ALIGNMENT}` is {alignment}, which is not a power of two")));
        }
        let mut names: Vec<_> = tensors.iter().map(TensorInfo::name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Write(format!("two tensors are named `{}`", pair[0])));
        }
        let mut tables = tables(metadata, tensors, alignment)?;
        tables.resize(tables.len().next_multiple_of(alignment as usize), 0);
        out.write_all(&tables).map_err(Error::Output)?;
        let remaining = tensors.iter().rev().cloned().collect();
        Ok(Self { out, remaining, written: 0, alignment })
    }

    /// Writes the next bytes of a tensor, all at once or in chunks. Tensors must be written in the
    /// order of the tables.
    ///
    /// # Errors
    /// If the tensor is not the current one, if the bytes exceed its size, or if the output fails.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.skip_complete()?;
        let Some(current) = self.remaining.last() else {
            return Err(Error::Write(format!("bytes for `{name}`, but all tensors are complete")));
        };
        if current.name() != name {
            return Err(Error::Write(format!("bytes for `{name}`, but the next tensor is `{}`", current.name())));
        }
        let room = current.byte_len() - self.written;
        if bytes.len() as u64 > room {
            return Err(Error::Write(format!("{} bytes for `{name}`, which needs only {room} more", bytes.len())));
        }
        self.out.write_all(bytes).map_err(Error::Output)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Pads completed tensors and advances to the next one.
    fn skip_complete(&mut self) -> Result<(), Error> {
        while self.remaining.last().is_some_and(|current| current.byte_len() == self.written) {
            let padding = self.written.next_multiple_of(self.alignment) - self.written;
            std::io::copy(&mut std::io::Read::take(std::io::repeat(0), padding), &mut self.out)
                .map_err(Error::Output)?;
            self.remaining.pop();
            self.written = 0;
        }
        Ok(())
    }

    /// Finishes the file, flushes the output and returns it.
    ///
    /// # Errors
    /// If a tensor is incomplete, or if the output fails.
    pub fn finish(mut self) -> Result<W, Error> {
        self.skip_complete()?;
        if let Some(current) = self.remaining.last() {
            let text = format!("`{}` has {} of {} bytes", current.name(), self.written, current.byte_len());
            return Err(Error::Write(text));
        }
        self.out.flush().map_err(Error::Output)?;
        Ok(self.out)
    }
}

fn tables(metadata: &Metadata, tensors: &[TensorInfo], alignment: u64) -> Result<Vec<u8>, Error> {
    let mut out = MAGIC.to_vec();
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata.iter() {
        put_string(&mut out, key);
        out.extend(value.kind().to_le_bytes());
        put_value(&mut out, value);
    }
    let mut offset = 0u64;
    for tensor in tensors {
        put_string(&mut out, tensor.name());
        out.extend((tensor.shape().len() as u32).to_le_bytes());
        out.extend(tensor.shape().iter().flat_map(|size| size.to_le_bytes()));
        out.extend(tensor.kind().id().to_le_bytes());
        out.extend(offset.to_le_bytes());
        let end = offset.checked_add(tensor.byte_len()).and_then(|end| end.checked_next_multiple_of(alignment));
        offset = end.ok_or_else(|| Error::Write("the total size of the tensors overflows".to_owned()))?;
    }
    Ok(out)
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::U8(value) => out.push(*value),
        Value::I8(value) => out.extend(value.to_le_bytes()),
        Value::U16(value) => out.extend(value.to_le_bytes()),
        Value::I16(value) => out.extend(value.to_le_bytes()),
        Value::U32(value) => out.extend(value.to_le_bytes()),
        Value::I32(value) => out.extend(value.to_le_bytes()),
        Value::F32(value) => out.extend(value.to_le_bytes()),
        Value::Bool(value) => out.push((*value).into()),
        Value::String(text) => put_string(out, text),
        Value::Array(array) => put_array(out, array),
        Value::U64(value) => out.extend(value.to_le_bytes()),
        Value::I64(value) => out.extend(value.to_le_bytes()),
        Value::F64(value) => out.extend(value.to_le_bytes()),
    }
}

fn put_array(out: &mut Vec<u8>, array: &Array) {
    out.extend(array.kind().to_le_bytes());
    out.extend((array.len() as u64).to_le_bytes());
    match array {
        Array::U8(list) => out.extend(list),
        Array::I8(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::U16(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::I16(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::U32(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::I32(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::F32(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::Bool(list) => out.extend(list.iter().map(|value| u8::from(*value))),
        Array::String(list) => list.iter().for_each(|text| put_string(out, text)),
        Array::Array(list) => list.iter().for_each(|inner| put_array(out, inner)),
        Array::U64(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::I64(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
        Array::F64(list) => out.extend(list.iter().flat_map(|value| value.to_le_bytes())),
    }
}
