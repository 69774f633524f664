//! Products with the matrices of experts by CPU-only kernels.

use roci_gguf::Type;
use roci_hal::BufferRange;
use roci_kernels::params::{LmExpertsPacked, LmQuantize};

use super::StepRecorder;
use super::linear::ExpertPairs;
use super::state::InputForm;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::native_experts::NativeExperts;
use crate::scratch::RowBuffer;

impl StepRecorder<'_> {
    /// Products with a common input, for each pair of a token and one of its experts.
    pub(super) fn native_expert_products(
        &mut self,
        products: &[NativeExperts],
        x: &RowBuffer,
        y: &RowBuffer,
        ExpertPairs { pairs, sharing, ids, .. }: ExpertPairs<'_>,
    ) -> Result<(), Error> {
        let scratch = self.scratch;
        for product in products {
            let is_float = matches!(product.kind, Type::F32 | Type::F16 | Type::BF16);
            if !is_float && self.state.needs_conversion(InputForm::I8) {
                let constants = LmQuantize {
                    tokens: pairs.div_ceil(sharing) as u32,
                    columns: product.columns as u32,
                    x_stride: x.stride as u32,
                    x_offset: 0,
                };
                self.dispatch(KernelId::QUANTIZE, [1, 1, 1], &[&x.range, &scratch.quantized], &constants)?;
                self.barrier();
                self.state.input_converted(InputForm::I8);
            }
            let flag = |present: bool, flag: u32| if present { flag } else { 0 };
            let constants = LmExpertsPacked {
                rows: product.rows as u32,
                columns: product.columns as u32,
                pairs: pairs as u32,
                experts: product.count as u32,
                sharing: sharing as u32,
                matrices: product.matrices as u32,
                format: product.kind.id(),
                x_stride: x.stride as u32,
                y_stride: y.stride as u32,
                y_offset: product.offset as u32,
                flags: flag(product.in_place, LmExpertsPacked::IN_PLACE)
                    | flag(product.read_ahead, LmExpertsPacked::READ_AHEAD)
                    | flag(product.bias.is_some(), LmExpertsPacked::BIAS)
                    | flag(product.scales.is_some(), LmExpertsPacked::SCALED),
                starts: product.starts,
                steps: product.steps,
            };
            let source = if is_float { &x.range } else { &scratch.quantized };
            let optional = |range: &Option<BufferRange>| range.clone().unwrap_or_else(|| scratch.unused.clone());
            let (bias, scales) = (optional(&product.bias), optional(&product.scales));
            let bindings = [&product.weights, source, ids, &bias, &scales, &y.range];
            self.dispatch(KernelId::EXPERTS_PACKED, [1, 1, 1], &bindings, &constants)?;
        }
        Ok(())
    }
}
