//! The layout of packed matrices.
//!
//! Sixteen rows make a panel, which is contiguous. Its columns are in groups of 32. First come the
//! codes of all groups: bytes, in lines of four columns ([`crate::int8`]), or nibbles, where the
//! low nibbles of a line are columns of the first 16 of a group and the high ones the same columns
//! of the last 16. Codes of five and six bits are nibbles, followed in each group by one line with
//! the fifth bits, or by two lines with the fifth and sixth bits ([`split_bits`]). Then come the
//! scales of all groups, sixteen 16-bit floats each, or twice as many where each 16 columns have
//! their own; then, where the type has them, the minimums, in the same layout. The end is padded to
//! a cache line.
//!
//! Floats are column-major within a panel: sixteen rows of a column are adjacent.
//!
//! Rows of types with code groups ([`Type::has_code_groups`]) stay as they are in the file, and a
//! product decodes them panel by panel ([`super::decode`]). It can do so with rows of all other
//! quantized types too ([`row_decoded_in_place`]).

use std::ops::Range;

use roci_gguf::Type;

use super::ROWS;
use crate::int8::LINE;

/// Columns of a group.
pub const GROUP: usize = 32;
/// Lines of a group whose codes are bytes.
pub(super) const LINES: usize = GROUP * ROWS / LINE;
/// Bytes of sixteen scales.
pub(super) const SCALES: usize = ROWS * size_of::<u16>();
/// Alignment of panels.
const ALIGN: usize = 64;

/// Why a matrix cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The type has no packed form.
    #[error("matrices of {0} cannot be packed")]
    Type(Type),
    /// Rows end within a block.
    #[error("rows of {columns} columns end within a block of {kind}, which has {} values", kind.block_size())]
    Columns {
        /// The GGUF type.
        kind: Type,
        /// Number of columns.
        columns: usize,
    },
    /// A slice does not have the length of its contents.
    #[error("{what} has {got} bytes, expected {expected}")]
    Length {
        /// Name of the slice.
        what: &'static str,
        /// Its length in bytes.
        got: usize,
        /// The required length in bytes.
        expected: usize,
    },
    /// The packed matrix is larger than the address space.
    #[error("{rows} rows of {columns} columns exceed the address space")]
    Size {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
}

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Four bits each: indices into a table of codes.
    Nibbles(&'static [u8; 16]),
    /// Nibbles, and `bits` more bits above them. Together they are an integer; the code is that
    /// plus `bias`.
    Split { bits: usize, bias: u8 },
    /// The codes.
    Bytes,
    /// Floats of that many bytes.
    Floats(usize),
}

/// The type of scales, and of 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float16 {
    F16,
    BF16,
}

/// How matrices of a tensor type are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) codes: Encoding,
    pub(super) float16: Float16,
    /// Whether there is a scale for each 16 columns, not for each 32.
    pub(super) fine_scales: bool,
    /// Whether groups have minimums, which are added to all weights.
    pub(super) mins: bool,
    /// The type whose blocks a panel consists of, if it is decoded when it is read. The other
    /// fields are those of the decoded panel.
    pub(super) blocks: Option<Type>,
}

