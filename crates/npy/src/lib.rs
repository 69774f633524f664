//! Reader and writer of NumPy's array format (`.npy`).
//!
//! Supports versions 1 to 3, little-endian numbers, C and Fortran order. Everything else is an
//! error, never a guess.

#![deny(unsafe_code)]

use std::fmt;
use std::str::FromStr;

/// The first bytes of every file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers of plain arrays take about 60 bytes; a longer one describes an unsupported type.
const MAX_HEADER: usize = 64 << 10;

/// Element type. `FromStr` and `Display` use the names `bool`, `u8` to `u64`, `i8` to `i64`, `f16`
/// to `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// Type, name, `descr` in files, and bytes.
const DTYPES: [(Dtype, &str, &str, usize); 12] = [
    (Dtype::Bool, "bool", "|b1", 1),
    (Dtype::U8, "u8", "|u1", 1),
    (Dtype::U16, "u16", "<u2", 2),
    (Dtype::U32, "u32", "<u4", 4),
    (Dtype::U64, "u64", "<u8", 8),
    (Dtype::I8, "i8", "|i1", 1),
    (Dtype::I16, "i16", "<i2", 2),
    (Dtype::I32, "i32", "<i4", 4),
    (Dtype::I64, "i64", "<i8", 8),
    (Dtype::F16, "f16", "<f2", 2),
    (Dtype::F32, "f32", "<f4", 4),
    (Dtype::F64, "f64", "<f8", 8),
];

impl Dtype {
    fn row(self) -> &'static (Self, &'static str, &'static str, usize) {
        DTYPES.iter().find(|row| row.0 == self).unwrap_or(&DTYPES[0])
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        self.row().3
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        DTYPES.iter().find(|row| row.1 == text).map(|row| row.0).ok_or_else(|| {
            let names: Vec<_> = DTYPES.iter().map(|row| row.1).collect();
            format!("`{text}` is not an element type ({})", names.join(", "))
        })
    }
}

/// Why a file cannot be read as an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file does not start with [`MAGIC`].
    #[error("not a .npy file")]
    Magic,
    /// A version that is not supported.
    #[error(".npy version {0} is not supported (1 to 3 are)")]
    Version(u8),
    /// The header is invalid; the text says why.
    #[error("the .npy header {0}")]
    Header(String),
    /// An element type that is not supported, as the header spells it.
    #[error("elements of type `{0}` are not supported")]
    Type(String),
    /// The length of the data differs from the size by type and shape.
    #[error("the header describes {promised} bytes of data, but the file has {found}")]
    Size {
        /// Size by type and shape, in bytes.
        promised: u128,
        /// Size of the data after the header, in bytes.
        found: usize,
    },
}

/// An array in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The type of every element.
    pub dtype: Dtype,
    /// Sizes of the dimensions; empty for a scalar.
    pub shape: Vec<u64>,
    /// The elements, little-endian.
    pub data: Vec<u8>,
}

impl Array {
    /// Parses the bytes of a file; Fortran order becomes C order.
    pub fn read(bytes: &[u8]) -> Result<Self, NpyError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
        let cut = || NpyError::Header("is cut off".into());
        let ([major, _minor], rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (length, rest) = match major {
            1 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX), rest)
            }
            other => return Err(NpyError::Version(*other)),
        };
        if length > MAX_HEADER {
            return Err(NpyError::Header(format!("takes {length} bytes")));
        }
        let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
        let header = std::str::from_utf8(header).map_err(|_| NpyError::Header("is not UTF-8".into()))?;
        let (dtype, shape, fortran) = Parser(header).header()?;
        let promised = shape.iter().try_fold(dtype.size() as u128, |size, &count| size.checked_mul(u128::from(count)));
        let promised = promised.unwrap_or(u128::MAX);
        if promised != data.len() as u128 {
            return Err(NpyError::Size { promised, found: data.len() });
        }
        let data = if fortran { to_c_order(data, &shape, dtype.size()) } else { data.to_vec() };
        Ok(Self { dtype, shape, data })
    }

    /// The bytes of a file of version 1.
    pub fn write(&self) -> Vec<u8> {
        let shape: Vec<_> = self.shape.iter().map(u64::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let descr = self.dtype.row().2;
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", shape.join(", "));
        // The format aligns the data to 64 bytes.
        let fixed = MAGIC.len() + 4;
        let padding = (fixed + header.len() + 1).next_multiple_of(64) - fixed - header.len() - 1;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(&self.data);
        bytes
    }
}

