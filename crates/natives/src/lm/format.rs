//! What packed matrices are made of, and where it lies.
//!
//! Sixteen rows are a piece of memory of their own. Its columns are in groups of 32. First come the codes of all groups: bytes,
//! in lines of four columns ([`crate::simd::codes`]), or half bytes, where the low halves of a line are columns of the first
//! 16 of a group and the high halves the same ones of the last 16. Then the scales of all groups, sixteen 16-bit floats each, or
//! twice as many where each 16 columns have a scale of their own; then, where the type has such, what is added to all weights
//! of a group, in the same way. The end is filled up to a cache line.
//!
//! Floats lie column by column, sixteen rows side by side.

use std::ops::Range;

use roci_gguf::Type;

use super::super::simd::codes::LINE;
use super::ROWS;

/// Columns of a group.
pub(super) const GROUP: usize = 32;
/// Lines of a group whose codes are bytes.
pub(super) const LINES: usize = GROUP * ROWS / LINE;
/// Bytes of sixteen scales.
pub(super) const SCALES: usize = ROWS * size_of::<u16>();
/// Pieces begin at multiples of this.
const ALIGN: usize = 64;

/// What is wrong with a matrix that is to be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// There is no packed form for it.
    #[error("matrices of {0} cannot be packed")]
    Type(Type),
    /// Rows would end within a block.
    #[error("rows of {columns} columns are no whole blocks of {kind}, which hold {}", kind.block_size())]
    Columns {
        /// The type.
        kind: Type,
        /// What was asked for.
        columns: usize,
    },
    /// A slice has another length than what it is said to hold.
    #[error("{what} has {got} bytes, needed are {wanted}")]
    Length {
        /// Which one.
        what: &'static str,
        /// Its length.
        got: usize,
        /// What it should be.
        wanted: usize,
    },
    /// More than this machine can address.
    #[error("{rows} rows of {columns} columns are more than memory can hold")]
    Size {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
}

/// How weights are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codes {
    /// Four bits each, which stand for the codes of a table.
    Halves(&'static [u8; 16]),
    /// The codes themselves.
    Bytes,
    /// Numbers of so many bytes.
    Floats(usize),
}

/// How scales, or floats of 16 bits, are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sixteen {
    F16,
    BF16,
}

/// How a packed matrix of some type is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) codes: Codes,
    pub(super) sixteen: Sixteen,
    /// Whether each 16 columns have a scale, not each 32.
    pub(super) finer: bool,
    /// Whether something is added to all weights of a group.
    pub(super) least: bool,
}

/// The codes of four-bit numbers that are taken as they are.
const PLAIN: [u8; 16] = codes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
/// Of those that are 8 too large.
pub(super) const CENTRED: [u8; 16] = codes([-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7]);
/// Of IQ4_NL and IQ4_XS.
const IQ4: [u8; 16] = codes([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]);
/// Twice the values of four-bit floats; scales are half as large in turn.
const E2M1: [u8; 16] = codes([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]);

const fn codes(values: [i8; 16]) -> [u8; 16] {
    let mut codes = [0; 16];
    let mut at = 0;
    while at < 16 {
        codes[at] = values[at].cast_unsigned() ^ 0x80;
        at += 1;
    }
    codes
}

impl Format {
    /// That of a type of tensor.
    pub(super) fn of(kind: Type) -> Option<Format> {
        let format = |codes, finer, least| Some(Format { codes, sixteen: Sixteen::F16, finer, least });
        match kind {
            Type::Q4_0 => format(Codes::Halves(&CENTRED), false, false),
            Type::Q4_1 | Type::Q4_K => format(Codes::Halves(&PLAIN), false, true),
            Type::Q3_K => format(Codes::Halves(&CENTRED), true, false),
            Type::Q2_K => format(Codes::Halves(&PLAIN), true, true),
            Type::IQ4_NL | Type::IQ4_XS => format(Codes::Halves(&IQ4), false, false),
            // Its scales are powers of two that 16-bit floats of the usual kind cannot reach.
            Type::MXFP4 => {
                Some(Format { codes: Codes::Halves(&E2M1), sixteen: Sixteen::BF16, finer: false, least: false })
            }
            Type::Q8_0 | Type::Q5_0 => format(Codes::Bytes, false, false),
            Type::Q5_1 | Type::Q5_K => format(Codes::Bytes, false, true),
            Type::Q6_K => format(Codes::Bytes, true, false),
            Type::F32 => format(Codes::Floats(4), false, false),
            Type::F16 => format(Codes::Floats(2), false, false),
            Type::BF16 => Some(Format { codes: Codes::Floats(2), sixteen: Sixteen::BF16, finer: false, least: false }),
            _ => None,
        }
    }

