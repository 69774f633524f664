//! Random inputs that include edge cases of instructions, and comparison of results.

/// Pseudorandom inputs and choices, determined by a seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.0.u32(..)
    }

    pub(crate) fn below(&mut self, count: u32) -> u32 {
        self.0.u32(..count.max(1))
    }

    /// A random element of a slice.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// An input word for kernels: random bits, small integers, limits, special values of all
    /// formats and their neighbors.
    pub(crate) fn input(&mut self) -> u32 {
        const EDGES: [u32; 28] = [
            0,
            1,
            2,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0xffff_fffe,
            0x3f80_0000,
            0xbf80_0000,
            0x0000_3c00,
            0x3c00_bc00,
            0x7c00_fc00,
            0x0001_8001,
            0x03ff_0400,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x0080_0000,
            0x0000_0001,
            0x807f_ffff,
            0x7ff0_0000,
            0x3ff0_0000,
        ];
        match self.below(8) {
            0 => self.pick(&EDGES),
            1 => self.below(64),
            2 => self.below(64).wrapping_neg(),
            3 => ((self.below(4000) as f32 - 2000.0) / 16.0).to_bits(),
            // An f32, or the upper half of an f64, of moderate magnitude.
            4 => (self.word() & 0x87ff_ffff | 0x3800_0000).wrapping_add(self.below(2) << 27),
            5 => self.word() >> self.below(31),
            _ => self.word(),
        }
    }

    pub(crate) fn inputs(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.input()).collect()
    }
}

/// How result words are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Equal bits.
    Bits,
    /// Equal values, or both NaN: C does not specify the bits of a NaN.
    F16,
    F32,
    F64,
    /// f32 within some ulps: the accuracy that the ISA specifies for transcendental functions, and
    /// the multiplication before or after.
    Ulps,
    /// Some bits must differ: tests the comparison itself.
    Differs,
}

/// Tolerance of [`Kind::Ulps`]. v_exp_f32 and v_log_f32 are accurate to one ulp; `expf` first
/// multiplies its argument in extended precision.
const ULPS: u32 = 4;

impl Kind {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "BITS" => Self::Bits,
            "F16" => Self::F16,
            "F32" => Self::F32,
            "F64" => Self::F64,
            "ULPS" => Self::Ulps,
            "DIFFERS" => Self::Differs,
            _ => return None,
        })
    }

    fn same(self, got: u32, want: u32) -> bool {
        let nan16 = |bits: u32| bits <= 0xffff && bits & 0x7fff > 0x7c00;
        match self {
            _ if got == want => true,
            Self::Bits | Self::F64 | Self::Differs => false,
            Self::F16 => nan16(got) && nan16(want),
            Self::F32 => f32::from_bits(got).is_nan() && f32::from_bits(want).is_nan(),
            Self::Ulps => roci_testkit::tolerance::ulps(f32::from_bits(got), f32::from_bits(want)) <= ULPS,
        }
    }

    /// The first difference between two results.
    pub(crate) fn first_difference(self, got: &[u32], want: &[u32]) -> Option<usize> {
        if self == Self::F64 {
            let nan = |pair: &[u32]| f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32).is_nan();
            let mut pairs = got.chunks_exact(2).zip(want.chunks_exact(2));
            return pairs.position(|(got, want)| got != want && !(nan(got) && nan(want))).map(|pair| 2 * pair);
        }
        got.iter().zip(want).position(|(&got, &want)| !self.same(got, want))
    }
}
