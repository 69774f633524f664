//! ISAs. Clients compare their handles, so equal ISAs of different GPUs have the same handle.

use std::borrow::Cow;

use roci_emu::Chip;
use roci_hsa::abi::{Isa, IsaInfo};

use super::{AttributeValue, MAX_FBARRIERS, MAX_GRID, MAX_WORKGROUP};
use crate::chips::{Properties, properties};

/// ISAs that a chip supports, most specific first.
pub(crate) fn isas(chip: Chip) -> Vec<Isa> {
    properties(chip).isas.iter().filter_map(|name| isa_from_name(name)).collect()
}

/// XNACK setting in the ISA names of chips. Code objects may leave it unspecified.
const XNACK_OFF: &str = ":xnack-";
const XNACK_ON: &str = ":xnack+";

/// All ISA names with a chip of each; a name that several chips share is repeated. First come the
/// ISAs of chips, then the names without an XNACK setting, then those with XNACK on, which no chip
/// here supports.
fn all() -> impl Iterator<Item = (Cow<'static, str>, &'static Properties)> {
    let chips =
        || Chip::ALL.into_iter().map(properties).flat_map(|chip| chip.isas.iter().map(move |name| (*name, chip)));
    let unspecified = move || chips().filter_map(|(name, chip)| Some((name.strip_suffix(XNACK_OFF)?, chip)));
    let on = unspecified().map(|(name, chip)| (Cow::Owned(format!("{name}{XNACK_ON}")), chip));
    chips().chain(unspecified()).map(|(name, chip)| (Cow::Borrowed(name), chip)).chain(on)
}

/// Handle of an ISA name: 1 + its first index in [`all`].
pub(crate) fn isa_from_name(name: &str) -> Option<Isa> {
    let index = all().position(|(other, _)| other == name)?;
    Some(Isa { handle: index as u64 + 1 })
}

/// Name of an ISA, and a chip that supports it.
fn lookup(isa: Isa) -> Option<(Cow<'static, str>, &'static Properties)> {
    let index = usize::try_from(isa.handle.checked_sub(1)?).ok()?;
    all().nth(index).filter(|(name, _)| isa_from_name(name) == Some(isa))
}

/// Whether code for one ISA runs on an agent with the other; `None` if a handle is invalid.
pub(crate) fn compatible(code: Isa, agent: Isa) -> Option<bool> {
    let ((code, _), (agent, _)) = (lookup(code)?, lookup(agent)?);
    Some(code == agent || agent.strip_prefix(&*code).is_some_and(|feature| feature.starts_with(':')))
}

/// Attribute of an ISA: `None` for an invalid handle, `Some(None)` for an unknown attribute.
pub(crate) fn isa_info(isa: Isa, attribute: IsaInfo) -> Option<Option<AttributeValue>> {
    let (name, chip) = lookup(isa)?;
    Some(info(&name, chip, attribute))
}

fn info(name: &str, chip: &Properties, attribute: IsaInfo) -> Option<AttributeValue> {
    Some(match attribute {
        IsaInfo::NAME_LENGTH => (name.len() as u32 + 1).into(),
        IsaInfo::NAME => AttributeValue::c_string(name),
        IsaInfo::CALL_CONVENTION_COUNT => 1_u32.into(),
        IsaInfo::CALL_CONVENTION_INFO_WAVEFRONT_SIZE => Properties::WAVE_SIZE.into(),
        IsaInfo::CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => chip.waves_per_cu().into(),
        IsaInfo::MACHINE_MODELS => [false, true].into(),
        IsaInfo::PROFILES => [true, false].into(),
        // Only round to nearest.
        IsaInfo::DEFAULT_FLOAT_ROUNDING_MODES | IsaInfo::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            [false, false, true].into()
        }
        IsaInfo::FAST_F16_OPERATION => true.into(),
        IsaInfo::WORKGROUP_MAX_DIM => [MAX_WORKGROUP as u16; 3].into(),
        IsaInfo::WORKGROUP_MAX_SIZE => MAX_WORKGROUP.into(),
        IsaInfo::GRID_MAX_DIM => MAX_GRID.into(),
        IsaInfo::GRID_MAX_SIZE => u64::MAX.into(),
        IsaInfo::FBARRIER_MAX_SIZE => MAX_FBARRIERS.into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_share_handles_of_equal_isas() {
        for chip in Chip::ALL {
            let handles = isas(chip);
            assert_eq!(handles.len(), 2);
            for (handle, name) in handles.iter().zip(properties(chip).isas) {
                let value = isa_info(*handle, IsaInfo::NAME).expect("an ISA").expect("an attribute");
                assert_eq!(value, AttributeValue::c_string(name));
            }
        }
        assert_eq!(isas(Chip::Gfx1010)[1], isas(Chip::Gfx1013)[1]);
        assert_eq!(isas(Chip::Gfx1100)[1], isas(Chip::Gfx1151)[1]);
        assert_ne!(isas(Chip::Gfx1010)[0], isas(Chip::Gfx1012)[0]);
    }

    #[test]
    fn unknown_handles_and_attributes_are_rejected() {
        // Handle 4 would be the generic ISA of gfx1012, which gfx1010 has as 2. Six chips have
        // twelve names, six of them with an XNACK setting.
        for handle in [0, 4, 25, u64::MAX] {
            assert_eq!(isa_info(Isa { handle }, IsaInfo::NAME), None, "{handle}");
        }
        assert_eq!(isa_info(Isa { handle: 1 }, IsaInfo(99)), Some(None));
    }

    #[test]
    fn code_without_an_xnack_setting_runs_on_any() {
        let isa = |name: &str| isa_from_name(&format!("amdgcn-amd-amdhsa--{name}")).expect(name);
        let runs = |code, agent| compatible(isa(code), isa(agent)).expect("both are ISAs");
        assert!(runs("gfx1010:xnack-", "gfx1010:xnack-") && runs("gfx1010", "gfx1010:xnack-"));
        assert!(!runs("gfx1010:xnack+", "gfx1010:xnack-") && !runs("gfx1010:xnack-", "gfx1010"));
        assert!(!runs("gfx1012", "gfx1010:xnack-") && runs("gfx1030", "gfx1030"));
        assert_eq!(compatible(isa("gfx1030"), Isa::NULL), None);
        assert_eq!(isa_from_name("amdgcn-amd-amdhsa--gfx90a"), None);
    }
}
