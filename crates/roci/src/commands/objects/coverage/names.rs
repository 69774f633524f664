//! What the name of a file tells: which library it belongs to, and what it is there.

use std::path::{Path, PathBuf};

use roci_codeobj::Processor;

/// A library that comes in several files.
struct Known {
    name: &'static str,
    /// How the names of its files start.
    files: &'static [&'static str],
    /// Folders in which everything else belongs to it.
    folders: &'static [&'static str],
}

const fn known(name: &'static str, files: &'static [&'static str], folders: &'static [&'static str]) -> Known {
    Known { name, files, folders }
}

/// Names are compared in lower case.
const KNOWN: [Known; 13] = [
    known("hipBLASLt", &["libhipblaslt"], &["hipblaslt"]),
    known("hipSPARSELt", &["libhipsparselt"], &["hipsparselt"]),
    known("rocBLAS", &["librocblas"], &["rocblas"]),
    known("MIOpen", &["libmiopen"], &["miopen"]),
    known("rocSPARSE", &["librocsparse"], &["rocsparse"]),
    known("rocFFT", &["librocfft"], &["rocfft"]),
    known("rocRAND", &["librocrand"], &["rocrand"]),
    known("rocSOLVER", &["librocsolver"], &["rocsolver"]),
    known("rocALUTION", &["librocalution"], &["rocalution"]),
    known("RCCL", &["librccl"], &["rccl"]),
    known("Composable Kernel", &["libdevice_"], &["composable_kernel"]),
    known("torch", &["libtorch", "libc10"], &["torch"]),
    known("llama.cpp", &["libggml", "libllama", "llama-", "ggml-"], &["llama.cpp"]),
];

/// Folders between the one that something was installed to and its files.
const LAYOUT: [&str; 5] = ["lib", "lib64", "share", "bin", "x86_64-linux-gnu"];

/// A library at one place: there may be several of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LibraryKey {
    pub(super) name: String,
    /// What it was installed to.
    pub(super) folder: PathBuf,
}

impl LibraryKey {
    /// The library of a file: by its own name, else by the innermost folder that has a known name, else itself.
    pub(super) fn of(path: &Path) -> Self {
        let file = lower(path.file_name());
        let by_file = KNOWN.iter().find(|known| known.files.iter().any(|start| file.starts_with(start)));
        let folders = || path.ancestors().skip(1);
        let is_of = |known: &Known, folder: &Path| known.folders.contains(&lower(folder.file_name()).as_str());
        let known = by_file.or_else(|| folders().find_map(|folder| KNOWN.iter().find(|known| is_of(known, folder))));
        let own = known.and_then(|known| folders().find(|folder| is_of(known, folder)));
        let inside = own.unwrap_or(path).parent().unwrap_or(Path::new(""));
        let name = known.map_or_else(
            || short(&path.file_name().unwrap_or_default().to_string_lossy()),
            |known| known.name.to_owned(),
        );
        Self { name, folder: installed(inside).to_owned() }
    }
}

/// Without the folders that every installation has.
fn installed(mut folder: &Path) -> &Path {
    while LAYOUT.contains(&lower(folder.file_name()).as_str()) {
        match folder.parent() {
            Some(parent) => folder = parent,
            None => break,
        }
    }
    folder
}

/// A library's name without `lib` and version.
fn short(file: &str) -> String {
    let name = file.split_once(".so").map_or(file, |(name, _)| name);
    match name.strip_prefix("lib").filter(|short| !short.is_empty() && name != file) {
        Some(short) => short.to_owned(),
        None => name.to_owned(),
    }
}

fn lower(name: Option<&std::ffi::OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().to_lowercase()
}

/// What a file is in its library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It may have code in it, and stands for itself.
    Code,
    /// Code of a Tensile folder, which counts as one.
    Tensile,
    /// What a Tensile library looks its kernels up in; for all chips without one in its name.
    Index(Option<Processor>),
    /// MIOpen's compiled kernels.
    Database(Option<Processor>),
    /// MIOpen's measurements: which kernel is best.
    Tuning(Option<Processor>),
}

/// What a file is, by its name and place.
pub(super) fn kind(path: &Path) -> Kind {
    let file = lower(path.file_name());
    let library = folder(path);
    let folder = library.parent();
    let in_library = lower(library.file_name()) == "library"
        && ["rocblas", "hipblaslt", "hipsparselt", "tensile"]
            .contains(&lower(folder.and_then(Path::file_name)).as_str());
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_tensile = in_library || file.starts_with("tensilelibrary") || file.starts_with("kernels.so-");
    match extension.as_str() {
        "dat" | "yaml" if is_tensile => Kind::Index(processor(&file)),
        "co" | "hsaco" if is_tensile => Kind::Tensile,
        "kdb" if file.starts_with("gfx") => Kind::Database(processor(&file)),
        "db" if file.starts_with("gfx") => Kind::Tuning(processor(&file)),
        "txt" if file.starts_with("gfx") && file.contains("db.") => Kind::Tuning(processor(&file)),
        _ => Kind::Code,
    }
}

