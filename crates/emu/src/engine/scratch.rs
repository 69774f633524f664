//! Private memory: each lane's words interleaved with those of the other lanes.

use crate::engine::global::{extend, place};
use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::step::{Access, MemoryStep, NO_ROW, NO_SCALAR};
use crate::row::LANES;

impl Machine<'_> {
    pub(super) fn scratch(&mut self, step: &MemoryStep) -> Result<(), Fault> {
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec != 0 {
                let offsets = self.scratch_offsets(step, half);
                self.scratch_access(step.access, half, exec, &offsets, step.data, step.dst)?;
            }
        }
        Ok(())
    }

    /// The offsets into private memory of the lanes of a half.
    pub(crate) fn scratch_offsets(&self, step: &MemoryStep, half: usize) -> [u32; LANES] {
        let scalar = if step.saddr == NO_SCALAR { 0 } else { self.wave.scalars[usize::from(step.saddr)] };
        let base = scalar.wrapping_add_signed(step.offset);
        let mut offsets = [base; LANES];
        if step.addr != NO_ROW {
            let row = self.wave.row(half, usize::from(step.addr));
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = base.wrapping_add(row.get(lane));
            }
        }
        offsets
    }

    /// Accesses private memory at offsets.
    pub(super) fn scratch_access(
        &mut self,
        access: Access,
        half: usize,
        exec: u32,
        offsets: &[u32; LANES],
        data: u16,
        dst: u16,
    ) -> Result<(), Fault> {
        let (data, dst) = (usize::from(data), usize::from(dst));
        for lane in lanes_of(exec) {
            let row = |register: usize| self.wave.row(half, register);
            let offset = u64::from(offsets[lane]);
            match access {
                Access::Load(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        let value = self.private_word(half, lane, offset + 4 * dword as u64)?;
                        row(dst + dword).set(lane, value);
                    }
                }
                Access::LoadSmall { bytes, signed, half: part } => {
                    let mut value = 0;
                    for byte in 0..bytes {
                        let address = self.private(half, lane, offset + u64::from(byte), 1)?;
                        // SAFETY: `private` has checked it.
                        value |= u32::from(unsafe { pointer::<u8>(address).read() }) << (8 * byte);
                    }
                    row(dst).set(lane, place(row(dst).get(lane), extend(value, bytes, signed), part));
                }
                Access::Store(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        self.set_private_word(half, lane, offset + 4 * dword as u64, row(data + dword).get(lane))?;
                    }
                }
                Access::StoreSmall { bytes, high } => {
                    let value = if high { row(data).get(lane) >> 16 } else { row(data).get(lane) };
                    for byte in 0..bytes {
                        let address = self.private(half, lane, offset + u64::from(byte), 1)?;
                        // SAFETY: `private` has checked it.
                        unsafe { pointer::<u8>(address).write((value >> (8 * byte)) as u8) };
                    }
                }
                Access::Atomic { op, wide, returns } => {
                    let low = self.private_word(half, lane, offset)?;
                    let high = if wide { self.private_word(half, lane, offset + 4)? } else { 0 };
                    let old = u64::from(low) | u64::from(high) << 32;
                    let (first, second) = self.data(half, data, lane, wide, op.operands());
                    let new = op.apply(wide, old, first, second);
                    self.set_private_word(half, lane, offset, new as u32)?;
                    if wide {
                        self.set_private_word(half, lane, offset + 4, (new >> 32) as u32)?;
                    }
                    if returns {
                        row(dst).set(lane, low);
                        if wide {
                            row(dst + 1).set(lane, high);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A word of a lane's private memory, which need not be aligned.
    fn private_word(&self, half: usize, lane: usize, offset: u64) -> Result<u32, Fault> {
        if offset.is_multiple_of(4) {
            let address = self.private(half, lane, offset, 4)?;
            // SAFETY: `private` has checked it.
            return Ok(unsafe { pointer::<u32>(address).read() });
        }
        let mut value = 0;
        for byte in 0..4 {
            let address = self.private(half, lane, offset + byte, 1)?;
            // SAFETY: `private` has checked it.
            value |= u32::from(unsafe { pointer::<u8>(address).read() }) << (8 * byte);
        }
        Ok(value)
    }

    fn set_private_word(&self, half: usize, lane: usize, offset: u64, value: u32) -> Result<(), Fault> {
        if offset.is_multiple_of(4) {
            let address = self.private(half, lane, offset, 4)?;
            // SAFETY: `private` has checked it.
            unsafe { pointer::<u32>(address).write(value) };
            return Ok(());
        }
        for byte in 0..4 {
            let address = self.private(half, lane, offset + byte, 1)?;
            // SAFETY: `private` has checked it.
            unsafe { pointer::<u8>(address).write((value >> (8 * byte)) as u8) };
        }
        Ok(())
    }

    /// The address of bytes of a lane's private memory that lie within one word.
    pub(crate) fn private(&self, half: usize, lane: usize, offset: u64, size: u64) -> Result<u64, Fault> {
        let allocated = self.wave.scratch_per_lane;
        if offset + size > u64::from(allocated) {
            return Err(Fault::Scratch { offset, lane: (LANES * half + lane) as u32, allocated });
        }
        let lanes = (self.wave.halves * LANES) as u64;
        Ok(self.wave.scratch + offset / 4 * 4 * lanes + 4 * (LANES * half + lane) as u64 + offset % 4)
    }
}
