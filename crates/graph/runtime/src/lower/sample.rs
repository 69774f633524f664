//! Samples images at positions that are computed on the device.

use roci_graph::ops::movement::{GridMode, GridPadding};
use roci_graph::{DType, OpError};
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, C, Instr, Instr::Apply, Instr::ApplyWith, Instr::Save, float, temporary};
use super::strided::dimensions;
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// How images are sampled.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    pub(super) mode: GridMode,
    pub(super) padding: GridPadding,
    /// Whether reflection happens at the centers of the outermost pixels rather than at their
    /// edges.
    pub(super) align_corners: bool,
}

/// One pixel near a position along an axis: its index and its weight.
struct Tap {
    place: DeviceTensor,
    weight: DeviceTensor,
}

pub(super) fn grid_sample(context: &mut Context<'_, '_>, sampling: Sampling) -> Result<DeviceTensor, LoweringError> {
    let (x, grid) = (context.operand(0)?, context.operand(1)?);
    if !x.dtype.is_float() && sampling.mode != GridMode::Nearest {
        return Err(LoweringError::unsupported(format!("weighted sums of {}", x.dtype)));
    }
    let result = context.output(0)?.shape()?.to_vec();
    let sizes = x.shape[2..].to_vec();
    let (batch, points) = (x.shape[0], result[2..].iter().product::<usize>());
    // The last axis comes first in a point.
    let axes = sizes.len();
    let mut places = Vec::new();
    for (axis, &size) in sizes.iter().enumerate() {
        let shape = [batch, points];
        let walk = dimensions(&shape, [(points * axes) as i64, axes as i64]);
        let one = context.strided_copy(&grid, axes - 1 - axis, &walk, shape)?;
        let size = size as f32;
        let scaled = if sampling.align_corners {
            [ApplyWith(Op::Mul, float(0.5)), ApplyWith(Op::Mul, float(size - 1.0)), ApplyWith(Op::Add, float(0.0))]
        } else {
            [ApplyWith(Op::Mul, float(size)), ApplyWith(Op::Sub, float(1.0)), ApplyWith(Op::Mul, float(0.5))]
        };
        // Clamp infinite positions, which gives the same result.
        let code = [
            &[ApplyWith(Op::Load, A), ApplyWith(Op::Add, float(1.0))],
            &scaled[..],
            &[ApplyWith(Op::Max, float(-1e9)), ApplyWith(Op::Min, float(1e9))],
        ];
        places.push(context.map(&code.concat(), &[&one], DType::F32, &shape)?);
    }
    let images = x.reshaped([batch, x.shape[1], sizes.iter().product()]);
    let sampled = context.sample(&images, &sizes, &places, sampling)?;
    context.round_to_dtype(sampled.reshaped(result))
}

