//! Builds a code object from a recipe.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use roci_codeobj::CodeObject;
use roci_device_library::{Archive, Object};
use tempfile::TempDir;

use crate::{Error, Programs, Recipe, programs};

/// Name of the linked file.
const LINKED: &str = "linked";

/// Builds the code object for one target.
pub fn build(programs: &Programs, recipe: &Recipe) -> Result<Object, Error> {
    let folder = temporary()?;
    let mut link: Vec<String> = recipe.link.clone();
    for source in &recipe.sources {
        let (input, output) = (format!("{}.cl", source.name), format!("{}.o", source.name));
        write(&folder.path().join(&input), source.text.as_bytes())?;
        let mut arguments: Vec<&str> = recipe.compile.iter().map(String::as_str).collect();
        arguments.extend(["-o", &output, &input]);
        programs.clang(folder.path(), &arguments, &format!("`{}` for {}", source.name, recipe.target))?;
        link.push(output);
    }
    link.extend(["-o", LINKED].map(str::to_owned));
    let link: Vec<&str> = link.iter().map(String::as_str).collect();
    programs.clang(folder.path(), &link, &format!("all kernels for {}", recipe.target))?;
    let bytes = read(&folder.path().join(LINKED))?;

    let wrong = |reason| Error::Target { expected: recipe.target, reason };
    let target = CodeObject::parse(&bytes).map_err(|error| wrong(error.to_string()))?.target();
    if target != recipe.target {
        return Err(wrong(format!("it is for {target}")));
    }
    Ok(Object { target, options: recipe.options(), kernels: recipe.fingerprints(), bytes })
}

/// Builds the code objects of all recipes in parallel, and calls `done` for each as it finishes.
pub fn build_all(programs: &Programs, recipes: &[Recipe], done: &(dyn Fn(&Object) + Sync)) -> Result<Archive, Error> {
    let next = AtomicUsize::new(0);
    let built = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(recipe) = recipes.get(index) else { return };
            let object = build(programs, recipe);
            if let Ok(object) = &object {
                done(object);
            }
            built.lock().unwrap_or_else(PoisonError::into_inner).push((index, object));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into).min(recipes.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
    built.sort_by_key(|(index, _)| *index);
    let objects = built.into_iter().map(|(_, object)| object).collect::<Result<_, _>>()?;
    Ok(Archive { toolchain: programs.versions().clone(), objects })
}

/// Serializes and compresses the archive.
pub fn compress(archive: &Archive) -> Result<Vec<u8>, Error> {
    let folder = temporary()?;
    write(&folder.path().join("plain"), &archive.write())?;
    programs::zstd(folder.path(), "plain", "compressed")?;
    read(&folder.path().join("compressed"))
}

fn temporary() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}
