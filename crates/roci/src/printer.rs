//! All output: results to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roci_base::{Hint, env};
pub(crate) use roci_probe::text::one_line;
use serde::Serialize;

use crate::cli::{ColorWhen, OutputArgs};
use crate::exit::ExitStatus;

/// Style of success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Style of problems.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of skipped or minor items.
pub(crate) const FAINT: Style = Style::new().dimmed();

const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Writes all output.
#[derive(Debug)]
pub(crate) struct Printer {
    stdout: ColorChoice,
    stderr: ColorChoice,
    progress: bool,
    quiet: bool,
    /// Results are printed as JSON.
    json: bool,
    /// Whether results were written.
    written: AtomicBool,
}

/// The JSON that replaces results after an error.
#[derive(Serialize)]
struct Failure {
    schema: &'static str,
    version: u32,
    error: ErrorReport,
}

/// An error in JSON.
#[derive(Serialize)]
pub(crate) struct ErrorReport {
    /// The exit code.
    code: u8,
    message: String,
    hint: Option<String>,
}

impl ErrorReport {
    /// The message and the hint that are also printed as text.
    pub(crate) fn new<E: std::error::Error + Hint>(error: &E, status: ExitStatus) -> Self {
        let hint = error.hint().map(|hint| one_line(&hint));
        Self { code: status.code(), message: one_line(&error.to_string()), hint }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text, left-aligned.
    Text(&'static str),
    /// Numbers, right-aligned.
    Number(&'static str),
}

impl Printer {
    /// Determines colors and progress bars from options, environment and terminals.
    pub(crate) fn new(options: OutputArgs, json: bool) -> Self {
        let set = |variable: &env::Variable| variable.get().is_some();
        let dumb = env::TERM.get().is_some_and(|term| term == "dumb");
        let choice = |terminal| choose(options.color, set(&env::NO_COLOR), set(&env::FORCE_COLOR), dumb, terminal);
        let terminal = io::stderr().is_terminal();
        Self {
            stdout: choice(io::stdout().is_terminal()),
            stderr: choice(terminal),
            progress: terminal && !dumb && !options.no_progress && !options.quiet,
            quiet: options.quiet,
            json,
            written: AtomicBool::new(false),
        }
    }

    /// Prints results. The text must end with a line feed.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.written.store(true, Ordering::Relaxed);
        let mut stream = AutoStream::new(io::stdout().lock(), self.stdout);
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Prints results as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        text.push('\n');
        self.data(&text)
    }

    /// Prints results as a table with columns that are separated by two spaces.
    pub(crate) fn table(&self, columns: &[Column], rows: Vec<Vec<String>>) -> io::Result<()> {
        self.data(&layout(columns, rows))
    }

    /// Standard output and standard error with color handling, for code that writes directly.
    pub(crate) fn streams(&self) -> (impl Write, impl Write) {
        (AutoStream::new(io::stdout(), self.stdout), AutoStream::new(io::stderr(), self.stderr))
    }

    /// Standard output and standard error as they are, for the output of another program.
    pub(crate) fn raw_streams(&self) -> (impl Write + Send + use<>, impl Write + Send + use<>) {
        (io::stdout(), io::stderr())
    }

    /// Whether progress may be drawn on standard error.
    pub(crate) fn draws_progress(&self) -> bool {
        self.progress
    }

    /// Whether `--quiet` was given.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a note on standard error, unless `--quiet` was given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.stderr(text);
        }
    }

    /// Prints an error, and its hint if it has one, on one line each.
    pub(crate) fn error<E: std::error::Error + Hint>(&self, error: &E) {
        self.stderr(&format!("{BAD}error:{BAD:#} {}", one_line(&error.to_string())));
        if let Some(hint) = error.hint() {
            self.stderr(&format!("{HINT}hint:{HINT:#} {}", one_line(&hint)));
        }
    }

