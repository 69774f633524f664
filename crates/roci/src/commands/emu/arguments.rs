//! The arguments of a kernel: read from the command line, checked against what the code object says, laid out in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use roci_codeobj::{Argument, ValueKind};
use roci_emu::{Access, Allocation, Memory};

use super::error::EmuError;
use crate::npy::{Array, Dtype};

/// One `--arg`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    text: String,
    kind: GivenKind,
}

#[derive(Clone, Debug, PartialEq)]
enum GivenKind {
    In(PathBuf),
    Out {
        path: PathBuf,
        dtype: Dtype,
        count: u64,
    },
    InOut {
        from: PathBuf,
        to: PathBuf,
    },
    /// Little-endian.
    Value(Vec<u8>),
    Lds(u32),
}

impl Given {
    /// Reads `in:FILE.npy` and its kin.
    pub(super) fn parse(text: &str) -> Result<Self, EmuError> {
        let wrong = |reason: String| EmuError::Argument { text: text.to_owned(), reason };
        let (form, rest) = text.split_once(':').ok_or_else(|| wrong("has no `:`".into()))?;
        let kind = match form {
            "in" if !rest.is_empty() => GivenKind::In(rest.into()),
            "out" => {
                let mut parts = rest.rsplitn(3, ':');
                let (Some(count), Some(dtype), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                    return Err(wrong("is not out:FILE.npy:DTYPE:COUNT".into()));
                };
                let count = count.parse().map_err(|_| wrong(format!("has `{count}` where a count should be")))?;
                GivenKind::Out { path: path.into(), dtype: dtype.parse().map_err(wrong)?, count }
            }
            "inout" => {
                let parts = rest.split_once(".npy:").map(|(from, to)| (format!("{from}.npy"), to));
                let parts = parts.or_else(|| rest.rsplit_once(':').map(|(from, to)| (from.to_owned(), to)));
                let (from, to) = parts.ok_or_else(|| wrong("is not inout:IN.npy:OUT.npy".into()))?;
                GivenKind::InOut { from: from.into(), to: to.into() }
            }
            "lds" => GivenKind::Lds(rest.parse().map_err(|_| wrong("has no number of bytes".into()))?),
            "in" => return Err(wrong("names no file".into())),
            _ => GivenKind::Value(values(text).map_err(wrong)?),
        };
        Ok(Self { text: text.to_owned(), kind })
    }
}

/// Numbers as their bytes: one, or with commas between them the members of a structure, each at a multiple of its size.
fn values(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut largest = 1;
    for part in text.split(',') {
        let (dtype, number) = part.split_once(':').ok_or_else(|| format!("has `{part}`, which is no DTYPE:NUMBER"))?;
        let dtype: Dtype = dtype.parse().map_err(|_| format!("has `{dtype}` where a form or a type should be"))?;
        let number = value(dtype, number).ok_or_else(|| format!("has `{number}`, which is no {dtype}"))?;
        largest = largest.max(dtype.size());
        bytes.resize(bytes.len().next_multiple_of(dtype.size()), 0);
        bytes.extend(number);
    }
    bytes.resize(bytes.len().next_multiple_of(largest), 0);
    Ok(bytes)
}

/// A number as its bytes.
fn value(dtype: Dtype, text: &str) -> Option<Vec<u8>> {
    fn integer<T: TryFrom<i128>>(text: &str) -> Option<T> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let number = match digits.strip_prefix("0x") {
            Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok()?,
            None => digits.parse::<i128>().ok()?,
        };
        T::try_from(sign * number).ok()
    }
    Some(match dtype {
        Dtype::Bool => vec![match text {
            "true" | "1" => 1,
            "false" | "0" => 0,
            _ => return None,
        }],
        Dtype::U8 => integer::<u8>(text)?.to_le_bytes().to_vec(),
        Dtype::U16 => integer::<u16>(text)?.to_le_bytes().to_vec(),
        Dtype::U32 => integer::<u32>(text)?.to_le_bytes().to_vec(),
        Dtype::U64 => integer::<u64>(text)?.to_le_bytes().to_vec(),
        Dtype::I8 => integer::<i8>(text)?.to_le_bytes().to_vec(),
        Dtype::I16 => integer::<i16>(text)?.to_le_bytes().to_vec(),
        Dtype::I32 => integer::<i32>(text)?.to_le_bytes().to_vec(),
        Dtype::I64 => integer::<i64>(text)?.to_le_bytes().to_vec(),
        Dtype::F16 => half::f16::from_f64(text.parse().ok()?).to_le_bytes().to_vec(),
        Dtype::F32 => text.parse::<f32>().ok()?.to_le_bytes().to_vec(),
        Dtype::F64 => text.parse::<f64>().ok()?.to_le_bytes().to_vec(),
    })
}

