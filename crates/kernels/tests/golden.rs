//! Golden files: the text of every kernel in every language, as it was when someone last looked at it.
//!
//! A change in a kernel, in a writer or in naga shows up as a difference to review. `ROCI_BLESS=1` rewrites the files,
//! and `git diff` shows what changed.

mod lowerings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roci_kernels::{KernelSpec, SpirvOptions, clc, kernels, opencl_c, spirv};
use rspirv::binary::Disassemble;

/// Every golden file by its path under `golden/`.
fn generate() -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for kernel in kernels() {
        let name = kernel.name();
        files.insert(format!("spirv/{name}.spvasm").into(), spirv_text(kernel));
        files.insert(format!("amdgcn/{name}.cl").into(), amdgcn_text(kernel));
        if kernel.needs_matrix() {
            continue;
        }
        for (lowering, output) in lowerings::distinct_lowerings(kernel) {
            let path = match lowering.name {
                "full" => format!("opencl/{name}.cl"),
                // The sizes of emulated sub-groups differ in one number; one file stands for them.
                sized if sized.starts_with("lowered_") => continue,
                other => format!("opencl/{name}.{other}.cl"),
            };
            files.insert(path.into(), output.source);
        }
    }
    files
}

fn spirv_text(kernel: &KernelSpec) -> String {
    let words = spirv(kernel, &SpirvOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
    let module = rspirv::dr::load_words(words).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
    format!("{}\n", module.disassemble().trim_end())
}

fn amdgcn_text(kernel: &KernelSpec) -> String {
    let matrix = if kernel.needs_matrix() { clc::Matrix::Wmma } else { clc::Matrix::None };
    opencl_c(kernel, &clc::Options { matrix, ..clc::Options::amdgcn() })
        .unwrap_or_else(|error| panic!("{}: {error}", kernel.name()))
        .source
}

/// The files that are checked in, by their path under `root`.
fn checked_in(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let folders = std::fs::read_dir(root).into_iter().flatten().filter_map(Result::ok).map(|folder| folder.path());
    for folder in folders.filter(|path| path.is_dir()) {
        for file in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|file| file.path()) {
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            files.insert(file.strip_prefix(root).expect("it was listed under it").to_owned(), text);
        }
    }
    files
}

/// The first difference of two texts, as a reader of a diff wants it.
fn difference(path: &Path, old: &str, new: &str) -> String {
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let shown = |text: &str, sign: char| {
        let lines = text.lines().skip(same).take(3).map(|line| format!("{sign}{line}\n"));
        lines.collect::<String>()
    };
    format!("golden/{}:{}\n{}{}", path.display(), same + 1, shown(old, '-'), shown(new, '+'))
}

fn bless(root: &Path, new: &BTreeMap<PathBuf, String>, old: &BTreeMap<PathBuf, String>) -> std::io::Result<()> {
    for stale in old.keys().filter(|path| !new.contains_key(*path)) {
        std::fs::remove_file(root.join(stale))?;
    }
    for (path, text) in new {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

#[test]
fn golden_files_are_what_the_sources_give() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let (new, old) = (generate(), checked_in(&root));
    if roci_testkit::bless() {
        bless(&root, &new, &old).expect("golden files are written");
        return;
    }
    let changed = new.iter().filter_map(|(path, text)| match old.get(path) {
        Some(known) if known == text => None,
        Some(known) => Some(difference(path, known, text)),
        None => Some(format!("golden/{} is missing\n", path.display())),
    });
    let stale = old.keys().filter(|path| !new.contains_key(*path));
    let stale = stale.map(|path| format!("golden/{} belongs to no kernel\n", path.display()));
    let problems: Vec<String> = changed.chain(stale).collect();
    assert!(
        problems.is_empty(),
        "{} golden files differ; look at them, then run with ROCI_BLESS=1 and review `git diff`\n\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn the_text_is_the_same_every_time() {
    assert_eq!(generate(), generate());
}

#[test]
fn a_difference_is_shown_by_line() {
    let shown = difference(Path::new("a/b.cl"), "one\ntwo\nthree\n", "one\n2\nthree\n");
    assert_eq!(shown, "golden/a/b.cl:2\n-two\n-three\n+2\n+three\n");
}
