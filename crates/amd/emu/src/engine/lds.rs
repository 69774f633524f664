//! LDS. Reads past the end return zero, writes past the end are dropped.

use crate::engine::gather::gather;
use crate::engine::global::{extend, merge_half};
use crate::engine::{Machine, lanes_of};
use crate::program::micro_op::{AccessKind, LdsOp, LdsOpKind};
use crate::row::{LANES, Row};
use crate::wave::scalar::M0;

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn lds_access(&mut self, uop: &LdsOp) {
        if let LdsOpKind::Count { add } = uop.kind {
            return self.lds_count(uop, add);
        }
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec == 0 {
                continue;
            }
            match uop.kind {
                LdsOpKind::One(AccessKind::Load(dwords)) => {
                    self.lds_load(half, exec, uop.addr, &uop.offsets[..1], usize::from(dwords), uop.dst);
                }
                LdsOpKind::Load2 { wide } => {
                    self.lds_load(half, exec, uop.addr, &uop.offsets, 1 + usize::from(wide), uop.dst);
                }
                LdsOpKind::One(AccessKind::Store(dwords)) => {
                    self.lds_store(half, exec, uop.addr, uop.offsets[0], usize::from(dwords), uop.data[0]);
                }
                LdsOpKind::Store2 { wide } => {
                    let dwords = 1 + usize::from(wide);
                    self.lds_store(half, exec, uop.addr, uop.offsets[0], dwords, uop.data[0]);
                    self.lds_store(half, exec, uop.addr, uop.offsets[1], dwords, uop.data[1]);
                }
                _ => self.lds_rare(uop, half, exec),
            }
        }
    }

    /// Loads from one or two offsets. Addresses are read before results are written, because the
    /// registers may be the same.
    #[inline(always)]
    fn lds_load(&mut self, half: usize, exec: u32, addr: u16, offsets: &[u32], dwords: usize, dst: u16) {
        let addresses = self.wave.row(half, usize::from(addr)).array();
        self.worker.lds_bytes[0] += (4 * dwords * offsets.len()) as u64 * u64::from(exec.count_ones());
        let farthest = offsets[0].max(offsets[offsets.len() - 1]);
        let limit = (self.lds.len() as u64).checked_sub(u64::from(farthest) + 4 * dwords as u64);
        if let Some(limit) = limit.filter(|_| exec == !0) {
            let extra_offsets = [offsets[0] as usize, offsets[offsets.len() - 1] as usize];
            let rows = self.wave.rows_from(half, usize::from(dst), dwords * offsets.len());
            // SAFETY: up to the limit all words are inside LDS.
            if unsafe { gather(self.lds.as_ptr(), &addresses, limit, &extra_offsets[..offsets.len()], dwords, rows) } {
                return;
            }
        }
        for lane in lanes_of(exec) {
            for (index, &offset) in offsets.iter().enumerate() {
                for dword in 0..dwords {
                    let value = self.lds_word(moved(addresses[lane], offset) + 4 * dword as u64);
                    self.wave.row(half, usize::from(dst) + index * dwords + dword).set(lane, value);
                }
            }
        }
    }

    #[inline(always)]
    fn lds_store(&mut self, half: usize, exec: u32, addr: u16, offset: u32, dwords: usize, data: u16) {
        self.worker.lds_bytes[1] += 4 * dwords as u64 * u64::from(exec.count_ones());
        let addresses = self.wave.row(half, usize::from(addr)).array();
        let inside = highest(&addresses) + u64::from(offset) + 4 * dwords as u64 <= self.lds.len() as u64;
        if exec == !0 && inside {
            for dword in 0..dwords {
                let base = self.lds.as_mut_ptr().wrapping_add(offset as usize + 4 * dword);
                let row = self.wave.row(half, usize::from(data) + dword);
                for (lane, &address) in addresses.iter().enumerate() {
                    // SAFETY: the highest address is inside LDS with all of its bytes.
                    unsafe { base.wrapping_add(address as usize).cast::<u32>().write_unaligned(row.get(lane)) };
                }
            }
            return;
        }
        for lane in lanes_of(exec) {
            for dword in 0..dwords {
                let value = self.wave.row(half, usize::from(data) + dword).get(lane);
                self.set_lds_word(moved(addresses[lane], offset) + 4 * dword as u64, value);
            }
        }
    }

    #[inline(always)]
    fn lds_word(&self, address: u64) -> u32 {
        let at = address as usize;
        self.lds.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    #[inline(always)]
    pub(super) fn set_lds_word(&mut self, address: u64, value: u32) {
        if let Some(bytes) = self.lds.get_mut(address as usize..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = value.to_le_bytes();
        }
    }

    #[inline(never)]
    fn lds_rare(&mut self, uop: &LdsOp, half: usize, exec: u32) {
        match uop.kind {
            LdsOpKind::One(access) => {
                let mut addresses = self.wave.row(half, usize::from(uop.addr)).array();
                for address in &mut addresses {
                    *address = address.wrapping_add(uop.offsets[0]);
                }
                self.lds_small(access, half, exec, &addresses, uop);
            }
            LdsOpKind::Exchange2 { wide } => self.lds_exchange(uop, half, exec, wide),
            LdsOpKind::LoadThread => {
                for lane in lanes_of(exec) {
                    let value = self.lds_word(self.thread_address(uop, half, lane));
                    self.wave.row(half, usize::from(uop.dst)).set(lane, value);
                }
            }
            LdsOpKind::StoreThread => {
                for lane in lanes_of(exec) {
                    let value = self.wave.row(half, usize::from(uop.data[0])).get(lane);
                    self.set_lds_word(self.thread_address(uop, half, lane), value);
                }
            }
            LdsOpKind::Swizzle(pattern) => self.swizzle(uop, half, exec, pattern),
            LdsOpKind::Permute => self.permute(uop, half, exec),
            LdsOpKind::BackPermute => self.back_permute(uop, half, exec),
            LdsOpKind::Count { .. } => {}
            LdsOpKind::Load2 { .. } | LdsOpKind::Store2 { .. } => {}
        }
    }

    /// `ds_append` and `ds_consume`: executed once per wave; all lanes get the old count.
    #[cold]
    fn lds_count(&mut self, uop: &LdsOp, add: bool) {
        let base = self.wave.scalars[usize::from(M0)] >> 16;
        let address = u64::from(base) + u64::from(uop.offsets[0]);
        let old = self.lds_word(address);
        let count = self.wave.exec64().count_ones();
        self.set_lds_word(address, if add { old.wrapping_add(count) } else { old.wrapping_sub(count) });
        for half in 0..self.wave.halves {
            self.wave.row(half, usize::from(uop.dst)).assign_masked(self.wave.exec(half), &[old; LANES]);
        }
    }

    pub(crate) fn thread_address(&self, uop: &LdsOp, half: usize, lane: usize) -> u64 {
        let base = self.wave.scalars[usize::from(M0)] & 0xffff;
        u64::from(base) + u64::from(uop.offsets[0]) + 4 * (half * LANES + lane) as u64
    }

    /// A FLAT access that addresses LDS.
    pub(super) fn lds_flat(
        &mut self,
        access: AccessKind,
        half: usize,
        exec: u32,
        offsets: &[u32; LANES],
        data: u16,
        dst: u16,
    ) {
        // The comparand follows the data.
        let wide = matches!(access, AccessKind::Atomic { wide: true, .. });
        let second = data.saturating_add(1 + u16::from(wide));
        let uop = LdsOp { kind: LdsOpKind::One(access), addr: 0, data: [data, second], dst, offsets: [0; 2] };
        self.lds_small(access, half, exec, offsets, &uop);
    }

    fn lds_small(&mut self, access: AccessKind, half: usize, exec: u32, addresses: &[u32; LANES], uop: &LdsOp) {
        let (data, dst) = (usize::from(uop.data[0]), usize::from(uop.dst));
        for lane in lanes_of(exec) {
            let address = u64::from(addresses[lane]);
            match access {
                AccessKind::Load(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        let value = self.lds_word(address + 4 * dword as u64);
                        self.wave.row(half, dst + dword).set(lane, value);
                    }
                }
                AccessKind::Store(dwords) => {
                    for dword in 0..usize::from(dwords) {
                        let value = self.wave.row(half, data + dword).get(lane);
                        self.set_lds_word(address + 4 * dword as u64, value);
                    }
                }
                AccessKind::LoadSmall { bytes, signed, half: part } => {
                    let from = address as usize;
                    let mut value = 0;
                    if let Some(source) = self.lds.get(from..from + usize::from(bytes)) {
                        value = source.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
                    }
                    let row = self.wave.row(half, dst);
                    row.set(lane, merge_half(row.get(lane), extend(value, bytes, signed), part));
                }
                AccessKind::StoreSmall { bytes, high } => {
                    let value = self.wave.row(half, data).get(lane) >> if high { 16 } else { 0 };
                    let to = address as usize;
                    if let Some(target) = self.lds.get_mut(to..to + usize::from(bytes)) {
                        target.copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
                    }
                }
                AccessKind::Atomic { op, wide, returns } => {
                    let (first, second) = self.lds_data(uop, half, lane, wide);
                    let old = self.lds_value(address, wide);
                    self.set_lds_value(address, wide, op.apply(wide, old, first, second));
                    if returns {
                        self.wave.row(half, dst).set(lane, old as u32);
                        if wide {
                            self.wave.row(half, dst + 1).set(lane, (old >> 32) as u32);
                        }
                    }
                }
            }
        }
    }

    fn lds_data(&self, uop: &LdsOp, half: usize, lane: usize, wide: bool) -> (u64, u64) {
        let datum = |first: u16| {
            let word = |row: usize| {
                let index = usize::from(first) + row;
                if index < self.wave.registers { u64::from(self.wave.row(half, index).get(lane)) } else { 0 }
            };
            if wide { word(0) | word(1) << 32 } else { word(0) }
        };
        (datum(uop.data[0]), datum(uop.data[1]))
    }

    fn lds_value(&self, address: u64, wide: bool) -> u64 {
        let high = if wide { self.lds_word(address + 4) } else { 0 };
        u64::from(self.lds_word(address)) | u64::from(high) << 32
    }

    fn set_lds_value(&mut self, address: u64, wide: bool, value: u64) {
        self.set_lds_word(address, value as u32);
        if wide {
            self.set_lds_word(address + 4, (value >> 32) as u32);
        }
    }

    fn lds_exchange(&mut self, uop: &LdsOp, half: usize, exec: u32, wide: bool) {
        let addresses = self.wave.row(half, usize::from(uop.addr)).array();
        for lane in lanes_of(exec) {
            let data = [0, 1].map(|which| {
                let uop = LdsOp { data: [uop.data[which]; 2], ..*uop };
                self.lds_data(&uop, half, lane, wide).0
            });
            for which in 0..2 {
                let address = moved(addresses[lane], uop.offsets[which]);
                let old = self.lds_value(address, wide);
                self.set_lds_value(address, wide, data[which]);
                let dst = usize::from(uop.dst) + which * (1 + usize::from(wide));
                self.wave.row(half, dst).set(lane, old as u32);
                if wide {
                    self.wave.row(half, dst + 1).set(lane, (old >> 32) as u32);
                }
            }
        }
    }

    /// `ds_swizzle_b32`: each lane reads another lane of its group; inactive source lanes give
    /// zero.
    fn swizzle(&self, uop: &LdsOp, half: usize, exec: u32, pattern: u16) {
        let from = self.wave.row(half, usize::from(uop.addr)).array();
        self.write_lanes(half, usize::from(uop.dst), exec, |row: &Row| {
            for lane in 0..LANES {
                let other = swizzle_source(pattern, lane);
                row.set(lane, if exec >> other & 1 == 1 { from[other] } else { 0 });
            }
        });
    }

    /// `ds_permute_b32`: each lane sends to another one; if several send to the same lane, the
    /// highest sender wins.
    fn permute(&self, uop: &LdsOp, half: usize, exec: u32) {
        let addresses = self.wave.row(half, usize::from(uop.addr)).array();
        let data = self.wave.row(half, usize::from(uop.data[0])).array();
        let mut values = [0; LANES];
        for lane in lanes_of(exec) {
            values[addresses[lane].wrapping_add(uop.offsets[0]) as usize / 4 % LANES] = data[lane];
        }
        self.write_lanes(half, usize::from(uop.dst), exec, |row: &Row| row.assign(&values));
    }

    /// `ds_bpermute_b32`: each lane reads another one; inactive source lanes give zero.
    fn back_permute(&self, uop: &LdsOp, half: usize, exec: u32) {
        let addresses = self.wave.row(half, usize::from(uop.addr)).array();
        let data = self.wave.row(half, usize::from(uop.data[0])).array();
        self.write_lanes(half, usize::from(uop.dst), exec, |row: &Row| {
            for (lane, address) in addresses.iter().enumerate() {
                let other = address.wrapping_add(uop.offsets[0]) as usize / 4 % LANES;
                row.set(lane, if exec >> other & 1 == 1 { data[other] } else { 0 });
            }
        });
    }
}

