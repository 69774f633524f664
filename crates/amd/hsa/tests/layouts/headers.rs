//! The C headers, and programs that include them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Included headers, in order.
const FILES: [&str; 7] = [
    "hsa.h",
    "hsa_ext_amd.h",
    "hsa_ext_image.h",
    "hsa_ext_finalize.h",
    "hsa_ven_amd_loader.h",
    "amd_hsa_queue.h",
    "amd_hsa_signal.h",
];

/// Directories that may contain them.
const FOLDERS: [&str; 2] = ["/usr/include", "/opt/rocm/include"];

pub(crate) struct Headers {
    folder: PathBuf,
    compiler: PathBuf,
    identifiers: BTreeSet<String>,
}

impl Headers {
    pub(crate) fn find(compiler: PathBuf) -> Result<Self, String> {
        let folder = FOLDERS.iter().map(Path::new).find(|folder| folder.join("hsa/hsa.h").is_file());
        let folder = folder.ok_or_else(|| format!("no hsa/hsa.h in {} (libhsa-runtime-dev)", FOLDERS.join(", ")))?;
        let mut identifiers = BTreeSet::new();
        for file in FILES {
            let path = folder.join("hsa").join(file);
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let words = without_comments(&text);
            let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            identifiers.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
        Ok(Self { folder: folder.to_owned(), compiler, identifiers })
    }

    /// Whether the headers contain this identifier outside of comments.
    pub(crate) fn has(&self, identifier: &str) -> bool {
        self.identifiers.contains(identifier)
    }

    /// All identifiers of the headers.
    pub(crate) fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.identifiers.iter().map(String::as_str)
    }

    /// Values of C expressions.
    pub(crate) fn evaluate(&self, expressions: &[String]) -> BTreeMap<String, u64> {
        let prints = expressions.iter().map(|e| format!("  printf(\"%llu\\n\", (unsigned long long)({e}));\n"));
        let program = format!("int main(void) {{\n{}  return 0;\n}}\n", prints.collect::<String>());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let binary = folder.path().join("evaluate");
        self.compile(&program, &["-o", binary.to_str().expect("a path of ours")])
            .unwrap_or_else(|message| panic!("{message}"));
        let output = Command::new(&binary).output().expect("the compiled program runs");
        let output = String::from_utf8(output.stdout).expect("numbers");
        let values: Vec<u64> = output.lines().map(|line| line.parse().expect("a number")).collect();
        assert_eq!(values.len(), expressions.len(), "one line for each expression");
        expressions.iter().cloned().zip(values).collect()
    }

    /// Compiles a program that includes the headers; the error is the output of the compiler.
    pub(crate) fn compile(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let includes = FILES.map(|file| format!("#include <hsa/{file}>\n")).concat();
        let source = format!("#include <stddef.h>\n#include <stdio.h>\n{includes}{program}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("program.c");
        std::fs::write(&file, source).expect("the folder is writable");
        let output = Command::new(&self.compiler).arg("-I").arg(&self.folder).args(arguments).arg(&file).output();
        let output = output.expect("the compiler starts");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(message) }
    }
}

/// Strips comments from C code.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        code.push_str(&rest[..start]);
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    code.push_str(rest);
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}
