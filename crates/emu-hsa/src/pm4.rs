//! Commands in the packet processor's own language (PM4), which clients run from memory by a vendor packet: runtimes flush
//! caches with them, and profilers read clocks. What only moves data or orders it is done; what drives the hardware is refused.

#![expect(unsafe_code, reason = "commands name memory by its addresses")]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use roci_emu::{ALIAS, Memory};
use roci_hsa::abi::Status;

use crate::processor::Failure;

/// How deep buffers of commands may be nested.
const DEPTH: u32 = 4;
/// The most words of one buffer, which is what its field holds.
const MOST_WORDS: u32 = (1 << 20) - 1;

/// Operations, by the numbers that the headers of the open drivers have.
mod operation {
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

/// Waits until something is so, or fails if the queue ends before.
type Until<'a> = dyn Fn(&dyn Fn() -> bool) -> Result<(), Failure> + 'a;

/// What commands need of their queue.
pub(crate) struct Machine<'a> {
    pub(crate) memory: &'a Memory,
    /// The GPU's clock.
    pub(crate) clock: &'a dyn Fn() -> u64,
    /// How to wait.
    pub(crate) until: &'a Until<'a>,
}

impl Machine<'_> {
    /// Runs the commands that one command jumps to.
    pub(crate) fn jump(&self, command: &[u32]) -> Result<(), Failure> {
        self.run(command, 0)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn run(&self, commands: &[u32], depth: u32) -> Result<(), Failure> {
        let mut rest = commands;
        while let Some((&head, after)) = rest.split_first() {
            // One word that only fills.
            if head >> 30 == 2 {
                rest = after;
                continue;
            }
            if head >> 30 != 3 {
                return Err(refused(format!("{head:#010x} is no command")));
            }
            let words = (head >> 16 & 0x3fff) as usize + 1;
            let operation = head >> 8 & 0xff;
            // The largest count of a command that does nothing means that it is this word alone.
            if operation == operation::NOP && words == 0x4000 {
                rest = after;
                continue;
            }
            let Some((body, next)) = after.split_at_checked(words) else {
                return Err(refused(format!("command {operation:#04x} leaves its buffer")));
            };
            self.command(operation, body, depth)?;
            rest = next;
        }
        Ok(())
    }

    fn command(&self, operation: u32, body: &[u32], depth: u32) -> Result<(), Failure> {
        match (operation, body) {
            (operation::NOP | operation::PFP_SYNC_ME, _) => Ok(()),
            // There are no caches, and one command ends before the next begins. A short event has no address to write to.
            (operation::ACQUIRE_MEM, _) | (operation::EVENT_WRITE, [_]) => Ok(()),
            (operation::INDIRECT_BUFFER, &[low, high, size, ..]) if depth < DEPTH => {
                let words = size & MOST_WORDS;
                let commands = self.words(address(low & !3, high & 0xffff), words)?;
                self.run(&commands, depth + 1)
            }
            (operation::WRITE_DATA, [control, low, high, data @ ..]) => self.write_data(*control, [*low, *high], data),
            (operation::COPY_DATA, &[control, source_low, source_high, target_low, target_high]) => {
                self.copy_data(control, [source_low, source_high], [target_low, target_high])
            }
            (operation::RELEASE_MEM, &[_, select, low, high, data_low, data_high, ..]) => {
                let value = u64::from(data_high) << 32 | u64::from(data_low);
                let place = address(low, high);
                match select >> 29 {
                    0 => Ok(()),
                    1 => self.store(place & !3, &[data_low]),
                    2 => self.store_wide(place & !7, value),
                    3 => self.store_wide(place & !7, (self.clock)()),
                    other => Err(refused(format!("RELEASE_MEM with data {other}"))),
                }
            }
            (operation::WAIT_REG_MEM, &[control, low, high, reference, mask, _]) => {
                let place = self.watched(control, address(low & !3, high), 4)?;
                self.wait(control, reference.into(), mask.into(), &|| self.load(place).into())
            }
            (operation::WAIT_REG_MEM64, &[control, low, high, low_ref, high_ref, low_mask, high_mask, _]) => {
                let place = self.watched(control, address(low & !7, high), 8)?;
                let [reference, mask] = [address(low_ref, high_ref), address(low_mask, high_mask)];
                self.wait(control, reference, mask, &|| {
                    u64::from(self.load(place + 4)) << 32 | u64::from(self.load(place))
                })
            }
            _ => Err(refused(format!("command {operation:#04x} with {} words is not emulated", body.len()))),
        }
    }

    fn write_data(&self, control: u32, place: [u32; 2], data: &[u32]) -> Result<(), Failure> {
        let target = control >> 8 & 0xf;
        if !matches!(target, 1 | 2 | 5) {
            return Err(refused(format!("WRITE_DATA to {target}, which is not memory")));
        }
        let place = address(place[0] & !3, place[1]);
        if control >> 16 & 1 == 0 {
            return self.store(place, data);
        }
        // All to one place: the last one stays.
        data.last().map_or(Ok(()), |word| self.store(place, &[*word]))
    }

    fn copy_data(&self, control: u32, source: [u32; 2], target: [u32; 2]) -> Result<(), Failure> {
        let wide = control >> 16 & 1 == 1;
        let value = match control & 0xf {
            1 | 2 => {
                let words = self.words(address(source[0] & !3, source[1]), if wide { 2 } else { 1 })?;
                u64::from(words.get(1).copied().unwrap_or(0)) << 32 | u64::from(words[0])
            }
            5 => address(source[0], source[1]),
            9 => (self.clock)(),
            other => return Err(refused(format!("COPY_DATA from {other}, which is no memory, number or clock"))),
        };
        if !matches!(control >> 8 & 0xf, 1 | 2 | 5) {
            return Err(refused(format!("COPY_DATA to {}, which is not memory", control >> 8 & 0xf)));
        }
        let place = address(target[0] & !3, target[1]);
        if wide { self.store(place, &[value as u32, (value >> 32) as u32]) } else { self.store(place, &[value as u32]) }
    }

    /// Where a command may look again and again: in memory, not in registers.
    fn watched(&self, control: u32, place: u64, bytes: u64) -> Result<u64, Failure> {
        if control >> 4 & 3 != 1 {
            return Err(refused("a wait for a register".to_owned()));
        }
        self.check(place, bytes, false)?;
        Ok(place)
    }

    fn wait(&self, control: u32, reference: u64, mask: u64, load: &dyn Fn() -> u64) -> Result<(), Failure> {
        let holds = |held: u64| match control & 7 {
            0 => true,
            1 => held < reference,
            2 => held <= reference,
            3 => held == reference,
            4 => held != reference,
            5 => held >= reference,
            6 => held > reference,
            _ => false,
        };
        (self.until)(&|| holds(load() & mask))
    }

    /// Words of memory that the GPU may read.
    fn words(&self, start: u64, count: u32) -> Result<Vec<u32>, Failure> {
        self.check(start, u64::from(count) * 4, false)?;
        Ok((0..u64::from(count)).map(|word| self.load(start + 4 * word)).collect())
    }

    fn store(&self, start: u64, words: &[u32]) -> Result<(), Failure> {
        self.check(start, words.len() as u64 * 4, true)?;
        for (index, word) in (0..).zip(words) {
            cell(start + 4 * index).store(*word, Ordering::SeqCst);
        }
        Ok(())
    }

    fn store_wide(&self, start: u64, value: u64) -> Result<(), Failure> {
        self.store(start, &[value as u32, (value >> 32) as u32])
    }

    /// What is at an address that was checked.
    fn load(&self, address: u64) -> u32 {
        cell(address).load(Ordering::SeqCst)
    }

    fn check(&self, start: u64, bytes: u64, write: bool) -> Result<(), Failure> {
        let range: Range<u64> = start..start.saturating_add(bytes);
        if range.is_empty() || self.memory.allows(range, write) {
            return Ok(());
        }
        let verb = if write { "write" } else { "read" };
        let text = format!("a command of the packet processor: {verb} of {bytes} bytes at {start:#x}");
        Err(Failure { status: Status::ERROR_MEMORY_FAULT, text, fault: Some((start, write)) })
    }
}

