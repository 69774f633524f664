//! Arguments of `sbatch`, and the script.

use std::path::{Path, PathBuf};

use crate::executor::command::{quote, variables};
use crate::executor::{Exit, RunSpec};

/// Files of a run in the shared folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Files {
    /// The folder of this run.
    pub(super) folder: PathBuf,
}

impl Files {
    /// Below the folder that all runs share.
    pub(super) fn new(shared: &Path, mark: &str) -> Self {
        Self { folder: shared.join(mark) }
    }

    pub(super) fn script(&self) -> PathBuf {
        self.folder.join("job.sh")
    }

    /// Standard output.
    pub(super) fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Standard error.
    pub(super) fn err(&self) -> PathBuf {
        self.folder.join("err")
    }

    /// Record that the script writes when the program has ended.
    pub(super) fn record(&self) -> PathBuf {
        self.folder.join("exit")
    }
}

/// The script's record: the program's exit and the length of its output. A network file system can
/// show the end of a job before the end of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Exit of the program.
    pub(super) exit: Exit,
    /// Bytes of standard output.
    pub(super) out: u64,
    /// Bytes of standard error.
    pub(super) err: u64,
}

impl Record {
    /// Parses the record; `None` if it is incomplete.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let exit = Exit::of_shell(words.next()?.parse().ok()?);
        let record = Self { exit, out: words.next()?.parse().ok()?, err: words.next()?.parse().ok()? };
        words.next().is_none().then_some(record)
    }
}

