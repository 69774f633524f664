//! The test programs, by area of the language.

pub(crate) mod amdgcn;
pub(crate) mod case;
mod control_flow;
pub(crate) mod errors;
mod f16;
mod floats;
mod integers;
mod layout;
mod memory;
mod packing;
mod subgroups;

/// All test programs.
pub(crate) fn cases() -> Vec<case::Case> {
    [
        integers::cases(),
        floats::cases(),
        packing::cases(),
        control_flow::cases(),
        layout::cases(),
        memory::cases(),
        f16::cases(),
        subgroups::cases(),
    ]
    .concat()
}
