//! Vector registers as rows of 32 lanes, and how lane functions access them.

#![expect(unsafe_code, reason = "operands are thin pointers to rows, so that a lane function takes five registers")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use half::{bf16, f16};

/// Lanes of a row. A wave64 has two halves, each with its own rows.
pub(crate) const LANES: usize = 32;

/// One 32-bit register of 32 lanes. A cell, because a result may alias a source.
#[repr(C, align(64))]
pub(crate) struct Row(Cell<[u32; LANES]>);

impl Row {
    /// All lanes zero.
    pub(crate) const fn zero() -> Self {
        Self(Cell::new([0; LANES]))
    }

    #[inline(always)]
    fn cells(&self) -> &[Cell<u32>; LANES] {
        self.0.as_array_of_cells()
    }

    /// The value in one lane.
    #[inline(always)]
    pub(crate) fn get(&self, lane: usize) -> u32 {
        self.cells()[lane].get()
    }

    /// Sets one lane.
    #[inline(always)]
    pub(crate) fn set(&self, lane: usize, value: u32) {
        self.cells()[lane].set(value);
    }

    /// Sets a chunk of lanes.
    #[inline(always)]
    pub(crate) fn set_chunk(&self, chunk: usize, values: [u32; CHUNK]) {
        for (cell, value) in self.cells()[chunk * CHUNK..][..CHUNK].iter().zip(values) {
            cell.set(value);
        }
    }

    /// Broadcasts a value to all lanes.
    #[inline(always)]
    pub(crate) fn splat(&self, value: u32) {
        self.0.set([value; LANES]);
    }

    /// All lanes.
    #[inline(always)]
    pub(crate) fn array(&self) -> [u32; LANES] {
        self.0.get()
    }

    /// Sets all lanes.
    #[inline(always)]
    pub(crate) fn assign(&self, values: &[u32; LANES]) {
        self.0.set(*values);
    }

    /// Sets the lanes whose bit in `mask` is set.
    #[inline(always)]
    pub(crate) fn assign_masked(&self, mask: u32, values: &[u32; LANES]) {
        if mask == !0 {
            return self.assign(values);
        }
        let mut merged = self.0.get();
        for lane in 0..LANES {
            let keep = if mask & 1 << lane == 0 { !0 } else { 0 };
            merged[lane] = merged[lane] & keep | values[lane] & !keep;
        }
        self.0.set(merged);
    }
}

/// One or more consecutive rows: an operand of 32, 64 or more bits per lane.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    first: NonNull<Row>,
    life: PhantomData<&'a Row>,
}

impl<'a> Rows<'a> {
    /// Rows that start at `first`.
    ///
    /// # Safety
    /// `first` points to as many rows as the operand's [`OperandKind`] has. They live for `'a`, and
    /// no other thread uses them.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const Row) -> Self {
        // SAFETY: the pointer refers to a live row, so it is not null.
        Self { first: unsafe { NonNull::new_unchecked(first.cast_mut()) }, life: PhantomData }
    }

    /// Row number `index`.
    ///
    /// # Safety
    /// `index` is less than the number of rows promised to [`Rows::new`].
    #[inline(always)]
    pub(crate) unsafe fn row(self, index: usize) -> &'a Row {
        // SAFETY: by contract the row exists.
        let row = unsafe { self.first.add(index) };
        // SAFETY: the row lives as long as the operand.
        unsafe { row.as_ref() }
    }
}

/// Kind of an operand of a lane function. Determines the number of rows, the values of
/// inline constants, and which bit a negation flips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    /// No operand.
    None,
    /// 16-bit integer in the lower half.
    B16,
    /// f16 in the lower half.
    F16,
    /// bf16 in the lower half.
    Bf16,
    /// 32-bit integer.
    B32,
    F32,
    /// 64-bit integer in two rows.
    B64,
    /// f64 in two rows.
    F64,
    /// Two 16-bit integers.
    PackedB16,
    /// Two f16.
    PackedF16,
    /// Two bf16.
    PackedBf16,
    /// This many rows without a type.
    Rows(u8),
}

impl OperandKind {
    /// Number of rows.
    pub(crate) const fn rows(self) -> usize {
        match self {
            Self::None => 0,
            Self::B64 | Self::F64 => 2,
            Self::Rows(count) => count as usize,
            _ => 1,
        }
    }
}

/// Lanes computed together: one AVX2 register.
pub(crate) const CHUNK: usize = 8;
/// Number of chunks in a row.
pub(crate) const CHUNKS: usize = LANES / CHUNK;

impl<'a> Rows<'a> {
    /// Pointer to a chunk of a row.
    ///
    /// # Safety
    /// As for [`Rows::chunk`].
    #[inline(always)]
    unsafe fn chunk_pointer(self, row: usize, chunk: usize) -> NonNull<[u32; CHUNK]> {
        // SAFETY: by contract the row exists.
        let row = unsafe { self.first.add(row) };
        // SAFETY: the chunk is inside the row, which is aligned for it.
        unsafe { row.cast().add(chunk) }
    }

