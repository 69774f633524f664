//! Reproducible random choices, and values that are likely to expose bugs.

/// SplitMix64: every seed gives a good sequence, including small ones. Not `fastrand`, whose
/// sequences may change between versions: a reported seed names the same program in every release.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform value below `limit`, which must not be zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A random operator or function name.
    pub(crate) fn name(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }

    /// Bits of an integer of `width` bits, mostly boundary values.
    pub(crate) fn hostile_bits(&mut self, width: u32) -> u64 {
        let mask = u64::MAX >> (64 - width);
        let edges = [0u64, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000];
        let bits = match self.below(4) {
            0 => *self.pick(&edges),
            1 => (*self.pick(&edges)).wrapping_neg(),
            2 => 1 << self.below(width as usize),
            _ if self.one_in(2) => (mask >> 1).wrapping_add(self.below(2) as u64),
            _ => self.bits(),
        };
        bits & mask
    }

    /// An f32 of a magnitude of at most [`TAME`].
    pub(crate) fn tame(&mut self) -> f32 {
        let edges = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 127.0, 255.5, 65504.0, 16_777_216.0, 16_777_215.0, TAME, 1e-20, 0.1];
        let value = match self.below(3) {
            0 => *self.pick(&edges),
            1 => (self.bits() % 200) as f32 * 0.25,
            _ => (self.bits() >> 40) as f32 * 2f32.powi(self.below(30) as i32 - 24),
        };
        if self.one_in(2) { -value } else { value }
    }

    /// Any f32 except NaN.
    pub(crate) fn wild(&mut self) -> f32 {
        let edges = [
            f32::INFINITY,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-40,
            0.0,
            1e10,
            1e19,
            1e20,
            2_147_483_648.0,
            2_147_483_520.0,
            4_294_967_296.0,
            4_294_967_040.0,
            9_223_372_036_854_775_808.0,
            18_446_744_073_709_551_616.0,
            0.5,
            1.5,
            8_388_607.5,
        ];
        let value = if self.one_in(3) { self.tame() } else { *self.pick(&edges) };
        if self.one_in(2) { -value } else { value }
    }
}

/// Sums and products of values within this bound stay finite, so no program produces a NaN, whose
/// bits WGSL does not specify.
pub(crate) const TAME: f32 = 1e9;
