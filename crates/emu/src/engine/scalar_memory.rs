//! Scalar loads.

use crate::engine::Machine;
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::step::ScalarMemoryStep;

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn scalar_memory(&mut self, step: &ScalarMemoryStep) -> Result<(), Fault> {
        let offset = self.scalar_offset(step);
        if step.buffer {
            return self.scalar_buffer(step, offset);
        }
        let address = self.wave.pair(step.base).wrapping_add(offset) & !3;
        let size = 4 * u64::from(step.dwords);
        if !self.worker.window.allows(address, size, false) {
            return Err(Fault::Memory { address, size: size as u32, write: false, lane: 0 });
        }
        self.worker.bytes[0] += size;
        for dword in 0..usize::from(step.dwords) {
            // SAFETY: the bytes are readable.
            let value = unsafe { pointer::<u32>(address + 4 * dword as u64).read() };
            self.wave.scalars[usize::from(step.dst) + dword] = value;
        }
        Ok(())
    }

    #[inline(always)]
    fn scalar_offset(&self, step: &ScalarMemoryStep) -> u64 {
        let offset = i64::from(step.offset).cast_unsigned();
        offset.wrapping_add(u64::from(self.scalar_value(step.soffset, false) as u32))
    }

    /// The address of so many bytes; `None` if they are not all inside of the buffer.
    pub(super) fn scalar_address(&self, step: &ScalarMemoryStep, bytes: u64) -> Option<u64> {
        let offset = self.scalar_offset(step);
        if !step.buffer {
            return Some(self.wave.pair(step.base).wrapping_add(offset) & !3);
        }
        let (base, size) = self.scalar_descriptor(step);
        let at = offset & !3;
        (at.checked_add(bytes)? <= size).then_some(base + at)
    }

    /// Base and size of a buffer.
    fn scalar_descriptor(&self, step: &ScalarMemoryStep) -> (u64, u64) {
        let base = self.wave.pair(step.base) & 0xffff_ffff_ffff;
        let stride = u64::from(self.wave.scalars[usize::from(step.base) + 1] >> 16 & 0x3fff);
        let records = u64::from(self.wave.scalars[usize::from(step.base) + 2]);
        (base, if stride == 0 { records } else { stride * records })
    }

    /// A load through a buffer descriptor: words outside the buffer read zero.
    fn scalar_buffer(&mut self, step: &ScalarMemoryStep, offset: u64) -> Result<(), Fault> {
        let (base, size) = self.scalar_descriptor(step);
        for dword in 0..usize::from(step.dwords) {
            let at = (offset & !3).wrapping_add(4 * dword as u64);
            let mut value = 0;
            if at.checked_add(4).is_some_and(|end| end <= size) {
                let address = base + at;
                if !self.worker.window.allows(address, 4, false) {
                    return Err(Fault::Memory { address, size: 4, write: false, lane: 0 });
                }
                // SAFETY: the bytes are readable; the base of a descriptor need not be aligned.
                value = unsafe { pointer::<u32>(address).read_unaligned() };
            }
            self.wave.scalars[usize::from(step.dst) + dword] = value;
        }
        Ok(())
    }
}
