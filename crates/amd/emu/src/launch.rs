//! Initial state of waves, as the kernel descriptor requests it.

use std::sync::Arc;
use std::time::Instant;

use roci_codeobj::{KernelDescriptor, UserSgpr};
use roci_isa::{Chip, Family, WaveSize};

use crate::grid_sync::GridSync;
use crate::mode::Mode;
use crate::row::LANES;
use crate::wave::{Wave, WaveStatus, scalar};

/// Frequency of the clocks that kernels can read, in Hz.
const TICKS_PER_SECOND: u128 = 100_000_000;

/// Source of the clock that kernels can read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClockSource {
    /// Counts from this instant.
    Since(Instant),
    /// Calls this function.
    Given(fn() -> u64),
}

/// Parameters common to all waves of a dispatch.
pub(crate) struct Launch {
    pub(crate) chip: Chip,
    pub(crate) wave_size: WaveSize,
    pub(crate) descriptor: KernelDescriptor,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Address of the kernarg segment.
    pub(crate) kernarg: u64,
    /// Address of the dispatch packet.
    pub(crate) packet: u64,
    /// Address of the queue.
    pub(crate) queue: u64,
    /// Dispatch ID.
    pub(crate) id: u64,
    /// LDS of a workgroup in bytes.
    pub(crate) lds: u32,
    /// Private memory of a lane in bytes.
    pub(crate) private: u32,
    /// Source of the clock that kernels can read.
    pub(crate) clock: ClockSource,
    /// Whether workgroups may wait for each other.
    pub(crate) cooperative: bool,
    /// The GPU's grid-wide barriers.
    pub(crate) grid_sync: Arc<GridSync>,
}

impl Launch {
    /// Lanes of a wave.
    pub(crate) fn lanes(&self) -> u32 {
        match self.wave_size {
            WaveSize::Wave32 => 32,
            WaveSize::Wave64 => 64,
        }
    }

    /// Number of workgroups in each dimension.
    pub(crate) fn groups(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.grid[axis].div_ceil(self.block[axis]))
    }

    /// Size of a workgroup; those at the upper edges may be partial.
    pub(crate) fn size(&self, group: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|axis| (self.grid[axis] - group[axis] * self.block[axis]).min(self.block[axis]))
    }

    /// Waves of a full workgroup.
    pub(crate) fn waves(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(self.lanes())
    }

    /// Scratch memory of a wave in bytes.
    pub(crate) fn scratch_per_wave(&self) -> u64 {
        u64::from(self.private).next_multiple_of(4) * u64::from(self.lanes())
    }

    /// Current value of the clock that kernels can read.
    pub(crate) fn clock(&self) -> u64 {
        match self.clock {
            ClockSource::Since(start) => (start.elapsed().as_nanos() * TICKS_PER_SECOND / 1_000_000_000) as u64,
            ClockSource::Given(now) => now(),
        }
    }

    /// Whether `s_getreg_b32` can read `SHADER_CYCLES`.
    pub(crate) fn has_shader_cycles(&self) -> bool {
        self.chip >= Chip::Gfx1030
    }

    /// Initializes a wave as the hardware does.
    pub(crate) fn start(&self, wave: &mut Wave, group: [u32; 3], number: u32, entry: u32, arena: u64, slot: u64) {
        let size = self.size(group);
        let threads = size.iter().product::<u32>();
        let first = number * self.lanes();
        for row in &wave.bank {
            row.splat(0);
        }
        wave.scalars = scalar::zero();
        wave.hardware = [0; 64];
        wave.scc = false;
        let clamp_and_ieee = u32::from(self.descriptor.dx10_clamp()) << 8 | u32::from(self.descriptor.ieee_mode()) << 9;
        let overflow = if self.descriptor.fp16_overflow() { Mode::FP16_OVFL } else { 0 };
        wave.set_mode(Mode(u32::from(self.descriptor.float_mode()) | clamp_and_ieee | overflow));
        wave.next = entry;
        wave.run = entry;
        wave.number = number;
        wave.waiting = None;
        wave.status = if first < threads { WaveStatus::Ready } else { WaveStatus::Ended };
        wave.scratch = arena + slot * self.scratch_per_wave();
        wave.scratch_per_lane = self.private.next_multiple_of(4);
        self.user_scalars(wave, arena);
        self.system_scalars(wave, group, number, threads, slot);
        self.lanes_of(wave, size, first, threads);
    }

    fn user_scalars(&self, wave: &mut Wave, arena: u64) {
        let mut next = 0;
        for register in self.descriptor.user_sgprs() {
            let value = match register {
                UserSgpr::PrivateSegmentBuffer => {
                    // Base; swizzle enable (bit 63); no bounds; ADD_TID_ENABLE; index stride of the
                    // wave size.
                    let index_stride = if self.wave_size == WaveSize::Wave32 { 2 } else { 3 };
                    wave.set_pair(next + 2, 0xffff_ffff | (index_stride << 21 | 1 << 23 | 2 << 28) << 32);
                    arena & 0xffff_ffff_ffff | 1 << 63
                }
                UserSgpr::DispatchPointer => self.packet,
                UserSgpr::QueuePointer => self.queue,
                UserSgpr::KernargPointer => self.kernarg,
                UserSgpr::DispatchId => self.id,
                UserSgpr::FlatScratchInit => arena,
                UserSgpr::PrivateSegmentSize => {
                    wave.scalars[usize::from(next)] = self.private;
                    next += 1;
                    continue;
                }
            };
            wave.set_pair(next, value);
            next += register.registers() as u8;
        }
    }

    fn system_scalars(&self, wave: &mut Wave, group: [u32; 3], number: u32, threads: u32, slot: u64) {
        let mut next = self.descriptor.user_sgpr_count() as usize;
        let mut put = |value: u32| {
            wave.scalars[next.min(105)] = value;
            next += 1;
        };
        for (axis, enabled) in self.descriptor.workgroup_ids().into_iter().enumerate() {
            if enabled {
                put(group[axis]);
            }
        }
        if self.descriptor.workgroup_info() {
            // First-wave flag, index of the wave, number of waves.
            put(u32::from(number == 0) << 31 | number << 6 | threads.div_ceil(self.lanes()));
        }
        if self.descriptor.private_segment() && self.chip.family() == Family::Gfx10 {
            put((slot * self.scratch_per_wave()) as u32);
        }
    }

    fn lanes_of(&self, wave: &mut Wave, size: [u32; 3], first: u32, threads: u32) {
        let ids = self.descriptor.workitem_ids();
        let packed = self.chip.family() == Family::Gfx11;
        for half in 0..wave.halves {
            let mut exec = 0;
            for lane in 0..LANES {
                let flat = first + (half * LANES + lane) as u32;
                if flat < threads {
                    exec |= 1 << lane;
                }
                let position = [flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]];
                if packed {
                    let mut value = position[0];
                    if ids >= 2 {
                        value |= position[1] << 10;
                    }
                    if ids >= 3 {
                        value |= position[2] << 20;
                    }
                    wave.row(half, 0).set(lane, value);
                } else {
                    for axis in 0..(ids as usize).min(3) {
                        if axis < wave.registers {
                            wave.row(half, axis).set(lane, position[axis]);
                        }
                    }
                }
            }
            wave.scalars[usize::from(scalar::EXEC) + half] = exec;
        }
    }
}
