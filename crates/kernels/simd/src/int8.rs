//! Vectors of 8-bit integers: quantized weights times quantized activations, sixteen rows at a
//! time.
//!
//! A line of 64 bytes holds four columns of sixteen rows. The four codes of a row are adjacent, as
//! the dot product instructions require. A code is a value from -128 to 127 with 128 added.

use half::{bf16, f16};

use crate::level::Level;
use crate::portable::Portable;

/// Rows computed at a time.
pub(crate) const ROWS: usize = 16;
/// Columns of a line.
pub(crate) const LINE_COLUMNS: usize = 4;
/// Bytes of a line.
pub(crate) const LINE: usize = ROWS * LINE_COLUMNS;

/// Work that [`Level::run_int8`] compiles once for each set of int8 instructions; as
/// [`crate::Task`].
pub(crate) trait Int8Task {
    /// Result type.
    type Output;

    /// Does the work.
    fn run<C: Int8>(self, codes: C) -> Self::Output;
}

impl Level {
    /// Runs `task` compiled for this level's int8 instructions.
    #[inline]
    pub(crate) fn run_int8<T: Int8Task>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(dots) = crate::x86_int8::X86Int8::of(self) {
            return dots.run(task);
        }
        Portable.run_int8(task)
    }

    /// Runs `task` compiled for AVX-512 VNNI; `None` at a level without it. For AMX code, because
    /// AMX implies VNNI: at the other levels it would be dead code.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn run_vnni<T: Int8Task>(self, task: T) -> Option<T::Output> {
        crate::x86_int8::Vnni::of_level(self).map(|vnni| vnni.run(task))
    }
}

/// Dot products of bytes, and arithmetic on their sums.
pub(crate) trait Int8: Copy + 'static {
    /// The codes of one line.
    type Codes: Copy;
    /// One integer per row.
    type Sums: Copy;
    /// One float per row.
    type Floats: Copy;
    /// A lookup table of sixteen codes.
    type Table: Copy;
    /// Maximum tokens whose sums fit in registers.
    const TOKENS: usize;
    /// Whether inner loops are compiled once for each storage format. Otherwise they test the
    /// format at run time, which takes a fraction of the compile time.
    const SPECIALIZED: bool = true;

    /// Reads a line.
    ///
    /// # Safety
    /// `source` is valid for reading it.
    unsafe fn load(self, source: *const u8) -> Self::Codes;

    /// Reads four lines from sixteen rows that are `pitch` bytes apart: sixteen bytes of each.
    ///
    /// # Safety
    /// `source` is valid for reading sixteen bytes of every row.
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [Self::Codes; 4];

    /// Gathers a 16-bit value from each of sixteen rows that are `pitch` bytes apart.
    ///
    /// # Safety
    /// `source` is valid for reading four bytes of every row.
    #[inline(always)]
    unsafe fn gather_u16(self, source: *const u8, pitch: usize) -> [u16; ROWS] {
        let mut numbers = [0; ROWS];
        for (row, number) in numbers.iter_mut().enumerate() {
            // SAFETY: the caller guarantees the row; the read may be unaligned.
            *number = unsafe { source.wrapping_add(row * pitch).cast::<u16>().read_unaligned() };
        }
        numbers
    }

    /// Adds 128 to each code, or subtracts it: the same operation.
    fn flip_signs(self, line: Self::Codes) -> Self::Codes;

    /// Writes a line.
    ///
    /// # Safety
    /// `target` is valid for writing it.
    unsafe fn store(self, target: *mut u8, line: Self::Codes);

    /// Loads a lookup table.
    fn table(self, codes: &[u8; 16]) -> Self::Table;

    /// The low and the high nibbles of all bytes.
    fn split_nibbles(self, line: Self::Codes) -> [Self::Codes; 2];

    /// Puts `bits` bits of each byte of `high`, from bit `at` on, above the nibbles of `low`, and
    /// adds `bias`.
    fn with_high_bits(self, low: Self::Codes, high: Self::Codes, at: usize, bits: usize, bias: u8) -> Self::Codes;

    /// Looks up the low and the high nibbles of all bytes in the table.
    fn lookup_nibbles(self, line: Self::Codes, table: Self::Table) -> [Self::Codes; 2];

    /// The initial value of sums. `offset` is -128 times the sum of all activations that follow:
    /// [`Int8::dot`] may count the 128 of a code as part of the weight.
    fn initial_sums(self, offset: i32) -> Self::Sums;

    /// Adds the products of a line with the four activations in `x`.
    fn dot(self, sums: Self::Sums, line: Self::Codes, x: i32) -> Self::Sums;

    /// Sums over 32 columns of rows that are `pitch` bytes apart, starting with
    /// [`Int8::initial_sums`] of `offset`. Without a table codes are signed bytes, otherwise
    /// nibbles; `CENTERED` says that the table subtracts 8.
    ///
    /// # Safety
    /// `source` is valid for reading 32 bytes of every row (16 for nibbles), and `x` for reading
    /// 32.
    #[inline(always)]
    unsafe fn dot_rows<const CENTERED: bool>(
        self,
        source: *const u8,
        pitch: usize,
        nibbles: Option<Self::Table>,
        x: *const u8,
        offset: i32,
    ) -> Self::Sums {
        let mut sums = self.initial_sums(offset);
        // SAFETY: the caller guarantees the first half of every row.
        let first = unsafe { self.load_rows(source, pitch) };
        let last = match nibbles {
            Some(_) => first,
            // SAFETY: as above, and for the second.
            None => unsafe { self.load_rows(source.wrapping_add(16), pitch) },
        };
        for j in 0..4 {
            let [low, high] = match nibbles {
                Some(table) => self.lookup_nibbles(first[j], table),
                None => [self.flip_signs(first[j]), self.flip_signs(last[j])],
            };
            let x = x.wrapping_add(j * LINE_COLUMNS);
            // SAFETY: the caller guarantees 32 activations.
            sums = self.dot(sums, low, unsafe { x.cast::<i32>().read_unaligned() });
            // SAFETY: as above.
            sums = self.dot(sums, high, unsafe { x.wrapping_add(16).cast::<i32>().read_unaligned() });
        }
        sums
    }

    /// Reads sums.
    ///
    /// # Safety
    /// `source` is valid for reading one sum per row.
    unsafe fn load_sums(self, source: *const i32) -> Self::Sums;

    /// Converts sums to floats.
    fn floats(self, sums: Self::Sums) -> Self::Floats;

    /// Splats `value` to every row.
    fn splat(self, value: f32) -> Self::Floats;

    /// `a * b`.
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// `a * b + c`, in one rounding where the CPU has fused multiply-add.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;

    /// Reads sixteen floats.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_f32(self, source: *const f32) -> Self::Floats;

    /// Reads sixteen f16.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_f16(self, source: *const u16) -> Self::Floats;

    /// Reads sixteen bf16.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_bf16(self, source: *const u16) -> Self::Floats;

    /// The values, by row.
    fn values(self, floats: Self::Floats) -> [f32; ROWS];

    /// Prefetches the cache line of `address`; any address is allowed.
    fn prefetch(self, address: *const u8);
}