/// Codes of unsigned nibbles.
const IDENTITY: [u8; 16] = codes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
/// Codes of nibbles with 8 added.
pub(super) const CENTERED: [u8; 16] = codes([-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7]);
/// Codes of IQ4_NL and IQ4_XS.
const IQ4: [u8; 16] = codes([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]);
/// Twice the values of E2M1 floats; their scales are halved to compensate.
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
    /// The format of a tensor type.
    pub(super) fn of(kind: Type) -> Option<Format> {
        let format = |codes, fine_scales, mins| {
            let blocks = kind.has_code_groups().then_some(kind);
            Some(Format { codes, float16: Float16::F16, fine_scales, mins, blocks })
        };
        match kind {
            Type::Q4_0 => format(Encoding::Nibbles(&CENTERED), false, false),
            Type::Q4_1 | Type::Q4_K => format(Encoding::Nibbles(&IDENTITY), false, true),
            Type::Q3_K => format(Encoding::Nibbles(&CENTERED), true, false),
            Type::Q2_K => format(Encoding::Nibbles(&IDENTITY), true, true),
            Type::IQ4_NL | Type::IQ4_XS => format(Encoding::Nibbles(&IQ4), false, false),
            // Its scales are powers of two beyond the range of f16.
            Type::MXFP4 => Some(Format {
                codes: Encoding::Nibbles(&E2M1),
                float16: Float16::BF16,
                fine_scales: false,
                mins: false,
                blocks: None,
            }),
            Type::Q8_0 => format(Encoding::Bytes, false, false),
            Type::Q5_0 => format(Encoding::Split { bits: 1, bias: 128 - 16 }, false, false),
            Type::Q5_1 | Type::Q5_K => format(Encoding::Split { bits: 1, bias: 128 }, false, true),
            Type::Q6_K => format(Encoding::Split { bits: 2, bias: 128 - 32 }, true, false),
            Type::F32 => format(Encoding::Floats(4), false, false),
            Type::F16 => format(Encoding::Floats(2), false, false),
            Type::BF16 => Some(Format {
                codes: Encoding::Floats(2),
                float16: Float16::BF16,
                fine_scales: false,
                mins: false,
                blocks: None,
            }),
            _ if kind.has_code_groups() => format(Encoding::Bytes, kind.has_fine_scales(), false),
            _ => None,
        }
    }

    /// The format of the type with this GGUF id, which constants blocks also use.
    pub fn of_id(id: u32) -> Result<Format, String> {
        let kind = Type::from_id(id).ok_or_else(|| format!("unknown tensor type {id}"))?;
        Format::of(kind).ok_or_else(|| PackError::Type(kind).to_string())
    }

    /// The format of rows in place that [`row_decoded_in_place`] accepts: a product decodes those
    /// that it cannot read directly.
    pub fn decoded_in_place(id: u32) -> Result<Format, String> {
        let format = Format::of_id(id)?;
        let kind = Type::from_id(id).filter(|kind| !is_read_in_place(*kind) && !format.is_float());
        Ok(Format { blocks: kind.or(format.blocks), ..format })
    }

    /// Whether activations are floats.
    pub fn is_float(&self) -> bool {
        matches!(self.codes, Encoding::Floats(_))
    }

    /// Bytes of the codes of one group of a panel.
    pub(super) fn group_codes(&self) -> usize {
        match self.codes {
            Encoding::Nibbles(_) => GROUP * ROWS / 2,
            Encoding::Split { bits, .. } => GROUP * ROWS / 2 + bits * LINE,
            Encoding::Bytes => GROUP * ROWS,
            Encoding::Floats(size) => GROUP * ROWS * size,
        }
    }

    /// Bytes of the scales of one group of a panel, and of its minimums.
    pub(super) fn group_scales(&self) -> usize {
        if self.fine_scales { 2 * SCALES } else { SCALES }
    }

    /// Whether a panel consists of blocks as in a file, which are decoded when they are read.
    pub fn has_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// Columns of which rows are a whole number.
    pub fn column_step(&self) -> usize {
        match self.blocks {
            Some(kind) => kind.block_size(),
            None if self.is_float() => 1,
            None => GROUP,
        }
    }

    /// Bytes of a panel. Does not overflow for 32-bit column counts.
    pub fn panel_bytes(&self, columns: u64) -> u64 {
        match self.blocks {
            Some(kind) => (ROWS as u64 * row_bytes(kind, columns)).next_multiple_of(ALIGN as u64),
            None => self.panel(columns).bytes(),
        }
    }

    /// The layout of a panel, after decoding. Does not overflow for 32-bit column counts.
    pub(super) fn panel(&self, columns: u64) -> PanelLayout {
        if let Encoding::Floats(size) = self.codes {
            let bytes = columns * (ROWS * size) as u64;
            return PanelLayout { codes: bytes, scales: 0, mins: 0 };
        }
        let groups = columns.div_ceil(GROUP as u64);
        let scales = groups * self.group_scales() as u64;
        PanelLayout { codes: groups * self.group_codes() as u64, scales, mins: if self.mins { scales } else { 0 } }
    }
}

