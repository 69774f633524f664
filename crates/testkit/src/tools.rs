//! External programs that check what we write: found on `PATH`, run with their input on standard input.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::env;

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not on `PATH`.
    #[error("none of these is on PATH: {0}")]
    Absent(String),
    /// It is there, but too old.
    #[error("{program} is `{found}`; version {wanted} or later is needed")]
    Version {
        /// The program.
        program: String,
        /// What it says of itself.
        found: String,
        /// The oldest version that will do.
        wanted: u32,
    },
    /// It could not be started or fed.
    #[error("cannot run {program}: {source}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It says no, or says anything at all where silence means yes.
    #[error("{program} ended with {status} and says:\n{output}")]
    Refused {
        /// The program.
        program: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Everything it wrote.
        output: String,
    },
}

/// A program that was found.
#[derive(Clone, Debug)]
pub struct Tool {
    path: PathBuf,
}

/// The oldest clang that compiles for all of our targets without a warning.
const CLANG: u32 = 22;

/// clang, which compiles OpenCL C for AMD targets: `clang-22`, or what is called `clang` if it is as new.
pub fn clang() -> Result<Tool, Error> {
    let clang = Tool::find(&["clang-22", "clang"])?;
    let version = clang.version()?;
    clang.at_least(CLANG, &version)
}

/// The Khronos validator of SPIR-V.
pub fn spirv_val() -> Result<Tool, Error> {
    Tool::find(&["spirv-val"])
}

/// LLVM's assembler and disassembler, of the version whose text is ours: another one prints other text.
pub fn llvm_mc() -> Result<Tool, Error> {
    Tool::find(&["llvm-mc-22"])
}

impl Tool {
    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The first of `names` that is on `PATH`.
    pub fn find(names: &[&str]) -> Result<Tool, Error> {
        let path = env::read(env::PATH).unwrap_or_default();
        let found = names.iter().find_map(|name| {
            std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
        });
        found.map(|path| Tool { path }).ok_or_else(|| Error::Absent(names.join(", ")))
    }

    /// What it says to `--version`.
    fn version(&self) -> Result<String, Error> {
        let output = Command::new(&self.path).arg("--version").output();
        let output = output.map_err(|source| Error::Run { program: self.path.display().to_string(), source })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Itself, if its `version` is `wanted` or later.
    fn at_least(self, wanted: u32, version: &str) -> Result<Tool, Error> {
        if major_version(version).is_some_and(|major| major >= wanted) {
            return Ok(self);
        }
        let found = version.lines().next().unwrap_or_default().to_owned();
        Err(Error::Version { program: self.path.display().to_string(), found, wanted })
    }

    /// Runs the program on `input`; silence and success are `Ok`, a warning is as bad as an error.
    pub fn accepts(&self, arguments: &[&str], input: &[u8]) -> Result<(), Error> {
        let program = self.path.display().to_string();
        let fail = |source| Error::Run { program: program.clone(), source };
        let mut child = Command::new(&self.path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that refuses early closes the pipe; what it says is worth more than the broken pipe.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().map_err(fail)?;
        let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        if output.status.success() && said.trim().is_empty() {
            return Ok(());
        }
        Err(Error::Refused { program, status: output.status, output: said })
    }
}

/// The first number of the version in a text such as `Debian clang version 22.1.8 (1~deb12u1)`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.lines().next()?.split_once(" version ")?.1;
    version.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_named() {
        let error = Tool::find(&["no-such-program-of-ours"]).expect_err("nobody has it");
        assert!(error.to_string().contains("no-such-program-of-ours"), "{error}");
    }

    #[test]
    fn versions_are_read_from_what_compilers_say() {
        assert_eq!(major_version("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x86_64\n"), Some(22));
        assert_eq!(major_version("AMD clang version 19.0.0git (https://example.org)"), Some(19));
        assert_eq!(major_version("gcc (Debian 12.2.0) 12.2.0"), None);
        assert_eq!(major_version(""), None);
    }

    #[test]
    fn a_program_that_is_too_old_is_named_with_what_it_is() {
        let clang = || Tool { path: "/usr/bin/clang".into() };
        let version = "Debian clang version 15.0.6\nTarget: x86_64";
        assert!(clang().at_least(15, version).is_ok());
        let error = clang().at_least(22, version).expect_err("15 is not 22").to_string();
        assert_eq!(error, "/usr/bin/clang is `Debian clang version 15.0.6`; version 22 or later is needed");
    }

    #[test]
    fn failure_and_speech_are_refusals() {
        let shell = Tool::find(&["sh"]).expect("every system that runs these tests has a shell");
        assert!(shell.accepts(&["-c", "cat >/dev/null"], b"input").is_ok());
        assert!(matches!(shell.accepts(&["-c", "exit 3"], b""), Err(Error::Refused { .. })));
        let error = shell.accepts(&["-c", "echo warning >&2"], b"").expect_err("a warning counts");
        assert!(error.to_string().contains("warning"), "{error}");
    }
}
