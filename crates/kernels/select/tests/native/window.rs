//! Convolutions and pools against naive f64 loops.

use proptest::prelude::*;
use roci_kernels::native::Level;
use roci_kernels::params::{Conv, Pool};
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, values};

/// A sum, and the sum of its terms' magnitudes, which scales the error bound.
type Exact = (f64, f64);

fn volume(sizes: [u32; 3]) -> usize {
    sizes.iter().map(|&size| size as usize).product()
}

/// All coordinates of an array of these sizes, row-major.
fn places(sizes: [u32; 3]) -> impl Iterator<Item = [i64; 3]> {
    let [depth, height, width] = sizes.map(i64::from);
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [z, y, x])))
}

/// Flat index of coordinates; `None` if out of range.
fn index(sizes: [u32; 3], place: [i64; 3]) -> Option<usize> {
    let inside = place.iter().zip(sizes).all(|(&at, size)| (0..i64::from(size)).contains(&at));
    inside.then(|| place.iter().zip(sizes).fold(0, |all, (&at, size)| all * size as usize + at as usize))
}

/// The input coordinates of window element `k` at output `o`: the index rule of convolutions and
/// pools.
fn meets(o: [i64; 3], k: [i64; 3], stride: [u32; 3], dilation: [u32; 3], pad: [i32; 3]) -> [i64; 3] {
    [0, 1, 2].map(|d| o[d] * i64::from(stride[d]) - i64::from(pad[d]) + k[d] * i64::from(dilation[d]))
}

#[derive(Clone, Copy, Debug)]
struct Problem {
    p: Conv,
    transposed: bool,
    seed: u32,
}

impl Problem {
    fn arrays(&self) -> [Vec<f32>; 4] {
        let p = &self.p;
        let channels = |count: u32, sizes| (p.batch * count) as usize * volume(sizes);
        let weights = (p.out_channels * (p.in_channels / p.groups)) as usize * volume(p.kernel);
        let sizes =
            [channels(p.in_channels, p.input), weights, p.out_channels as usize, channels(p.out_channels, p.output)];
        let mut seed = self.seed;
        sizes.map(|size| {
            seed = seed.wrapping_add(77);
            values(size, 1.0, seed)
        })
    }

    /// Adds every product of an input and a window element to the output that it contributes to.
    fn exact(&self) -> Vec<Exact> {
        let (p, [x, w, bias, y]) = (&self.p, self.arrays());
        let start = |y: f32| if p.flags & Conv::ADD != 0 { f64::from(y) } else { 0.0 };
        let mut sums: Vec<Exact> = y.iter().map(|&y| (start(y), start(y).abs())).collect();
        let (ins, outs) = (p.in_channels / p.groups, p.out_channels / p.groups);
        let (images, planes, taps) = (volume(p.input), volume(p.output), volume(p.kernel));
        for (batch, m, c) in (0..p.batch).flat_map(|n| {
            (0..p.out_channels).flat_map(move |m| (m / outs * ins..(m / outs + 1) * ins).map(move |c| (n, m, c)))
        }) {
            let from = (batch * p.in_channels + c) as usize * images;
            let to = (batch * p.out_channels + m) as usize * planes;
            let kernel = if self.transposed { c * outs + m % outs } else { m * ins + c % ins } as usize * taps;
            // The window moves over the larger array, one step per element of the smaller one.
            let (steps, reached) = if self.transposed { (p.input, p.output) } else { (p.output, p.input) };
            for (step, place) in places(steps).enumerate() {
                for (tap, k) in places(p.kernel).enumerate() {
                    let Some(other) = index(reached, meets(place, k, p.stride, p.dilation, p.pad)) else { continue };
                    let (i, o) = if self.transposed { (step, other) } else { (other, step) };
                    let term = f64::from(x[from + i]) * f64::from(w[kernel + tap]);
                    sums[to + o].0 += term;
                    sums[to + o].1 += term.abs();
                }
            }
        }
        for (at, sum) in sums.iter_mut().enumerate() {
            if p.flags & Conv::BIAS != 0 {
                let bias = f64::from(bias[at / planes % p.out_channels as usize]);
                *sum = (sum.0 + bias, sum.1 + bias.abs());
            }
            if p.flags & Conv::CLAMP != 0 {
                sum.0 = sum.0.clamp(p.low.into(), p.high.into());
            }
        }
        sums
    }

    fn run(&self, name: &str, level: Level, workers: usize) -> Vec<f32> {
        let [mut x, mut w, mut bias, mut y] = self.arrays();
        let mut buffers = [bytes(&mut x), bytes(&mut w), bytes(&mut bias), bytes(&mut y)];
        launch_at(level, name, &mut buffers, bytemuck::bytes_of(&self.p), workers).expect("the launch is valid");
        y
    }