impl Context<'_, '_> {
    /// Samples images `[batch, channels, pixels]` at positions `[batch, points]` in pixels, one
    /// tensor per axis.
    pub(super) fn sample(
        &mut self,
        images: &DeviceTensor,
        sizes: &[usize],
        places: &[DeviceTensor],
        sampling: Sampling,
    ) -> Result<DeviceTensor, LoweringError> {
        let (batch, channels, points) = (images.shape[0], images.shape[1], places[0].shape[1]);
        if sizes.contains(&0) && points > 0 {
            return Err(OpError::invalid(format!("images of {sizes:?} have no pixels")).into());
        }
        let mut taps = Vec::new();
        for (place, &size) in places.iter().zip(sizes) {
            taps.push(self.taps(place, size, sampling)?);
        }
        let each = taps[0].len();
        let lines = images.reshaped([batch * channels, images.shape[2]]);
        let shape = [batch, points];
        let mut sum: Option<DeviceTensor> = None;
        for corner in 0..each.pow(sizes.len() as u32) {
            let (mut offset, mut weight): (Option<DeviceTensor>, Option<DeviceTensor>) = (None, None);
            for (axis, (taps, &size)) in taps.iter().zip(sizes).enumerate() {
                let tap = &taps[corner / each.pow((sizes.len() - 1 - axis) as u32) % each];
                offset = Some(match offset {
                    None => tap.place.clone(),
                    Some(outer) => {
                        let code = [
                            ApplyWith(Op::Load, A),
                            ApplyWith(Op::MulI32, super::build::integer(size as i32)),
                            ApplyWith(Op::AddI32, B),
                        ];
                        self.map(&code, &[&outer, &tap.place], DType::I32, &shape)?
                    }
                });
                weight = Some(match weight {
                    None => tap.weight.clone(),
                    Some(outer) => self.map(
                        &[ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)],
                        &[&outer, &tap.weight],
                        DType::F32,
                        &shape,
                    )?,
                });
            }
            let (Some(offset), Some(weight)) = (offset, weight) else {
                return Err(LoweringError::unsupported("images without axes"));
            };
            let index = self.broadcast(&offset.reshaped([batch, 1, points]), &[batch, channels, points])?;
            let pixels = self.gather_rows(&lines, &index.reshaped([batch * channels, points]))?;
            let pixels = pixels.reshaped([batch, channels, points]);
            let weight = weight.reshaped([batch, 1, points]);
            let whole = [batch, channels, points];
            if sampling.mode == GridMode::Nearest {
                // One pixel or none, of any type.
                let code = [
                    ApplyWith(Op::Load, float(0.0)),
                    Save(3),
                    ApplyWith(Op::Load, B),
                    Apply(Op::F32ToBool),
                    ApplyWith(Op::Select, A),
                ];
                return self.map(&code, &[&pixels, &weight], images.dtype, &whole);
            }
            // With weight 0 the pixel is ignored, so that infinities near the point have no effect.
            let mut code = vec![
                ApplyWith(Op::Load, float(0.0)),
                Save(3),
                ApplyWith(Op::Load, A),
                ApplyWith(Op::Mul, B),
                Save(0),
                ApplyWith(Op::Load, B),
                Apply(Op::F32ToBool),
                ApplyWith(Op::Select, temporary(0)),
            ];
            sum = Some(match sum {
                None => self.map(&code, &[&pixels, &weight], images.dtype, &whole)?,
                Some(sum) => {
                    code.push(ApplyWith(Op::Add, C));
                    self.map(&code, &[&pixels, &weight, &sum], images.dtype, &whole)?
                }
            });
        }
        sum.ok_or_else(|| LoweringError::unsupported("a sample of an empty image"))
    }

    /// The pixels around positions along an axis.
    fn taps(&mut self, place: &DeviceTensor, size: usize, sampling: Sampling) -> Result<Vec<Tap>, LoweringError> {
        let shape = place.shape.clone();
        let fraction: &[Instr] = &[ApplyWith(Op::Load, A), Apply(Op::Floor), ApplyWith(Op::RSub, A)];
        let rounded: &[Instr] = &[ApplyWith(Op::Load, A), Apply(Op::Round)];
        // Each pixel's offset from the rounded position, and the program of its weight.
        let expected: Vec<(f32, Vec<Instr>)> = match sampling.mode {
            GridMode::Nearest => vec![(0.0, vec![ApplyWith(Op::Load, float(1.0))])],
            GridMode::Linear => {
                vec![(0.0, [fraction, &[ApplyWith(Op::RSub, float(1.0))]].concat()), (1.0, fraction.to_vec())]
            }
            GridMode::Cubic => (0..4).map(|tap| (tap as f32 - 1.0, cubic_weight(fraction, tap as f32 - 1.0))).collect(),
        };
        let start =
            if sampling.mode == GridMode::Nearest { rounded } else { &[ApplyWith(Op::Load, A), Apply(Op::Floor)] };
        let last = size as f32 - 1.0;
        let mut result = Vec::new();
        for (offset, weight) in expected {
            let at = self.map(&[start, &[ApplyWith(Op::Add, float(offset))]].concat(), &[place], DType::F32, &shape)?;
            let inside: Vec<Instr> = match sampling.padding {
                GridPadding::Reflection => reflect(size, sampling.align_corners),
                _ => vec![ApplyWith(Op::Load, A)],
            };
            let clamped = [ApplyWith(Op::Max, float(0.0)), ApplyWith(Op::Min, float(last)), Apply(Op::F32ToI32)];
            let index = self.map(&[&inside[..], &clamped].concat(), &[&at], DType::I32, &shape)?;
            let mut weight = self.map(&weight, &[place], DType::F32, &shape)?;
            if sampling.padding == GridPadding::Zeros {
                // acc * (0 <= at) * (at <= last), as words that are 0 or 1.
                let code = [
                    ApplyWith(Op::Load, float(0.0)),
                    Save(3),
                    ApplyWith(Op::Load, A),
                    ApplyWith(Op::GreaterEqual, float(0.0)),
                    Save(0),
                    ApplyWith(Op::Load, A),
                    ApplyWith(Op::LessEqual, float(last)),
                    ApplyWith(Op::And, temporary(0)),
                    ApplyWith(Op::Select, B),
                ];
                weight = self.map(&code, &[&at, &weight], DType::F32, &shape)?;
            }
            result.push(Tap { place: index, weight });
        }
        Ok(result)
    }
}