/// An array in the kernel's memory, written to a file once the kernel has ended.
pub(super) struct Output {
    pub(super) path: PathBuf,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<u64>,
    buffer: usize,
}

/// Arguments in memory.
pub(super) struct Bound {
    buffers: Vec<Allocation>,
    pub(super) outputs: Vec<Output>,
    /// The explicit arguments, each at its place.
    pub(super) kernarg: Vec<u8>,
    /// LDS that arguments ask for, behind the kernel's own.
    pub(super) lds: u32,
}

impl Bound {
    /// Checks what is given against what the kernel takes, and puts it into memory.
    pub(super) fn new(
        given: &[Given],
        arguments: &[Argument],
        size: usize,
        fixed_lds: u32,
        memory: &Arc<Memory>,
    ) -> Result<Self, EmuError> {
        let explicit: Vec<_> = arguments.iter().filter(|argument| !argument.value_kind.is_hidden()).collect();
        if explicit.len() != given.len() {
            let list: Vec<_> = explicit.iter().map(|argument| describe(argument)).collect();
            let list = if list.is_empty() { "none".into() } else { list.join(", ") };
            return Err(EmuError::ArgumentCount { wanted: explicit.len(), given: given.len(), list });
        }
        let mut bound = Self { buffers: Vec::new(), outputs: Vec::new(), kernarg: vec![0; size], lds: 0 };
        for (index, (argument, given)) in explicit.into_iter().zip(given).enumerate() {
            let wrong = |reason: String| EmuError::ArgumentKind {
                index: index + 1,
                what: describe(argument),
                text: given.text.clone(),
                reason,
            };
            let bytes = bound.bind(argument, given, fixed_lds, memory, &wrong)?;
            if bytes.len() as u64 != argument.size {
                return Err(wrong(format!("it has {} bytes", bytes.len())));
            }
            let place = usize::try_from(argument.offset).ok().and_then(|offset| bound.kernarg.get_mut(offset..));
            let place = place.and_then(|rest| rest.get_mut(..bytes.len()));
            place.ok_or_else(|| wrong("its place lies outside the argument block".into()))?.copy_from_slice(&bytes);
        }
        Ok(bound)
    }

    fn bind(
        &mut self,
        argument: &Argument,
        given: &Given,
        fixed_lds: u32,
        memory: &Arc<Memory>,
        wrong: &dyn Fn(String) -> EmuError,
    ) -> Result<Vec<u8>, EmuError> {
        let buffer = argument.value_kind == ValueKind::GlobalBuffer;
        match &given.kind {
            GivenKind::Lds(bytes) if argument.value_kind == ValueKind::DynamicSharedPointer => {
                let align = u32::try_from(argument.pointee_align.unwrap_or(16)).unwrap_or(16).clamp(1, 4096);
                let too_much = || wrong("that is more LDS than there is".into());
                let start = fixed_lds.checked_add(self.lds).and_then(|end| end.checked_next_multiple_of(align));
                let start = start.ok_or_else(too_much)?;
                self.lds = start.checked_add(*bytes).ok_or_else(too_much)? - fixed_lds;
                Ok(start.to_le_bytes().to_vec())
            }
            GivenKind::Value(bytes) if argument.value_kind == ValueKind::ByValue => Ok(bytes.clone()),
            // An address by itself: of nothing, most of the time.
            GivenKind::Value(bytes) if buffer && bytes.len() == 8 => Ok(bytes.clone()),
            GivenKind::In(path) if buffer => {
                let array = read(path)?;
                let address = self.add(&array.data, Access::Read, memory)?;
                Ok(address.to_le_bytes().to_vec())
            }
            GivenKind::InOut { from, to } if buffer => {
                let array = read(from)?;
                let address = self.add(&array.data, Access::ReadWrite, memory)?;
                self.output(to, array.dtype, array.shape);
                Ok(address.to_le_bytes().to_vec())
            }
            GivenKind::Out { path, dtype, count } if buffer => {
                let size = count.checked_mul(dtype.size() as u64).ok_or(EmuError::Memory(u64::MAX))?;
                let address = self.allocate(size, Access::ReadWrite, memory)?;
                self.output(path, *dtype, vec![*count]);
                Ok(address.to_le_bytes().to_vec())
            }
            _ => Err(wrong(format!("it is {}", wants(&argument.value_kind)))),
        }
    }

