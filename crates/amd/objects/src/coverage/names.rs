//! Assigns a file to a library and a role by its name.

use std::path::{Path, PathBuf};

use roci_codeobj::Processor;

/// A library of several files.
struct KnownLibrary {
    name: &'static str,
    /// Prefixes of its file names.
    files: &'static [&'static str],
    /// Folders whose other files belong to it.
    folders: &'static [&'static str],
}

const fn known(name: &'static str, files: &'static [&'static str], folders: &'static [&'static str]) -> KnownLibrary {
    KnownLibrary { name, files, folders }
}

/// Known libraries; names are compared in lower case.
const KNOWN_LIBRARIES: [KnownLibrary; 13] = [
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

/// Folders between the installation prefix and the files.
const LAYOUT_FOLDERS: [&str; 5] = ["lib", "lib64", "share", "bin", "x86_64-linux-gnu"];

/// A library in one installation; several installations may have the same library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LibraryKey {
    pub(crate) name: String,
    /// The installation prefix.
    pub(crate) folder: PathBuf,
}

impl LibraryKey {
    /// The library of a file: by its own name, else by the innermost folder that has a known name,
    /// else itself.
    pub(crate) fn of(path: &Path) -> Self {
        let file = lower(path.file_name());
        let by_file = KNOWN_LIBRARIES.iter().find(|known| known.files.iter().any(|start| file.starts_with(start)));
        let folders = || path.ancestors().skip(1);
        let is_of = |known: &KnownLibrary, folder: &Path| known.folders.contains(&lower(folder.file_name()).as_str());
        let known =
            by_file.or_else(|| folders().find_map(|folder| KNOWN_LIBRARIES.iter().find(|known| is_of(known, folder))));
        let own = known.and_then(|known| folders().find(|folder| is_of(known, folder)));
        let inside = own.unwrap_or(path).parent().unwrap_or(Path::new(""));
        let name = known.map_or_else(
            || short(&path.file_name().unwrap_or_default().to_string_lossy()),
            |known| known.name.to_owned(),
        );
        Self { name, folder: prefix(inside).to_owned() }
    }
}

/// Removes the folders that every installation has.
fn prefix(mut folder: &Path) -> &Path {
    while LAYOUT_FOLDERS.contains(&lower(folder.file_name()).as_str()) {
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

/// The role of a file in its library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A standalone file that may contain code.
    Code,
    /// Code in a Tensile folder; the folder is one component.
    Tensile,
    /// The kernel index of a Tensile library; for all chips if its name has none.
    Index(Option<Processor>),
    /// MIOpen's compiled kernels.
    Database(Option<Processor>),
    /// MIOpen's tuning data.
    Tuning(Option<Processor>),
}

/// The role of a file, by its name and folder.
pub(crate) fn kind(path: &Path) -> FileKind {
    let file = lower(path.file_name());
    let library = folder(path);
    let folder = library.parent();
    let in_library = lower(library.file_name()) == "library"
        && ["rocblas", "hipblaslt", "hipsparselt", "tensile"]
            .contains(&lower(folder.and_then(Path::file_name)).as_str());
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_tensile = in_library || file.starts_with("tensilelibrary") || file.starts_with("kernels.so-");
    match extension.as_str() {
        "dat" | "yaml" if is_tensile => FileKind::Index(processor(&file)),
        "co" | "hsaco" if is_tensile => FileKind::Tensile,
        "kdb" if file.starts_with("gfx") => FileKind::Database(processor(&file)),
        "db" if file.starts_with("gfx") => FileKind::Tuning(processor(&file)),
        "txt" if file.starts_with("gfx") && file.contains("db.") => FileKind::Tuning(processor(&file)),
        _ => FileKind::Code,
    }
}

/// The folder that a file belongs to. Newer releases of ROCm have a subfolder per chip in it.
pub(crate) fn folder(path: &Path) -> &Path {
    let parent = path.parent().unwrap_or(path);
    let name = lower(parent.file_name());
    let is_chip = processor(&name).is_some_and(|chip| chip.name() == name);
    if is_chip { parent.parent().unwrap_or(parent) } else { parent }
}

/// Whether an index without a chip in its name is the only one, and not a fallback for those of
/// chips.
pub(crate) fn is_whole_index(path: &Path) -> bool {
    matches!(lower(path.file_stem()).as_str(), "tensilelibrary" | "tensilelibrary_lazy")
}

/// The chip in a name. MIOpen appends the number of compute units without a separator, so the
/// longest known name wins.
pub(crate) fn processor(file: &str) -> Option<Processor> {
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
    fn files_are_assigned_to_libraries() {
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
    fn names_determine_kind_and_chip() {
        let chip = |name: &str| Processor::from_name(name);
        for (path, expected) in [
            ("/r/rocblas/library/TensileLibrary_lazy_gfx1013.dat", FileKind::Index(chip("gfx1013"))),
            ("/r/rocblas/library/gfx1150/TensileLibrary_lazy_gfx1150.dat", FileKind::Index(chip("gfx1150"))),
            ("/r/rocblas/library/TensileLibrary.dat", FileKind::Index(None)),
            ("/r/rocblas/library/Kernels.so-000-gfx906-xnack-.hsaco", FileKind::Tensile),
            ("/r/hipblaslt/library/extop_gfx942.co", FileKind::Tensile),
            ("/r/miopen/db/gfx90878.HIP.fdb.txt", FileKind::Tuning(chip("gfx908"))),
            ("/r/miopen/db/gfx1030_36.db", FileKind::Tuning(chip("gfx1030"))),
            ("/r/miopen/db/gfx90a68.kdb", FileKind::Database(chip("gfx90a"))),
            ("/r/lib/librocblas.so", FileKind::Code),
            ("/r/notes.txt", FileKind::Code),
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