    fn check(&self, name: &str, workers: usize) {
        let exact = self.exact();
        for &level in Level::available() {
            let got = self.run(name, level, workers);
            let terms = f64::from(self.p.in_channels / self.p.groups) * volume(self.p.kernel) as f64;
            for (at, (&got, &(sum, size))) in got.iter().zip(&exact).enumerate() {
                let bound = f64::from(f32::EPSILON) * size * terms.sqrt().max(4.0) + 1e-7;
                let off = (f64::from(got) - sum).abs();
                assert!(off <= bound, "{self:?} {name} at {level}: y[{at}] = {got}, exactly {sum}, off {off:e}");
            }
            let other = self.run(name, level, 1);
            assert!(
                got.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{self:?} with another number of parts"
            );
        }
    }
}

/// Random window parameters of one dimension: input, kernel, stride, dilation, leading and trailing
/// padding.
fn dimension(most: u32) -> impl Strategy<Value = (u32, u32, u32, u32, i32, i32)> {
    (1..=most, 1..5u32, 1..4u32, 1..4u32, -1..4i32, -1..4i32)
}

type Sizes = [[u32; 3]; 5];

/// Input, output, kernel, stride and dilation; leading and trailing padding.
fn window(transposed: bool) -> impl Strategy<Value = (Sizes, [i32; 3], [i32; 3])> {
    (dimension(3), dimension(12), dimension(60), 1..4usize).prop_map(move |(a, b, c, dimensions)| {
        let mut all = [a, b, c];
        all[..3 - dimensions].fill((1, 1, 1, 1, 0, 0));
        let output = all.map(|(input, kernel, stride, dilation, pad, pad_end)| {
            let reach = i64::from((kernel - 1) * dilation + 1);
            let pads = i64::from(pad + pad_end);
            let size = match transposed {
                true => i64::from((input - 1) * stride) + reach - pads,
                false => (i64::from(input) + pads - reach).max(-1).div_euclid(i64::from(stride)) + 1,
            };
            size.max(0) as u32
        });
        let sizes = [all.map(|d| d.0), output, all.map(|d| d.1), all.map(|d| d.2), all.map(|d| d.3)];
        (sizes, all.map(|d| d.4), all.map(|d| d.5))
    })
}

fn problem(transposed: bool) -> impl Strategy<Value = Problem> {
    let channels =
        prop_oneof![(1..7u32, 1..12u32, Just(1u32)), (1..3u32, 1..4u32, 1..5u32), (Just(1), Just(1), 1..20u32)];
    (window(transposed), channels, 1..3u32, 0..8u32, any::<u32>()).prop_map(
        move |((sizes, pad, _), (ins, outs, groups), batch, flags, seed)| {
            let [input, output, kernel, stride, dilation] = sizes;
            let (in_channels, out_channels) = (ins * groups, outs * groups);
            let (low, high) = (-0.5, 0.75);
            #[rustfmt::skip]
            let p = Conv {
                batch, in_channels, out_channels, groups, input, output, kernel, stride, dilation, pad, flags,
                low, high, parts: 1,
            };
            Problem { p, transposed, seed }
        },
    )
}

