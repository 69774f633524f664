//! PM4 packets, which clients execute from an indirect buffer by a vendor packet: runtimes flush
//! caches with them, profilers read clocks. Packets that move data or order it are emulated;
//! packets that program the hardware are errors.

#![expect(unsafe_code, reason = "PM4 packets access memory by address")]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use roci_emu::{ALIAS, Memory};
use roci_hsa::abi::Status;

use crate::packet_error::PacketError;

/// Maximum nesting of indirect buffers.
const MAX_DEPTH: u32 = 4;
/// Maximum size of an indirect buffer in words; also the mask of its size field.
const MAX_WORDS: u32 = (1 << 20) - 1;

/// Opcodes as in the headers of the open drivers.
mod opcode {
    pub(super) const NOP: u32 = 0x10;
    pub(super) const WRITE_DATA: u32 = 0x37;
    pub(super) const WAIT_REG_MEM: u32 = 0x3c;
    pub(super) const INDIRECT_BUFFER: u32 = 0x3f;
    pub(super) const COPY_DATA: u32 = 0x40;
    pub(super) const PFP_SYNC_ME: u32 = 0x42;
    pub(super) const EVENT_WRITE: u32 = 0x46;
    pub(super) const RELEASE_MEM: u32 = 0x49;
    pub(super) const ACQUIRE_MEM: u32 = 0x58;
    pub(super) const WAIT_REG_MEM64: u32 = 0x93;
}

/// Waits until a condition holds; an error if the queue stops before.
type WaitUntil<'a> = dyn Fn(&dyn Fn() -> bool) -> Result<(), PacketError> + 'a;

/// Executes PM4 packets for a queue.
pub(crate) struct Pm4<'a> {
    pub(crate) memory: &'a Memory,
    /// GPU clock.
    pub(crate) clock: &'a dyn Fn() -> u64,
    pub(crate) wait_until: &'a WaitUntil<'a>,
}