impl Int8 for Portable {
    type Codes = [u8; LINE];
    type Sums = [i32; ROWS];
    type Floats = [f32; ROWS];
    type Table = [u8; 16];
    const TOKENS: usize = 4;
    const SPECIALIZED: bool = false;

    #[inline(always)]
    unsafe fn load(self, source: *const u8) -> [u8; LINE] {
        // SAFETY: the caller guarantees a line; bytes have no alignment.
        unsafe { source.cast::<[u8; LINE]>().read() }
    }

    #[inline(always)]
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [[u8; LINE]; 4] {
        let mut lines = [[0; LINE]; 4];
        for row in 0..ROWS {
            // SAFETY: the caller guarantees sixteen bytes of every row.
            let bytes = unsafe { source.wrapping_add(row * pitch).cast::<[u8; 16]>().read() };
            for (line, four) in lines.iter_mut().zip(bytes.as_chunks::<LINE_COLUMNS>().0) {
                line[row * LINE_COLUMNS..][..LINE_COLUMNS].copy_from_slice(four);
            }
        }
        lines
    }

    #[inline(always)]
    fn flip_signs(self, line: [u8; LINE]) -> [u8; LINE] {
        line.map(|code| code ^ 0x80)
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, line: [u8; LINE]) {
        // SAFETY: the caller guarantees a line; bytes have no alignment.
        unsafe { target.cast::<[u8; LINE]>().write(line) }
    }

    #[inline(always)]
    fn table(self, codes: &[u8; 16]) -> [u8; 16] {
        *codes
    }

    #[inline(always)]
    fn split_nibbles(self, line: [u8; LINE]) -> [[u8; LINE]; 2] {
        [line.map(|byte| byte & 0xf), line.map(|byte| byte >> 4)]
    }

    #[inline(always)]
    fn with_high_bits(self, low: [u8; LINE], high: [u8; LINE], at: usize, bits: usize, bias: u8) -> [u8; LINE] {
        let mask = (1 << bits) - 1;
        std::array::from_fn(|i| (low[i] | (high[i] >> at & mask) << 4).wrapping_add(bias))
    }

    #[inline(always)]
    fn lookup_nibbles(self, line: [u8; LINE], table: [u8; 16]) -> [[u8; LINE]; 2] {
        [line.map(|byte| table[usize::from(byte & 0xf)]), line.map(|byte| table[usize::from(byte >> 4)])]
    }

    #[inline(always)]
    fn initial_sums(self, _: i32) -> [i32; ROWS] {
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
        // SAFETY: the caller guarantees sixteen readable elements; the read may be unaligned.
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
        // SAFETY: the caller guarantees sixteen readable elements; the read may be unaligned.
        unsafe { source.cast::<[f32; ROWS]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const u16) -> [f32; ROWS] {
        // SAFETY: the caller guarantees sixteen readable elements; the read may be unaligned.
        unsafe { source.cast::<[u16; ROWS]>().read_unaligned() }.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    unsafe fn load_bf16(self, source: *const u16) -> [f32; ROWS] {
        // SAFETY: the caller guarantees sixteen readable elements; the read may be unaligned.
        unsafe { source.cast::<[u16; ROWS]>().read_unaligned() }.map(|bits| bf16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn values(self, floats: [f32; ROWS]) -> [f32; ROWS] {
        floats
    }

    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
}
