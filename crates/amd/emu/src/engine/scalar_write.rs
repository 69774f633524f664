//! Scalar stores and atomics (gfx10.1 only).

use crate::engine::Machine;
use crate::engine::atomics::update;
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::{AccessKind, ScalarWriteOp};

impl Machine<'_> {
    pub(super) fn scalar_write(&mut self, uop: &ScalarWriteOp) -> Result<(), Fault> {
        let data = usize::from(uop.operands.dst);
        let size = uop.access.size();
        // Out-of-bounds stores are dropped as a whole, like those of vector memory.
        let Some(address) = self.scalar_address(&uop.operands, size) else {
            if let AccessKind::Atomic { wide, returns: true, .. } = uop.access {
                self.wave.scalars[data..][..1 + usize::from(wide)].fill(0);
            }
            return Ok(());
        };
        if !self.worker.window.allows(address, size, true) {
            return Err(Fault::Memory { address, size: size as u32, write: true, lane: 0 });
        }
        self.worker.bytes[1] += size;
        match uop.access {
            AccessKind::Store(dwords) => {
                for dword in 0..usize::from(dwords) {
                    // SAFETY: the bytes are writable; the base of a descriptor may be misaligned.
                    unsafe {
                        pointer::<u32>(address + 4 * dword as u64).write_unaligned(self.wave.scalars[data + dword])
                    };
                }
            }
            AccessKind::Atomic { op, wide, returns } => {
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
            AccessKind::Load(_) | AccessKind::LoadSmall { .. } | AccessKind::StoreSmall { .. } => {}
        }
        Ok(())
    }
}
