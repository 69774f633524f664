//! The programs from outside: clang, the linker that it calls, and zstd.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roci_device_library::Toolchain;

use crate::Error;

/// The oldest clang that knows all targets and compiles for them without a warning.
const CLANG: u32 = 22;

/// clang and its linker, found and asked for their versions.
#[derive(Clone, Debug)]
pub struct Programs {
    clang: PathBuf,
    versions: Toolchain,
}

impl Programs {
    /// Finds them: `clang-22`, or what is called `clang` if it is as new, with the linker that it would call.
    pub fn find() -> Result<Self, Error> {
        let missing = |reason| Error::Missing { program: "clang-22", reason, package: "clang-22 lld-22" };
        let mut reason = "it is not on PATH".to_owned();
        for name in ["clang-22", "clang"] {
            let Some(version) = version(Path::new(name))? else { continue };
            if major(&version).is_none_or(|major| major < CLANG) {
                reason = format!("`{name}` is `{version}`");
                continue;
            }
            let linker = linker(name)?;
            return Ok(Self { clang: name.into(), versions: Toolchain { clang: version, linker } });
        }
        Err(missing(reason))
    }

    /// Their versions.
    pub fn versions(&self) -> &Toolchain {
        &self.versions
    }

    /// Runs clang in `folder`. It must succeed, and say nothing.
    pub(crate) fn clang(&self, folder: &Path, arguments: &[&str], what: &str) -> Result<(), Error> {
        let output = run(Command::new(&self.clang).args(arguments).current_dir(folder))?;
        let output = output.ok_or_else(|| started(&self.clang, ErrorKind::NotFound.into()))?;
        silent(&self.clang, &output, what)
    }
}

/// Compresses `input` into the new file `output`, both in `folder`.
pub(crate) fn zstd(folder: &Path, input: &str, output: &str) -> Result<(), Error> {
    let program = Path::new("zstd");
    let ended = run(Command::new(program).args(["-q", "--ultra", "-22", input, "-o", output]).current_dir(folder))?;
    let missing = || Error::Missing { program: "zstd", reason: "it is not on PATH".into(), package: "zstd" };
    silent(program, &ended.ok_or_else(missing)?, "the archive")
}

fn started(program: &Path, source: std::io::Error) -> Error {
    Error::Run { program: program.display().to_string(), source }
}

/// What a program says and how it ends; `None` if there is no such program.
fn run(command: &mut Command) -> Result<Option<Output>, Error> {
    match command.output() {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(started(Path::new(command.get_program()), error)),
    }
}

fn silent(program: &Path, output: &Output, what: &str) -> Result<(), Error> {
    let said = [&*output.stderr, &*output.stdout].concat();
    if output.status.success() && said.trim_ascii().is_empty() {
        return Ok(());
    }
    let output = format!("{}({})", String::from_utf8_lossy(&said), output.status);
    Err(Error::Refused { program: program.display().to_string(), what: what.to_owned(), output })
}

/// The first line that a program says of its version; `None` if there is no such program.
fn version(program: &Path) -> Result<Option<String>, Error> {
    let output = run(Command::new(program).arg("--version"))?;
    Ok(output.filter(|output| output.status.success()).map(|output| first_line(&output)))
}

fn first_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
}

/// The version of the linker that clang calls.
fn linker(clang: &str) -> Result<String, Error> {
    let output = run(Command::new(clang).arg("-print-prog-name=ld.lld"))?;
    let path = output.map(|output| first_line(&output)).unwrap_or_default();
    let missing = || Error::Missing {
        program: "ld.lld",
        reason: format!("`{clang}` would call `{path}`, which is not there"),
        package: "lld-22",
    };
    version(Path::new(&path))?.ok_or_else(missing)
}

/// The first number of the version in a text such as `Debian clang version 22.1.8 (1~deb12u1)`.
fn major(text: &str) -> Option<u32> {
    let version = text.split_once("version ")?.1;
    version.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use roci_hal::Hint;

    use super::*;

    #[test]
    fn versions_are_read_from_what_clang_says() {
        assert_eq!(major("Debian clang version 22.1.8 (1~deb12u1)"), Some(22));
        assert_eq!(major("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn a_program_that_is_absent_is_no_error_of_its_own() {
        assert_eq!(version(Path::new("no-such-program-of-ours")).expect("absence is an answer"), None);
    }

    #[test]
    fn what_is_missing_comes_with_the_line_that_installs_it() {
        let error = linker("no-such-program-of-ours").expect_err("it has no linker");
        assert_eq!(
            error.to_string(),
            "`ld.lld` is needed: `no-such-program-of-ours` would call ``, which is not there"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("apt install lld-22")));
    }

    #[test]
    fn a_warning_is_a_refusal() {
        let shell = |script| run(Command::new("sh").args(["-c", script])).expect("it runs").expect("it is there");
        assert!(silent(Path::new("sh"), &shell("true"), "nothing").is_ok());
        assert!(silent(Path::new("sh"), &shell("exit 3"), "nothing").is_err());
        let error = silent(Path::new("sh"), &shell("echo hm >&2"), "a script").expect_err("it said something");
        assert!(error.to_string().contains("says of a script:\nhm\n"), "{error}");
    }
}
