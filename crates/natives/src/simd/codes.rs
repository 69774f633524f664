//! Vectors of small whole numbers: weights of language models times activations, sixteen rows at a time.
//!
//! A line of 64 bytes holds four columns of sixteen rows: the four codes of a row lie side by side, as the instructions want
//! them that multiply bytes. A code is a number from -128 to 127 with 128 added.

use half::{bf16, f16};

use super::{Level, Portable};

/// Rows that are computed at a time.
pub(crate) const ROWS: usize = 16;
/// Columns of a line.
pub(crate) const LINE_COLUMNS: usize = 4;
/// Bytes of a line.
pub(crate) const LINE: usize = ROWS * LINE_COLUMNS;

/// Work that [`Level::run_codes`] compiles once for each kind of instructions; as [`super::Task`].
pub(crate) trait CodesTask {
    /// What the work gives.
    type Output;

    /// Does the work.
    fn run<C: Codes>(self, codes: C) -> Self::Output;
}

impl Level {
    /// Runs `task` compiled for what this level has for small whole numbers.
    #[inline]
    pub(crate) fn run_codes<T: CodesTask>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(dots) = super::x86_codes::Dots::of(self) {
            return dots.run(task);
        }
        task.run(Portable)
    }

    /// Runs `task` compiled for AVX-512 VNNI alone; `None` at a level without it. For what needs matrix units, which
    /// come with VNNI: compiled for the other levels it would be dead code.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn run_vnni<T: CodesTask>(self, task: T) -> Option<T::Output> {
        super::x86_codes::Vnni::of_level(self).map(|vnni| vnni.run(task))
    }
}

/// Products of bytes, and what becomes of their sums.
pub(crate) trait Codes: Copy + 'static {
    /// The codes of a line.
    type Line: Copy;
    /// A whole number for each row.
    type Sums: Copy;
    /// A number for each row.
    type Floats: Copy;
    /// What sixteen four-bit numbers stand for.
    type Table: Copy;
    /// Tokens whose sums stay in registers.
    const TOKENS: usize;

    /// Reads a line.
    ///
    /// # Safety
    /// `source` is valid for reading it.
    unsafe fn load(self, source: *const u8) -> Self::Line;

    /// Reads four lines from where sixteen rows lie `pitch` bytes apart: sixteen bytes of each.
    ///
    /// # Safety
    /// `source` is valid for reading as many of every row.
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [Self::Line; 4];

    /// A 16-bit number of each of sixteen rows, which lie `pitch` bytes apart.
    ///
    /// # Safety
    /// `source` is valid for reading four bytes of every row.
    #[inline(always)]
    unsafe fn column(self, source: *const u8, pitch: usize) -> [u16; ROWS] {
        let mut numbers = [0; ROWS];
        for (row, number) in numbers.iter_mut().enumerate() {
            // SAFETY: the caller vouches for it; an unaligned read needs no more.
            *number = unsafe { source.wrapping_add(row * pitch).cast::<u16>().read_unaligned() };
        }
        numbers
    }

    /// A line with 128 added to, or taken from, each of its codes.
    fn flip(self, line: Self::Line) -> Self::Line;

    /// Writes a line.
    ///
    /// # Safety
    /// `target` is valid for writing it.
    unsafe fn store(self, target: *mut u8, line: Self::Line);

    /// A table of codes.
    fn table(self, codes: &[u8; 16]) -> Self::Table;

    /// The codes of the low and of the high halves of all bytes.
    fn nibbles(self, line: Self::Line, table: Self::Table) -> [Self::Line; 2];

    /// What sums start with, if `offset` is -128 times the sum of all activations that follow: [`Codes::dot`] may take the
    /// 128 in codes for part of the weight.
    fn start(self, offset: i32) -> Self::Sums;

    /// Adds the products of a line with the four activations in `x`.
    fn dot(self, sums: Self::Sums, line: Self::Line, x: i32) -> Self::Sums;

    /// The same of codes that lie in rows `pitch` bytes apart, with 32 activations and [`Codes::start`] of their `offset`: signed bytes, or
    /// what half bytes stand for. `PLAIN` says that these are 8 less than they are.
    ///
    /// # Safety
    /// `source` is valid for reading 32 bytes, or 16 of half bytes, of every row, and `x` for 32.
    #[inline(always)]
    unsafe fn dot_rows<const PLAIN: bool>(
        self,
        source: *const u8,
        pitch: usize,
        halves: Option<Self::Table>,
        x: *const u8,
        offset: i32,
    ) -> Self::Sums {
        let mut sums = self.start(offset);
        // SAFETY: the caller vouches for the first half of every row.
        let first = unsafe { self.load_rows(source, pitch) };
        let last = match halves {
            Some(_) => first,
            // SAFETY: as above, and for the second.
            None => unsafe { self.load_rows(source.wrapping_add(16), pitch) },
        };
        for j in 0..4 {
            let [low, high] = match halves {
                Some(table) => self.nibbles(first[j], table),
                None => [self.flip(first[j]), self.flip(last[j])],
            };
            let x = x.wrapping_add(j * LINE_COLUMNS);
            // SAFETY: the caller vouches for all activations.
            sums = self.dot(sums, low, unsafe { x.cast::<i32>().read_unaligned() });
            // SAFETY: as above.
            sums = self.dot(sums, high, unsafe { x.wrapping_add(16).cast::<i32>().read_unaligned() });
        }
        sums
    }

    /// Reads sums.
    ///
    /// # Safety
    /// `source` is valid for reading one for each row.
    unsafe fn load_sums(self, source: *const i32) -> Self::Sums;

    /// Sums as floats.
    fn floats(self, sums: Self::Sums) -> Self::Floats;

    /// `value` for every row.
    fn splat(self, value: f32) -> Self::Floats;

    /// `a * b`.
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// `a * b + c`, in one rounding where the instructions allow it.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;

    /// Reads sixteen floats.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_f32(self, source: *const f32) -> Self::Floats;

    /// Reads sixteen 16-bit floats.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_f16(self, source: *const u16) -> Self::Floats;

    /// Reads sixteen bfloat16.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_bf16(self, source: *const u16) -> Self::Floats;

    /// The values.
    fn values(self, floats: Self::Floats) -> [f32; ROWS];

    /// Asks for the cache line of `address`; any address is allowed.
    fn prefetch(self, address: *const u8);
}