impl Pm4<'_> {
    /// Executes packets, which usually are one `INDIRECT_BUFFER` that jumps to the others.
    pub(crate) fn execute(&self, packets: &[u32]) -> Result<(), PacketError> {
        self.run(packets, 0)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn run(&self, packets: &[u32], depth: u32) -> Result<(), PacketError> {
        let mut rest = packets;
        while let Some((&header, after)) = rest.split_first() {
            // Type 2: a filler word.
            if header >> 30 == 2 {
                rest = after;
                continue;
            }
            if header >> 30 != 3 {
                return Err(invalid(format!("{header:#010x} is not a packet header")));
            }
            let words = (header >> 16 & 0x3fff) as usize + 1;
            let opcode = header >> 8 & 0xff;
            // A NOP with the maximum count is one word long.
            if opcode == opcode::NOP && words == 0x4000 {
                rest = after;
                continue;
            }
            let Some((body, next)) = after.split_at_checked(words) else {
                return Err(invalid(format!("packet {opcode:#04x} exceeds its buffer")));
            };
            self.packet(opcode, body, depth)?;
            rest = next;
        }
        Ok(())
    }

    fn packet(&self, opcode: u32, body: &[u32], depth: u32) -> Result<(), PacketError> {
        match (opcode, body) {
            (opcode::NOP | opcode::PFP_SYNC_ME, _) => Ok(()),
            // No caches to flush, and packets execute in order. An `EVENT_WRITE` of one word has no
            // address to write to.
            (opcode::ACQUIRE_MEM, _) | (opcode::EVENT_WRITE, [_]) => Ok(()),
            (opcode::INDIRECT_BUFFER, &[low, high, size, ..]) if depth < MAX_DEPTH => {
                let words = size & MAX_WORDS;
                let packets = self.words(address(low & !3, high & 0xffff), words)?;
                self.run(&packets, depth + 1)
            }
            (opcode::WRITE_DATA, [control, low, high, data @ ..]) => self.write_data(*control, [*low, *high], data),
            (opcode::COPY_DATA, &[control, source_low, source_high, target_low, target_high]) => {
                self.copy_data(control, [source_low, source_high], [target_low, target_high])
            }
            (opcode::RELEASE_MEM, &[_, select, low, high, data_low, data_high, ..]) => {
                let value = u64::from(data_high) << 32 | u64::from(data_low);
                let target = address(low, high);
                match select >> 29 {
                    0 => Ok(()),
                    1 => self.store(target & !3, &[data_low]),
                    2 => self.store_wide(target & !7, value),
                    3 => self.store_wide(target & !7, (self.clock)()),
                    other => Err(invalid(format!("RELEASE_MEM with DATA_SEL {other} is not emulated"))),
                }
            }
            (opcode::WAIT_REG_MEM, &[control, low, high, reference, mask, _]) => {
                let polled = self.poll_address(control, address(low & !3, high), 4)?;
                self.wait(control, reference.into(), mask.into(), &|| self.load(polled).into())
            }
            (opcode::WAIT_REG_MEM64, &[control, low, high, low_ref, high_ref, low_mask, high_mask, _]) => {
                let polled = self.poll_address(control, address(low & !7, high), 8)?;
                let [reference, mask] = [address(low_ref, high_ref), address(low_mask, high_mask)];
                self.wait(control, reference, mask, &|| {
                    u64::from(self.load(polled + 4)) << 32 | u64::from(self.load(polled))
                })
            }
            _ => Err(invalid(format!("packet {opcode:#04x} with {} words is not emulated", body.len()))),
        }
    }

    fn write_data(&self, control: u32, target: [u32; 2], data: &[u32]) -> Result<(), PacketError> {
        let select = control >> 8 & 0xf;
        if !matches!(select, 1 | 2 | 5) {
            return Err(invalid(format!("WRITE_DATA with DST_SEL {select} is not emulated")));
        }
        let target = address(target[0] & !3, target[1]);
        if control >> 16 & 1 == 0 {
            return self.store(target, data);
        }
        // ADDR_INCR is off: all words go to one address, and the last one stays.
        data.last().map_or(Ok(()), |word| self.store(target, &[*word]))
    }

    fn copy_data(&self, control: u32, source: [u32; 2], target: [u32; 2]) -> Result<(), PacketError> {
        let wide = control >> 16 & 1 == 1;
        let value = match control & 0xf {
            1 | 2 => {
                let words = self.words(address(source[0] & !3, source[1]), if wide { 2 } else { 1 })?;
                u64::from(words.get(1).copied().unwrap_or(0)) << 32 | u64::from(words[0])
            }
            5 => address(source[0], source[1]),
            9 => (self.clock)(),
            other => return Err(invalid(format!("COPY_DATA with SRC_SEL {other} is not emulated"))),
        };
        if !matches!(control >> 8 & 0xf, 1 | 2 | 5) {
            return Err(invalid(format!("COPY_DATA with DST_SEL {} is not emulated", control >> 8 & 0xf)));
        }
        let target = address(target[0] & !3, target[1]);
        if wide { self.store_wide(target, value) } else { self.store(target, &[value as u32]) }
    }

    /// Checks the address that a wait polls, which must be in memory.
    fn poll_address(&self, control: u32, address: u64, bytes: u64) -> Result<u64, PacketError> {
        if control >> 4 & 3 != 1 {
            return Err(invalid("WAIT_REG_MEM on a register is not emulated".to_owned()));
        }
        self.check(address, bytes, false)?;
        Ok(address)
    }

    fn wait(&self, control: u32, reference: u64, mask: u64, load: &dyn Fn() -> u64) -> Result<(), PacketError> {
        let holds = |value: u64| match control & 7 {
            0 => true,
            1 => value < reference,
            2 => value <= reference,
            3 => value == reference,
            4 => value != reference,
            5 => value >= reference,
            6 => value > reference,
            _ => false,
        };
        (self.wait_until)(&|| holds(load() & mask))
    }

    /// Reads words; an error if the GPU has no read access.
    fn words(&self, start: u64, count: u32) -> Result<Vec<u32>, PacketError> {
        self.check(start, u64::from(count) * 4, false)?;
        Ok((0..u64::from(count)).map(|word| self.load(start + 4 * word)).collect())
    }

    fn store(&self, start: u64, words: &[u32]) -> Result<(), PacketError> {
        self.check(start, words.len() as u64 * 4, true)?;
        for (index, word) in (0..).zip(words) {
            word_at(start + 4 * index).store(*word, Ordering::SeqCst);
        }
        Ok(())
    }

    fn store_wide(&self, start: u64, value: u64) -> Result<(), PacketError> {
        self.store(start, &[value as u32, (value >> 32) as u32])
    }

    /// Reads a word at an address that [`Pm4::check`] has accepted.
    fn load(&self, address: u64) -> u32 {
        word_at(address).load(Ordering::SeqCst)
    }

    fn check(&self, start: u64, bytes: u64, write: bool) -> Result<(), PacketError> {
        let range: Range<u64> = start..start.saturating_add(bytes);
        if range.is_empty() || self.memory.allows(range, write) {
            return Ok(());
        }
        let verb = if write { "write" } else { "read" };
        let message = format!("PM4: memory fault: {verb} of {bytes} bytes at {start:#x}");
        Err(PacketError { status: Status::ERROR_MEMORY_FAULT, message, fault: Some((start, write)) })
    }
}

