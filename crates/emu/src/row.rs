//! Registers of 32 lanes, and how lane functions read and write them.

#![expect(unsafe_code, reason = "operands are thin pointers to rows, so that a lane function takes five registers")]

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use half::{bf16, f16};

/// Lanes of a row. A wave of 64 lanes is two halves, each with rows of its own.
pub(crate) const LANES: usize = 32;

/// One 32-bit register of 32 lanes. A cell, because a result may be one of the sources.
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

    /// Sets all lanes to one value.
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

/// One or more consecutive rows: an operand of 32, 64 or more bits a lane.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    first: NonNull<Row>,
    life: PhantomData<&'a Row>,
}

impl<'a> Rows<'a> {
    /// The rows from `first` on.
    ///
    /// # Safety
    /// As many rows as the operand's [`Kind`] says follow at `first`, live for `'a`, and no other thread uses them.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *const Row) -> Self {
        // SAFETY: rows live at the address, so it is not null.
        Self { first: unsafe { NonNull::new_unchecked(first.cast_mut()) }, life: PhantomData }
    }

    /// The row of this number.
    ///
    /// # Safety
    /// It is one of the rows promised to [`Rows::new`].
    #[inline(always)]
    pub(crate) unsafe fn row(self, index: usize) -> &'a Row {
        // SAFETY: the caller's promise: there are that many rows.
        let row = unsafe { self.first.add(index) };
        // SAFETY: the row lives as long as the operand.
        unsafe { row.as_ref() }
    }
}

/// What an operand of a lane function is: it decides how many rows there are, what inline constants mean and which bit a
/// negation flips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No operand.
    None,
    /// 16 bits in the lower half, an integer.
    B16,
    /// 16 bits in the lower half, floating point.
    F16,
    /// 16 bits in the lower half, bfloat16.
    Bf16,
    /// 32 bits, an integer.
    B32,
    /// 32 bits, floating point.
    F32,
    /// 64 bits in two rows, an integer.
    B64,
    /// 64 bits in two rows, floating point.
    F64,
    /// Two integers of 16 bits.
    PackedB16,
    /// Two f16.
    PackedF16,
    /// Two bf16.
    PackedBf16,
    /// So many rows of anything.
    Rows(u8),
}

impl Kind {
    /// Rows of such an operand.
    pub(crate) const fn rows(self) -> usize {
        match self {
            Self::None => 0,
            Self::B64 | Self::F64 => 2,
            Self::Rows(count) => count as usize,
            _ => 1,
        }
    }
}

/// Lanes that are computed together: as many as an AVX2 register has.
pub(crate) const CHUNK: usize = 8;
/// Chunks of a row.
pub(crate) const CHUNKS: usize = LANES / CHUNK;

impl<'a> Rows<'a> {
    /// Where a chunk of lanes of one row is.
    ///
    /// # Safety
    /// As for [`Rows::chunk`].
    #[inline(always)]
    unsafe fn place(self, row: usize, chunk: usize) -> NonNull<[u32; CHUNK]> {
        // SAFETY: the caller's promise: there are that many rows.
        let row = unsafe { self.first.add(row) };
        // SAFETY: the chunk lies within the row, which is aligned for it.
        unsafe { row.cast().add(chunk) }
    }

    /// The bits of a chunk of lanes of one row.
    ///
    /// # Safety
    /// `row` is one of the rows promised to [`Rows::new`], and `chunk` is below [`CHUNKS`].
    #[inline(always)]
    pub(crate) unsafe fn chunk(self, row: usize, chunk: usize) -> [u32; CHUNK] {
        // SAFETY: the caller's promise.
        let place = unsafe { self.place(row, chunk) };
        // SAFETY: live cells of this thread.
        unsafe { place.read() }
    }

    /// Sets a chunk of lanes of one row.
    ///
    /// # Safety
    /// As for [`Rows::chunk`].
    #[inline(always)]
    pub(crate) unsafe fn set_chunk(self, row: usize, chunk: usize, bits: [u32; CHUNK]) {
        // SAFETY: the caller's promise.
        let place = unsafe { self.place(row, chunk) };
        // SAFETY: live cells of this thread.
        unsafe { place.write(bits) };
    }
}

/// An array of a chunk, an expression for each lane. Not by closures (`array::from_fn`, `map`): those are not inlined into
/// functions of another feature level.
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

/// The value of one lane as a Rust type.
pub(crate) trait Lane: Copy {
    /// The operand it is.
    const KIND: Kind;

    /// Reads a chunk of lanes.
    ///
    /// # Safety
    /// `rows` has the rows of [`Lane::KIND`], and `chunk` is below [`CHUNKS`].
    unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK];

    /// Writes a chunk of lanes; the upper half of a 16-bit value is zero.
    ///
    /// # Safety
    /// As for [`Lane::load`].
    unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize);
}

/// Lanes of 32 bits and less.
macro_rules! narrow {
    ($($type:ty, $kind:ident, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;

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

/// The two halves of a register, low first.
#[inline(always)]
pub(crate) const fn halves(bits: u32) -> [u16; 2] {
    [bits as u16, (bits >> 16) as u16]
}

/// A register of two halves.
#[inline(always)]
pub(crate) const fn joined(low: u16, high: u16) -> u32 {
    low as u32 | (high as u32) << 16
}

/// Lanes of 64 bits.
macro_rules! wide {
    ($($type:ty, $kind:ident, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK] {
                // SAFETY: the kind has two rows.
                let low = unsafe { rows.chunk(0, chunk) };
                // SAFETY: the same.
                let high = unsafe { rows.chunk(1, chunk) };
                each!(lane => $from(u64::from(low[lane]) | u64::from(high[lane]) << 32))
            }

            #[inline(always)]
            unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize) {
                let bits: [u64; CHUNK] = each!(lane => $to(values[lane]));
                // SAFETY: the kind has two rows.
                unsafe { rows.set_chunk(0, chunk, each!(lane => bits[lane] as u32)) };
                // SAFETY: the same.
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
