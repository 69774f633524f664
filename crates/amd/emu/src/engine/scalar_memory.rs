//! Scalar loads.

use crate::engine::Machine;
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::ScalarMemoryOp;

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn scalar_memory(&mut self, uop: &ScalarMemoryOp) -> Result<(), Fault> {
        let offset = self.scalar_offset(uop);
        if uop.buffer {
            return self.scalar_buffer(uop, offset);
        }
        let address = self.wave.pair(uop.base).wrapping_add(offset) & !3;
        let size = 4 * u64::from(uop.dwords);
        if !self.worker.window.allows(address, size, false) {
            return Err(Fault::Memory { address, size: size as u32, write: false, lane: 0 });
        }
        self.worker.bytes[0] += size;
        for dword in 0..usize::from(uop.dwords) {
            // SAFETY: the bytes are readable.
            let value = unsafe { pointer::<u32>(address + 4 * dword as u64).read() };
            self.wave.scalars[usize::from(uop.dst) + dword] = value;
        }
        Ok(())
    }

    #[inline(always)]
    fn scalar_offset(&self, uop: &ScalarMemoryOp) -> u64 {
        let offset = i64::from(uop.offset).cast_unsigned();
        offset.wrapping_add(u64::from(self.scalar_value(uop.soffset, false) as u32))
    }

    /// The address of an access of `bytes` bytes; `None` if a buffer access is not entirely in
    /// bounds.
    pub(super) fn scalar_address(&self, uop: &ScalarMemoryOp, bytes: u64) -> Option<u64> {
        let offset = self.scalar_offset(uop);
        if !uop.buffer {
            return Some(self.wave.pair(uop.base).wrapping_add(offset) & !3);
        }
        let (base, size) = self.scalar_descriptor(uop);
        let at = offset & !3;
        (at.checked_add(bytes)? <= size).then_some(base + at)
    }

    /// Base address and size of a buffer.
    fn scalar_descriptor(&self, uop: &ScalarMemoryOp) -> (u64, u64) {
        let base = self.wave.pair(uop.base) & 0xffff_ffff_ffff;
        let stride = u64::from(self.wave.scalars[usize::from(uop.base) + 1] >> 16 & 0x3fff);
        let records = u64::from(self.wave.scalars[usize::from(uop.base) + 2]);
        (base, if stride == 0 { records } else { stride * records })
    }

    /// A load through a buffer descriptor. Out-of-bounds words read as zero.
    fn scalar_buffer(&mut self, uop: &ScalarMemoryOp, offset: u64) -> Result<(), Fault> {
        let (base, size) = self.scalar_descriptor(uop);
        for dword in 0..usize::from(uop.dwords) {
            let at = (offset & !3).wrapping_add(4 * dword as u64);
            let mut value = 0;
            if at.checked_add(4).is_some_and(|end| end <= size) {
                let address = base + at;
                if !self.worker.window.allows(address, 4, false) {
                    return Err(Fault::Memory { address, size: 4, write: false, lane: 0 });
                }
                // SAFETY: the bytes are readable; the base of a descriptor may be misaligned.
                value = unsafe { pointer::<u32>(address).read_unaligned() };
            }
            self.wave.scalars[usize::from(uop.dst) + dword] = value;
        }
        Ok(())
    }
}
