//! Checks of convolutions, and the lengths of their arrays.

use roci_hal::native::NativeLaunch;

use super::super::check::{self, AccessRange, Extent};
use super::super::window::{self, Window};

/// Elements of the arrays of a convolution.
pub(super) struct Sizes {
    /// Of `x`, `w` and `bias`.
    pub(super) inputs: [usize; 3],
    /// Of `y`.
    pub(super) output: u32,
}

/// The window of a convolution.
pub(super) fn window(p: &roci_families::Conv) -> Window {
    let &roci_families::Conv { input, output, kernel, stride, dilation, pad, .. } = p;
    Window { input, output, kernel, stride, dilation, pad }
}

/// The sizes of a convolution's arrays, or why it is invalid.
pub(super) fn sizes(p: &roci_families::Conv) -> Result<Sizes, String> {
    let divides = |channels: u32| p.groups > 0 && channels.is_multiple_of(p.groups);
    if !divides(p.in_channels) || !divides(p.out_channels) {
        return Err(format!(
            "{} input and {} output channels are not divisible by {} groups",
            p.in_channels, p.out_channels, p.groups
        ));
    }
    window(p).check()?;
    let all = |counts: [u32; 2], sizes: [u32; 3]| window::count(counts.into_iter().chain(sizes));
    let x = all([p.batch, p.in_channels], p.input)?;
    let w = all([p.out_channels, p.in_channels / p.groups], p.kernel)?;
    let bias = if p.flags & roci_families::Conv::BIAS != 0 { p.out_channels } else { 0 };
    Ok(Sizes { inputs: [x, w, bias].map(|size| size as usize), output: all([p.batch, p.out_channels], p.output)? })
}

impl Sizes {
    /// Checks the arrays against the bindings.
    pub(super) fn check(&self, launch: &NativeLaunch<'_>) -> Result<(), String> {
        let [x, w, bias, y] = check::bindings::<4>(launch)?;
        let output = AccessRange::write::<f32>("y", y, Extent::count(self.output.into()))?;
        for (name, binding, size) in [("x", x, 0), ("w", w, 1), ("bias", bias, 2)] {
            output.disjoint_from(&AccessRange::read::<f32>(
                name,
                binding,
                Extent::count(self.inputs[size] as u128),
            )?)?;
        }
        Ok(())
    }
}
