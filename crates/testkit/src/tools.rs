//! External programs that check generated output. They are searched on `PATH` and read their input
//! from standard input.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::env;

/// Why a program could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program on `PATH`.
    #[error("none of these is on PATH: {0}")]
    Absent(String),
    /// The program is too old.
    #[error("{program} is `{found}`; version {required} or later is needed")]
    Version {
        /// Name of the program.
        program: String,
        /// Its version output.
        found: String,
        /// Minimum major version that is accepted.
        required: u32,
    },
    /// The program could not be started, or its input could not be written.
    #[error("cannot run {program}: {source}")]
    Run {
        /// Name of the program.
        program: String,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// The program failed, or printed output when none is expected.
    #[error("{program} ended with {status} and says:\n{output}")]
    Refused {
        /// Name of the program.
        program: String,
        /// How the process ended: a code or a signal.
        status: std::process::ExitStatus,
        /// Complete output.
        output: String,
    },
}

/// A program found on `PATH`.
#[derive(Clone, Debug)]
pub struct Tool {
    path: PathBuf,
}

/// Minimum major version of clang that compiles for all targets without warnings.
const CLANG: u32 = 22;

/// clang with OpenCL C for AMD targets: `clang-22`, or a `clang` that is at least as new.
pub fn clang() -> Result<Tool, Error> {
    let clang = Tool::find(&["clang-22", "clang"])?;
    let version = clang.version()?;
    clang.at_least(CLANG, &version)
}

/// The Khronos SPIR-V validator.
pub fn spirv_val() -> Result<Tool, Error> {
    Tool::find(&["spirv-val"])
}

/// LLVM's assembler and disassembler, in the version whose syntax the project uses; other versions
/// print other text.
pub fn llvm_mc() -> Result<Tool, Error> {
    Tool::find(&["llvm-mc-22"])
}

impl Tool {
    /// Path of the program.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Finds the first of `names` on `PATH`.
    pub fn find(names: &[&str]) -> Result<Tool, Error> {
        let path = env::read(env::PATH).unwrap_or_default();
        let found = names.iter().find_map(|name| {
            std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
        });
        found.map(|path| Tool { path }).ok_or_else(|| Error::Absent(names.join(", ")))
    }

    /// Output of `--version`.
    fn version(&self) -> Result<String, Error> {
        let output = Command::new(&self.path).arg("--version").output();
        let output = output.map_err(|source| Error::Run { program: self.path.display().to_string(), source })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns the tool if the major version in `version` is at least `required`.
    fn at_least(self, required: u32, version: &str) -> Result<Tool, Error> {
        if major_version(version).is_some_and(|major| major >= required) {
            return Ok(self);
        }
        let found = version.lines().next().unwrap_or_default().to_owned();
        Err(Error::Version { program: self.path.display().to_string(), found, required })
    }

    /// Runs the program on `input`. Any output counts as an error, including warnings.
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
            // A program that rejects its input early closes the pipe; its output is more useful
            // than the write error.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().map_err(fail)?;
        let mut message = String::from_utf8_lossy(&output.stderr).into_owned();
        message.push_str(&String::from_utf8_lossy(&output.stdout));
        if output.status.success() && message.trim().is_empty() {
            return Ok(());
        }
        Err(Error::Refused { program, status: output.status, output: message })
    }
}

/// The major version in a text such as `Debian clang version 22.1.8 (1~deb12u1)`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.lines().next()?.split_once(" version ")?.1;
    version.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_named() {
        let error = Tool::find(&["no-such-program-of-ours"]).expect_err("it does not exist");
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
