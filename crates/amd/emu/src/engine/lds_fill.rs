//! Loads from memory into LDS, one word per lane.

use crate::engine::global::extend;
use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::{AccessKind, LdsFillOp, LdsFillSource};
use crate::row::LANES;
use crate::wave::scalar::M0;

impl Machine<'_> {
    pub(super) fn lds_fill(&mut self, uop: &LdsFillOp) -> Result<(), Fault> {
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec == 0 {
                continue;
            }
            let (access, addresses, inside) = match &uop.source {
                LdsFillSource::Buffer(buffer) => {
                    let descriptor = self.descriptor(buffer.resource);
                    let resolved = self.buffer_addresses(buffer, &descriptor, half);
                    (buffer.access, resolved.addresses, resolved.inside[0])
                }
                LdsFillSource::Global(global) => (global.access, self.global_addresses(global, half), !0),
            };
            let size = access.size();
            self.check(exec & inside, &addresses, size, false)?;
            self.worker.bytes[0] += size * u64::from((exec & inside).count_ones());
            self.worker.lds_bytes[1] += 4 * u64::from(exec.count_ones());
            for lane in lanes_of(exec) {
                // Out-of-bounds bytes read as zero.
                let mut value = 0;
                if inside >> lane & 1 == 1 {
                    for byte in 0..size {
                        // SAFETY: checked above.
                        let part = unsafe { pointer::<u8>(addresses[lane] + byte).read() };
                        value |= u32::from(part) << (8 * byte);
                    }
                }
                if let AccessKind::LoadSmall { bytes, signed, .. } = access {
                    value = extend(value, bytes, signed);
                }
                self.set_lds_word(self.fill_address(uop, half, lane), value);
            }
        }
        Ok(())
    }

    /// LDS address of a lane's word.
    pub(crate) fn fill_address(&self, uop: &LdsFillOp, half: usize, lane: usize) -> u64 {
        let base = self.wave.scalars[usize::from(M0)] & 0xffff;
        u64::from(base.wrapping_add_signed(uop.offset)) + 4 * (half * LANES + lane) as u64
    }
}