impl Codes for Portable {
    type Line = [u8; LINE];
    type Sums = [i32; ROWS];
    type Floats = [f32; ROWS];
    type Table = [u8; 16];
    const TOKENS: usize = 4;

    #[inline(always)]
    unsafe fn load(self, source: *const u8) -> [u8; LINE] {
        // SAFETY: the caller vouches for a line; bytes have no alignment.
        unsafe { source.cast::<[u8; LINE]>().read() }
    }

    #[inline(always)]
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [[u8; LINE]; 4] {
        let mut lines = [[0; LINE]; 4];
        for row in 0..ROWS {
            // SAFETY: the caller vouches for sixteen bytes of every row.
            let bytes = unsafe { source.wrapping_add(row * pitch).cast::<[u8; 16]>().read() };
            for (line, four) in lines.iter_mut().zip(bytes.as_chunks::<LINE_COLUMNS>().0) {
                line[row * LINE_COLUMNS..][..LINE_COLUMNS].copy_from_slice(four);
            }
        }
        lines
    }

    #[inline(always)]
    fn flip(self, line: [u8; LINE]) -> [u8; LINE] {
        line.map(|code| code ^ 0x80)
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, line: [u8; LINE]) {
        // SAFETY: the caller vouches for a line; bytes have no alignment.
        unsafe { target.cast::<[u8; LINE]>().write(line) }
    }

    #[inline(always)]
    fn table(self, codes: &[u8; 16]) -> [u8; 16] {
        *codes
    }

    #[inline(always)]
    fn nibbles(self, line: [u8; LINE], table: [u8; 16]) -> [[u8; LINE]; 2] {
        [line.map(|byte| table[usize::from(byte & 0xf)]), line.map(|byte| table[usize::from(byte >> 4)])]
    }

    #[inline(always)]
    fn start(self, _: i32) -> [i32; ROWS] {
        [0; ROWS]
    }

    #[inline(always)]
    fn dot(self, mut sums: [i32; ROWS], line: [u8; LINE], x: i32) -> [i32; ROWS] {
        let x = x.to_le_bytes().map(|x| i32::from(x as i8));
        for (sum, codes) in sums.iter_mut().zip(line.as_chunks::<LINE_COLUMNS>().0) {
            for (&code, x) in codes.iter().zip(x) {
                *sum += (i32::from(code) - 128) * x;
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn load_sums(self, source: *const i32) -> [i32; ROWS] {
        // SAFETY: the caller vouches for sixteen readable elements; an unaligned read needs no more.
        unsafe { source.cast::<[i32; ROWS]>().read_unaligned() }
    }

    #[inline(always)]
    fn floats(self, sums: [i32; ROWS]) -> [f32; ROWS] {
        sums.map(|sum| sum as f32)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> [f32; ROWS] {
        [value; ROWS]
    }

    #[inline(always)]
    fn mul(self, a: [f32; ROWS], b: [f32; ROWS]) -> [f32; ROWS] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; ROWS], b: [f32; ROWS], c: [f32; ROWS]) -> [f32; ROWS] {
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    unsafe fn load_f32(self, source: *const f32) -> [f32; ROWS] {
        // SAFETY: the caller vouches for sixteen readable elements; an unaligned read needs no more.
        unsafe { source.cast::<[f32; ROWS]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const u16) -> [f32; ROWS] {
        // SAFETY: the caller vouches for sixteen readable elements; an unaligned read needs no more.
        unsafe { source.cast::<[u16; ROWS]>().read_unaligned() }.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    unsafe fn load_bf16(self, source: *const u16) -> [f32; ROWS] {
        // SAFETY: the caller vouches for sixteen readable elements; an unaligned read needs no more.
        unsafe { source.cast::<[u16; ROWS]>().read_unaligned() }.map(|bits| bf16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn values(self, floats: [f32; ROWS]) -> [f32; ROWS] {
        floats
    }

    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
}
