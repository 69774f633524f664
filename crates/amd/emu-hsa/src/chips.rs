//! Properties of the chips, each on one real card.
//!
//! Most values come from published `rocminfo` output of that card: RX 5700 XT (ROCm 6.x, with
//! firmware), RX 5500 XT and RX 6800 XT (ROCm 4 and 5), RX 6900 XT (ROCm 6.3, for the firmware of
//! the 6800 XT, which is the same chip), BC-250, RX 7900 XTX and Radeon 8060S (ROCm 5.7 to 7).
//! Memory clocks of the first two come from `pp_dpm_mclk` in sysfs, family ids from the UAPI of the
//! kernel driver, and numbers of copy engines from its setup of each chip. Comments name other
//! sources.

use roci_emu::Chip;

/// Properties of a chip on its card.
#[derive(Debug)]
pub(crate) struct Properties {
    /// Marketing name, marked as emulated.
    pub(crate) product: &'static str,
    /// PCI device id.
    pub(crate) device_id: u32,
    pub(crate) asic_revision: u32,
    pub(crate) family: u32,
    pub(crate) compute_units: u32,
    /// Maximum resident waves of a SIMD unit.
    pub(crate) waves_per_simd: u32,
    pub(crate) shader_engines: u32,
    pub(crate) shader_arrays_per_engine: u32,
    /// Maximum clock in MHz.
    pub(crate) clock: u32,
    /// Device memory in bytes.
    pub(crate) memory: u64,
    /// Memory bus width in bits.
    pub(crate) memory_width: u32,
    /// Maximum memory clock in MHz.
    pub(crate) memory_clock: u32,
    /// Cache sizes in bytes by level; 0 if there is none.
    pub(crate) caches: [u32; 3],
    /// Bytes of an L2 cache line as the kernel driver reported it on that card.
    pub(crate) cache_line: u32,
    /// Compute firmware version.
    pub(crate) firmware: u32,
    /// Copy engine firmware version.
    pub(crate) sdma_firmware: u32,
    pub(crate) sdma_engines: u32,
    /// Whether it shares memory with the host.
    pub(crate) apu: bool,
    /// Supported ISAs: its own, then the generic one.
    pub(crate) isas: [&'static str; 2],
}

impl Properties {
    pub(crate) const SIMDS_PER_CU: u32 = 2;
    pub(crate) const WATCH_POINTS: u32 = 4;
    /// Lanes of a wave.
    pub(crate) const WAVE_SIZE: u32 = 32;
    /// Maximum queues of a GPU.
    pub(crate) const MAX_QUEUES: u32 = 128;
    /// Minimum and maximum size of a queue in packets.
    pub(crate) const QUEUE_SIZES: [u32; 2] = [64, 131_072];
    /// Group segment (LDS) in bytes.
    pub(crate) const GROUP_SEGMENT: usize = roci_emu::MAX_LDS as usize;

    /// Whether it supports cooperative queues. The kernel driver gives global wave sync (GWS) only
    /// to chips after RDNA 1.
    pub(crate) fn cooperative(&self) -> bool {
        !self.isas[0].contains("--gfx101")
    }