    /// Prints the error that ends the command, also as JSON if that was requested and no results
    /// were written.
    pub(crate) fn failure<E: std::error::Error + Hint>(&self, error: &E, status: ExitStatus) {
        self.error(error);
        // The error is already on standard error; a closed standard output changes nothing.
        let _ = self.json_failure(ErrorReport::new(error, status));
    }

    /// Prints a message of the parser: help on standard output, usage errors on standard error and,
    /// if requested, as JSON.
    pub(crate) fn parser_message(&self, message: &clap::Error) -> io::Result<ExitStatus> {
        let rendered = message.render();
        if !message.use_stderr() {
            self.data(&rendered.ansi().to_string())?;
            return Ok(ExitStatus::Success);
        }
        self.stderr(rendered.ansi().to_string().trim_end());
        let text = rendered.to_string();
        // A usage error starts with its cause; a command line without a verb shows the help
        // instead.
        let cause = text.lines().next().and_then(|line| line.strip_prefix("error: "));
        let message = cause.unwrap_or("a verb is missing").to_owned();
        let hint = Some("run `roci --help` or `roci VERB --help` for the usage".to_owned());
        self.json_failure(ErrorReport { code: ExitStatus::Error.code(), message, hint })?;
        Ok(ExitStatus::Error)
    }

    fn json_failure(&self, error: ErrorReport) -> io::Result<()> {
        if !self.json || self.written.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.json(&Failure { schema: "roci.error", version: 1, error })
    }

    /// A progress bar of `length` steps; hidden unless progress is enabled.
    pub(crate) fn progress(&self, length: usize) -> ProgressBar {
        let target = if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length as u64), target);
        match ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    fn stderr(&self, text: &str) {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(AutoStream::new(io::stderr().lock(), self.stderr), "{text}");
    }
}

/// Prints a message from a driver's thread, where no printer is available.
pub(crate) fn driver_message(text: &str) {
    // A failed write to standard error cannot be reported.
    let _ = writeln!(io::stderr(), "{}", one_line(text));
}

/// Whether to color one stream.
fn choose(when: ColorWhen, no_color: bool, force_color: bool, dumb: bool, terminal: bool) -> ColorChoice {
    let colored = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if no_color => false,
        ColorWhen::Auto => force_color || (terminal && !dumb),
    };
    // `AlwaysAnsi`, because styles are escape sequences in the text on every platform.
    if colored { ColorChoice::AlwaysAnsi } else { ColorChoice::Never }
}

/// Formats columns with two spaces between them and no trailing spaces.
fn layout(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|column| match column {
        Column::Text(title) | Column::Number(title) => *title,
    }));
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(laid_out) = table.column_mut(index) {
            laid_out.set_padding((0, 2));
            if matches!(column, Column::Number(_)) {
                laid_out.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_follows_option_then_environment_then_terminal() {
        let colored =
            |when, no, force, dumb, terminal| choose(when, no, force, dumb, terminal) == ColorChoice::AlwaysAnsi;
        assert!(colored(ColorWhen::Auto, false, false, false, true));
        assert!(!colored(ColorWhen::Auto, false, false, false, false));
        assert!(!colored(ColorWhen::Auto, true, true, false, true), "NO_COLOR wins over FORCE_COLOR");
        assert!(colored(ColorWhen::Auto, false, true, true, false), "FORCE_COLOR wins over the terminal");
        assert!(!colored(ColorWhen::Auto, false, false, true, true), "a dumb terminal");
        assert!(colored(ColorWhen::Always, true, false, true, false), "the option wins over all");
        assert!(!colored(ColorWhen::Never, false, true, false, true));
    }

    #[test]
    fn tables_are_aligned_without_trailing_spaces() {
        let columns = [Column::Text("name"), Column::Number("n"), Column::Text("end")];
        let rows = vec![vec!["a".into(), "10".into(), "x".into()], vec!["long".into(), "2".into(), String::new()]];
        assert_eq!(layout(&columns, rows), "name   n  end\na     10  x\nlong   2\n");
    }
}
