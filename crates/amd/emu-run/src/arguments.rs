//! Kernel arguments: parsed from the command line, checked against the metadata of the code object,
//! and laid out in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use roci_codeobj::{Argument, ValueKind};
use roci_emu::{Access, Allocation, Memory};
use roci_npy::{Array, Dtype};

use super::error::Error;
use super::kernel::ReadFile;

/// A kernel argument as text, such as `in:x.npy` or `u32:5`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelArgument {
    text: String,
    form: ArgumentForm,
}

#[derive(Clone, Debug, PartialEq)]
enum ArgumentForm {
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

impl KernelArgument {
    /// Parses `in:FILE.npy` and the other forms.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |reason: String| Error::Argument { text: text.to_owned(), reason };
        let (form, rest) = text.split_once(':').ok_or_else(|| invalid("has no `:`".into()))?;
        let form = match form {
            "in" if !rest.is_empty() => ArgumentForm::In(rest.into()),
            "out" => {
                let mut parts = rest.rsplitn(3, ':');
                let (Some(count), Some(dtype), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                    return Err(invalid("is not out:FILE.npy:DTYPE:COUNT".into()));
                };
                let count =
                    count.parse().map_err(|_| invalid(format!("has the count `{count}`, which is not a number")))?;
                ArgumentForm::Out { path: path.into(), dtype: dtype.parse().map_err(invalid)?, count }
            }
            "inout" => {
                let parts = rest.split_once(".npy:").map(|(from, to)| (format!("{from}.npy"), to));
                let parts = parts.or_else(|| rest.rsplit_once(':').map(|(from, to)| (from.to_owned(), to)));
                let (from, to) = parts.ok_or_else(|| invalid("is not inout:IN.npy:OUT.npy".into()))?;
                ArgumentForm::InOut { from: from.into(), to: to.into() }
            }
            "lds" => ArgumentForm::Lds(rest.parse().map_err(|_| invalid("has no valid number of bytes".into()))?),
            "in" => return Err(invalid("has no file name".into())),
            _ => ArgumentForm::Value(scalars(text).map_err(invalid)?),
        };
        Ok(Self { text: text.to_owned(), form })
    }
}

/// The bytes of a scalar, or of the comma-separated members of a struct, each aligned to its size.
fn scalars(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut largest = 1;
    for part in text.split(',') {
        let (dtype, number) = part.split_once(':').ok_or_else(|| format!("has `{part}`, which is not DTYPE:NUMBER"))?;
        let dtype: Dtype = dtype.parse().map_err(|_| format!("has `{dtype}`, which is neither a form nor a type"))?;
        let number = scalar(dtype, number).ok_or_else(|| format!("has `{number}`, which is not a {dtype}"))?;
        largest = largest.max(dtype.size());
        bytes.resize(bytes.len().next_multiple_of(dtype.size()), 0);
        bytes.extend(number);
    }
    bytes.resize(bytes.len().next_multiple_of(largest), 0);
    Ok(bytes)
}

/// The bytes of a scalar.
fn scalar(dtype: Dtype, text: &str) -> Option<Vec<u8>> {
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

/// An output array, written to a file after the kernel has completed.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file.
    pub path: PathBuf,
    /// Element type.
    pub dtype: Dtype,
    /// Shape of the array.
    pub shape: Vec<u64>,
    /// Index in [`BoundArguments::buffers`].
    buffer: usize,
}

/// Arguments in memory.
#[derive(Debug)]
pub(crate) struct BoundArguments {
    buffers: Vec<Allocation>,
    pub(crate) outputs: Vec<Output>,
    /// The explicit arguments at their offsets.
    pub(crate) kernarg: Vec<u8>,
    /// LDS of `lds:` arguments, after the kernel's own.
    pub(crate) lds: u32,
}

impl BoundArguments {
    /// Checks the arguments against the kernel's parameters and writes them to memory.
    pub(crate) fn new(
        given: &[KernelArgument],
        arguments: &[Argument],
        size: usize,
        fixed_lds: u32,
        memory: &Arc<Memory>,
        read: &ReadFile<'_>,
    ) -> Result<Self, Error> {
        let explicit: Vec<_> = arguments.iter().filter(|argument| !argument.value_kind.is_hidden()).collect();
        if explicit.len() != given.len() {
            let list: Vec<_> = explicit.iter().map(|argument| describe(argument)).collect();
            let list = if list.is_empty() { "none".into() } else { list.join(", ") };
            return Err(Error::ArgumentCount { expected: explicit.len(), given: given.len(), list });
        }
        let mut bound = Self { buffers: Vec::new(), outputs: Vec::new(), kernarg: vec![0; size], lds: 0 };
        for (index, (argument, given)) in explicit.into_iter().zip(given).enumerate() {
            let invalid = |reason: String| Error::ArgumentKind {
                index: index + 1,
                parameter: describe(argument),
                text: given.text.clone(),
                reason,
            };
            let bytes = bound.bind(argument, given, fixed_lds, memory, read, &invalid)?;
            if bytes.len() as u64 != argument.size {
                return Err(invalid(format!("it has {} bytes", bytes.len())));
            }
            let offset = usize::try_from(argument.offset).ok();
            let range = offset.and_then(|offset| bound.kernarg.get_mut(offset..)?.get_mut(..bytes.len()));
            range.ok_or_else(|| invalid("its offset lies outside the argument block".into()))?.copy_from_slice(&bytes);
        }
        Ok(bound)
    }

