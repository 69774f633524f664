//! clang for the chips and for the host. What it made is kept: the same input gives the same output.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use roci_emu::Chip;
use roci_testkit::tools::Tool;

/// Every chip that is emulated.
pub(crate) const CHIPS: [Chip; 6] =
    [Chip::Gfx1010, Chip::Gfx1012, Chip::Gfx1013, Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151];

/// clang, and a folder for what it makes.
#[derive(Clone)]
pub(crate) struct Toolchain {
    clang: Arc<PathBuf>,
    kept: Arc<PathBuf>,
    /// What is made now and never again: gone with the last user.
    _passing: Option<Arc<tempfile::TempDir>>,
}

/// Text to compile: a file with what it includes, or lines made up by a test.
pub(crate) enum Source<'a> {
    /// A file of a folder, all of which it may include.
    File(&'a Path),
    Text(&'a str),
}

impl Toolchain {
    pub(crate) fn new(clang: &Tool) -> Self {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proof");
        std::fs::create_dir_all(&kept).expect("the target folder can be written");
        Self { clang: Arc::new(clang.path().to_owned()), kept: Arc::new(kept), _passing: None }
    }

    /// The same, without a memory of what it made.
    pub(crate) fn forgetful(&self) -> Self {
        let folder = tempfile::tempdir_in(&*self.kept).expect("the target folder can be written");
        let kept = Arc::new(folder.path().to_owned());
        Self { clang: Arc::clone(&self.clang), kept, _passing: Some(Arc::new(folder)) }
    }

    /// A code object from OpenCL C.
    pub(crate) fn device(&self, source: &Source<'_>, chip: Chip, options: &[&str]) -> Result<Vec<u8>, String> {
        let chip = format!("-mcpu={chip}");
        let mut arguments = vec!["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", &chip];
        arguments.extend(["-ffp-contract=off", "-fwrapv", "-cl-fp32-correctly-rounded-divide-sqrt", "-w"]);
        arguments.extend(options);
        let made = self.make(source, &arguments, "co")?;
        std::fs::read(&made).map_err(|error| format!("{}: {error}", made.display()))
    }

    /// A code object from assembly.
    pub(crate) fn assembly(&self, text: &str, chip: Chip, options: &[&str]) -> Result<Vec<u8>, String> {
        let chip = format!("-mcpu={chip}");
        let mut arguments = vec!["-x", "assembler", "-target", "amdgcn-amd-amdhsa", "-nogpulib", &chip];
        arguments.extend(options);
        let made = self.make(&Source::Text(text), &arguments, "co")?;
        std::fs::read(&made).map_err(|error| format!("{}: {error}", made.display()))
    }

    /// A shared library of the host from C; the path to it.
    pub(crate) fn host(&self, source: &Source<'_>, options: &[&str]) -> Result<PathBuf, String> {
        let mut arguments = vec!["-x", "c", "-std=gnu2x", "-shared", "-fPIC", "-O1", "-ffp-contract=off", "-fwrapv"];
        // Arithmetic of f16 is rounded after every operation, as the chips do it.
        arguments.extend(["-Xclang", "-ffloat16-excess-precision=none", "-mf16c", "-mfma", "-w"]);
        arguments.extend(["-Wl,--no-as-needed,-z,defs", "-lm"]);
        arguments.extend(options);
        self.make(source, &arguments, "so")
    }

    /// The text of a source after the preprocessor of the host.
    pub(crate) fn preprocess(&self, source: &Path, options: &[&str]) -> Result<String, String> {
        let arguments = [&["-x", "c", "-E", "-P", "-w"], options].concat();
        let made = self.make(&Source::File(source), &arguments, "list")?;
        std::fs::read_to_string(&made).map_err(|error| format!("{}: {error}", made.display()))
    }

    /// Runs clang, unless it ran before with the same input.
    fn make(&self, source: &Source<'_>, arguments: &[&str], extension: &str) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        arguments.hash(&mut hasher);
        match source {
            Source::File(path) => hash_folder(path, &mut hasher)?,
            Source::Text(text) => text.hash(&mut hasher),
        }
        let target = self.kept.join(format!("{:016x}.{extension}", hasher.finish()));
        if target.exists() {
            return Ok(target);
        }
        let work = tempfile::tempdir_in(&*self.kept).map_err(|error| format!("a folder for clang: {error}"))?;
        let fresh = work.path().join("output");
        let input = match source {
            Source::File(path) => path.to_path_buf(),
            Source::Text(text) => {
                let path = work.path().join("input");
                std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
                path
            }
        };
        let output = Command::new(&*self.clang)
            .args(arguments)
            .arg(&input)
            .arg("-o")
            .arg(&fresh)
            .output()
            .map_err(|error| format!("cannot run clang: {error}"))?;
        if !output.status.success() {
            return Err(format!("clang refuses the source:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        // Two tests may have made the same: either is good.
        std::fs::rename(&fresh, &target).map_err(|error| format!("{}: {error}", target.display()))?;
        Ok(target)
    }
}

/// Hashes all files beside a source, in a fixed order.
fn hash_folder(path: &Path, hasher: &mut DefaultHasher) -> Result<(), String> {
    let folder = path.parent().ok_or("a source lies in a folder")?;
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    for file in files {
        std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?.hash(hasher);
    }
    path.hash(hasher);
    Ok(())
}
