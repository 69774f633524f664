//! Scalar stores and atomics, which only gfx10.1 has.

use crate::engine::Machine;
use crate::engine::atomics::update;
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::step::{Access, ScalarWriteStep};

impl Machine<'_> {
    pub(super) fn scalar_write(&mut self, step: &ScalarWriteStep) -> Result<(), Fault> {
        let data = usize::from(step.place.dst);
        let size = step.access.size();
        // What lies outside of a buffer is not written; whole accesses, as those of vector memory.
        let Some(address) = self.scalar_address(&step.place, size) else {
            if let Access::Atomic { wide, returns: true, .. } = step.access {
                self.wave.scalars[data..][..1 + usize::from(wide)].fill(0);
            }
            return Ok(());
        };
        if !self.worker.window.allows(address, size, true) {
            return Err(Fault::Memory { address, size: size as u32, write: true, lane: 0 });
        }
        self.worker.bytes[1] += size;
        match step.access {
            Access::Store(dwords) => {
                for dword in 0..usize::from(dwords) {
                    // SAFETY: the bytes are writable; the base of a descriptor need not be aligned.
                    unsafe {
                        pointer::<u32>(address + 4 * dword as u64).write_unaligned(self.wave.scalars[data + dword])
                    };
                }
            }
            Access::Atomic { op, wide, returns } => {
                if !address.is_multiple_of(size) {
                    return Err(Fault::Misaligned { address, size: size as u32, lane: 0 });
                }
                let word = |index: usize| u64::from(self.wave.scalars[data + index]);
                let (first, second) = match (wide, op.operands()) {
                    (_, 1) => (word(0) | if wide { word(1) << 32 } else { 0 }, 0),
                    (false, _) => (word(0), word(1)),
                    (true, _) => (word(0) | word(1) << 32, word(2) | word(3) << 32),
                };
                // SAFETY: the bytes are writable, and the address is a multiple of the size.
                let old = unsafe { update(op, wide, address, first, second) };
                if returns {
                    self.wave.scalars[data] = old as u32;
                    if wide {
                        self.wave.scalars[data + 1] = (old >> 32) as u32;
                    }
                }
            }
            Access::Load(_) | Access::LoadSmall { .. } | Access::StoreSmall { .. } => {}
        }
        Ok(())
    }
}
