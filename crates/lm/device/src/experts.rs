//! Mixtures of experts on a device.

use std::collections::BTreeMap;
use std::ops::Range;

use roci_hal::{BufferRange, DeviceInfo};
use roci_kernels::params::LmMoeTopK;
use roci_lm::architecture::blocks::{ExpertScores, GatedFeedForward, Linear, Matrix, Norm, Routing};
use roci_lm::architecture::matrix_scales;

use crate::Error;
use crate::bindings::rows_per_shard;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::native_experts::NativeExperts;
use crate::norms::DeviceNorm;
use crate::pack::{GROUP, format_of};
use crate::weights::{DeviceMatrix, MatrixRows, WeightLoader};

/// The matrices of a mixture of experts, stacked over all experts.
#[derive(Clone)]
pub(crate) struct DeviceExperts {
    pub(crate) router: DeviceLinear,
    /// Norm of the residual stream as the router's input; if `None`, the router reads the block's
    /// input.
    pub(crate) router_norm: Option<DeviceNorm>,
    /// Biases that are added to the weights for the selection only, followed by factors of the
    /// experts' outputs.
    pub(crate) selection_bias: Option<BufferRange>,
    /// Constants of the selection, without those that change per step.
    pub(crate) routing: LmMoeTopK,
    /// Whether weights multiply the inputs of experts instead of their outputs.
    pub(crate) weighted_input: bool,
    /// Whether experts have a gate.
    pub(crate) gated: bool,
    pub(crate) matrices: ExpertMatrices,
    /// Total number of experts.
    pub(crate) count: usize,
    /// Experts per token.
    pub(crate) experts_per_token: usize,
}

/// The matrices of experts.
#[derive(Clone)]
pub(crate) enum ExpertMatrices {
    /// For the WGSL kernels: gate and up rows interleaved.
    Planar { gate_up: Vec<ExpertShard>, down: Vec<ExpertShard> },
    /// For CPU-only kernels: results of gate projections, followed by those of up projections.
    Native { gate_up: Vec<NativeExperts>, down: Vec<NativeExperts> },
}

/// As many rows of every expert's matrix as fit one binding.
#[derive(Clone)]
pub(crate) struct ExpertShard {
    /// These rows of all experts, stacked into a single shard.
    pub(crate) matrix: DeviceMatrix,
    pub(crate) bias: Option<BufferRange>,
    /// Index of the output that the first row of each expert computes.
    pub(crate) first_output: usize,
}

/// Number of rows per expert that fit one binding shared by `interleaved` matrices. The number is
/// even, because 16-bit scales are stored in pairs; it is 0 if two rows do not fit.
pub(crate) fn rows_per_expert(info: &DeviceInfo, row_bytes: usize, experts: usize, interleaved: usize) -> usize {
    rows_per_shard(info, row_bytes) / (experts * interleaved).max(1) / 2 * 2
}

impl LayerBuilder<'_> {
    /// Uploads a mixture of experts. The expert matrices go to the CPU if it computes the experts
    /// of the layer.
    pub(crate) fn experts(
        &mut self,
        router: &Linear,
        experts: &[GatedFeedForward],
        routing: &Routing,
    ) -> Result<DeviceExperts, Error> {
        let gated: Vec<&GatedFeedForward> = experts.iter().collect();
        let router = self.exact_linear(router, 0)?;
        let loader = self.host.as_ref().filter(|_| self.experts_on_host).unwrap_or(&self.loader);
        let scales = down_scales(loader, &gated, routing)?;
        let matrices =
            if loader.native_kernels { loader.native_matrices(&gated)? } else { loader.planar_matrices(&gated)? };
        let mut selection = match &routing.bias {
            Some(bias) => self.loader.host_floats(bias)?,
            None => vec![0.0; experts.len()],
        };
        let is_used = routing.bias.is_some() || scales.is_some();
        let mut constants = routing_constants(routing, experts.len());
        if let Some(scales) = scales {
            constants.flags |= LmMoeTopK::SCALES;
            selection.extend(scales);
        }
        Ok(DeviceExperts {
            router,
            router_norm: self.router_norm(routing)?,
            selection_bias: if is_used { Some(self.loader.padded_floats(selection)?) } else { None },
            routing: constants,
            weighted_input: routing.weighted_input,
            gated: experts.iter().any(|expert| expert.up.is_some()),
            matrices,
            count: experts.len(),
            experts_per_token: routing.experts_per_token,
        })
    }

    /// The norm of the router's input; its weights include the factor of that input.
    fn router_norm(&self, routing: &Routing) -> Result<Option<DeviceNorm>, Error> {
        let Some(Norm { weight: Some(weight), .. }) = &routing.norm else { return Ok(None) };
        let mut weights = self.loader.host_floats(weight)?;
        weights.iter_mut().for_each(|weight| *weight *= routing.input_scale);
        let norm = routing.norm.as_ref().map(|norm| self.norm(norm, weights.len())).transpose()?;
        let weight = self.loader.padded_floats(weights)?;
        Ok(norm.map(|norm| DeviceNorm { weight, ..norm }))
    }
}