/// The index of a pixel after reflection at both ends.
fn reflect(size: usize, align_corners: bool) -> Vec<Instr> {
    let (low, high) = if align_corners { (0.0, size as f32 - 1.0) } else { (-0.5, size as f32 - 0.5) };
    if high <= low {
        return vec![ApplyWith(Op::Load, float(0.0))];
    }
    let period = 2.0 * (high - low);
    vec![
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Sub, float(low)),
        ApplyWith(Op::Modulo, float(period)),
        Save(0),
        ApplyWith(Op::RSub, float(period)),
        ApplyWith(Op::Min, temporary(0)),
        ApplyWith(Op::Add, float(low)),
        Apply(Op::Round),
    ]
}

/// The weight of the pixel at `offset` from the one before a position, by cubic convolution with
/// the coefficient -0.75.
fn cubic_weight(fraction: &[Instr], offset: f32) -> Vec<Instr> {
    let a = -0.75f32;
    let distance =
        [Save(0), ApplyWith(Op::Load, float(offset)), ApplyWith(Op::Sub, temporary(0)), Apply(Op::Abs), Save(0)];
    let polynomial: &[f32] = if (0.0..=1.0).contains(&offset) {
        // ((a + 2) x - (a + 3)) x x + 1
        &[a + 2.0, -(a + 3.0), 0.0, 1.0]
    } else {
        // ((a x - 5 a) x + 8 a) x - 4 a
        &[a, -5.0 * a, 8.0 * a, -4.0 * a]
    };
    let mut steps = [fraction, &distance[..]].concat();
    steps.push(ApplyWith(Op::Mul, float(polynomial[0])));
    for (index, &coefficient) in polynomial[1..].iter().enumerate() {
        if coefficient != 0.0 {
            steps.push(ApplyWith(Op::Add, float(coefficient)));
        }
        if index < 2 {
            steps.push(ApplyWith(Op::Mul, temporary(0)));
        }
    }
    steps
}

pub(super) fn affine_grid(context: &mut Context<'_, '_>, align_corners: bool) -> Result<DeviceTensor, LoweringError> {
    let theta = context.operand(0)?;
    let result = context.output(0)?.shape()?.to_vec();
    let rank = result.len() - 2;
    let sizes = &result[1..=rank];
    let strides = roci_graph::shape::strides(sizes);
    let points: usize = sizes.iter().product();
    let coordinate = |axis: usize, at: usize| {
        let (at, size) = (at as f64, sizes[axis] as f64);
        match align_corners {
            // A single pixel is in the middle.
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
    let base = context.f32_table(&base, [points, rank + 1])?;
    let maps = context.transpose(&theta, &[0, 2, 1])?;
    let product = context.product(&base, &maps, [points, rank, rank + 1])?;
    context.round_to_dtype(DeviceTensor { dtype: theta.dtype, tensor_id: product.tensor_id, shape: result })
}
