//! Samples of images at points that are data.

use roci_graph::ops::movement::{GridMode, GridPadding};
use roci_graph::{DType, OpError};
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, C, Step, Step::Do, Step::Save, Step::With, float, temporary};
use super::strided::dimensions;
use super::{Context, Operand};
use crate::error::Refusal;

/// How images are sampled.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    pub(super) mode: GridMode,
    pub(super) padding: GridPadding,
    /// Where mirrors stand: at the centres of the outermost pixels, not at their edges.
    pub(super) align_corners: bool,
}

/// What one pixel around a point is along an axis: its place as a float, and its weight.
struct Tap {
    place: Operand,
    weight: Operand,
}

pub(super) fn grid_sample(context: &mut Context<'_, '_>, sampling: Sampling) -> Result<Operand, Refusal> {
    let (x, grid) = (context.operand(0)?, context.operand(1)?);
    if !x.dtype.is_float() && sampling.mode != GridMode::Nearest {
        return Err(Refusal::unsupported(format!("weighted sums of {}", x.dtype)));
    }
    let made = context.output(0)?.shape()?.to_vec();
    let sizes = x.shape[2..].to_vec();
    let (batch, points) = (x.shape[0], made[2..].iter().product::<usize>());
    // Points give the last axis first.
    let axes = sizes.len();
    let mut places = Vec::new();
    for (axis, &size) in sizes.iter().enumerate() {
        let shape = [batch, points];
        let walk = dimensions(&shape, [(points * axes) as i64, axes as i64]);
        let one = context.arranged(&grid, axes - 1 - axis, &walk, shape)?;
        let size = size as f32;
        let scaled = if sampling.align_corners {
            [With(Op::Mul, float(0.5)), With(Op::Mul, float(size - 1.0)), With(Op::Add, float(0.0))]
        } else {
            [With(Op::Mul, float(size)), With(Op::Sub, float(1.0)), With(Op::Mul, float(0.5))]
        };
        // What is infinitely far away is as good as very far away.
        let code = [
            &[With(Op::Load, A), With(Op::Add, float(1.0))],
            &scaled[..],
            &[With(Op::Max, float(-1e9)), With(Op::Min, float(1e9))],
        ];
        places.push(context.map(&code.concat(), &[&one], DType::F32, &shape)?);
    }
    let images = x.reshaped([batch, x.shape[1], sizes.iter().product()]);
    let sampled = context.sampled(&images, &sizes, &places, sampling)?;
    context.narrowed(sampled.reshaped(made))
}

