//! Runs a code object on an emulated chip.

use std::sync::atomic::AtomicBool;

use roci_codeobj::CodeObject;
use roci_emu::{Access, Allocation, Chip, Counts, Dispatch, Emulator, Error, Module};

/// A loaded code object.
pub(crate) struct Device {
    pub(crate) emulator: Emulator,
    pub(crate) module: Module,
}

impl Device {
    pub(crate) fn load(chip: Chip, bytes: &[u8]) -> Result<Self, String> {
        let emulator = Emulator::new(chip).with_threads(1);
        let object = CodeObject::parse(bytes).map_err(|error| error.to_string())?;
        let module = emulator.load(&object).map_err(|error| error.to_string())?;
        Ok(Self { emulator, module })
    }

    /// Device memory with these words.
    pub(crate) fn words(&self, words: &[u32]) -> Allocation {
        let mut allocation = self.emulator.memory().allocate(4 * words.len(), Access::ReadWrite);
        for (bytes, word) in allocation.bytes_mut().chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        allocation
    }

    /// Runs a kernel with words as arguments.
    pub(crate) fn run(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[u64],
    ) -> Result<Counts, Error> {
        self.run_until(kernel, grid, block, arguments, &AtomicBool::new(false))
    }

    /// The same, until a stop flag is set.
    pub(crate) fn run_until(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[u64],
        stop: &AtomicBool,
    ) -> Result<Counts, Error> {
        let kernel = self.module.kernel(kernel)?;
        // Hidden arguments follow. These kernels don't need them, so zeros are fine.
        let words: Vec<u32> = arguments.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
        let arguments = self.words(&[&words[..], &[0; 96]].concat());
        // Workgroup and grid sizes, which compiled code may read from the packet.
        let mut packet = [0; 16];
        (packet[1], packet[2]) = (block[0] | block[1] << 16, block[2]);
        packet[3..6].copy_from_slice(&grid);
        let sizes = self.words(&packet);
        let (kernarg, packet) = (arguments.address(), sizes.address());
        let dispatch = Dispatch { grid, block, kernarg, packet, ..Dispatch::default() };
        self.emulator.run(kernel, &dispatch, stop)
    }
}

/// Contents of an allocation as words.
pub(crate) fn words(allocation: &Allocation) -> Vec<u32> {
    allocation.bytes().as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}