    /// Reads a chunk of a row.
    ///
    /// # Safety
    /// `row` is less than the number of rows promised to [`Rows::new`], and `chunk` is less than
    /// [`CHUNKS`].
    #[inline(always)]
    pub(crate) unsafe fn chunk(self, row: usize, chunk: usize) -> [u32; CHUNK] {
        // SAFETY: by contract row and chunk exist.
        let pointer = unsafe { self.chunk_pointer(row, chunk) };
        // SAFETY: live cells of this thread.
        unsafe { pointer.read() }
    }

    /// Writes a chunk of a row.
    ///
    /// # Safety
    /// As for [`Rows::chunk`].
    #[inline(always)]
    pub(crate) unsafe fn set_chunk(self, row: usize, chunk: usize, bits: [u32; CHUNK]) {
        // SAFETY: by contract row and chunk exist.
        let pointer = unsafe { self.chunk_pointer(row, chunk) };
        // SAFETY: live cells of this thread.
        unsafe { pointer.write(bits) };
    }
}

/// An array with one expression per lane of a chunk. Not written with closures (`array::from_fn`,
/// `map`), because those are not inlined into functions with other target features.
macro_rules! each {
    ($lane:ident => $value:expr) => {{
        let $lane = 0;
        let mut values = [$value; $crate::row::CHUNK];
        let mut $lane = 1;
        while $lane < $crate::row::CHUNK {
            values[$lane] = $value;
            $lane += 1;
        }
        values
    }};
}
pub(crate) use each;

/// A Rust type as the value of one lane.
pub(crate) trait Lane: Copy {
    /// Operand kind of the type.
    const KIND: OperandKind;

    /// Reads a chunk of lanes.
    ///
    /// # Safety
    /// `rows` has the rows of [`Lane::KIND`], and `chunk` is less than [`CHUNKS`].
    unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK];

    /// Writes a chunk of lanes. The upper half of a 16-bit value is set to zero.
    ///
    /// # Safety
    /// As for [`Lane::load`].
    unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize);
}

/// Types of 32 bits or less.
macro_rules! narrow {
    ($($type:ty, $kind:ident, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            const KIND: OperandKind = OperandKind::$kind;

            #[inline(always)]
            unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK] {
                // SAFETY: every kind but `None` has a first row.
                let bits = unsafe { rows.chunk(0, chunk) };
                each!(lane => $from(bits[lane]))
            }

            #[inline(always)]
            unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize) {
                let bits: [u32; CHUNK] = each!(lane => $to(values[lane]));
                // SAFETY: every kind but `None` has a first row.
                unsafe { rows.set_chunk(0, chunk, bits) };
            }
        }
    )*};
}

narrow! {
    u32, B32, |bits| bits, |value| value;
    i32, B32, |bits: u32| bits.cast_signed(), |value: i32| value.cast_unsigned();
    f32, F32, f32::from_bits, f32::to_bits;
    u16, B16, |bits| bits as u16, u32::from;
    i16, B16, |bits| bits as i16, |value: i16| u32::from(value.cast_unsigned());
    f16, F16, |bits| f16::from_bits(bits as u16), |value: f16| u32::from(value.to_bits());
    bf16, Bf16, |bits| bf16::from_bits(bits as u16), |value: bf16| u32::from(value.to_bits());
    [u16; 2], PackedB16, halves, |[low, high]: [u16; 2]| joined(low, high);
    [i16; 2], PackedB16, |bits| [bits as i16, (bits >> 16) as i16],
        |[low, high]: [i16; 2]| joined(low.cast_unsigned(), high.cast_unsigned());
    [f16; 2], PackedF16, |bits| [f16::from_bits(bits as u16), f16::from_bits((bits >> 16) as u16)], |[low, high]: [f16; 2]| joined(low.to_bits(), high.to_bits());
    [bf16; 2], PackedBf16, |bits| [bf16::from_bits(bits as u16), bf16::from_bits((bits >> 16) as u16)], |[low, high]: [bf16; 2]| joined(low.to_bits(), high.to_bits());
}

/// Splits a register into halves, low first.
#[inline(always)]
pub(crate) const fn halves(bits: u32) -> [u16; 2] {
    [bits as u16, (bits >> 16) as u16]
}

/// Joins two halves into a register.
#[inline(always)]
pub(crate) const fn joined(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// Types of 64 bits.
macro_rules! wide {
    ($($type:ty, $kind:ident, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            const KIND: OperandKind = OperandKind::$kind;

            #[inline(always)]
            unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK] {
                // SAFETY: the kind has two rows.
                let low = unsafe { rows.chunk(0, chunk) };
                // SAFETY: the kind has two rows.
                let high = unsafe { rows.chunk(1, chunk) };
                each!(lane => $from(u64::from(low[lane]) | u64::from(high[lane]) << 32))
            }

            #[inline(always)]
            unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize) {
                let bits: [u64; CHUNK] = each!(lane => $to(values[lane]));
                // SAFETY: the kind has two rows.
                unsafe { rows.set_chunk(0, chunk, each!(lane => bits[lane] as u32)) };
                // SAFETY: the kind has two rows.
                unsafe { rows.set_chunk(1, chunk, each!(lane => (bits[lane] >> 32) as u32)) };
            }
        }
    )*};
}

wide! {
    u64, B64, |bits| bits, |value| value;
    i64, B64, |bits: u64| bits.cast_signed(), |value: i64| value.cast_unsigned();
    f64, F64, f64::from_bits, f64::to_bits;
}