/// Options and script name for `sbatch`. Options are arguments rather than `#SBATCH` lines, where
/// Slurm has its own quoting rules.
pub(super) fn arguments(spec: &RunSpec, files: &Files) -> Vec<String> {
    let options = &spec.options.slurm;
    // Slurm expands `%j` and others in these names.
    let pattern = |path: PathBuf| path.display().to_string().replace('%', "%%");
    // The watchdog counts from the start of the program and must fire first; Slurm's limit ends
    // jobs whose roci died.
    let minutes = spec.limits.deadline.saturating_add(spec.limits.grace).as_secs().div_ceil(60) + 2;
    let mut arguments = vec![
        "--parsable".to_owned(),
        format!("--job-name={}", spec.mark),
        format!("--output={}", pattern(files.out())),
        format!("--error={}", pattern(files.err())),
        "--input=/dev/null".to_owned(),
        // A requeued job would write its output twice.
        "--no-requeue".to_owned(),
        "--nodes=1".to_owned(),
        "--ntasks=1".to_owned(),
        "--export=ALL".to_owned(),
        format!("--chdir={}", files.folder.display()),
        format!("--time={minutes}"),
    ];
    let mut option = |name: &str, value: Option<String>| {
        arguments.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("mem", spec.limits.memory.map(|bytes| format!("{}K", bytes.div_ceil(1024).max(1))));
    option("partition", options.partition.clone());
    option("gres", options.gres.clone());
    option("account", options.account.clone());
    option("constraint", options.constraint.clone());
    option("cpus-per-task", options.cpus.map(|cpus| cpus.to_string()));
    arguments.extend(options.arguments.iter().cloned());
    arguments.push(files.script().display().to_string());
    arguments
}

/// The script: runs the program in its folder with its variables, and records how it ended.
pub(super) fn script(spec: &RunSpec, files: &Files) -> String {
    let mut command = vec!["env".to_owned()];
    command.extend(spec.unset.iter().map(|name| format!("-u {}", quote(name))));
    command.extend(variables(spec).map(|(name, value)| quote(&format!("{name}={value}"))));
    command.extend(spec.command.iter().map(|word| quote(word)));
    let path = |path: &Path| quote(&path.display().to_string());
    let folder = spec.directory.as_deref().map_or(String::new(), |folder| format!("cd {} || exit 125\n", path(folder)));
    let (out, err, record) = (path(&files.out()), path(&files.err()), path(&files.record()));
    format!(
        "#!/bin/sh\n\
         # A run of roci lab.\n\
         {folder}{command}\n\
         code=$?\n\
         # Renamed when whole: the reader may look at any moment.\n\
         echo $code $(wc -c <{out}) $(wc -c <{err}) >{record}.new && mv {record}.new {record}\n\
         exit $code\n",
        command = command.join(" "),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::executor::command::tests::spec;

    #[test]
    fn options_reach_sbatch() {
        let mut spec = spec(&["llama-bench"]);
        spec.limits.deadline = Duration::from_secs(61);
        spec.limits.memory = Some(1_000_000);
        spec.options.slurm.partition = Some("amd".into());
        spec.options.slurm.gres = Some("gpu:gfx1151:1".into());
        spec.options.slurm.cpus = Some(4);
        spec.options.slurm.arguments = vec!["--exclusive".into()];
        let arguments = arguments(&spec, &Files::new(Path::new("/shared/50%"), &spec.mark));
        let folder = "/shared/50%/roci-lab-0123456789abcdef";
        for expected in [
            "--job-name=roci-lab-0123456789abcdef",
            "--output=/shared/50%%/roci-lab-0123456789abcdef/out",
            "--time=4",
            "--mem=977K",
            "--partition=amd",
            "--gres=gpu:gfx1151:1",
            "--cpus-per-task=4",
            &format!("--chdir={folder}"),
        ] {
            assert!(arguments.iter().any(|argument| argument == expected), "{expected} in {arguments:?}");
        }
        assert!(!arguments.iter().any(|argument| argument.starts_with("--account")));
        assert_eq!(arguments[arguments.len() - 2..], ["--exclusive".to_owned(), format!("{folder}/job.sh")]);
    }

    /// Runs the script with a shell, as a node does.
    fn run(spec: &RunSpec) -> (tempfile::TempDir, String, Option<Record>) {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Files::new(folder.path(), "it's a mark");
        std::fs::create_dir(&files.folder).expect("writable");
        std::fs::write(files.script(), script(spec, &files)).expect("writable");
        let create = |path| std::fs::File::create(path).expect("writable");
        let mut child = std::process::Command::new("sh")
            .arg(files.script())
            .env("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
            .stdout(create(files.out()))
            .stderr(create(files.err()))
            .spawn()
            .expect("a shell");
        child.wait().expect("it ends");
        let record = std::fs::read_to_string(files.record()).ok().and_then(|text| Record::parse(&text));
        (folder, std::fs::read_to_string(files.out()).expect("readable"), record)
    }

    #[test]
    fn a_shell_runs_the_script() {
        let mut spec =
            spec(&["sh", "-c", "echo \"$HSA_ENABLE_SDMA $ODD ${HSA_OVERRIDE_GFX_VERSION-gone}\"; pwd; exit 7"]);
        spec.env.insert("ODD".into(), "it's $HOME\nand `more`".into());
        spec.directory = Some("/".into());
        let (_folder, out, record) = run(&spec);
        assert_eq!(out, "0 it's $HOME\nand `more` gone\n/\n");
        let exit = Exit { code: Some(7), ..Exit::default() };
        assert_eq!(record, Some(Record { exit, out: out.len() as u64, err: 0 }));
    }

    #[test]
    fn a_signal_is_reported_as_such() {
        let (_folder, _, record) = run(&spec(&["sh", "-c", "kill -SEGV $$"]));
        assert_eq!(record.expect("a note").exit, Exit { signal: Some(11), ..Exit::default() });
    }

    #[test]
    fn an_incomplete_record_is_none() {
        let whole = "139 12 0\n";
        assert!(Record::parse(whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(Record::parse(&whole[..length]), None, "{length} bytes");
        }
        for odd in ["1 2\n", "1 2 3 4\n", "x 2 3\n", "1 -2 3\n"] {
            assert_eq!(Record::parse(odd), None, "{odd}");
        }
    }
}
