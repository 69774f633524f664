//! Instruction sets. Their handles are the same for all GPUs: clients compare them.

use roci_emu::Chip;
use roci_hsa::abi::{Isa, IsaInfo};

use super::{Answer, FBARRIERS, GRID, Properties, WORKGROUP, properties};

/// The instruction sets of which a chip runs code, best first.
pub(crate) fn isas(chip: Chip) -> Vec<Isa> {
    properties(chip).isas.iter().filter_map(|name| handle(name)).collect()
}

/// All names; those that several chips have come several times.
fn all() -> impl Iterator<Item = (&'static str, &'static Properties)> {
    Chip::ALL.into_iter().map(properties).flat_map(|chip| chip.isas.iter().map(move |name| (*name, chip)))
}

/// The handle of a name: its first place, from 1.
fn handle(name: &str) -> Option<Isa> {
    let place = all().position(|(other, _)| other == name)?;
    Some(Isa { handle: place as u64 + 1 })
}

/// The answer of an instruction set: none if there is no such set; then none if there is no such attribute.
pub(crate) fn isa(isa: Isa, attribute: IsaInfo) -> Option<Option<Answer>> {
    let place = usize::try_from(isa.handle.checked_sub(1)?).ok()?;
    let (name, chip) = all().nth(place)?;
    (handle(name) == Some(isa)).then(|| answer(name, chip, attribute))
}

fn answer(name: &str, chip: &Properties, attribute: IsaInfo) -> Option<Answer> {
    Some(match attribute {
        IsaInfo::NAME_LENGTH => (name.len() as u32 + 1).into(),
        IsaInfo::NAME => Answer::text(name),
        IsaInfo::CALL_CONVENTION_COUNT => 1_u32.into(),
        IsaInfo::CALL_CONVENTION_INFO_WAVEFRONT_SIZE => Properties::WAVE.into(),
        IsaInfo::CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => chip.waves_per_cu().into(),
        IsaInfo::MACHINE_MODELS => [false, true].into(),
        IsaInfo::PROFILES => [true, false].into(),
        // To the nearest alone.
        IsaInfo::DEFAULT_FLOAT_ROUNDING_MODES | IsaInfo::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            [false, false, true].into()
        }
        IsaInfo::FAST_F16_OPERATION => true.into(),
        IsaInfo::WORKGROUP_MAX_DIM => [WORKGROUP as u16; 3].into(),
        IsaInfo::WORKGROUP_MAX_SIZE => WORKGROUP.into(),
        IsaInfo::GRID_MAX_DIM => GRID.into(),
        IsaInfo::GRID_MAX_SIZE => u64::MAX.into(),
        IsaInfo::FBARRIER_MAX_SIZE => FBARRIERS.into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_tell_instruction_sets_apart_and_chips_share_them() {
        for chip in Chip::ALL {
            let handles = isas(chip);
            assert_eq!(handles.len(), 2);
            for (handle, name) in handles.iter().zip(properties(chip).isas) {
                let answer = isa(*handle, IsaInfo::NAME).expect("a set").expect("an attribute");
                assert_eq!(answer, Answer::text(name));
            }
        }
        assert_eq!(isas(Chip::Gfx1010)[1], isas(Chip::Gfx1013)[1]);
        assert_eq!(isas(Chip::Gfx1100)[1], isas(Chip::Gfx1151)[1]);
        assert_ne!(isas(Chip::Gfx1010)[0], isas(Chip::Gfx1012)[0]);
    }

    #[test]
    fn there_are_no_others() {
        // The second name of gfx1012 is that of gfx1010.
        for handle in [0, 4, 13, u64::MAX] {
            assert_eq!(isa(Isa { handle }, IsaInfo::NAME), None, "{handle}");
        }
        assert_eq!(isa(Isa { handle: 1 }, IsaInfo(99)), Some(None));
    }
}
