//! Instruction sets. Their handles are the same for all GPUs: clients compare them.

use std::borrow::Cow;

use roci_emu::Chip;
use roci_hsa::abi::{Isa, IsaInfo};

use super::{Answer, FBARRIERS, GRID, Properties, WORKGROUP, properties};

/// The instruction sets of which a chip runs code, best first.
pub(crate) fn isas(chip: Chip) -> Vec<Isa> {
    properties(chip).isas.iter().filter_map(|name| isa_of_name(name)).collect()
}

/// What a chip's own name says of a feature that code may leave open.
const FEATURE: &str = ":xnack-";
/// The same feature the other way round.
const OTHER_FEATURE: &str = ":xnack+";

/// All names; those that several chips have come several times. Those that chips answer come first, then the ones without
/// the feature, which are names of code that runs either way, then those with the other choice, which none of these has.
fn all() -> impl Iterator<Item = (Cow<'static, str>, &'static Properties)> {
    let chips =
        || Chip::ALL.into_iter().map(properties).flat_map(|chip| chip.isas.iter().map(move |name| (*name, chip)));
    let open = move || chips().filter_map(|(name, chip)| Some((name.strip_suffix(FEATURE)?, chip)));
    let other = open().map(|(name, chip)| (Cow::Owned(format!("{name}{OTHER_FEATURE}")), chip));
    chips().chain(open()).map(|(name, chip)| (Cow::Borrowed(name), chip)).chain(other)
}

/// The handle of a name: its first place, from 1.
pub(crate) fn isa_of_name(name: &str) -> Option<Isa> {
    let place = all().position(|(other, _)| other == name)?;
    Some(Isa { handle: place as u64 + 1 })
}

/// The name of a handle, and a chip with that instruction set.
fn of(isa: Isa) -> Option<(Cow<'static, str>, &'static Properties)> {
    let place = usize::try_from(isa.handle.checked_sub(1)?).ok()?;
    all().nth(place).filter(|(name, _)| isa_of_name(name) == Some(isa))
}

/// Whether code of one instruction set runs where the other is the agent's; none if one of them is no instruction set.
pub(crate) fn compatible(code: Isa, agent: Isa) -> Option<bool> {
    let ((code, _), (agent, _)) = (of(code)?, of(agent)?);
    Some(code == agent || agent.strip_prefix(&*code).is_some_and(|feature| feature.starts_with(':')))
}

/// The answer of an instruction set: none if there is no such set; then none if there is no such attribute.
pub(crate) fn isa(isa: Isa, attribute: IsaInfo) -> Option<Option<Answer>> {
    let (name, chip) = of(isa)?;
    Some(answer(&name, chip, attribute))
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
        // The second name of gfx1012 is that of gfx1010; six chips answer twelve names, and six of those leave a choice.
        for handle in [0, 4, 25, u64::MAX] {
            assert_eq!(isa(Isa { handle }, IsaInfo::NAME), None, "{handle}");
        }
        assert_eq!(isa(Isa { handle: 1 }, IsaInfo(99)), Some(None));
    }

    #[test]
    fn code_may_leave_a_feature_open() {
        let isa = |name: &str| isa_of_name(&format!("amdgcn-amd-amdhsa--{name}")).expect(name);
        let runs = |code, agent| compatible(isa(code), isa(agent)).expect("both are sets");
        assert!(runs("gfx1010:xnack-", "gfx1010:xnack-") && runs("gfx1010", "gfx1010:xnack-"));
        assert!(!runs("gfx1010:xnack+", "gfx1010:xnack-") && !runs("gfx1010:xnack-", "gfx1010"));
        assert!(!runs("gfx1012", "gfx1010:xnack-") && runs("gfx1030", "gfx1030"));
        assert_eq!(compatible(isa("gfx1030"), Isa::NULL), None);
        assert_eq!(isa_of_name("amdgcn-amd-amdhsa--gfx90a"), None);
    }
}
