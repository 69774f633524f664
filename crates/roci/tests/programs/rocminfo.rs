//! Debian's rocminfo lists the emulated GPUs with the properties of real ones.

use libtest_mimic::{Failed, Trial};
use roci_testkit::require;
use roci_testkit::tools::Tool;

use crate::{exec, streams};

/// A chip, and lines that rocminfo prints for the real card of that name, in order, with runs of
/// spaces collapsed.
struct Card {
    chip: &'static str,
    lines: &'static [&'static str],
}

/// Lines that it prints for every chip.
const COMMON: &[&str] = &[
    "Vendor Name: AMD",
    "Feature: KERNEL_DISPATCH",
    "Profile: BASE_PROFILE",
    "Float Round Mode: NEAR",
    "Max Queue Number: 128(0x80)",
    "Queue Min Size: 64(0x40)",
    "Queue Max Size: 131072(0x20000)",
    "Queue Type: MULTI",
    "Device Type: GPU",
    "SIMDs per CU: 2",
    "WatchPts on Addr. Ranges:4",
    "Fast F16 Operation: TRUE",
    "Wavefront Size: 32(0x20)",
    "Workgroup Max Size: 1024(0x400)",
    "Grid Max Size: 4294967295(0xffffffff)",
    "Max fbarriers/Workgrp: 32",
    "Segment: GROUP",
    "Size: 64(0x40) KB",
    "Machine Models: HSA_MACHINE_MODEL_LARGE",
    "FBarrier Max Size: 32",
];

const CARDS: &[Card] = &[
    Card {
        chip: "gfx1010",
        lines: &[
            "Name: gfx1010",
            "Marketing Name: AMD Radeon RX 5700 XT (emulated)",
            "L1: 16(0x10) KB",
            "L2: 4096(0x1000) KB",
            "Chip ID: 29471(0x731f)",
            "Cacheline Size: 64(0x40)",
            "Max Clock Freq. (MHz): 2100",
            "Compute Unit: 40",
            "Max Waves Per CU: 40(0x28)",
            "Max Work-item Per CU: 1280(0x500)",
            "Segment: GLOBAL; FLAGS: COARSE GRAINED",
            "Size: 8372224(0x7fc000) KB",
            "Name: amdgcn-amd-amdhsa--gfx1010:xnack-",
        ],
    },
    Card {
        chip: "gfx1013",
        lines: &[
            "Name: gfx1013",
            "Marketing Name: AMD BC-250 (emulated)",
            "L1: 16(0x10) KB",
            "L2: 4096(0x1000) KB",
            "Chip ID: 5118(0x13fe)",
            "Cacheline Size: 128(0x80)",
            "Max Clock Freq. (MHz): 2000",
            "Compute Unit: 24",
            "Shader Engines: 2",
            "Shader Arrs. per Eng.: 2",
            "Max Waves Per CU: 40(0x28)",
            "Max Work-item Per CU: 1280(0x500)",
            "Segment: GLOBAL; FLAGS: COARSE GRAINED",
            "Size: 6291456(0x600000) KB",
            "Name: amdgcn-amd-amdhsa--gfx1013:xnack-",
        ],
    },
    Card {
        chip: "gfx1100",
        lines: &[
            "Name: gfx1100",
            "Marketing Name: AMD Radeon RX 7900 XTX (emulated)",
            "L1: 32(0x20) KB",
            "L2: 6144(0x1800) KB",
            "L3: 98304(0x18000) KB",
            "Chip ID: 29772(0x744c)",
            "Cacheline Size: 64(0x40)",
            "Max Clock Freq. (MHz): 2526",
            "Compute Unit: 96",
            "Shader Engines: 6",
            "Shader Arrs. per Eng.: 2",
            "Max Waves Per CU: 32(0x20)",
            "Segment: GLOBAL; FLAGS: COARSE GRAINED",
            "Size: 25149440(0x17fc000) KB",
            "Name: amdgcn-amd-amdhsa--gfx1100",
        ],
    },
    Card {
        chip: "gfx1151",
        lines: &[
            "Name: gfx1151",
            "Marketing Name: Radeon 8060S Graphics (emulated)",
            "L1: 32(0x20) KB",
            "L2: 2048(0x800) KB",
            "L3: 32768(0x8000) KB",
            "Chip ID: 5510(0x1586)",
            "Cacheline Size: 128(0x80)",
            "Max Clock Freq. (MHz): 2900",
            "Compute Unit: 40",
            "Shader Engines: 2",
            "Shader Arrs. per Eng.: 2",
            "Max Waves Per CU: 32(0x20)",
            "Max Work-item Per CU: 1024(0x400)",
            "Segment: GLOBAL; FLAGS: COARSE GRAINED",
            "Size: 67108864(0x4000000) KB",
            "Name: amdgcn-amd-amdhsa--gfx1151",
        ],
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> =
        CARDS.iter().map(|card| Trial::test(format!("rocminfo::{}", card.chip), || shows(&[card]))).collect();
    trials.push(Trial::test("rocminfo::two_gpus", || shows(&[&CARDS[3], &CARDS[0]])));
    trials
}

/// Runs rocminfo, which must list these GPUs in this order.
fn shows(cards: &[&Card]) -> Result<(), Failed> {
    let Some(rocminfo) = require("rocminfo", Tool::find(&["rocminfo"])) else { return Ok(()) };
    let chips: Vec<_> = cards.iter().map(|card| card.chip).collect();
    let output = exec(&chips.join(","), &[rocminfo.path()]);
    let fail = |what: &str| Err(format!("{what}\n{}", streams(&output)).into());
    if !output.status.success() || !output.stderr.is_empty() {
        return fail("it does not end well");
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(collapsed).collect();
    // The first agent is the CPU.
    let agents: Vec<&[String]> = lines.split(|line| line.starts_with("Agent ")).skip(2).collect();
    if agents.len() != cards.len() {
        return fail("there are not as many GPUs");
    }
    for (agent, card) in agents.iter().zip(cards) {
        for list in [card.lines, COMMON] {
            let mut rest = agent.iter();
            if let Some(missing) = list.iter().find(|expected| !rest.any(|line| line == *expected)) {
                return fail(&format!("`{missing}` is not shown of {}, or not in its place", card.chip));
            }
        }
    }
    Ok(())
}

/// A line with runs of spaces collapsed.
fn collapsed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