impl WeightLoader<'_> {
    fn planar_matrices(&self, experts: &[&GatedFeedForward]) -> Result<ExpertMatrices, Error> {
        Ok(ExpertMatrices::Planar {
            gate_up: self.expert_shards(experts.iter().map(|expert| expert.gate_up().collect()).collect())?,
            down: self.expert_shards(experts.iter().map(|expert| vec![&expert.down]).collect())?,
        })
    }

    /// Uploads projections of all experts, expert by expert, with the projections of an expert
    /// interleaved, in as many shards as the device's bindings require.
    pub(crate) fn expert_shards(&self, linears: Vec<Vec<&Linear>>) -> Result<Vec<ExpertShard>, Error> {
        let count = linears.len();
        let matrices: Vec<&Matrix> = linears.iter().flatten().map(|linear| &linear.matrix).collect();
        let Some(first) = matrices.first() else { return Err(Error::file("a mixture of experts has no experts")) };
        if !self.have_same_type(&matrices)? {
            return Err(Error::file("the experts' matrices have different types"));
        }
        let interleaved = matrices.len() / count.max(1);
        let code_row = format_of(self.kind(first)?).map_or(0, |format| format.code_bytes());
        let row_bytes = first.columns.div_ceil(GROUP) * code_row;
        let rows = first.outputs();
        let step = match matrices.iter().any(|matrix| matrix.blocks.is_some()) {
            true => rows.max(2),
            false => rows_per_expert(self.device.info(), row_bytes, count, interleaved).max(2),
        };
        let mut shards = Vec::new();
        for start in (0..rows).step_by(step) {
            let outputs = start..(start + step).min(rows);
            let parts: Vec<Matrix> = matrices.iter().map(|matrix| part(matrix, &outputs)).collect();
            let rows = MatrixRows::interleaved_by(interleaved, parts.iter().collect());
            let bias = self.expert_biases(&linears, &outputs)?;
            shards.push(ExpertShard { matrix: self.matrix(&rows)?, bias, first_output: start });
        }
        Ok(shards)
    }

    fn native_matrices(&self, experts: &[&GatedFeedForward]) -> Result<ExpertMatrices, Error> {
        let gates: Vec<&Linear> = experts.iter().map(|expert| &expert.gate).collect();
        let ups: Vec<&Linear> = experts.iter().filter_map(|expert| expert.up.as_ref()).collect();
        let downs: Vec<&Linear> = experts.iter().map(|expert| &expert.down).collect();
        let gate_up = if ups.is_empty() { vec![gates] } else { vec![gates, ups] };
        Ok(ExpertMatrices::Native { gate_up: self.native_products(&gate_up)?, down: self.native_products(&[downs])? })
    }

    /// Projections with a common input; each has a matrix per expert.
    pub(crate) fn native_products(&self, projections: &[Vec<&Linear>]) -> Result<Vec<NativeExperts>, Error> {
        let matrices = |linears: &[&Linear]| -> Vec<Vec<Matrix>> {
            vec![linears.iter().map(|linear| linear.matrix.clone()).collect()]
        };
        if projections.iter().flatten().all(|linear| linear.bias.is_none()) {
            let all: Vec<Vec<Matrix>> = projections.iter().flat_map(|linears| matrices(linears)).collect();
            return self.native_experts(&all);
        }
        let mut products = Vec::new();
        let mut offset = 0;
        for linears in projections {
            let each: Vec<Vec<&Linear>> = linears.iter().map(|linear| vec![*linear]).collect();
            let rows = linears.first().map_or(0, |linear| linear.matrix.outputs());
            for product in self.native_experts(&matrices(linears))? {
                let bias = self.expert_biases(&each, &(0..rows))?;
                products.push(NativeExperts { bias, offset, ..product });
            }
            offset += rows;
        }
        Ok(products)
    }

    /// Biases of the outputs in `outputs`, expert by expert, interleaved as the rows of the
    /// expert's matrices are; `None` if no projection has a bias.
    fn expert_biases(
        &self,
        projections: &[Vec<&Linear>],
        outputs: &Range<usize>,
    ) -> Result<Option<BufferRange>, Error> {
        // A tensor has the biases of all experts.
        let mut tensors: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
        for bias in projections.iter().flatten().filter_map(|linear| linear.bias.as_ref()) {
            if !tensors.contains_key(bias.tensor.as_str()) {
                tensors.insert(&bias.tensor, self.host_tensor(&bias.tensor)?);
            }
        }
        if tensors.is_empty() {
            return Ok(None);
        }
        let value = |linear: &Linear, row: usize| match &linear.bias {
            None => Ok(0.0),
            Some(bias) => {
                let value = tensors.get(bias.tensor.as_str()).and_then(|values| values.get(bias.values.start + row));
                value.copied().ok_or_else(|| Error::too_short(&bias.tensor))
            }
        };
        let mut floats = Vec::new();
        for linears in projections {
            for row in outputs.clone() {
                for linear in linears {
                    floats.push(value(linear, row)?);
                }
            }
        }
        self.padded_floats(floats).map(Some)
    }
}

