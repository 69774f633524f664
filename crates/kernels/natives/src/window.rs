//! Sliding windows over one to three dimensions, for convolutions and pools.

/// A window over three dimensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) input: [u32; 3],
    pub(super) output: [u32; 3],
    pub(super) kernel: [u32; 3],
    pub(super) stride: [u32; 3],
    pub(super) dilation: [u32; 3],
    pub(super) pad: [i32; 3],
}

impl Window {
    /// Rejects windows whose positions overflow signed 32 bits.
    pub(super) fn check(&self) -> Result<(), String> {
        let Window { kernel, stride, dilation, .. } = self;
        if kernel.iter().chain(stride).chain(dilation).any(|&size| size == 0) {
            return Err(format!(
                "unsupported window of size {kernel:?} with stride {stride:?} and dilation {dilation:?}"
            ));
        }
        for d in 0..3 {
            let steps = self.input[d].max(self.output[d]);
            let reach = u128::from(steps) * u128::from(stride[d])
                + u128::from(kernel[d]) * u128::from(dilation[d])
                + u128::from(self.pad[d].unsigned_abs());
            if reach > i32::MAX as u128 {
                return Err(format!("positions up to {reach} in dimension {d} overflow signed 32 bits"));
            }
        }
        Ok(())
    }

    /// The position in dimension `d` of the input of element `k` of the window at output `o`; it
    /// may be outside.
    pub(super) fn position(&self, d: usize, o: usize, k: usize) -> isize {
        (o * self.stride[d] as usize + k * self.dilation[d] as usize) as isize - self.pad[d] as isize
    }

    /// Like [`Window::position`]; `None` outside the input.
    pub(super) fn inside(&self, d: usize, o: usize, k: usize) -> Option<usize> {
        usize::try_from(self.position(d, o, k)).ok().filter(|&at| at < self.input[d] as usize)
    }

    /// A flat index of the output as a plane and a position in its three dimensions.
    pub(super) fn locate(&self, index: usize) -> (usize, [usize; 3]) {
        let [depth, height, width] = self.output.map(|size| size as usize);
        let (row, column) = (index / width, index % width);
        (row / height / depth, [row / height % depth, row % height, column])
    }
}

/// The product of sizes, `u32::MAX` at most: kernels count elements in 32 bits.
pub(super) fn count(sizes: impl IntoIterator<Item = u32>) -> Result<u32, String> {
    let product = sizes.into_iter().fold(1u128, |product, size| product.saturating_mul(size.into()));
    u32::try_from(product).map_err(|_| format!("{product} elements overflow 32 bits"))
}

/// Splits a flat range of an output into runs within its rows, and calls `f` with the index of each
/// run and its part of `words`.
pub(super) fn rows<T>(width: usize, first: usize, words: &mut [T], mut row: impl FnMut(usize, &mut [T])) {
    let (mut at, mut left) = (first, words);
    while !left.is_empty() {
        let run = (width - at % width).min(left.len());
        let (piece, behind) = std::mem::take(&mut left).split_at_mut(run);
        row(at, piece);
        at += run;
        left = behind;
    }
}