    fn output(&mut self, path: &Path, dtype: Dtype, shape: Vec<u64>) {
        self.outputs.push(Output { path: path.into(), dtype, shape, buffer: self.buffers.len() - 1 });
    }

    fn add(&mut self, data: &[u8], access: Access, memory: &Arc<Memory>) -> Result<u64, EmuError> {
        let address = self.allocate(data.len() as u64, access, memory)?;
        if let Some(buffer) = self.buffers.last_mut() {
            buffer.bytes_mut().copy_from_slice(data);
        }
        Ok(address)
    }

    fn allocate(&mut self, size: u64, access: Access, memory: &Arc<Memory>) -> Result<u64, EmuError> {
        let allocation = allocate(size, access, memory)?;
        let address = allocation.address();
        self.buffers.push(allocation);
        Ok(address)
    }

    /// The array of an output as it is now.
    pub(super) fn array(&self, output: &Output) -> Array {
        Array { dtype: output.dtype, shape: output.shape.clone(), data: self.buffers[output.buffer].bytes().to_vec() }
    }
}

/// Memory for the kernel, or an error where the machine has not so much.
pub(super) fn allocate(size: u64, access: Access, memory: &Arc<Memory>) -> Result<Allocation, EmuError> {
    let allocation = usize::try_from(size).ok().and_then(|size| memory.try_allocate(size, access));
    allocation.ok_or(EmuError::Memory(size))
}

fn read(path: &Path) -> Result<Array, EmuError> {
    let bytes = crate::input::read(path).map_err(|source| EmuError::Read { path: path.into(), source })?;
    Array::read(&bytes).map_err(|source| EmuError::Npy { path: path.into(), source })
}

/// An argument in words.
fn describe(argument: &Argument) -> String {
    let name = argument.name.as_deref().map(|name| format!("{} ", name.escape_debug())).unwrap_or_default();
    match argument.value_kind {
        ValueKind::ByValue => format!("{name}by value, {} bytes", argument.size),
        ValueKind::GlobalBuffer => format!("{name}buffer"),
        ref other => format!("{name}{}", other.name().escape_debug()),
    }
}

fn wants(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::ByValue => "a number",
        ValueKind::GlobalBuffer => "a buffer: in:, out: or inout:",
        ValueKind::DynamicSharedPointer => "a pointer to LDS: lds:BYTES",
        _ => "of a kind that cannot be given here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> GivenKind {
        Given::parse(text).expect("valid").kind
    }

    #[test]
    fn forms_are_read() {
        assert_eq!(kind("in:a:b.npy"), GivenKind::In("a:b.npy".into()));
        assert_eq!(kind("out:c:d.npy:f16:12"), GivenKind::Out { path: "c:d.npy".into(), dtype: Dtype::F16, count: 12 });
        assert_eq!(kind("inout:a.npy:b.npy"), GivenKind::InOut { from: "a.npy".into(), to: "b.npy".into() });
        assert_eq!(kind("u32:0x10"), GivenKind::Value(vec![16, 0, 0, 0]));
        assert_eq!(kind("i64:-1"), GivenKind::Value(vec![0xff; 8]));
        assert_eq!(kind("f16:1"), GivenKind::Value(vec![0, 0x3c]));
        assert_eq!(kind("lds:64"), GivenKind::Lds(64));
        assert_eq!(kind("u8:1,u16:2,u8:3"), GivenKind::Value(vec![1, 0, 2, 0, 3, 0]));
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for text in [
            "u32",
            "u32:",
            "u32:-1",
            "u8:256",
            "i32:4294967296",
            "f32:x",
            "out:a.npy:f33:1",
            "out:a.npy:1",
            "in:",
            "u8:1,2",
        ] {
            assert!(Given::parse(text).is_err(), "{text}");
        }
    }
}
