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

/// clang, which compiles OpenCL C for AMD targets; version 22 by name, or whatever is called `clang`.
pub fn clang() -> Result<Tool, Error> {
    Tool::find(&["clang-22", "clang"])
}

/// The Khronos validator of SPIR-V.
pub fn spirv_val() -> Result<Tool, Error> {
    Tool::find(&["spirv-val"])
}

impl Tool {
    /// The first of `names` that is on `PATH`.
    pub fn find(names: &[&str]) -> Result<Tool, Error> {
        let path = env::read(env::PATH).unwrap_or_default();
        let found = names.iter().find_map(|name| {
            std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
        });
        found.map(|path| Tool { path }).ok_or_else(|| Error::Absent(names.join(", ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_named() {
        let error = Tool::find(&["no-such-program-of-ours"]).expect_err("nobody has it");
        assert!(error.to_string().contains("no-such-program-of-ours"), "{error}");
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
