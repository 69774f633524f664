//! Inputs without a pattern, with the values among them where instructions go wrong; and how results are compared.

/// Numbers without a pattern, the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn word(&mut self) -> u32 {
        // xorshift64*, the upper half.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    pub(crate) fn below(&mut self, count: u32) -> u32 {
        self.word() % count.max(1)
    }

    /// One of a few.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A word as kernels get it: any bits, small numbers, limits, numbers of all formats and their neighbours.
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
            // An f32 or the upper half of an f64 of moderate size.
            4 => (self.word() & 0x87ff_ffff | 0x3800_0000).wrapping_add(self.below(2) << 27),
            5 => self.word() >> self.below(31),
            _ => self.word(),
        }
    }

    pub(crate) fn inputs(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.input()).collect()
    }
}

/// How the words of a result are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The same bits.
    Bits,
    /// The same number; any NaN is as good as another: C leaves their bits open.
    F16,
    F32,
    F64,
    /// f32 within units of the last place: what the instruction set says of its transcendental functions, and the
    /// multiplication before or after.
    Ulps,
    /// Bits of which some are not the same: the comparison itself is tried.
    Differs,
}

/// Units of the last place that [`Kind::Ulps`] allows. v_exp_f32 and v_log_f32 are good to one; `expf` multiplies its
/// argument first, in extended precision.
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

    /// Where two results differ first.
    pub(crate) fn first_difference(self, got: &[u32], want: &[u32]) -> Option<usize> {
        if self == Self::F64 {
            let nan = |pair: &[u32]| f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32).is_nan();
            let mut pairs = got.chunks_exact(2).zip(want.chunks_exact(2));
            return pairs.position(|(got, want)| got != want && !(nan(got) && nan(want))).map(|pair| 2 * pair);
        }
        got.iter().zip(want).position(|(&got, &want)| !self.same(got, want))
    }
}
