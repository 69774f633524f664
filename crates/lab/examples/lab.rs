//! `roci lab` without the rest of roci: what the tests start, and a way to try it out.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use roci_hal::Hint as _;
use roci_lab::cli::{Ending, Io, LabArgs, main as lab};
use roci_lab::live::Screen;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Experiments that end, remember and report.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    lab: LabArgs,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let _ = ctrlc::set_handler(|| ASKED.store(true, Ordering::Relaxed));
    let terminal = std::io::stderr().is_terminal();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut io = Io {
        out: &mut out,
        err: &mut err,
        screen: terminal.then_some(Screen { width: 100, height: 30 }),
        quiet: false,
        stop: &|| ASKED.load(Ordering::Relaxed),
    };
    match lab(&arguments.lab, &mut io) {
        Ok(Ending::Fine) => ExitCode::SUCCESS,
        Ok(Ending::Problems) => ExitCode::from(1),
        Ok(Ending::Interrupted) => ExitCode::from(130),
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(io.err, "error: {error}");
            if let Some(hint) = error.hint() {
                let _ = writeln!(io.err, "hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}