/// The folder that a file belongs to. Newer releases of ROCm have one for each chip in it.
pub(super) fn folder(path: &Path) -> &Path {
    let parent = path.parent().unwrap_or(path);
    let name = lower(parent.file_name());
    let is_chip = processor(&name).is_some_and(|chip| chip.name() == name);
    if is_chip { parent.parent().unwrap_or(parent) } else { parent }
}

/// Whether an index without a chip in its name is all that there is, and not one that serves beside those of chips.
pub(super) fn is_whole_index(path: &Path) -> bool {
    matches!(lower(path.file_stem()).as_str(), "tensilelibrary" | "tensilelibrary_lazy")
}

/// The chip in a name. MIOpen puts the number of compute units right behind it, so that the longest known name counts.
pub(super) fn processor(file: &str) -> Option<Processor> {
    let named = &file[file.rfind("gfx")?..];
    Processor::all().filter(|one| named.starts_with(one.name())).max_by_key(|one| one.name().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str) -> (String, String) {
        let key = LibraryKey::of(Path::new(path));
        (key.name, key.folder.display().to_string())
    }

    #[test]
    fn files_go_to_their_library() {
        for (path, name, folder) in [
            ("/opt/rocm/lib/librocblas.so.4.1", "rocBLAS", "/opt/rocm"),
            ("/opt/rocm/lib/rocblas/library/Kernels.so-000-gfx1030.hsaco", "rocBLAS", "/opt/rocm"),
            ("/opt/rocm/lib/hipblaslt/library/extop_gfx942.co", "hipBLASLt", "/opt/rocm"),
            ("/opt/rocm/lib/rocblas/library/gfx1150/Kernels.so-000-gfx1150.hsaco", "rocBLAS", "/opt/rocm"),
            ("/opt/rocm/share/miopen/db/gfx1030_36.kdb", "MIOpen", "/opt/rocm"),
            ("/opt/rocm/lib/libMIOpen.so.1.0", "MIOpen", "/opt/rocm"),
            ("/usr/lib/x86_64-linux-gnu/librocsparse.so.0.1", "rocSPARSE", "/usr"),
            ("/venv/torch/lib/libtorch_hip.so", "torch", "/venv"),
            ("/venv/torch/lib/libaotriton_v2.so", "torch", "/venv"),
            ("/venv/torch/lib/librocblas.so", "rocBLAS", "/venv/torch"),
            ("/home/me/llama.cpp/build/bin/libggml-hip.so", "llama.cpp", "/home/me"),
            ("/home/me/llama.cpp/build/bin/test-backend-ops", "llama.cpp", "/home/me"),
            ("/home/me/app/lib/libmine.so.2", "mine", "/home/me/app"),
            ("kernels.hsaco", "kernels.hsaco", ""),
        ] {
            assert_eq!(library(path), (name.to_owned(), folder.to_owned()), "{path}");
        }
    }

    #[test]
    fn names_tell_kind_and_chip() {
        let chip = |name: &str| Processor::from_name(name);
        for (path, expected) in [
            ("/r/rocblas/library/TensileLibrary_lazy_gfx1013.dat", Kind::Index(chip("gfx1013"))),
            ("/r/rocblas/library/gfx1150/TensileLibrary_lazy_gfx1150.dat", Kind::Index(chip("gfx1150"))),
            ("/r/rocblas/library/TensileLibrary.dat", Kind::Index(None)),
            ("/r/rocblas/library/Kernels.so-000-gfx906-xnack-.hsaco", Kind::Tensile),
            ("/r/hipblaslt/library/extop_gfx942.co", Kind::Tensile),
            ("/r/miopen/db/gfx90878.HIP.fdb.txt", Kind::Tuning(chip("gfx908"))),
            ("/r/miopen/db/gfx1030_36.db", Kind::Tuning(chip("gfx1030"))),
            ("/r/miopen/db/gfx90a68.kdb", Kind::Database(chip("gfx90a"))),
            ("/r/lib/librocblas.so", Kind::Code),
            ("/r/notes.txt", Kind::Code),
        ] {
            assert_eq!(kind(Path::new(path)), expected, "{path}");
        }
        assert_eq!(folder(Path::new("/r/rocblas/library/gfx1150/x.co")), Path::new("/r/rocblas/library"));
        assert!(is_whole_index(Path::new("/r/TensileLibrary.dat")));
        assert!(!is_whole_index(Path::new("/r/TensileLibrary_Type_HH_Contraction_fallback.dat")));
        assert_eq!(processor("x_gfx10-1-generic.co"), chip("gfx10-1-generic"));
        assert_eq!((processor("gfx7777.co"), processor("none")), (None, None));
    }
}