/// Where the bits above the nibbles of a line are stored in its group: the index of the line of
/// such bits, and their lowest bit in each of its bytes.
#[inline(always)]
pub(super) const fn split_bits(line: usize, bits: usize) -> (usize, usize) {
    (line * bits / 8, line * bits % 8)
}

/// Sizes of the sections of a panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct PanelLayout {
    codes: u64,
    scales: u64,
    mins: u64,
}

impl PanelLayout {
    /// Size of the panel in bytes, including padding.
    pub(super) fn bytes(&self) -> u64 {
        (self.codes + self.scales + self.mins).next_multiple_of(ALIGN as u64)
    }

    /// The section of scales.
    pub(super) fn scales(&self) -> Range<usize> {
        self.codes as usize..(self.codes + self.scales) as usize
    }

    /// The section of minimums.
    pub(super) fn mins(&self) -> Range<usize> {
        let start = self.scales().end;
        start..start + self.mins as usize
    }
}

/// Bytes of a row as it is in a file.
pub(super) fn row_bytes(kind: Type, columns: u64) -> u64 {
    columns.div_ceil(kind.block_size() as u64) * kind.block_bytes() as u64
}

/// Bytes of a row that products read in place, as it is in a file; `None` for types that must be
/// packed, and for rows that end within a block.
///
/// Blocks of these types have one scale and the codes of the packed format, so that reading them
/// costs little more, or are decoded in any case.
pub fn row_in_place(kind: Type, columns: usize) -> Option<usize> {
    whole_row(kind, columns).filter(|_| is_read_in_place(kind) || kind.has_code_groups())
}

/// Like [`row_in_place`], for all types except floats: a product decodes the rows of types that
/// [`row_in_place`] does not support. This needs no memory but more time for a single token.
pub fn row_decoded_in_place(kind: Type, columns: usize) -> Option<usize> {
    whole_row(kind, columns).filter(|_| Format::of(kind).is_some_and(|format| !format.is_float()))
}

/// Whether a block has one scale and the codes of the packed format.
fn is_read_in_place(kind: Type) -> bool {
    matches!(kind, Type::Q4_0 | Type::IQ4_NL | Type::Q8_0 | Type::MXFP4)
}

/// Bytes of a row of whole blocks.
fn whole_row(kind: Type, columns: usize) -> Option<usize> {
    let blocks = columns.is_multiple_of(kind.block_size()).then_some(columns / kind.block_size());
    blocks.and_then(|blocks| blocks.checked_mul(kind.block_bytes()))
}

/// Bytes of a packed panel.
///
/// # Errors
/// If the type has no packed form, or rows are not whole blocks.
pub fn panel_bytes(kind: Type, columns: usize) -> Result<usize, PackError> {
    let format = Format::of(kind).ok_or(PackError::Type(kind))?;
    if !columns.is_multiple_of(kind.block_size()) {
        return Err(PackError::Columns { kind, columns });
    }
    let narrow = u32::try_from(columns).map_err(|_| PackError::Size { rows: ROWS, columns })?;
    usize::try_from(format.panel_bytes(narrow.into())).map_err(|_| PackError::Size { rows: ROWS, columns })
}

/// Bytes of a packed matrix; rows are padded to a multiple of sixteen.
///
/// # Errors
/// Those of [`panel_bytes`], and an overflow of the size.
pub fn packed_bytes(kind: Type, rows: usize, columns: usize) -> Result<usize, PackError> {
    let bytes = panel_bytes(kind, columns)?;
    rows.div_ceil(ROWS).checked_mul(bytes).ok_or(PackError::Size { rows, columns })
}
