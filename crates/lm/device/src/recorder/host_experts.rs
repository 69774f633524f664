//! MoE blocks that the CPU computes: they end one segment of a step and start the next.

use roci_hal::CommandBuffer;
use roci_kernels::params::{LmMoeCombine, Params as _};

use super::StepRecorder;
use crate::Error;
use crate::experts::DeviceExperts;
use crate::host_experts::HostSegment;
use crate::kernel_id::KernelId;
use crate::layer::{DeviceActivation, DeviceFeedForward};
use crate::scratch::RowBuffer;

impl StepRecorder<'_> {
    /// Sends the selected experts of each token to the CPU, and adds their outputs to `target` or
    /// overwrites it. Also records the shared expert, but does not add its output.
    pub(super) fn host_experts(
        &mut self,
        block: &DeviceFeedForward,
        experts: &DeviceExperts,
        rows: &RowBuffer,
        (target, add): (&RowBuffer, u32),
    ) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let Some(host) = &mut self.host else { return Err(Error::file("the CPU has experts without a CPU device")) };
        let exchange = host.exchange.clone();
        let commands = host.record(shape, experts, (block.activation, block.width))?;
        let (bytes, pairs) = (rows.bytes(shape.tokens), 4 * (shape.tokens * experts.experts_per_token) as u64);
        self.commands.copy(rows.range.range(0, bytes)?, exchange.outbox.range(0, bytes)?)?;
        let outbox = |offset: u64| exchange.outbox.range(offset, pairs);
        self.commands.copy(scratch.expert_ids.range(0, pairs)?, outbox(exchange.ids)?)?;
        self.commands.copy(scratch.expert_weights.range(0, pairs)?, outbox(exchange.weights)?)?;
        let before = self.cut()?;
        let beside = match &block.shared {
            None => None,
            Some(shared) => {
                let input = self.own_input(shared.norm.as_ref(), rows)?;
                self.shared_expert(shared, &input, block.activation)?;
                Some(self.cut()?)
            }
        };
        let experts_per_token = experts.experts_per_token;
        self.segments.push(HostSegment { before, beside, experts: commands, experts_per_token });

        let outputs = &scratch.expert_outputs;
        self.commands.copy(exchange.inbox.range(0, bytes)?, outputs.range.range(0, bytes)?)?;
        self.barrier();
        let combine = LmMoeCombine {
            tokens: shape.tokens as u32,
            columns: scratch.embedding as u32,
            used: 1,
            x_stride: outputs.stride as u32,
            y_stride: target.stride as u32,
            add,
            sharing: 1,
        };
        let bindings = [&outputs.range, &scratch.ones, &target.range];
        self.dispatch(KernelId::MOE_COMBINE, combine.grid(), &bindings, &combine)?;
        self.barrier();
        Ok(())
    }

    /// Records only the experts of a block, from [`normed`](crate::scratch::Scratch::normed) to
    /// [`residual`](crate::scratch::Scratch::residual).
    pub(crate) fn record_experts(
        mut self,
        experts: &DeviceExperts,
        activation: (DeviceActivation, usize),
    ) -> Result<CommandBuffer, Error> {
        let scratch = self.scratch;
        self.routed_experts(experts, activation, &scratch.normed, (&scratch.residual, 0))?;
        Ok(self.commands.finish()?)
    }

    /// Finishes the commands recorded so far and starts new ones.
    fn cut(&mut self) -> Result<CommandBuffer, Error> {
        Ok(std::mem::replace(&mut self.commands, self.device.record()).finish()?)
    }
}