/// Reorders elements from Fortran order to C order.
fn to_c_order(data: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let shape: Vec<usize> = shape.iter().map(|&count| count as usize).collect();
    let mut strides = vec![size; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let mut ordered = Vec::with_capacity(data.len());
    let (mut index, mut at) = (vec![0; shape.len()], 0);
    while ordered.len() < data.len() {
        ordered.extend_from_slice(&data[at..at + size]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    ordered
}

/// Parser of the header, a Python dictionary. Holds the rest of the text.
struct Parser<'a>(&'a str);

impl<'a> Parser<'a> {
    /// The type, the shape, and whether the data is in Fortran order.
    fn header(&mut self) -> Result<(Dtype, Vec<u64>, bool), NpyError> {
        let (mut dtype, mut shape, mut order) = (None, None, false);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => dtype = Some(self.dtype()?),
                "fortran_order" => order = self.flag()?,
                "shape" => shape = Some(self.shape()?),
                other => return Err(NpyError::Header(format!("has an unknown key {other:?}"))),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        let missing = |what: &str| NpyError::Header(format!("has no `{what}`"));
        let (dtype, shape) = (dtype.ok_or_else(|| missing("descr"))?, shape.ok_or_else(|| missing("shape"))?);
        let fortran = order && shape.len() > 1;
        Ok((dtype, shape, fortran))
    }

    fn blank(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn take(&mut self, expected: char) -> bool {
        self.blank();
        self.0.strip_prefix(expected).map(|rest| self.0 = rest).is_some()
    }

    fn expect(&mut self, expected: char) -> Result<(), NpyError> {
        if self.take(expected) {
            return Ok(());
        }
        let found: String = self.0.chars().take(8).collect();
        Err(NpyError::Header(format!("has {found:?} where `{expected}` should be")))
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        let quote = if self.take('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (text, rest) = self.0.split_once(quote).ok_or_else(|| NpyError::Header("is cut off".into()))?;
        self.0 = rest;
        Ok(text)
    }

    fn dtype(&mut self) -> Result<Dtype, NpyError> {
        self.blank();
        if self.0.starts_with('[') {
            return Err(NpyError::Type("record".into()));
        }
        let descr = self.string()?;
        let known = DTYPES.iter().find(|row| {
            // Single bytes have no byte order; `=` is the native order of the writer, taken as
            // little-endian.
            row.2 == descr || descr.strip_prefix(['<', '=', '|']).is_some_and(|rest| rest == &row.2[1..] && row.3 == 1)
        });
        known.map(|row| row.0).ok_or_else(|| NpyError::Type(descr.escape_debug().to_string()))
    }

    fn flag(&mut self) -> Result<bool, NpyError> {
        self.blank();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(NpyError::Header("says neither True nor False".into()))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.take(')') {
            self.blank();
            let digits = self.0.len() - self.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.0.split_at(digits);
            let number =
                number.parse().map_err(|_| NpyError::Header("has a shape that is not a list of numbers".into()))?;
            self.0 = rest;
            shape.push(number);
            if shape.len() > 32 {
                return Err(NpyError::Header("has more than 32 dimensions".into()));
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    const HEADER: &str = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";

    #[test]
    fn all_versions_are_read() {
        for version in 1..=3 {
            let array = Array::read(&file(version, HEADER, &[0; 8])).expect("a plain array");
            assert_eq!((array.dtype, array.shape), (Dtype::F32, vec![2, 1]));
        }
        assert_eq!(Array::read(&file(4, HEADER, &[0; 8])), Err(NpyError::Version(4)));
    }

    #[test]
    fn unsupported_features_are_named() {
        let header = |text: &str| Array::read(&file(1, text, &[0; 8])).expect_err("not supported").to_string();
        assert!(header("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}").contains(">f4"));
        assert!(header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}").contains("record"));
        assert!(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}").contains("describes 12 bytes"));
        assert!(
            header("{'descr': '<f4', 'shape': (18446744073709551615, 18446744073709551615)}").contains("describes")
        );
        assert_eq!(Array::read(b"PK"), Err(NpyError::Magic));
    }

    #[test]
    fn fortran_order_becomes_c_order() {
        // numpy.asfortranarray(numpy.arange(24, dtype="u1").reshape(2, 3, 4)), in file order.
        let data: Vec<u8> = (0..24).map(|at| at % 2 * 12 + at / 2 % 3 * 4 + at / 6).collect();
        let array = Array::read(&file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", &data));
        assert_eq!(array.map(|array| array.data), Ok((0..24).collect()));
        let empty = Array::read(&file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 0)}", &[]));
        assert_eq!(empty.map(|array| array.shape), Ok(vec![2, 0]));
    }

    #[test]
    fn a_scalar_has_no_dimension() {
        let array =
            Array::read(&file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': ()}", &[7])).expect("a scalar");
        assert_eq!((array.shape.len(), array.data), (0, vec![7]));
    }

    proptest! {
        #[test]
        fn written_arrays_are_read_back(which in 0..DTYPES.len(), shape in prop::collection::vec(0u64..5, 0..4), seed: u8) {
            let dtype = DTYPES[which].0;
            let count: u64 = shape.iter().product();
            let array = Array { dtype, data: vec![seed; count as usize * dtype.size()], shape };
            let bytes = array.write();
            prop_assert_eq!((bytes.len() - array.data.len()) % 64, 0);
            prop_assert_eq!(Array::read(&bytes), Ok(array));
        }

        #[test]
        fn damaged_files_are_errors_and_never_panics(place in 0usize..80, value: u8, length in 0usize..90) {
            let mut bytes = file(1, HEADER, &[0; 8]);
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
            bytes.truncate(length.max(1));
            let _ = Array::read(&bytes);
        }

        #[test]
        fn any_header_is_an_error_or_an_array(header in ".{0,60}") {
            let _ = Array::read(&file(2, &header, &[0; 8]));
            let _ = Array::read(&file(3, &format!("{{'descr': '<u4', {header}"), &[0; 8]));
        }
    }
}
