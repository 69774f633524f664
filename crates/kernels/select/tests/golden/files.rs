//! The golden files: a manifest with the fingerprint of every generated source, and the full source
//! of some.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::cover;
use crate::source::{Code, Id, Source};

const MANIFEST: &str = "MANIFEST";
const HEAD: &str = "# kernel target lowering fingerprint\n";

/// The checked-in files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Golden {
    pub(crate) manifest: String,
    /// Full sources, by path relative to the golden folder.
    pub(crate) full: BTreeMap<PathBuf, String>,
}

/// A difference between the golden files and the generated sources.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem<'a> {
    /// A source differs from its fingerprint or its full source.
    Changed { id: &'a Id, code: &'a Code, old: Option<&'a str> },
    /// A source is missing from the manifest.
    Added { id: &'a Id, code: &'a Code },
    /// The manifest lists a source that no kernel generates.
    Removed(Id),
    /// A full source that no kernel generates.
    Stale(&'a Path),
    /// No full source covers a feature of `id`.
    Uncovered { feature: &'a str, id: &'a Id },
    /// All fingerprints agree, but the manifest's lines differ: in order, by a duplicate or by a
    /// conflict marker.
    Form,
}

impl Golden {
    /// The golden files for these sources, with the full source of those in `chosen`.
    pub(crate) fn new(sources: &BTreeMap<Id, Source>, chosen: &BTreeSet<Id>) -> Self {
        let lines = sources.iter().map(|(id, source)| format!("{id} {}\n", source.code.fingerprint()));
        let manifest = format!("{HEAD}{}", lines.collect::<String>());
        let full = chosen.iter().filter_map(|id| Some((id.path(), sources.get(id)?.code.source())));
        Self { manifest, full: full.collect() }
    }

    /// Reads a golden folder, which may be absent.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let manifest = match std::fs::read_to_string(root.join(MANIFEST)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            manifest => manifest?,
        };
        let mut full = BTreeMap::new();
        for target in ["amdgcn", "opencl", "spirv"] {
            let files = match std::fs::read_dir(root.join(target)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                files => files?,
            };
            for file in files {
                let name = file?.file_name();
                let path = Path::new(target).join(name);
                let text = std::fs::read_to_string(root.join(&path))?;
                full.insert(path, text);
            }
        }
        Ok(Self { manifest, full })
    }

    /// Writes the golden files to a folder and removes stale full sources.
    pub(crate) fn write(&self, root: &Path) -> io::Result<()> {
        for path in Self::read(root)?.full.keys().filter(|path| !self.full.contains_key(*path)) {
            std::fs::remove_file(root.join(path))?;
        }
        write_file(&root.join(MANIFEST), &self.manifest)?;
        self.full.iter().try_for_each(|(path, text)| write_file(&root.join(path), text))
    }

    /// The ids that have a full source.
    pub(crate) fn chosen(&self, sources: &BTreeMap<Id, Source>) -> BTreeSet<Id> {
        sources.keys().filter(|id| self.full.contains_key(&id.path())).cloned().collect()
    }

    /// All differences, those of the manifest first.
    pub(crate) fn compare<'a>(&'a self, sources: &'a BTreeMap<Id, Source>) -> Vec<Problem<'a>> {
        let mut known: BTreeMap<Id, &str> = self.manifest.lines().filter_map(manifest_line).collect();
        let chosen = self.chosen(sources);
        let mut problems = Vec::new();
        for (id, Source { code, .. }) in sources {
            let old = self.full.get(&id.path()).map(String::as_str);
            let is_same = old.is_none_or(|old| old == code.source());
            match known.remove(id) {
                None => problems.push(Problem::Added { id, code }),
                Some(fingerprint) if is_same && fingerprint == code.fingerprint().to_string() => {}
                Some(_) => problems.push(Problem::Changed { id, code, old }),
            }
        }
        problems.extend(known.into_keys().map(Problem::Removed));
        if problems.is_empty() && self.manifest != Self::new(sources, &BTreeSet::new()).manifest {
            problems.push(Problem::Form);
        }
        let paths: BTreeSet<PathBuf> = chosen.iter().map(Id::path).collect();
        let stale = self.full.keys().filter(|path| !paths.contains(*path));
        problems.extend(stale.map(|path| Problem::Stale(path)));
        let uncovered = cover::uncovered(sources, &chosen).into_iter();
        problems.extend(uncovered.map(|(feature, id)| Problem::Uncovered { feature, id }));
        problems
    }
}

/// Writes a file and creates its parent folder.
pub(crate) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text)
}

fn manifest_line(line: &str) -> Option<(Id, &str)> {
    let mut words = line.split(' ');
    let id = Id::new(words.next()?, words.next()?, words.next()?);
    Some((id, words.next().filter(|_| words.next().is_none())?))
}