    /// Of the type that GGUF files, and constants of kernels, name by a number.
    pub(super) fn of_id(id: u32) -> Result<Format, String> {
        let kind = Type::from_id(id).ok_or_else(|| format!("there is no type {id} of tensors"))?;
        Format::of(kind).ok_or_else(|| PackError::Type(kind).to_string())
    }

    /// Whether activations are floats.
    pub(super) fn is_float(&self) -> bool {
        matches!(self.codes, Codes::Floats(_))
    }

    /// Bytes of the codes of one group in sixteen rows.
    pub(super) fn group_codes(&self) -> usize {
        match self.codes {
            Codes::Halves(_) => GROUP * ROWS / 2,
            Codes::Bytes => GROUP * ROWS,
            Codes::Floats(size) => GROUP * ROWS * size,
        }
    }

    /// Bytes of the scales of one group, and as many of what is added, if that is there.
    pub(super) fn group_scales(&self) -> usize {
        if self.finer { 2 * SCALES } else { SCALES }
    }

    /// Where codes, scales and what is added lie in the piece of sixteen rows, and the size of that. Fits any columns of 32 bits.
    pub(super) fn piece(&self, columns: u64) -> Piece {
        if let Codes::Floats(size) = self.codes {
            let bytes = columns * (ROWS * size) as u64;
            return Piece { codes: bytes, scales: 0, least: 0 };
        }
        let groups = columns.div_ceil(GROUP as u64);
        let scales = groups * self.group_scales() as u64;
        Piece { codes: groups * self.group_codes() as u64, scales, least: if self.least { scales } else { 0 } }
    }
}

/// Sizes of the parts of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    codes: u64,
    scales: u64,
    least: u64,
}

impl Piece {
    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        (self.codes + self.scales + self.least).next_multiple_of(ALIGN as u64)
    }

    /// Where codes end and scales begin.
    pub(super) fn scales(&self) -> Range<usize> {
        self.codes as usize..(self.codes + self.scales) as usize
    }

    /// Where that lies which is added.
    pub(super) fn least(&self) -> Range<usize> {
        let start = self.scales().end;
        start..start + self.least as usize
    }
}

/// Bytes of a row that products take as it lies in a file; `None` for types that must be packed first, and for rows that end within a block.
///
/// Such types have blocks of one scale and codes as packed matrices have them, so that reading them is hardly more work.
pub fn row_in_place(kind: Type, columns: usize) -> Option<usize> {
    let taken = matches!(kind, Type::Q4_0 | Type::IQ4_NL | Type::Q8_0) && columns.is_multiple_of(GROUP);
    taken.then(|| (columns / GROUP).checked_mul(kind.block_bytes())).flatten()
}

/// Bytes of sixteen packed rows.
///
/// # Errors
/// If there is no packed form, or rows are no whole blocks.
pub fn group_bytes(kind: Type, columns: usize) -> Result<usize, PackError> {
    let format = Format::of(kind).ok_or(PackError::Type(kind))?;
    if !columns.is_multiple_of(kind.block_size()) {
        return Err(PackError::Columns { kind, columns });
    }
    let narrow = u32::try_from(columns).map_err(|_| PackError::Size { rows: ROWS, columns })?;
    usize::try_from(format.piece(narrow.into()).bytes()).map_err(|_| PackError::Size { rows: ROWS, columns })
}

/// Bytes of a packed matrix; rows are filled up to a multiple of sixteen.
///
/// # Errors
/// As [`group_bytes`], and if it is too large to be addressed.
pub fn packed_bytes(kind: Type, rows: usize, columns: usize) -> Result<usize, PackError> {
    let bytes = group_bytes(kind, columns)?;
    rows.div_ceil(ROWS).checked_mul(bytes).ok_or(PackError::Size { rows, columns })
}