/// Two words as one number.
fn address(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// A word of memory that was checked.
fn cell<'a>(address: u64) -> &'a AtomicU32 {
    let pointer = std::ptr::with_exposed_provenance_mut((address & !ALIAS) as usize);
    // SAFETY: aligned, since commands have no other addresses, and live: the GPU may touch it.
    unsafe { AtomicU32::from_ptr(pointer) }
}

fn refused(what: String) -> Failure {
    Failure::new(Status::ERROR_INVALID_PACKET_FORMAT, format!("commands of the packet processor: {what}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roci_emu::Access;

    use super::*;

    fn head(operation: u32, words: u32) -> u32 {
        3 << 30 | (words - 1) << 16 | operation << 8
    }

    /// Runs commands with memory of 64 words: what is there afterwards.
    fn run(commands: impl FnOnce(u64) -> Vec<u32>) -> Result<Vec<u32>, (Status, String)> {
        let memory = Arc::new(Memory::new());
        let words = memory.allocate(256, Access::ReadWrite);
        let start = words.address();
        let until = |ready: &dyn Fn() -> bool| {
            assert!(ready(), "it would wait for ever");
            Ok(())
        };
        let machine = Machine { memory: &memory, clock: &|| 0x1_0000_0007, until: &until };
        machine.jump(&commands(start)).map_err(|failure| (failure.status, failure.text))?;
        Ok(words.bytes().as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    #[test]
    fn data_is_written_copied_and_waited_for() {
        let words = run(|at| {
            let [low, high] = [at as u32, (at >> 32) as u32];
            let mut commands = vec![2 << 30, head(operation::NOP, 0x4000), head(operation::NOP, 2), 7, 7];
            commands.extend([head(operation::WRITE_DATA, 5), 5 << 8, low, high, 11, 12]);
            commands.extend([head(operation::COPY_DATA, 5), 1 | 5 << 8 | 1 << 16, low, high, low + 8, high]);
            commands.extend([head(operation::COPY_DATA, 5), 9 | 5 << 8 | 1 << 16, 0, 0, low + 16, high]);
            commands.extend([head(operation::WAIT_REG_MEM, 6), 3 | 1 << 4, low, high, 11, 0xff, 4]);
            commands.extend([head(operation::ACQUIRE_MEM, 7), 0, 0, 0, 0, 0, 0, 0]);
            commands.extend([head(operation::RELEASE_MEM, 7), 0, 2 << 29, low + 24, high, 5, 6, 0]);
            commands.extend([head(operation::EVENT_WRITE, 1), 4 << 8 | 7]);
            commands
        });
        assert_eq!(words.expect("all is well formed")[..8], [11, 12, 11, 12, 7, 1, 5, 6]);
    }

    #[test]
    fn what_drives_the_hardware_is_refused() {
        let dispatch = run(|_| vec![head(0x15, 4), 1, 1, 1, 1]).expect_err("a dispatch");
        assert_eq!(dispatch.0, Status::ERROR_INVALID_PACKET_FORMAT);
        assert!(dispatch.1.contains("0x15"), "{}", dispatch.1);
        for wrong in [vec![1], vec![head(operation::NOP, 5), 1], vec![head(operation::WRITE_DATA, 4), 0, 0, 0, 1]] {
            assert_eq!(run(|_| wrong).expect_err("it is wrong").0, Status::ERROR_INVALID_PACKET_FORMAT);
        }
        // A buffer that jumps to itself ends.
        let endless = run(|at| {
            let jump = [head(operation::INDIRECT_BUFFER, 3), at as u32, (at >> 32) as u32, 4];
            let mut commands = vec![head(operation::WRITE_DATA, 7), 5 << 8, at as u32, (at >> 32) as u32];
            commands.extend(jump);
            commands.extend(jump);
            commands
        });
        assert_eq!(endless.expect_err("it has no end").0, Status::ERROR_INVALID_PACKET_FORMAT);
    }

    #[test]
    fn memory_that_is_not_the_gpus_is_a_fault() {
        let fault = run(|at| vec![head(operation::WRITE_DATA, 4), 5 << 8, at as u32 - 64, (at >> 32) as u32, 1]);
        assert_eq!(fault.expect_err("it is outside").0, Status::ERROR_MEMORY_FAULT);
    }
}