impl Context<'_, '_> {
    /// Samples images `[batch, channels, pixels]` at places `[batch, points]`, one operand of pixels an axis.
    pub(super) fn sampled(
        &mut self,
        images: &Operand,
        sizes: &[usize],
        places: &[Operand],
        sampling: Sampling,
    ) -> Result<Operand, Refusal> {
        let (batch, channels, points) = (images.shape[0], images.shape[1], places[0].shape[1]);
        if sizes.contains(&0) && points > 0 {
            return Err(OpError::invalid(format!("samples of images of {sizes:?} pixels")).into());
        }
        let mut taps = Vec::new();
        for (place, &size) in places.iter().zip(sizes) {
            taps.push(self.taps(place, size, sampling)?);
        }
        let each = taps[0].len();
        let lines = images.reshaped([batch * channels, images.shape[2]]);
        let shape = [batch, points];
        let mut sum: Option<Operand> = None;
        for corner in 0..each.pow(sizes.len() as u32) {
            let (mut offset, mut weight): (Option<Operand>, Option<Operand>) = (None, None);
            for (axis, (taps, &size)) in taps.iter().zip(sizes).enumerate() {
                let tap = &taps[corner / each.pow((sizes.len() - 1 - axis) as u32) % each];
                offset = Some(match offset {
                    None => tap.place.clone(),
                    Some(outer) => {
                        let code = [
                            With(Op::Load, A),
                            With(Op::MulI32, super::build::integer(size as i32)),
                            With(Op::AddI32, B),
                        ];
                        self.map(&code, &[&outer, &tap.place], DType::I32, &shape)?
                    }
                });
                weight = Some(match weight {
                    None => tap.weight.clone(),
                    Some(outer) => {
                        self.map(&[With(Op::Load, A), With(Op::Mul, B)], &[&outer, &tap.weight], DType::F32, &shape)?
                    }
                });
            }
            let (Some(offset), Some(weight)) = (offset, weight) else {
                return Err(Refusal::unsupported("images without axes"));
            };
            let index = self.broadcast(&offset.reshaped([batch, 1, points]), &[batch, channels, points])?;
            let pixels = self.taken_by_line(&lines, &index.reshaped([batch * channels, points]))?;
            let pixels = pixels.reshaped([batch, channels, points]);
            let weight = weight.reshaped([batch, 1, points]);
            let whole = [batch, channels, points];
            if sampling.mode == GridMode::Nearest {
                // One pixel or none, whatever its type.
                let code =
                    [With(Op::Load, float(0.0)), Save(3), With(Op::Load, B), Do(Op::F32ToBool), With(Op::Select, A)];
                return self.map(&code, &[&pixels, &weight], images.dtype, &whole);
            }
            // A weight of zero reads nothing, so that infinities beside the point do no harm.
            let mut code = vec![
                With(Op::Load, float(0.0)),
                Save(3),
                With(Op::Load, A),
                With(Op::Mul, B),
                Save(0),
                With(Op::Load, B),
                Do(Op::F32ToBool),
                With(Op::Select, temporary(0)),
            ];
            sum = Some(match sum {
                None => self.map(&code, &[&pixels, &weight], images.dtype, &whole)?,
                Some(sum) => {
                    code.push(With(Op::Add, C));
                    self.map(&code, &[&pixels, &weight, &sum], images.dtype, &whole)?
                }
            });
        }
        sum.ok_or_else(|| Refusal::unsupported("a sample of no pixels"))
    }

    /// The pixels around places along an axis.
    fn taps(&mut self, place: &Operand, size: usize, sampling: Sampling) -> Result<Vec<Tap>, Refusal> {
        let shape = place.shape.clone();
        let fraction: &[Step] = &[With(Op::Load, A), Do(Op::Floor), With(Op::RSub, A)];
        let rounded: &[Step] = &[With(Op::Load, A), Do(Op::Round)];
        // Where a pixel is relative to the rounded place, and the steps to its weight.
        let wanted: Vec<(f32, Vec<Step>)> = match sampling.mode {
            GridMode::Nearest => vec![(0.0, vec![With(Op::Load, float(1.0))])],
            GridMode::Linear => {
                vec![(0.0, [fraction, &[With(Op::RSub, float(1.0))]].concat()), (1.0, fraction.to_vec())]
            }
            GridMode::Cubic => (0..4).map(|tap| (tap as f32 - 1.0, cubic(fraction, tap as f32 - 1.0))).collect(),
        };
        let start = if sampling.mode == GridMode::Nearest { rounded } else { &[With(Op::Load, A), Do(Op::Floor)] };
        let last = size as f32 - 1.0;
        let mut made = Vec::new();
        for (offset, weight) in wanted {
            let at = self.map(&[start, &[With(Op::Add, float(offset))]].concat(), &[place], DType::F32, &shape)?;
            let inside: Vec<Step> = match sampling.padding {
                GridPadding::Reflection => mirrored(size, sampling.align_corners),
                _ => vec![With(Op::Load, A)],
            };
            let clamped = [With(Op::Max, float(0.0)), With(Op::Min, float(last)), Do(Op::F32ToI32)];
            let index = self.map(&[&inside[..], &clamped].concat(), &[&at], DType::I32, &shape)?;
            let mut weight = self.map(&weight, &[place], DType::F32, &shape)?;
            if sampling.padding == GridPadding::Zeros {
                // acc * (0 <= at) * (at <= last), as words that are 0 or 1.
                let code = [
                    With(Op::Load, float(0.0)),
                    Save(3),
                    With(Op::Load, A),
                    With(Op::GreaterEqual, float(0.0)),
                    Save(0),
                    With(Op::Load, A),
                    With(Op::LessEqual, float(last)),
                    With(Op::And, temporary(0)),
                    With(Op::Select, B),
                ];
                weight = self.map(&code, &[&at, &weight], DType::F32, &shape)?;
            }
            made.push(Tap { place: index, weight });
        }
        Ok(made)
    }
}