    /// Maximum resident waves of a compute unit.
    pub(crate) const fn waves_per_cu(&self) -> u32 {
        self.waves_per_simd * Self::SIMDS_PER_CU
    }
}

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

static GFX1010: Properties = Properties {
    product: "AMD Radeon RX 5700 XT (emulated)",
    device_id: 0x731f,
    asic_revision: 2,
    family: 143,
    compute_units: 40,
    waves_per_simd: 20,
    shader_engines: 2,
    shader_arrays_per_engine: 2,
    clock: 2100,
    memory: 8_372_224 << 10,
    memory_width: 256,
    memory_clock: 875,
    caches: [16 * KIB, 4 * MIB, 0],
    cache_line: 64,
    firmware: 156,
    sdma_firmware: 35,
    sdma_engines: 2,
    apu: false,
    isas: ["amdgcn-amd-amdhsa--gfx1010:xnack-", "amdgcn-amd-amdhsa--gfx10-1-generic:xnack-"],
};

static GFX1012: Properties = Properties {
    product: "AMD Radeon RX 5500 XT (emulated)",
    device_id: 0x7340,
    // The published output predates this attribute; this is the first revision.
    asic_revision: 0,
    family: 143,
    compute_units: 22,
    waves_per_simd: 20,
    // The published output counts shader arrays as engines, as runtimes did then.
    shader_engines: 1,
    shader_arrays_per_engine: 2,
    clock: 1900,
    memory: 8_372_224 << 10,
    memory_width: 128,
    memory_clock: 875,
    // L2 from AMD's data sheet: the published output predates the attribute.
    caches: [16 * KIB, 2 * MIB, 0],
    cache_line: 64,
    // Those of the RX 5700 XT, whose firmware is released together with this one.
    firmware: 156,
    sdma_firmware: 35,
    sdma_engines: 2,
    apu: false,
    isas: ["amdgcn-amd-amdhsa--gfx1012:xnack-", "amdgcn-amd-amdhsa--gfx10-1-generic:xnack-"],
};

static GFX1013: Properties = Properties {
    product: "AMD BC-250 (emulated)",
    device_id: 0x13fe,
    asic_revision: 2,
    family: 143,
    compute_units: 24,
    waves_per_simd: 20,
    shader_engines: 2,
    shader_arrays_per_engine: 2,
    clock: 2000,
    // Carve-out of the 16 GiB that it shares with the host.
    memory: 6 << 30,
    // Descriptions of the board: GDDR6 at 14 Gbit/s.
    memory_width: 256,
    memory_clock: 1750,
    caches: [16 * KIB, 4 * MIB, 0],
    cache_line: 128,
    firmware: 144,
    sdma_firmware: 52,
    sdma_engines: 2,
    apu: true,
    isas: ["amdgcn-amd-amdhsa--gfx1013:xnack-", "amdgcn-amd-amdhsa--gfx10-1-generic:xnack-"],
};

static GFX1030: Properties = Properties {
    product: "AMD Radeon RX 6800 XT (emulated)",
    device_id: 0x73bf,
    asic_revision: 1,
    family: 143,
    compute_units: 72,
    waves_per_simd: 16,
    shader_engines: 4,
    shader_arrays_per_engine: 2,
    clock: 2575,
    memory: 16_760_832 << 10,
    // AMD's data sheet: GDDR6 at 16 Gbit/s.
    memory_width: 256,
    memory_clock: 1000,
    caches: [16 * KIB, 4 * MIB, 128 * MIB],
    cache_line: 64,
    firmware: 104,
    sdma_firmware: 81,
    sdma_engines: 4,
    apu: false,
    isas: ["amdgcn-amd-amdhsa--gfx1030", "amdgcn-amd-amdhsa--gfx10-3-generic"],
};

static GFX1100: Properties = Properties {
    product: "AMD Radeon RX 7900 XTX (emulated)",
    device_id: 0x744c,
    asic_revision: 0,
    family: 145,
    compute_units: 96,
    waves_per_simd: 16,
    shader_engines: 6,
    shader_arrays_per_engine: 2,
    clock: 2526,
    memory: 25_149_440 << 10,
    // AMD's data sheet: GDDR6 at 20 Gbit/s.
    memory_width: 384,
    memory_clock: 1249,
    caches: [32 * KIB, 6 * MIB, 96 * MIB],
    cache_line: 64,
    firmware: 550,
    sdma_firmware: 19,
    sdma_engines: 2,
    apu: false,
    isas: ["amdgcn-amd-amdhsa--gfx1100", "amdgcn-amd-amdhsa--gfx11-generic"],
};

static GFX1151: Properties = Properties {
    product: "Radeon 8060S Graphics (emulated)",
    device_id: 0x1586,
    asic_revision: 0,
    family: 150,
    compute_units: 40,
    waves_per_simd: 16,
    shader_engines: 2,
    shader_arrays_per_engine: 2,
    clock: 2900,
    // Carve-out of the 128 GiB that it shares with the host.
    memory: 64 << 30,
    // AMD's data sheet: LPDDR5X at 8 Gbit/s.
    memory_width: 256,
    memory_clock: 1000,
    caches: [32 * KIB, 2 * MIB, 32 * MIB],
    cache_line: 128,
    firmware: 32,
    sdma_firmware: 17,
    sdma_engines: 1,
    apu: true,
    isas: ["amdgcn-amd-amdhsa--gfx1151", "amdgcn-amd-amdhsa--gfx11-generic"],
};

pub(crate) fn properties(chip: Chip) -> &'static Properties {
    match chip {
        Chip::Gfx1010 => &GFX1010,
        Chip::Gfx1012 => &GFX1012,
        Chip::Gfx1013 => &GFX1013,
        Chip::Gfx1030 => &GFX1030,
        Chip::Gfx1100 => &GFX1100,
        Chip::Gfx1151 => &GFX1151,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_codeobj::Processor;

    #[test]
    fn device_ids_are_unique() {
        let mut ids = Chip::ALL.map(|chip| properties(chip).device_id);
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:x?}");
    }

    #[test]
    fn properties_are_plausible() {
        for one in Chip::ALL.map(properties) {
            let arrays = one.shader_engines * one.shader_arrays_per_engine;
            // Compute units come in pairs; a shader array has at most 12.
            assert!(one.compute_units.is_multiple_of(2) && one.compute_units <= arrays * 12, "{one:?}");
            assert!((800..4000).contains(&one.clock) && (500..4000).contains(&one.memory_clock), "{one:?}");
            assert!(one.memory.is_multiple_of(2 << 20) && one.memory >= 4 << 30, "{one:?}");
            assert!(one.memory_width.is_multiple_of(64) && one.cache_line.is_power_of_two(), "{one:?}");
            assert!(one.caches[0].is_power_of_two() && one.caches[1] > one.caches[0], "{one:?}");
            assert!(one.caches[2] == 0 || one.caches[2] > one.caches[1], "{one:?}");
            assert!(one.product.ends_with(" (emulated)") && one.product.len() < 64, "{one:?}");
            assert!(one.sdma_engines > 0 && one.firmware > 0 && one.sdma_firmware > 0, "{one:?}");
        }
    }

    #[test]
    fn isa_names_match_the_compiler() {
        for chip in Chip::ALL {
            let own = Processor::from_name(chip.name()).expect("the compiler knows the chip");
            let generic = own.generic().expect("every chip has a generic target");
            let expected = [own, generic].map(|processor| {
                // The ISA of an agent names the setting of every feature.
                let xnack = if processor.supports_xnack() { ":xnack-" } else { "" };
                format!("amdgcn-amd-amdhsa--{processor}{xnack}")
            });
            assert_eq!(properties(chip).isas.map(str::to_owned), expected);
        }
    }
}
