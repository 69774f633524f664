//! Maps Mesa's names of AMD GPUs to their targets.

/// PCI device ids of the BC-250 and related chips (gfx1013), for systems that report no name.
const GFX1013: &[u32] = &[0x13db, 0x13f9, 0x13fa, 0x13fb, 0x13fc, 0x13fe, 0x143f];

/// RADV's chip name, which follows the device name in parentheses, and the target.
const NAMES: &[(&str, &str)] = &[
    ("POLARIS10", "gfx803"),
    ("POLARIS11", "gfx803"),
    ("POLARIS12", "gfx803"),
    ("VEGA10", "gfx900"),
    ("RAVEN", "gfx902"),
    ("VEGA12", "gfx904"),
    ("VEGA20", "gfx906"),
    ("RAVEN2", "gfx909"),
    ("RENOIR", "gfx90c"),
    ("NAVI10", "gfx1010"),
    ("NAVI12", "gfx1011"),
    ("NAVI14", "gfx1012"),
    ("NAVI21", "gfx1030"),
    ("NAVI22", "gfx1031"),
    ("NAVI23", "gfx1032"),
    ("VANGOGH", "gfx1033"),
    ("NAVI24", "gfx1034"),
    ("REMBRANDT", "gfx1035"),
    ("RAPHAEL_MENDOCINO", "gfx1036"),
    ("NAVI31", "gfx1100"),
    ("NAVI32", "gfx1101"),
    ("NAVI33", "gfx1102"),
    ("PHOENIX", "gfx1103"),
    ("PHOENIX2", "gfx1103"),
    ("STRIX1", "gfx1150"),
    ("STRIX_HALO", "gfx1151"),
    ("KRACKAN1", "gfx1152"),
    ("NAVI44", "gfx1200"),
    ("NAVI48", "gfx1201"),
];

/// The target of an AMD device; `None` if neither its name nor its PCI id is known.
pub(crate) fn target(name: &str, device: u32) -> Option<String> {
    if GFX1013.contains(&device) {
        return Some("gfx1013".to_owned());
    }
    let (_, rest) = name.split_once("(RADV ")?;
    let chip = rest.split(')').next()?;
    if let Some((_, target)) = NAMES.iter().find(|(known, _)| *known == chip) {
        return Some((*target).to_owned());
    }
    // Newer chips are named by their target, some with a revision, such as GFX1103_R1.
    let digits = chip.strip_prefix("GFX")?.split('_').next()?;
    let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    legal.then(|| format!("gfx{}", digits.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_identified_by_name_and_device_id() {
        let name = |text| target(text, 0).unwrap_or_default();
        assert_eq!(name("AMD Radeon RX 5500 XT (RADV NAVI14)"), "gfx1012");
        assert_eq!(name("AMD BC-250 (RADV GFX1013)"), "gfx1013");
        assert_eq!(name("AMD Radeon Graphics (RADV GFX1103_R1)"), "gfx1103");
        assert_eq!(name("Radeon 8060S Graphics (RADV GFX1151)"), "gfx1151");
        assert_eq!(name("AMD Radeon RX 5700 XT"), "");
        assert_eq!(name("odd (RADV GFX)"), "");
        for device in [0x13fe, 0x13db] {
            assert_eq!(target("AMD Unknown", device).as_deref(), Some("gfx1013"));
        }
    }
}