/// Where mirrors at both ends send a pixel.
fn mirrored(size: usize, align_corners: bool) -> Vec<Step> {
    let (low, high) = if align_corners { (0.0, size as f32 - 1.0) } else { (-0.5, size as f32 - 0.5) };
    if high <= low {
        return vec![With(Op::Load, float(0.0))];
    }
    let period = 2.0 * (high - low);
    vec![
        With(Op::Load, A),
        With(Op::Sub, float(low)),
        With(Op::Modulo, float(period)),
        Save(0),
        With(Op::RSub, float(period)),
        With(Op::Min, temporary(0)),
        With(Op::Add, float(low)),
        Do(Op::Round),
    ]
}

/// The weight of the pixel at `offset` from the one before a place, by cubic convolution with the coefficient -0.75.
fn cubic(fraction: &[Step], offset: f32) -> Vec<Step> {
    let a = -0.75f32;
    let distance = [Save(0), With(Op::Load, float(offset)), With(Op::Sub, temporary(0)), Do(Op::Abs), Save(0)];
    let polynomial: &[f32] = if (0.0..=1.0).contains(&offset) {
        // ((a + 2) x - (a + 3)) x x + 1
        &[a + 2.0, -(a + 3.0), 0.0, 1.0]
    } else {
        // ((a x - 5 a) x + 8 a) x - 4 a
        &[a, -5.0 * a, 8.0 * a, -4.0 * a]
    };
    let mut steps = [fraction, &distance[..]].concat();
    steps.push(With(Op::Mul, float(polynomial[0])));
    for (index, &coefficient) in polynomial[1..].iter().enumerate() {
        if coefficient != 0.0 {
            steps.push(With(Op::Add, float(coefficient)));
        }
        if index < 2 {
            steps.push(With(Op::Mul, temporary(0)));
        }
    }
    steps
}

pub(super) fn affine_grid(context: &mut Context<'_, '_>, align_corners: bool) -> Result<Operand, Refusal> {
    let theta = context.operand(0)?;
    let made = context.output(0)?.shape()?.to_vec();
    let rank = made.len() - 2;
    let sizes = &made[1..=rank];
    let strides = roci_graph::shape::strides(sizes);
    let points: usize = sizes.iter().product();
    let coordinate = |axis: usize, at: usize| {
        let (at, size) = (at as f64, sizes[axis] as f64);
        match align_corners {
            // A single pixel lies in the middle.
            true if size == 1.0 => 0.0,
            true => 2.0 * at / (size - 1.0) - 1.0,
            false => (2.0 * at + 1.0) / size - 1.0,
        }
    };
    let mut base = Vec::with_capacity(points * (rank + 1));
    for point in 0..points {
        // The last axis has the first column.
        let along = (0..rank).rev().map(|axis| coordinate(axis, point / strides[axis] % sizes[axis]) as f32);
        base.extend(along.chain([1.0]));
    }
    let base = context.numbers(&base, [points, rank + 1])?;
    let maps = context.transposed(&theta, &[0, 2, 1])?;
    let product = context.product(&base, &maps, [points, rank, rank + 1])?;
    context.narrowed(Operand { dtype: theta.dtype, slot: product.slot, shape: made })
}
