//! Which convolutions are legal, and how long their arrays are.

use roci_hal::native::NativeLaunch;

use super::super::check::{self, Access, Extent};
use super::super::window::{self, Window};
use crate::params;

/// Elements of the arrays of a convolution.
pub(super) struct Sizes {
    /// Of `x`, `w` and `bias`.
    pub(super) inputs: [usize; 3],
    /// Of `y`.
    pub(super) output: u32,
}

/// The window of a convolution.
pub(super) fn window(p: &params::Conv) -> Window {
    let &params::Conv { input, output, kernel, stride, dilation, pad, .. } = p;
    Window { input, output, kernel, stride, dilation, pad }
}

/// The sizes of a convolution's arrays, or what is wrong with it.
pub(super) fn sizes(p: &params::Conv) -> Result<Sizes, String> {
    let divides = |channels: u32| p.groups > 0 && channels.is_multiple_of(p.groups);
    if !divides(p.in_channels) || !divides(p.out_channels) {
        return Err(format!("{} and {} channels in {} groups", p.in_channels, p.out_channels, p.groups));
    }
    window(p).check()?;
    let all = |counts: [u32; 2], sizes: [u32; 3]| window::count(counts.into_iter().chain(sizes));
    let x = all([p.batch, p.in_channels], p.input)?;
    let w = all([p.out_channels, p.in_channels / p.groups], p.kernel)?;
    let bias = if p.flags & params::Conv::BIAS != 0 { p.out_channels } else { 0 };
    Ok(Sizes { inputs: [x, w, bias].map(|size| size as usize), output: all([p.batch, p.out_channels], p.output)? })
}

impl Sizes {
    /// Holds the arrays against the bindings.
    pub(super) fn hold(&self, launch: &NativeLaunch<'_>) -> Result<(), String> {
        let [x, w, bias, y] = check::bindings::<4>(launch)?;
        let output = Access::write::<f32>("y", y, Extent::words(self.output.into()))?;
        for (name, binding, size) in [("x", x, 0), ("w", w, 1), ("bias", bias, 2)] {
            output.apart_from(&Access::read::<f32>(name, binding, Extent::words(self.inputs[size] as u128))?)?;
        }
        Ok(())
    }
}
