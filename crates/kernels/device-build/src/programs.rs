//! External programs: clang, the linker it calls, and zstd.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roci_device_library::Toolchain;

use crate::Error;

/// Oldest major version of clang that supports all targets and compiles for them without warnings.
const CLANG: u32 = 22;

/// clang and its linker, with their versions.
#[derive(Clone, Debug)]
pub struct Programs {
    clang: PathBuf,
    versions: Toolchain,
}

impl Programs {
    /// Finds `clang-22`, or a `clang` that is at least as new, and the linker it calls.
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

    /// The versions of clang and the linker.
    pub fn versions(&self) -> &Toolchain {
        &self.versions
    }

    /// Runs clang in `folder`. Fails if it exits with an error or prints anything.
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

/// Runs a command and returns its output and exit status; `None` if the program does not exist.
fn run(command: &mut Command) -> Result<Option<Output>, Error> {
    match command.output() {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(started(Path::new(command.get_program()), error)),
    }
}

fn silent(program: &Path, output: &Output, what: &str) -> Result<(), Error> {
    let message = [&*output.stderr, &*output.stdout].concat();
    if output.status.success() && message.trim_ascii().is_empty() {
        return Ok(());
    }
    let output = format!("{}({})", String::from_utf8_lossy(&message), output.status);
    Err(Error::Refused { program: program.display().to_string(), what: what.to_owned(), output })
}

/// The first line of the program's `--version` output; `None` if the program does not exist.
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

/// The major version in a text such as `Debian clang version 22.1.8 (1~deb12u1)`.
fn major(text: &str) -> Option<u32> {
    let version = text.split_once("version ")?.1;
    version.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use roci_base::Hint;

    use super::*;

    #[test]
    fn versions_are_parsed_from_clangs_output() {
        assert_eq!(major("Debian clang version 22.1.8 (1~deb12u1)"), Some(22));
        assert_eq!(major("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn a_missing_program_is_not_an_error_by_itself() {
        assert_eq!(version(Path::new("no-such-program-of-ours")).expect("a missing program is not an error"), None);
    }

    #[test]
    fn errors_of_missing_programs_have_the_install_command() {
        let error = linker("no-such-program-of-ours").expect_err("there is no linker");
        assert_eq!(
            error.to_string(),
            "`ld.lld` is needed: `no-such-program-of-ours` would call ``, which is not there"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("apt install lld-22")));
    }

    #[test]
    fn a_compiler_warning_is_an_error() {
        let shell =
            |script| run(Command::new("sh").args(["-c", script])).expect("the script runs").expect("`sh` exists");
        assert!(silent(Path::new("sh"), &shell("true"), "nothing").is_ok());
        assert!(silent(Path::new("sh"), &shell("exit 3"), "nothing").is_err());
        let error = silent(Path::new("sh"), &shell("echo hm >&2"), "a script").expect_err("it printed a warning");
        assert!(error.to_string().contains("failed for a script:\nhm\n"), "{error}");
    }
}
