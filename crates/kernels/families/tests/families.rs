//! Every family is complete: its WGSL files, names and cases.

use std::path::{Path, PathBuf};

use roci_families::{ElementwiseOp, FAMILIES, Family, cases};

fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().copied().flatten()
}

/// The WGSL files under a folder.
fn wgsl_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the source folder is readable");
    let files =
        entries.map(|entry| entry.expect("the entry is readable").path()).flat_map(|path| match path.is_dir() {
            true => wgsl_files(&path),
            false => vec![path],
        });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "wgsl")).collect()
}

#[test]
fn every_wgsl_file_is_in_the_table() {
    let files = wgsl_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("the source is readable");
        // Some files are appended to the source of several families.
        let is_used = families().any(|family| family.text == text || family.aliases.contains(&text));
        assert!(is_used, "{} belongs to no kernel", path.display());
    }
}

#[test]
fn files_are_named_after_the_text() {
    for family in families() {
        assert!(!family.variants.is_empty(), "{}: no variants", family.file);
        assert!(family.text.contains(&format!("fn {}(", family.entry)), "{}: no `{}`", family.file, family.entry);
        assert!(family.bindings.iter().any(|binding| binding.access.writes()), "{}: no output", family.file);
    }
}

#[test]
fn every_kernel_has_cases_with_its_bindings_and_constants() {
    for family in families() {
        for variant in family.variants {
            let cases = cases::of(variant.name);
            assert!(!cases.is_empty(), "`{}` has no cases", variant.name);
            for case in cases {
                assert_eq!(case.constants.len(), family.constants.size, "{}, {}", variant.name, case.label);
                assert_eq!(case.buffers.len(), family.bindings.len(), "{}, {}", variant.name, case.label);
            }
        }
    }
    assert!(cases::of("no_such_kernel").is_empty());
}

#[test]
fn operation_codes_match_the_rust_enum() {
    let text = include_str!("../src/elementwise_program/elementwise_program.wgsl");
    let constants = text.lines().filter_map(|line| line.strip_prefix("const ")?.strip_suffix("u;")?.split_once(" = "));
    let got: Vec<(String, u8)> =
        constants.map(|(name, code)| (name.to_owned(), code.parse().expect("an 8-bit opcode"))).collect();
    let want: Vec<(String, u8)> =
        ElementwiseOp::ALL.iter().map(|&op| (constant_name(&format!("{op:?}")), op as u8)).collect();
    assert_eq!(got, want);
    for &op in ElementwiseOp::ALL {
        assert_eq!(ElementwiseOp::of(op as u8), Some(op));
        let uses = text.matches(&format!("case {}:", constant_name(&format!("{op:?}")))).count();
        let elsewhere = matches!(op, ElementwiseOp::End | ElementwiseOp::Save | ElementwiseOp::Coordinate);
        assert_eq!(uses, usize::from(!elsewhere), "{op:?}");
    }
}

/// Converts `F32ToBool` to `F32_TO_BOOL`.
fn constant_name(name: &str) -> String {
    let mut constant = String::new();
    let mut last = 'A';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !last.is_ascii_uppercase() {
            constant.push('_');
        }
        constant.push(letter.to_ascii_uppercase());
        last = letter;
    }
    constant
}
