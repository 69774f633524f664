//! Test helpers: `roci lab` as a separate process, and checks for leftover processes.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use roci_lab::cli::{
    CommandOutcome, ConditionArgs, Io, LabArgs, LabCommand, MachineArgs, ResumeArgs, RunArgs, VariableArgs,
};
use roci_lab::store::{RunRow, Store};

/// Variables that make a test process run `roci lab`.
const DB: &str = "ROCI_LAB_TEST_DB";
const RUN: &str = "ROCI_LAB_TEST_RUN";
/// Timeout, generous for a slow machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);

/// The doctor's rules that forbid runs. Test programs use no GPU and must run on any machine.
const FORBIDDING: [&str; 2] = ["BC-08", "OCL-08"];

/// `roci lab run FILE`, or `roci lab resume` without a file.
pub(crate) fn arguments(db: &Path, run: Option<&str>) -> LabArgs {
    let allow = FORBIDDING.map(str::to_owned).to_vec();
    let conditions = ConditionArgs { machine: MachineArgs { facts: None, allow }, assume_needs: false };
    let command = match run {
        Some(file) => {
            LabCommand::Run(RunArgs { experiment: file.into(), variables: VariableArgs::default(), conditions })
        }
        None => LabCommand::Resume(ResumeArgs {
            experiment: "latest".into(),
            done: vec![],
            file: None,
            forget: false,
            variables: VariableArgs::default(),
            retry: vec![],
            steal: false,
            conditions,
        }),
    };
    LabArgs { db: Some(db.to_owned()), json: false, command }
}

/// Executes a command in this process; returns the result and its output.
pub(crate) fn lab(arguments: &LabArgs) -> (Result<CommandOutcome, String>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { out: &mut out, err: &mut err, screen: None, quiet: false, stop: &|| false };
    let ended = roci_lab::cli::main(arguments, &mut io).map_err(|error| error.to_string());
    (ended, String::from_utf8_lossy(&[out, err].concat()).into_owned())
}

#[derive(clap::Parser)]
struct Arguments {
    #[command(flatten)]
    lab: LabArgs,
}

static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Both output streams and the result of a command; an error is its two lines.
pub(crate) fn words(db: &Path, arguments: &[&str]) -> Result<(CommandOutcome, String, String), String> {
    let db = db.to_str().expect("a plain path");
    // A test that sets the machine also decides what may run on it.
    let starts = matches!(arguments.first(), Some(&("run" | "resume")));
    let own = ["--facts", "--allow"].iter().any(|option| arguments.contains(option));
    let allow = FORBIDDING.into_iter().filter(|_| starts && !own).flat_map(|rule| ["--allow", rule]);
    let words = ["lab", "--db", db].into_iter().chain(arguments.iter().copied()).chain(allow);
    let arguments = <Arguments as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { out: &mut out, err: &mut err, screen: None, quiet: false, stop: &|| false };
    // Runs are identified as the only children, so tests of one process must not overlap.
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ended = roci_lab::cli::main(&arguments.lab, &mut io);
    drop(turn);
    let hint = |error: &roci_lab::LabError| roci_base::Hint::hint(error).unwrap_or_default();
    let ended = ended.map_err(|error| format!("{error}\n{}", hint(&error)))?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ok((ended, text(out), text(err)))
}

static ASKED: AtomicBool = AtomicBool::new(false);

/// In a process started by [`spawn`]: runs `roci lab` and exits. Otherwise does nothing.
pub(crate) fn become_lab() {
    #[expect(clippy::disallowed_methods, reason = "these are the tests' own")]
    let (Ok(db), Ok(run)) = (std::env::var(DB), std::env::var(RUN)) else { return };
    ctrlc::set_handler(|| ASKED.store(true, Ordering::Relaxed)).expect("it is the first");
    let arguments = arguments(Path::new(&db), (!run.is_empty()).then_some(&run));
    let (mut out, mut err) = (std::io::sink(), std::io::stderr());
    let mut io =
        Io { out: &mut out, err: &mut err, screen: None, quiet: false, stop: &|| ASKED.load(Ordering::Relaxed) };
    let ended = roci_lab::cli::main(&arguments, &mut io);
    let code = match ended {
        Ok(CommandOutcome::Fine) => 0,
        Ok(CommandOutcome::Problems) => 1,
        Ok(CommandOutcome::Interrupted) => 130,
        Err(error) => {
            roci_testkit::note(&error.to_string());
            2
        }
    };
    #[expect(clippy::exit, reason = "this process does not run tests")]
    std::process::exit(code);
}

/// Starts `roci lab` as a process: this test binary, with the test that calls [`become_lab`].
pub(crate) fn spawn(db: &Path, run: Option<&Path>) -> Child {
    let this = std::env::current_exe().expect("a test has a file");
    Command::new(this)
        .args(["--exact", "the_process_under_test", "--nocapture", "--test-threads=1"])
        .env(DB, db)
        .env(RUN, run.unwrap_or(Path::new("")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Unique digits, so that `sleep 1000.DIGITS` can be found.
pub(crate) fn token() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(100);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{count}{:010}{:07}", nanos % 10_000_000_000, std::process::id())
}

/// Waits until a condition holds, with a timeout for slow machines.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < TIMEOUT, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for a process to end; returns its exit code.
pub(crate) fn ended(child: &mut Child) -> Option<i32> {
    wait_for("the end of a process", || child.try_wait().expect("it is ours")).code()
}

/// Processes whose command line or environment contains a text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let has = |id: u32| {
        let file = |name: &str| fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
        let holds = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(text);
        holds(file("cmdline")) || holds(file("environ"))
    };
    let entries = fs::read_dir("/proc").expect("it is mounted").filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| *id != std::process::id() && has(*id)).collect()
}

/// The runs of the newest experiment.
pub(crate) fn runs(db: &Path) -> Vec<RunRow> {
    let store = Store::open(db).expect("it exists");
    let row = store.experiment("latest").expect("there is one");
    store.runs(row.id).expect("they exist")
}

/// Writes an experiment to a folder; returns its path.
pub(crate) fn write(folder: &Path, toml: &str) -> std::path::PathBuf {
    let file = folder.join("experiment.toml");
    fs::write(&file, toml).expect("the folder is ours");
    file
}
