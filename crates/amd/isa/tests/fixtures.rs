//! Encodings with known text; these tests do not need LLVM.

use roci_isa::{Chip, DecodeError, Fields, Op, Operand, Register, RegisterPart, Segment, WaveSize, decode};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal")).collect()
}

#[test]
fn the_committed_encodings_have_their_text() {
    let mut chip_and_wave = None;
    let mut count = 0;
    for line in include_str!("fixtures/encodings.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (chip, lanes) = heading.split_once(' ').expect("chip and lanes");
            let wave = if lanes == "64" { WaveSize::Wave64 } else { WaveSize::Wave32 };
            chip_and_wave = Some((chip.parse::<Chip>().expect("a chip"), wave));
            continue;
        }
        let ((chip, wave), (hex, text)) =
            (chip_and_wave.expect("a heading"), line.split_once('\t').expect("bytes and text"));
        let code = bytes(hex);
        let instruction = decode(chip, wave, &code).unwrap_or_else(|error| panic!("{chip} {hex} `{text}`: {error}"));
        assert_eq!(instruction.text(chip, wave), text, "{chip} {wave:?} {hex}");
        assert_eq!(usize::from(instruction.size), code.len(), "{chip} {wave:?} {hex} `{text}`");
        for given in 0..code.len() {
            let error = decode(chip, wave, &code[..given]).expect_err("a truncated instruction");
            assert_eq!(error, DecodeError::Truncated { given }, "{chip} {hex} `{text}`");
        }
        count += 1;
    }
    assert!(count > 1000, "{count} lines were read");
}

#[test]
fn instructions_of_other_chips_are_invalid() {
    let dot = bytes("0140165c02070e04");
    for (chip, has) in [(Chip::Gfx1010, false), (Chip::Gfx1013, false), (Chip::Gfx1030, true)] {
        let mut code = dot.clone();
        code[..4].copy_from_slice(&0xcc16_4001_u32.to_le_bytes());
        assert_eq!(decode(chip, WaveSize::Wave32, &code).is_ok(), has, "v_dot4_i32_i8 on {chip}");
    }
    let error = decode(Chip::Gfx1100, WaveSize::Wave32, &[0xff; 8]).expect_err("all ones are not an instruction");
    assert_eq!(error, DecodeError::Invalid { first: u32::MAX, second: Some(u32::MAX) });
    let image = decode(Chip::Gfx1100, WaveSize::Wave32, &[0, 0, 0, 0xf0, 0, 0, 0, 0])
        .expect_err("graphics instructions are not decoded");
    assert!(matches!(image, DecodeError::Graphics { format: "MIMG", .. }), "{image}");
}

#[test]
fn operations_do_not_depend_on_the_mnemonic_of_the_family() {
    let old = decode(Chip::Gfx1010, WaveSize::Wave32, &bytes("0080 30dc 0200 7d01".replace(' ', "").as_str()));
    let new = decode(Chip::Gfx1100, WaveSize::Wave32, &bytes("0000 52dc 0200 7c01".replace(' ', "").as_str()));
    for instruction in [old.expect("global_load_dword"), new.expect("global_load_b32")] {
        assert_eq!(instruction.op, Op::GlobalLoadB32);
        let Fields::Flat { segment, dst, addr, saddr, .. } = instruction.fields else { panic!("{instruction:?}") };
        assert_eq!((segment, dst, addr, saddr), (Segment::Global, Operand::Vgpr(1), Operand::Vgpr(2), Operand::None));
    }
}

#[test]
fn a_branch_can_print_a_named_target() {
    let branch = decode(Chip::Gfx1100, WaveSize::Wave32, &[0x10, 0x00, 0xa0, 0xbf]).expect("s_branch");
    assert_eq!(branch.text(Chip::Gfx1100, WaveSize::Wave32), "s_branch 16");
    assert_eq!(branch.text_with_target(Chip::Gfx1100, WaveSize::Wave32, "loop"), "s_branch loop");
}

#[test]
fn accesses_include_explicit_and_implicit_registers() {
    let listed = |chip, wave, hex: &str| {
        let instruction = decode(chip, wave, &bytes(hex)).expect("valid");
        let mut list: Vec<String> = instruction
            .accesses(wave)
            .iter()
            .map(|access| {
                let register = match access.register {
                    Register::Vector(number) => format!("v{number}"),
                    Register::Scalar(number) => format!("s{number}"),
                    Register::Scc => "scc".to_owned(),
                };
                let part = match access.part {
                    RegisterPart::Whole => "",
                    RegisterPart::Low => ".l",
                    RegisterPart::High => ".h",
                };
                format!("{}{register}{part}*{}", if access.write { "w:" } else { "r:" }, access.words)
            })
            .collect();
        list.sort();
        list.join(" ")
    };
    // s_and_saveexec_b64 s[4:5], vcc
    let text = listed(Chip::Gfx1010, WaveSize::Wave64, "6a2484be");
    assert_eq!(text, "r:s106*2 r:s126*2 w:s126*2 w:s4*2 w:scc*1");
    // v_add_co_ci_u32_e32 v1, vcc_lo, v2, v3, vcc_lo
    let text = listed(Chip::Gfx1100, WaveSize::Wave32, "02070240");
    assert_eq!(text, "r:s106*1 r:s126*1 r:v2*1 r:v3*1 w:s106*1 w:v1*1");
    // v_fmac_f32_e32 v1, v2, v3: the addend is the destination
    let text = listed(Chip::Gfx1100, WaveSize::Wave32, "02070256");
    assert_eq!(text, "r:s126*1 r:v1*1 r:v2*1 r:v3*1 w:v1*1");
    // v_add_f16_e32 v1.l, v2.h, v3.l
    let text = listed(Chip::Gfx1100, WaveSize::Wave32, "82070264");
    assert_eq!(text, "r:s126*1 r:v2.h*1 r:v3.l*1 w:v1.l*1");
    // s_load_b128 s[4:7], s[0:1], 0x10
    let text = listed(Chip::Gfx1100, WaveSize::Wave32, "000108f4100000f8");
    assert_eq!(text, "r:s0*2 w:s4*4");
}