/// The rows of `matrix` that compute these outputs. A matrix with blocks of rows is not split.
fn part(matrix: &Matrix, outputs: &Range<usize>) -> Matrix {
    let mut part = matrix.clone();
    if part.blocks.is_none() {
        part.rows = matrix.rows.start + outputs.start..matrix.rows.start + outputs.end;
    }
    part
}

/// Constants of the expert selection.
fn routing_constants(routing: &Routing, experts: usize) -> LmMoeTopK {
    let flags = [
        (routing.scores == ExpertScores::Sigmoid, LmMoeTopK::SIGMOID),
        (routing.normalized, LmMoeTopK::NORMALIZED),
        (routing.bias.is_some(), LmMoeTopK::BIAS),
    ];
    LmMoeTopK {
        tokens: 0,
        experts: experts as u32,
        used: routing.experts_per_token as u32,
        stride: 0,
        flags: flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
        scale: routing.scale,
        groups: routing.groups.map_or(0, |groups| groups.count as u32),
        groups_used: routing.groups.map_or(0, |groups| groups.used as u32),
    }
}

/// Factors of the experts' down projections, if the expert weights can include them: most matrix
/// types have no factor on devices.
fn down_scales(
    loader: &WeightLoader<'_>,
    experts: &[&GatedFeedForward],
    routing: &Routing,
) -> Result<Option<Vec<f32>>, Error> {
    let applies = |expert: &&&GatedFeedForward| !routing.weighted_input && expert.down.bias.is_none();
    let Some(first) = experts.first().filter(applies) else { return Ok(None) };
    let tensor = &first.down.matrix.tensor;
    if loader.file.expect_tensor(tensor)?.info().kind().has_code_groups() {
        return Ok(None);
    }
    let scales = matrix_scales(loader.file, tensor)?.filter(|scales| scales.len() == experts.len());
    if scales.is_some() {
        loader.ignore_scales(tensor);
    }
    Ok(scales)
}