/// The elements of a window that lie in the input, as indices into the plane.
fn window_elements(p: &Pool, o: [i64; 3]) -> Vec<usize> {
    let all = places(p.kernel).map(|k| meets(o, k, p.stride, p.dilation, p.pad));
    all.filter_map(|place| index(p.input, place)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn convolutions_match_at_every_level(problem in problem(false), workers in 1usize..5) {
        problem.check("conv", workers);
        if problem.p.is_flat() {
            problem.check("conv_tiled", workers);
        }
    }

    #[test]
    fn transposed_convolutions_match_the_definition(problem in problem(true), workers in 1usize..5) {
        problem.check("conv_transpose", workers);
    }

    #[test]
    fn pools_match_the_definition(
        (sizes, pad, pad_end) in window(false), planes in 1..4u32, flags in 0..4u32, norm in 1..5u32, seed: u32,
    ) {
        let [input, output, kernel, stride, dilation] = sizes;
        let p = Pool { planes, input, output, kernel, stride, dilation, pad, pad_end, flags, norm };
        // Few distinct values, so that there are ties.
        let x = values(planes as usize * volume(input), 4.0, seed);
        let mut x: Vec<f32> = x.iter().map(|x| x.round() / 2.0).collect();
        let mut run = |name: &str| {
            let mut y = vec![77.0f32; planes as usize * volume(output)];
            let mut buffers = [bytes(&mut x), bytes(&mut y)];
            launch_at(Level::best(), name, &mut buffers, bytemuck::bytes_of(&p), 3).expect("the launch is valid");
            y
        };
        let got = ["pool_max", "pool_max_indices", "pool_average", "pool_lp"].map(&mut run);
        for plane in 0..planes as usize {
            let x = &x[plane * volume(input)..][..volume(input)];
            for (at, o) in places(output).enumerate() {
                let elements = window_elements(&p, o);
                let [max, place, average, lp] = [0, 1, 2, 3].map(|kind| got[kind][plane * volume(output) + at]);
                let greatest = elements.iter().map(|&i| x[i]).fold(f32::NEG_INFINITY, f32::max);
                prop_assert_eq!(max, greatest);
                let first = elements.iter().copied().find(|&i| x[i] == greatest).unwrap_or(0);
                let [_, height, width] = input.map(|size| size as usize);
                let [z, y, column] = [first / width / height, first / width % height, first % width];
                let turned = z + input[0] as usize * (y + height * column);
                let first = if flags & Pool::COLUMN_MAJOR == 0 { first } else { turned };
                prop_assert_eq!(place.to_bits() as usize, plane * volume(input) + first);
                let behind = |d: usize, at: i64| at < i64::from(input[d]) + i64::from(pad_end[d]);
                let counts = |k: &[i64; 3]| {
                    let place = meets(o, *k, stride, dilation, pad);
                    (0..3).all(|d| behind(d, place[d]))
                };
                let count = match flags & Pool::COUNT_PAD {
                    0 => elements.len(),
                    _ => places(kernel).filter(counts).count(),
                };
                let sum: f64 = elements.iter().map(|&i| f64::from(x[i])).sum();
                let mean = if elements.is_empty() { 0.0 } else { sum / count as f64 };
                prop_assert!(Tolerance::Close.error_ratio(average.into(), mean) <= 1.0, "{} {}", average, mean);
                let powers: f64 = elements.iter().map(|&i| f64::from(x[i]).abs().powi(norm as i32)).sum();
                let exact = powers.powf(1.0 / f64::from(norm));
                prop_assert!((f64::from(lp) - exact).abs() <= Tolerance::Sum.allowed(exact, exact), "{} {}", lp, exact);
            }
        }
    }
}

/// More channels, pixels and window elements than one block, pass or panel holds.
#[test]
fn large_convolutions_do_not_depend_on_the_parts() {
    let flat = |channels: [u32; 2], size: [u32; 2], kernel: u32, stride: u32| {
        let pad = kernel as i32 / 2;
        let output = size.map(|size| (size + 2 * pad as u32 - kernel) / stride + 1);
        Conv {
            batch: 1,
            in_channels: channels[0],
            out_channels: channels[1],
            groups: 1,
            input: [1, size[0], size[1]],
            output: [1, output[0], output[1]],
            kernel: [1, kernel, kernel],
            stride: [1, stride, stride],
            dilation: [1; 3],
            pad: [0, pad, pad],
            flags: Conv::BIAS,
            ..Conv::default()
        }
    };
    for p in [
        flat([60, 270], [7, 7], 3, 1),
        flat([300, 20], [20, 21], 1, 1),
        flat([3, 20], [40, 60], 7, 2),
        flat([20, 10], [3, 450], 3, 1),
        Conv { groups: 2, ..flat([2, 2], [160, 130], 3, 1) },
    ] {
        Problem { p, transposed: false, seed: 9 }.check("conv_tiled", 3);
    }
}

#[test]
fn invalid_convolutions_are_rejected_with_the_reason() {
    let good = Conv {
        batch: 1,
        in_channels: 2,
        out_channels: 2,
        groups: 1,
        input: [1, 4, 4],
        output: [1, 4, 4],
        kernel: [1, 1, 1],
        stride: [1; 3],
        dilation: [1; 3],
        ..Conv::default()
    };
    let cases = [
        (Conv { groups: 3, ..good }, "2 input and 2 output channels are not divisible by 3 groups"),
        (Conv { groups: 0, ..good }, "2 input and 2 output channels are not divisible by 0 groups"),
        (
            Conv { stride: [1, 0, 1], ..good },
            "unsupported window of size [1, 1, 1] with stride [1, 0, 1] and dilation [1, 1, 1]",
        ),
        (Conv { batch: 2, ..good }, "writes 64 elements of `y`, but 32 are bound"),
        (Conv { out_channels: 1, kernel: [1, 4, 5], ..good }, "reads 40 elements of `w`, but 32 are bound"),
        (
            Conv { dilation: [1, 1, u32::MAX], ..good },
            "positions up to 4294967299 in dimension 2 overflow signed 32 bits",
        ),
        (Conv { input: [2, 4, 4], ..good }, "only two dimensions are supported, but the first of three has size 2"),
        (Conv { batch: u32::MAX, ..good }, "137438953440 elements overflow 32 bits"),
    ];
    for (p, reason) in cases {
        let [mut x, mut w, mut bias, mut y] = [0, 1, 2, 3].map(|_| vec![0.0f32; 32]);
        let mut buffers = [bytes(&mut x), bytes(&mut w), bytes(&mut bias), bytes(&mut y)];
        let result = launch_at(Level::best(), "conv_tiled", &mut buffers, bytemuck::bytes_of(&p), 2);
        assert_eq!(result, Err(reason.to_owned()), "{p:?}");
    }
}
