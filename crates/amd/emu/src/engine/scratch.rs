//! Private memory: the words of the lanes are interleaved.

use crate::engine::global::{extend, merge_half};
use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::{AccessKind, MemoryOp, NO_ROW, NO_SCALAR};
use crate::row::LANES;

impl Machine<'_> {
    pub(super) fn scratch(&mut self, uop: &MemoryOp) -> Result<(), Fault> {
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec != 0 {
                let offsets = self.scratch_offsets(uop, half);
                self.scratch_access(uop.access, half, exec, &offsets, uop.data, uop.dst)?;
            }
        }
        Ok(())
    }

    /// Offsets of the lanes of a half in their private memory.
    pub(crate) fn scratch_offsets(&self, uop: &MemoryOp, half: usize) -> [u32; LANES] {
        let scalar = if uop.saddr == NO_SCALAR { 0 } else { self.wave.scalars[usize::from(uop.saddr)] };
        let base = scalar.wrapping_add_signed(uop.offset);
        let mut offsets = [base; LANES];
        if uop.addr != NO_ROW {
            let row = self.wave.row(half, usize::from(uop.addr));
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = base.wrapping_add(row.get(lane));
            }
        }
        offsets
    }

    /// Accesses private memory at per-lane offsets.
    pub(super) fn scratch_access(
        &mut self,
        access: AccessKind,
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
                AccessKind::Load(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        let value = self.private_word(half, lane, offset + 4 * dword as u64)?;
                        row(dst + dword).set(lane, value);
                    }
                }
                AccessKind::LoadSmall { bytes, signed, half: part } => {
                    let mut value = 0;
                    for byte in 0..bytes {
                        let address = self.private(half, lane, offset + u64::from(byte), 1)?;
                        // SAFETY: `private` has checked the access.
                        value |= u32::from(unsafe { pointer::<u8>(address).read() }) << (8 * byte);
                    }
                    row(dst).set(lane, merge_half(row(dst).get(lane), extend(value, bytes, signed), part));
                }
                AccessKind::Store(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        self.set_private_word(half, lane, offset + 4 * dword as u64, row(data + dword).get(lane))?;
                    }
                }
                AccessKind::StoreSmall { bytes, high } => {
                    let value = if high { row(data).get(lane) >> 16 } else { row(data).get(lane) };
                    for byte in 0..bytes {
                        let address = self.private(half, lane, offset + u64::from(byte), 1)?;
                        // SAFETY: `private` has checked the access.
                        unsafe { pointer::<u8>(address).write((value >> (8 * byte)) as u8) };
                    }
                }
                AccessKind::Atomic { op, wide, returns } => {
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

    /// Reads a word, which may be misaligned, from a lane's private memory.
    fn private_word(&self, half: usize, lane: usize, offset: u64) -> Result<u32, Fault> {
        if offset.is_multiple_of(4) {
            let address = self.private(half, lane, offset, 4)?;
            // SAFETY: `private` has checked the access.
            return Ok(unsafe { pointer::<u32>(address).read() });
        }
        let mut value = 0;
        for byte in 0..4 {
            let address = self.private(half, lane, offset + byte, 1)?;
            // SAFETY: `private` has checked the access.
            value |= u32::from(unsafe { pointer::<u8>(address).read() }) << (8 * byte);
        }
        Ok(value)
    }

    fn set_private_word(&self, half: usize, lane: usize, offset: u64, value: u32) -> Result<(), Fault> {
        if offset.is_multiple_of(4) {
            let address = self.private(half, lane, offset, 4)?;
            // SAFETY: `private` has checked the access.
            unsafe { pointer::<u32>(address).write(value) };
            return Ok(());
        }
        for byte in 0..4 {
            let address = self.private(half, lane, offset + byte, 1)?;
            // SAFETY: `private` has checked the access.
            unsafe { pointer::<u8>(address).write((value >> (8 * byte)) as u8) };
        }
        Ok(())
    }

    /// Host address of bytes within one word of a lane's private memory.
    pub(crate) fn private(&self, half: usize, lane: usize, offset: u64, size: u64) -> Result<u64, Fault> {
        let allocated = self.wave.scratch_per_lane;
        if offset + size > u64::from(allocated) {
            return Err(Fault::Scratch { offset, lane: (LANES * half + lane) as u32, allocated });
        }
        let lanes = (self.wave.halves * LANES) as u64;
        Ok(self.wave.scratch + offset / 4 * 4 * lanes + 4 * (LANES * half + lane) as u64 + offset % 4)
    }
}