/// Combines two words.
fn address(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The word at an address that [`Pm4::check`] has accepted.
fn word_at<'a>(address: u64) -> &'a AtomicU32 {
    let pointer = std::ptr::with_exposed_provenance_mut((address & !ALIAS) as usize);
    // SAFETY: callers mask the address to 4 bytes, and `check` found it registered with the GPU,
    // which keeps it mapped.
    unsafe { AtomicU32::from_ptr(pointer) }
}

fn invalid(reason: String) -> PacketError {
    PacketError::new(Status::ERROR_INVALID_PACKET_FORMAT, format!("PM4: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roci_emu::Access;

    use super::*;

    fn header(opcode: u32, words: u32) -> u32 {
        3 << 30 | (words - 1) << 16 | opcode << 8
    }

    /// Allocates a 64-word buffer, executes the packets that `packets` builds for its address, and
    /// returns the buffer's contents.
    fn run(packets: impl FnOnce(u64) -> Vec<u32>) -> Result<Vec<u32>, (Status, String)> {
        let memory = Arc::new(Memory::new());
        let words = memory.allocate(256, Access::ReadWrite);
        let start = words.address();
        let wait_until = |ready: &dyn Fn() -> bool| {
            assert!(ready(), "the wait would not end");
            Ok(())
        };
        let pm4 = Pm4 { memory: &memory, clock: &|| 0x1_0000_0007, wait_until: &wait_until };
        pm4.execute(&packets(start)).map_err(|error| (error.status, error.message))?;
        Ok(words.bytes().as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    #[test]
    fn memory_packets_write_copy_and_wait() {
        let words = run(|at| {
            let [low, high] = [at as u32, (at >> 32) as u32];
            let mut packets = vec![2 << 30, header(opcode::NOP, 0x4000), header(opcode::NOP, 2), 7, 7];
            packets.extend([header(opcode::WRITE_DATA, 5), 5 << 8, low, high, 11, 12]);
            packets.extend([header(opcode::COPY_DATA, 5), 1 | 5 << 8 | 1 << 16, low, high, low + 8, high]);
            packets.extend([header(opcode::COPY_DATA, 5), 9 | 5 << 8 | 1 << 16, 0, 0, low + 16, high]);
            packets.extend([header(opcode::WAIT_REG_MEM, 6), 3 | 1 << 4, low, high, 11, 0xff, 4]);
            packets.extend([header(opcode::ACQUIRE_MEM, 7), 0, 0, 0, 0, 0, 0, 0]);
            packets.extend([header(opcode::RELEASE_MEM, 7), 0, 2 << 29, low + 24, high, 5, 6, 0]);
            packets.extend([header(opcode::EVENT_WRITE, 1), 4 << 8 | 7]);
            packets
        });
        assert_eq!(words.expect("all is well formed")[..8], [11, 12, 11, 12, 7, 1, 5, 6]);
    }

    #[test]
    fn unsupported_and_malformed_packets_are_errors() {
        let dispatch = run(|_| vec![header(0x15, 4), 1, 1, 1, 1]).expect_err("a dispatch");
        assert_eq!(dispatch.0, Status::ERROR_INVALID_PACKET_FORMAT);
        assert!(dispatch.1.contains("0x15"), "{}", dispatch.1);
        for wrong in [vec![1], vec![header(opcode::NOP, 5), 1], vec![header(opcode::WRITE_DATA, 4), 0, 0, 0, 1]] {
            assert_eq!(run(|_| wrong).expect_err("malformed").0, Status::ERROR_INVALID_PACKET_FORMAT);
        }
        // A buffer that jumps to itself exceeds the nesting limit.
        let endless = run(|at| {
            let jump = [header(opcode::INDIRECT_BUFFER, 3), at as u32, (at >> 32) as u32, 4];
            let mut packets = vec![header(opcode::WRITE_DATA, 7), 5 << 8, at as u32, (at >> 32) as u32];
            packets.extend(jump);
            packets.extend(jump);
            packets
        });
        assert_eq!(endless.expect_err("nested too deeply").0, Status::ERROR_INVALID_PACKET_FORMAT);
    }

    #[test]
    fn unregistered_memory_is_a_memory_fault() {
        let fault = run(|at| vec![header(opcode::WRITE_DATA, 4), 5 << 8, at as u32 - 64, (at >> 32) as u32, 1]);
        assert_eq!(fault.expect_err("outside of the allocation").0, Status::ERROR_MEMORY_FAULT);
    }
}