    fn bind(
        &mut self,
        argument: &Argument,
        given: &KernelArgument,
        fixed_lds: u32,
        memory: &Arc<Memory>,
        read: &ReadFile<'_>,
        invalid: &dyn Fn(String) -> Error,
    ) -> Result<Vec<u8>, Error> {
        let buffer = argument.value_kind == ValueKind::GlobalBuffer;
        match &given.form {
            ArgumentForm::Lds(bytes) if argument.value_kind == ValueKind::DynamicSharedPointer => {
                let align = u32::try_from(argument.pointee_align.unwrap_or(16)).unwrap_or(16).clamp(1, 4096);
                let too_much = || invalid("that is more LDS than the GPU has".into());
                let start = fixed_lds.checked_add(self.lds).and_then(|end| end.checked_next_multiple_of(align));
                let start = start.ok_or_else(too_much)?;
                self.lds = start.checked_add(*bytes).ok_or_else(too_much)? - fixed_lds;
                Ok(start.to_le_bytes().to_vec())
            }
            ArgumentForm::Value(bytes) if argument.value_kind == ValueKind::ByValue => Ok(bytes.clone()),
            // A raw address, usually null.
            ArgumentForm::Value(bytes) if buffer && bytes.len() == 8 => Ok(bytes.clone()),
            ArgumentForm::In(path) if buffer => {
                let array = array(path, read)?;
                let address = self.add(&array.data, Access::Read, memory)?;
                Ok(address.to_le_bytes().to_vec())
            }
            ArgumentForm::InOut { from, to } if buffer => {
                let array = array(from, read)?;
                let address = self.add(&array.data, Access::ReadWrite, memory)?;
                self.output(to, array.dtype, array.shape);
                Ok(address.to_le_bytes().to_vec())
            }
            ArgumentForm::Out { path, dtype, count } if buffer => {
                let size = count.checked_mul(dtype.size() as u64).ok_or(Error::Memory(u64::MAX))?;
                let address = self.allocate(size, Access::ReadWrite, memory)?;
                self.output(path, *dtype, vec![*count]);
                Ok(address.to_le_bytes().to_vec())
            }
            _ => Err(invalid(format!("it is {}", expected_form(&argument.value_kind)))),
        }
    }

    fn output(&mut self, path: &Path, dtype: Dtype, shape: Vec<u64>) {
        self.outputs.push(Output { path: path.into(), dtype, shape, buffer: self.buffers.len() - 1 });
    }

    fn add(&mut self, data: &[u8], access: Access, memory: &Arc<Memory>) -> Result<u64, Error> {
        let address = self.allocate(data.len() as u64, access, memory)?;
        if let Some(buffer) = self.buffers.last_mut() {
            buffer.bytes_mut().copy_from_slice(data);
        }
        Ok(address)
    }

    fn allocate(&mut self, size: u64, access: Access, memory: &Arc<Memory>) -> Result<u64, Error> {
        let allocation = allocate(size, access, memory)?;
        let address = allocation.address();
        self.buffers.push(allocation);
        Ok(address)
    }

    /// The current content of an output.
    pub(crate) fn array(&self, output: &Output) -> Array {
        Array { dtype: output.dtype, shape: output.shape.clone(), data: self.buffers[output.buffer].bytes().to_vec() }
    }
}

/// Allocates memory for the kernel, or fails if the machine does not have enough.
pub(crate) fn allocate(size: u64, access: Access, memory: &Arc<Memory>) -> Result<Allocation, Error> {
    let allocation = usize::try_from(size).ok().and_then(|size| memory.try_allocate(size, access));
    allocation.ok_or(Error::Memory(size))
}

fn array(path: &Path, read: &ReadFile<'_>) -> Result<Array, Error> {
    let bytes = read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    Array::read(&bytes).map_err(|source| Error::Npy { path: path.into(), source })
}

/// A parameter of the kernel as text.
fn describe(argument: &Argument) -> String {
    let name = argument.name.as_deref().map(|name| format!("{} ", name.escape_debug())).unwrap_or_default();
    match argument.value_kind {
        ValueKind::ByValue => format!("{name}by value, {} bytes", argument.size),
        ValueKind::GlobalBuffer => format!("{name}buffer"),
        ref other => format!("{name}{}", other.name().escape_debug()),
    }
}

fn expected_form(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::ByValue => "a number",
        ValueKind::GlobalBuffer => "a buffer: in:, out: or inout:",
        ValueKind::DynamicSharedPointer => "a pointer to LDS: lds:BYTES",
        _ => "of a kind that `--arg` does not support",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> ArgumentForm {
        KernelArgument::parse(text).expect("valid").form
    }

    #[test]
    fn every_form_is_parsed() {
        assert_eq!(form("in:a:b.npy"), ArgumentForm::In("a:b.npy".into()));
        assert_eq!(
            form("out:c:d.npy:f16:12"),
            ArgumentForm::Out { path: "c:d.npy".into(), dtype: Dtype::F16, count: 12 }
        );
        assert_eq!(form("inout:a.npy:b.npy"), ArgumentForm::InOut { from: "a.npy".into(), to: "b.npy".into() });
        assert_eq!(form("u32:0x10"), ArgumentForm::Value(vec![16, 0, 0, 0]));
        assert_eq!(form("i64:-1"), ArgumentForm::Value(vec![0xff; 8]));
        assert_eq!(form("f16:1"), ArgumentForm::Value(vec![0, 0x3c]));
        assert_eq!(form("lds:64"), ArgumentForm::Lds(64));
        assert_eq!(form("u8:1,u16:2,u8:3"), ArgumentForm::Value(vec![1, 0, 2, 0, 3, 0]));
    }

    #[test]
    fn invalid_arguments_are_errors() {
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
            assert!(KernelArgument::parse(text).is_err(), "{text}");
        }
    }
}
