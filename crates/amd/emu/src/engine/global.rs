//! Global memory, and FLAT accesses.

use crate::engine::atomics::update;
use crate::engine::control::aperture;
use crate::engine::gather::gather;
use crate::engine::vector::blend;
use crate::engine::{Machine, first_lane, lanes_of, rows};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::{AccessKind, LANE_ROW, MemoryOp, NO_SCALAR, RegisterHalf};
use crate::row::{LANES, Row};

/// Addresses of the lanes of a half.
pub(crate) type Addresses = [u64; LANES];

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn global(&mut self, uop: &MemoryOp) -> Result<(), Fault> {
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec != 0 {
                let addresses = self.global_addresses(uop, half);
                self.global_access(uop.access, half, exec, &addresses, uop.data, uop.dst)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn global_addresses(&self, uop: &MemoryOp, half: usize) -> Addresses {
        let offset = i64::from(uop.offset).cast_unsigned();
        let mut addresses = [0; LANES];
        if uop.saddr == NO_SCALAR {
            let low = self.wave.row(half, usize::from(uop.addr));
            let high = self.wave.row(half, usize::from(uop.addr) + 1);
            for lane in 0..LANES {
                addresses[lane] = (u64::from(low.get(lane)) | u64::from(high.get(lane)) << 32).wrapping_add(offset);
            }
        } else {
            let base = self.wave.pair(uop.saddr).wrapping_add(offset);
            if uop.addr >= LANE_ROW {
                let first = if uop.addr == LANE_ROW { half * LANES } else { 0 };
                let stride = if uop.addr == LANE_ROW { 4 } else { 0 };
                return std::array::from_fn(|lane| base.wrapping_add(stride * (first + lane) as u64));
            }
            let low = self.wave.row(half, usize::from(uop.addr));
            for lane in 0..LANES {
                addresses[lane] = base.wrapping_add(u64::from(low.get(lane)));
            }
        }
        addresses
    }

    /// Accesses global memory in the lanes of a nonempty mask.
    #[inline(always)]
    pub(super) fn global_access(
        &mut self,
        access: AccessKind,
        half: usize,
        exec: u32,
        addresses: &Addresses,
        data: u16,
        dst: u16,
    ) -> Result<(), Fault> {
        match access {
            AccessKind::Load(dwords) => self.global_load(half, exec, addresses, usize::from(dwords), dst),
            AccessKind::Store(dwords) => self.global_store(half, exec, addresses, usize::from(dwords), data),
            other => self.global_rare(other, half, exec, addresses, data, dst),
        }
    }

    #[inline(never)]
    fn global_rare(
        &mut self,
        access: AccessKind,
        half: usize,
        exec: u32,
        addresses: &Addresses,
        data: u16,
        dst: u16,
    ) -> Result<(), Fault> {
        match access {
            AccessKind::LoadSmall { bytes, signed, half: part } => {
                self.check(exec, addresses, u64::from(bytes), false)?;
                let row = self.wave.row(half, usize::from(dst));
                for lane in lanes_of(exec) {
                    // SAFETY: checked above.
                    let value = unsafe { load_small(addresses[lane], bytes) };
                    row.set(lane, merge_half(row.get(lane), extend(value, bytes, signed), part));
                }
            }
            AccessKind::StoreSmall { bytes, high } => {
                self.check(exec, addresses, u64::from(bytes), true)?;
                let row = self.wave.row(half, usize::from(data));
                for lane in lanes_of(exec) {
                    let value = if high { row.get(lane) >> 16 } else { row.get(lane) };
                    // SAFETY: checked above.
                    unsafe { store_small(addresses[lane], bytes, value) };
                }
            }
            AccessKind::Atomic { op, wide, returns } => {
                let size = if wide { 8 } else { 4 };
                self.check(exec, addresses, size, true)?;
                if let Some(lane) = lanes_of(exec).find(|&lane| !addresses[lane].is_multiple_of(size)) {
                    return Err(Fault::Misaligned { address: addresses[lane], size: size as u32, lane: lane as u32 });
                }
                for lane in lanes_of(exec) {
                    let (first, second) = self.data(half, usize::from(data), lane, wide, op.operands());
                    // SAFETY: checked above.
                    let old = unsafe { update(op, wide, addresses[lane], first, second) };
                    if returns {
                        self.wave.row(half, usize::from(dst)).set(lane, old as u32);
                        if wide {
                            self.wave.row(half, usize::from(dst) + 1).set(lane, (old >> 32) as u32);
                        }
                    }
                }
            }
            AccessKind::Load(_) | AccessKind::Store(_) => {}
        }
        Ok(())
    }

    /// Data of an atomic operation in one lane.
    pub(super) fn data(&self, half: usize, data: usize, lane: usize, wide: bool, operands: usize) -> (u64, u64) {
        let word = |row: usize| u64::from(self.wave.row(half, data + row).get(lane));
        match (wide, operands) {
            (false, 1) => (word(0), 0),
            (false, _) => (word(0), word(1)),
            (true, 1) => (word(0) | word(1) << 32, 0),
            (true, _) => (word(0) | word(1) << 32, word(2) | word(3) << 32),
        }
    }

    #[inline(always)]
    fn global_load(
        &mut self,
        half: usize,
        exec: u32,
        addresses: &Addresses,
        dwords: usize,
        dst: u16,
    ) -> Result<(), Fault> {
        let size = 4 * dwords as u64;
        let pattern = self.pattern(exec, addresses, size, false)?;
        match pattern {
            AddressPattern::Contiguous if dwords == 1 => {
                // SAFETY: 32 consecutive words are readable.
                let values = unsafe { pointer::<[u32; LANES]>(addresses[0]).read_unaligned() };
                self.wave.row(half, usize::from(dst)).assign(&values);
            }
            AddressPattern::Uniform => {
                let address = addresses[first_lane(exec)];
                for dword in 0..dwords {
                    // SAFETY: every active lane's bytes are readable.
                    let value = unsafe { pointer::<u32>(address + 4 * dword as u64).read_unaligned() };
                    self.wave.row(half, usize::from(dst) + dword).assign_masked(exec, &[value; LANES]);
                }
            }
            _ if exec == !0 => {
                let rows = self.wave.rows_from(half, usize::from(dst), dwords);
                // SAFETY: every lane's bytes are readable.
                unsafe { gather(std::ptr::null(), addresses, u64::MAX, &[0], dwords, rows) };
            }
            _ => {
                for dword in 0..dwords {
                    let row = self.wave.row(half, usize::from(dst) + dword);
                    for lane in lanes_of(exec) {
                        // SAFETY: every active lane's bytes are readable.
                        row.set(lane, unsafe { pointer::<u32>(addresses[lane] + 4 * dword as u64).read_unaligned() });
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn global_store(
        &mut self,
        half: usize,
        exec: u32,
        addresses: &Addresses,
        dwords: usize,
        data: u16,
    ) -> Result<(), Fault> {
        let size = 4 * dwords as u64;
        let pattern = self.pattern(exec, addresses, size, true)?;
        if pattern == AddressPattern::Contiguous && dwords == 1 {
            let values = self.wave.row(half, usize::from(data)).array();
            // SAFETY: 32 consecutive words are writable.
            unsafe { pointer::<[u32; LANES]>(addresses[0]).write_unaligned(values) };
        } else {
            for lane in lanes_of(exec) {
                for dword in 0..dwords {
                    let value = self.wave.row(half, usize::from(data) + dword).get(lane);
                    // SAFETY: every active lane's bytes are writable.
                    unsafe { pointer::<u32>(addresses[lane] + 4 * dword as u64).write_unaligned(value) };
                }
            }
        }
        Ok(())
    }

    /// Checks that all active lanes may access their memory, and classifies their addresses.
    #[inline(always)]
    fn pattern(&mut self, exec: u32, addresses: &Addresses, size: u64, write: bool) -> Result<AddressPattern, Fault> {
        self.worker.bytes[usize::from(write)] += size * u64::from(exec.count_ones());
        let first = addresses[first_lane(exec)];
        if exec == !0 {
            let (mut gaps, mut spread) = (0, 0);
            for (lane, &address) in addresses.iter().enumerate() {
                let distance = address.wrapping_sub(first);
                gaps |= distance ^ (4 * lane as u64);
                spread |= distance;
            }
            if gaps == 0 && self.worker.window.allows(first, 4 * (LANES as u64 - 1) + size, write) {
                return Ok(AddressPattern::Contiguous);
            }
            if spread == 0 && self.worker.window.allows(first, size, write) {
                return Ok(AddressPattern::Uniform);
            }
        }
        // Compare as signed integers, which the host does faster. Addresses with the top bit set
        // are never registered.
        let (mut low, mut high) = (first.cast_signed(), first.cast_signed());
        for (lane, &address) in addresses.iter().enumerate() {
            let address = if exec & 1 << lane == 0 { first } else { address };
            low = low.min(address.cast_signed());
            high = high.max(address.cast_signed());
        }
        let extent = high.wrapping_sub(low).cast_unsigned();
        if low < 0 || !self.worker.window.allows(low.cast_unsigned(), extent.wrapping_add(size), write) {
            self.check(exec, addresses, size, write)?;
        }
        Ok(if extent == 0 { AddressPattern::Uniform } else { AddressPattern::Scattered })
    }

    /// Whether every active lane may access its memory.
    #[inline(never)]
    pub(super) fn check(&mut self, exec: u32, addresses: &Addresses, size: u64, write: bool) -> Result<(), Fault> {
        for lane in lanes_of(exec) {
            let address = addresses[lane];
            if !self.worker.window.allows(address, size, write) {
                return Err(Fault::Memory { address, size: size as u32, write, lane: lane as u32 });
            }
        }
        Ok(())
    }

    /// A FLAT access: each lane's address selects the memory.
    pub(super) fn flat(&mut self, uop: &MemoryOp) -> Result<(), Fault> {
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec == 0 {
                continue;
            }
            let addresses = self.global_addresses(uop, half);
            let in_aperture = |aperture: u32| {
                lanes_of(exec)
                    .filter(|&lane| (addresses[lane] >> 32) as u32 == aperture)
                    .fold(0, |mask, lane| mask | 1 << lane)
            };
            let (shared, private) = (in_aperture(aperture::SHARED), in_aperture(aperture::PRIVATE));
            let global = exec & !shared & !private;
            if global != 0 {
                self.global_access(uop.access, half, global, &addresses, uop.data, uop.dst)?;
            }
            let mut offsets = [0; LANES];
            for (offset, address) in offsets.iter_mut().zip(addresses) {
                *offset = address as u32;
            }
            if shared != 0 {
                self.lds_flat(uop.access, half, shared, &offsets, uop.data, uop.dst);
            }
            if private != 0 {
                self.scratch_access(uop.access, half, private, &offsets, uop.data, uop.dst)?;
            }
        }
        Ok(())
    }

    /// Fills a temporary row, then merges it in the lanes of a mask.
    pub(super) fn write_lanes(&self, half: usize, dst: usize, mask: u32, fill: impl FnOnce(&Row)) {
        let row = &self.worker.rows[rows::RESULTS];
        fill(row);
        blend(self.wave.row(half, dst), row, mask);
    }
}

/// Address pattern of the active lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressPattern {
    /// All lanes are active and access consecutive words.
    Contiguous,
    /// All lanes access the same address.
    Uniform,
    /// Any other pattern.
    Scattered,
}

/// Loads one or two bytes.
///
/// # Safety
/// The bytes are readable.
pub(super) unsafe fn load_small(address: u64, bytes: u8) -> u32 {
    if bytes == 1 {
        // SAFETY: readable by contract.
        return u32::from(unsafe { pointer::<u8>(address).read() });
    }
    // SAFETY: readable by contract.
    u32::from(unsafe { pointer::<u16>(address).read_unaligned() })
}

/// Stores one or two bytes.
///
/// # Safety
/// The bytes are writable.
pub(super) unsafe fn store_small(address: u64, bytes: u8, value: u32) {
    if bytes == 1 {
        // SAFETY: writable by contract.
        return unsafe { pointer::<u8>(address).write(value as u8) };
    }
    // SAFETY: writable by contract.
    unsafe { pointer::<u16>(address).write_unaligned(value as u16) };
}

/// Extends one or two bytes to a word.
pub(crate) fn extend(value: u32, bytes: u8, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, true) => i32::from(value as i8).cast_unsigned(),
        (2, true) => i32::from(value as i16).cast_unsigned(),
        _ => value,
    }
}

/// Merges a small value into a register.
pub(crate) fn merge_half(old: u32, value: u32, half: RegisterHalf) -> u32 {
    match half {
        RegisterHalf::Both => value,
        RegisterHalf::Low => old & 0xffff_0000 | value & 0xffff,
        RegisterHalf::High => old & 0xffff | value << 16,
    }
}
