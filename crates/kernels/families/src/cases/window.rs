//! Windows of convolutions and pools.

/// A window over an input; the output sizes follow from it.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) input: [u32; 3],
    pub(crate) kernel: [u32; 3],
    pub(crate) stride: [u32; 3],
    pub(crate) dilation: [u32; 3],
    /// Leading padding.
    pub(crate) pad: [i32; 3],
    /// Trailing padding.
    pub(crate) pad_end: [i32; 3],
}

impl Window {
    /// A two-dimensional window with the same padding on all sides.
    pub(crate) fn flat(input: [u32; 2], kernel: [u32; 2], stride: u32, pad: i32) -> Self {
        let pads = [0, pad, pad];
        Self {
            input: [1, input[0], input[1]],
            kernel: [1, kernel[0], kernel[1]],
            stride: [1, stride, stride],
            dilation: [1; 3],
            pad: pads,
            pad_end: pads,
        }
    }

    pub(crate) fn output(&self) -> [u32; 3] {
        [0, 1, 2].map(|d| {
            let reach = (self.kernel[d] - 1) * self.dilation[d] + 1;
            let room = self.input[d] as i32 + self.pad[d] + self.pad_end[d] - reach as i32;
            u32::try_from(room).map_or(0, |room| room / self.stride[d] + 1)
        })
    }

    pub(crate) fn transposed(&self) -> [u32; 3] {
        [0, 1, 2].map(|d| {
            let reach = (self.kernel[d] - 1) * self.dilation[d] + 1;
            ((self.input[d] - 1) * self.stride[d] + reach).saturating_add_signed(-self.pad[d] - self.pad_end[d])
        })
    }
}

/// Representative windows.
pub(crate) fn windows() -> Vec<Window> {
    let plain = Window::flat([9, 11], [3, 3], 1, 1);
    vec![
        Window::flat([1, 1], [1, 1], 1, 0),
        Window::flat([6, 50], [1, 1], 1, 0),
        plain,
        Window::flat([9, 10], [3, 3], 2, 1),
        Window::flat([15, 17], [7, 5], 2, 3),
        Window { dilation: [1, 2, 3], pad: [0, 2, 1], pad_end: [0, 3, 4], ..plain },
        Window { stride: [1, 3, 2], pad: [0, -2, 0], pad_end: [0, 0, -1], ..plain },
        // One and three dimensions.
        Window {
            input: [1, 1, 130],
            kernel: [1, 1, 4],
            stride: [1, 1, 3],
            pad: [0, 0, 2],
            ..Window::flat([1, 1], [1, 1], 1, 0)
        },
        Window {
            input: [4, 5, 6],
            kernel: [2, 3, 3],
            stride: [2, 1, 2],
            dilation: [1, 2, 1],
            pad: [1, 2, 0],
            pad_end: [0, 1, 1],
        },
    ]
}