/// Source lane of `ds_swizzle_b32`.
pub(crate) fn swizzle_source(pattern: u16, lane: usize) -> usize {
    let [low, middle, high] = [0, 5, 10].map(|shift| usize::from(pattern >> shift & 31));
    match pattern {
        // FFT mode: bit-reversed, except for the bits of the mask.
        0xe000.. => (lane as u8).reverse_bits() as usize >> (3 + low.count_ones()) | lane & low,
        // Rotate mode: left or right, except for the bits of the mask.
        0xc000.. => {
            let by = if high & 1 == 0 { middle } else { LANES - middle };
            ((lane + by) % LANES) & !low | lane & low
        }
        // Quad permute mode.
        0x8000.. => lane & !3 | usize::from(pattern >> (2 * (lane & 3)) & 3),
        _ => (lane & low | middle) ^ high,
    }
}

/// Address plus instruction offset. The sum is 32 bits wide, so that a negative index wraps back
/// into range.
pub(crate) fn moved(address: u32, offset: u32) -> u64 {
    u64::from(address.wrapping_add(offset))
}

/// Highest address of all lanes, including inactive ones.
#[inline(always)]
fn highest(addresses: &[u32; LANES]) -> u64 {
    let mut highest = 0;
    for &address in addresses {
        highest = highest.max(address);
    }
    u64::from(highest)
}
