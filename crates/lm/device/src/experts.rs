//! Mixtures of experts on a device.

use std::collections::BTreeMap;

use roci_hal::BufferRange;
use roci_kernels::params::LmMoeTopK;
use roci_lm::architecture::blocks::{ExpertScores, GatedFeedForward, Linear, Norm, Routing};
use roci_lm::architecture::matrix_scales;

use crate::Error;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::weights::{DeviceMatrix, MatrixRows};

/// The matrices of a mixture of experts, stacked over all experts.
#[derive(Clone)]
pub(crate) struct DeviceExperts {
    pub(crate) router: DeviceLinear,
    /// Norm of the residual stream as the input of the router; `None` for the input of the block.
    pub(crate) router_norm: Option<DeviceNorm>,
    /// Added to the weights for the choice alone; then factors of the experts' outputs.
    pub(crate) selection_bias: Option<BufferRange>,
    /// Constants of the choice, without those of a step.
    pub(crate) routing: LmMoeTopK,
    /// Whether weights multiply the inputs of experts instead of their outputs.
    pub(crate) weighted_input: bool,
    /// Gate and up rows, interleaved.
    pub(crate) gate_up: DeviceMatrix,
    pub(crate) gate_up_bias: Option<BufferRange>,
    pub(crate) down: DeviceMatrix,
    pub(crate) down_bias: Option<BufferRange>,
    /// Total number of experts.
    pub(crate) count: usize,
    /// Experts per token.
    pub(crate) experts_per_token: usize,
}

impl LayerBuilder<'_> {
    pub(crate) fn experts(
        &mut self,
        router: &Linear,
        experts: &[GatedFeedForward],
        routing: &Routing,
    ) -> Result<DeviceExperts, Error> {
        let gated: Vec<&GatedFeedForward> = experts.iter().collect();
        let router = self.linear(router, 0)?;
        let scales = self.down_scales(&gated, routing)?;
        // CPU-only kernels do not support experts: the WGSL kernels' layout is used.
        let native_kernels = std::mem::replace(&mut self.loader.native_kernels, false);
        let matrices = self.expert_gate_up(&gated).and_then(|gate_up| {
            let downs: Vec<_> = gated.iter().map(|gated| &gated.down.matrix).collect();
            let downs = MatrixRows::stacked(downs);
            let downs = if scales.is_some() { downs.without_scales() } else { downs };
            Ok((gate_up, self.loader.matrix(&downs)?))
        });
        self.loader.native_kernels = native_kernels;
        let (gate_up, down) = matrices?;
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
            gate_up,
            gate_up_bias: self.expert_biases(&gated, |expert| expert.gate_up().collect())?,
            down,
            down_bias: self.expert_biases(&gated, |expert| vec![&expert.down])?,
            count: experts.len(),
            experts_per_token: routing.experts_per_token,
        })
    }

    /// The norm of the router's input, with the factor of that input.
    fn router_norm(&self, routing: &Routing) -> Result<Option<DeviceNorm>, Error> {
        let Some(Norm { weight: Some(weight), .. }) = &routing.norm else { return Ok(None) };
        let mut weights = self.loader.host_floats(weight)?;
        weights.iter_mut().for_each(|weight| *weight *= routing.input_scale);
        let norm = routing.norm.as_ref().map(|norm| self.norm(norm, weights.len())).transpose()?;
        let weight = self.loader.padded_floats(weights)?;
        Ok(norm.map(|norm| DeviceNorm { weight, ..norm }))
    }

    /// Factors of the experts' down projections, if the weights of the experts take them over:
    /// most types of matrices have no factor on devices.
    fn down_scales(&self, experts: &[&GatedFeedForward], routing: &Routing) -> Result<Option<Vec<f32>>, Error> {
        let applies = |expert: &&&GatedFeedForward| !routing.weighted_input && expert.down.bias.is_none();
        let Some(first) = experts.first().filter(applies) else { return Ok(None) };
        let tensor = &first.down.matrix.tensor;
        if self.loader.file.expect_tensor(tensor)?.info().kind().has_code_groups() {
            return Ok(None);
        }
        Ok(matrix_scales(self.loader.file, tensor)?.filter(|scales| scales.len() == experts.len()))
    }

    /// Gate and up projections of all experts: interleaved, one expert after the other.
    fn expert_gate_up(&self, experts: &[&GatedFeedForward]) -> Result<DeviceMatrix, Error> {
        let linears = experts.iter().copied().flat_map(GatedFeedForward::gate_up);
        let matrices: Vec<_> = linears.map(|linear| &linear.matrix).collect();
        if !self.loader.have_same_type(&matrices)? {
            return Err(Error::file("the experts' matrices have different types"));
        }
        self.loader.matrix(&MatrixRows::interleaved(experts))
    }

    /// The biases of some projections of all experts, those of an expert interleaved as the rows of
    /// their matrices are; `None` if no projection has any.
    fn expert_biases<'e>(
        &self,
        experts: &[&'e GatedFeedForward],
        projections: impl Fn(&'e GatedFeedForward) -> Vec<&'e Linear>,
    ) -> Result<Option<BufferRange>, Error> {
        let projections: Vec<Vec<&Linear>> = experts.iter().map(|expert| projections(expert)).collect();
        // A tensor has the biases of all experts.
        let mut tensors: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
        for bias in projections.iter().flatten().filter_map(|linear| linear.bias.as_ref()) {
            if !tensors.contains_key(bias.tensor.as_str()) {
                tensors.insert(&bias.tensor, self.loader.host_tensor(&bias.tensor)?);
            }
        }
        if tensors.is_empty() {
            return Ok(None);
        }
        let value = |linear: &Linear, row: usize| match &linear.bias {
            None => Ok(0.0),
            Some(bias) => {
                let value = tensors.get(bias.tensor.as_str()).and_then(|values| values.get(bias.values.start + row));
                value.copied().ok_or_else(|| Error::file(format!("`{}` is too short", bias.tensor)))
            }
        };
        let mut floats = Vec::new();
        for linears in &projections {
            let rows = linears.first().map_or(0, |linear| linear.matrix.outputs());
            for row in 0..rows {
                for linear in linears {
                    floats.push(value(linear, row)?);
                }
            }
        }
        self.loader.padded_floats(floats).map(Some)
    }
}

/// The constants of the choice of experts.
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
