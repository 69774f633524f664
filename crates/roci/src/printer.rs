//! The one place that writes: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roci_hal::{Hint, env};
use serde::Serialize;

use crate::cli::{ColorWhen, OutputArgs};
use crate::exit::ExitStatus;

/// Says what is good.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Says what needs a look.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Says what was left out.
pub(crate) const FAINT: Style = Style::new().dimmed();

const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Writes all output.
#[derive(Debug)]
pub(crate) struct Printer {
    stdout: ColorChoice,
    stderr: ColorChoice,
    progress: bool,
    quiet: bool,
    /// Whoever reads standard output expects JSON.
    json: bool,
    /// Results have been written.
    written: AtomicBool,
}

/// What whoever asked for JSON gets instead of results.
#[derive(Serialize)]
struct Failure {
    schema: &'static str,
    version: u32,
    error: ErrorReport,
}

/// An error in JSON.
#[derive(Serialize)]
pub(crate) struct ErrorReport {
    /// The exit code that it asks for.
    code: u8,
    message: String,
    hint: Option<String>,
}

impl ErrorReport {
    /// The same two lines that people get.
    pub(crate) fn new<E: std::error::Error + Hint>(error: &E, status: ExitStatus) -> Self {
        let hint = error.hint().map(|hint| one_line(&hint));
        Self { code: status.code(), message: one_line(&error.to_string()), hint }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text, to the left.
    Text(&'static str),
    /// Figures, to the right.
    Number(&'static str),
}

impl Printer {
    /// Decides about colour and progress from the options, the environment and the streams.
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

    /// Results. The text ends with a line feed of its own.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.written.store(true, Ordering::Relaxed);
        let mut stream = AutoStream::new(io::stdout().lock(), self.stdout);
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Results as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        text.push('\n');
        self.data(&text)
    }

    /// Results as a table whose columns can be cut by spaces.
    pub(crate) fn table(&self, columns: &[Column], rows: Vec<Vec<String>>) -> io::Result<()> {
        self.data(&layout(columns, rows))
    }

    /// The streams of results and of how it goes, for a part that writes by itself.
    pub(crate) fn streams(&self) -> (impl Write, impl Write) {
        (AutoStream::new(io::stdout(), self.stdout), AutoStream::new(io::stderr(), self.stderr))
    }

    /// Whether something that changes may be drawn on standard error.
    pub(crate) fn draws(&self) -> bool {
        self.progress
    }

    /// Whether only results and errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A remark for people; `--quiet` drops it.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.stderr(text);
        }
    }

    /// One line of cause and, where there is one, one of remedy.
    pub(crate) fn error<E: std::error::Error + Hint>(&self, error: &E) {
        self.stderr(&format!("{BAD}error:{BAD:#} {}", one_line(&error.to_string())));
        if let Some(hint) = error.hint() {
            self.stderr(&format!("{HINT}hint:{HINT:#} {}", one_line(&hint)));
        }
    }

    /// The error that ends the command: on standard error, and in JSON where that was asked for and nothing came of it.
    pub(crate) fn end<E: std::error::Error + Hint>(&self, error: &E, status: ExitStatus) {
        self.error(error);
        // It has been said already; a standard output that cannot be written changes nothing.
        let _ = self.failure(ErrorReport::new(error, status));
    }

    /// What the parser has to say: help on standard output, complaints on standard error, and in JSON as every error.
    pub(crate) fn usage(&self, message: &clap::Error) -> io::Result<ExitStatus> {
        let rendered = message.render();
        if !message.use_stderr() {
            self.data(&rendered.ansi().to_string())?;
            return Ok(ExitStatus::Success);
        }
        self.stderr(rendered.ansi().to_string().trim_end());
        let text = rendered.to_string();
        // Complaints begin with a line of cause; a command line without a verb gets the help instead.
        let cause = text.lines().next().and_then(|line| line.strip_prefix("error: "));
        let message = cause.unwrap_or("a verb is missing").to_owned();
        let hint = Some("`roci --help` and `roci VERB --help` say what can be written".to_owned());
        self.failure(ErrorReport { code: ExitStatus::Error.code(), message, hint })?;
        Ok(ExitStatus::Error)
    }

    fn failure(&self, error: ErrorReport) -> io::Result<()> {
        if !self.json || self.written.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.json(&Failure { schema: "roci.error", version: 1, error })
    }

    /// A bar of `length` steps; hidden unless standard error is a terminal that wants it.
    pub(crate) fn progress(&self, length: usize) -> ProgressBar {
        let target = if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length as u64), target);
        match ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    fn stderr(&self, text: &str) {
        // Nobody is left to be told when this fails.
        let _ = writeln!(AutoStream::new(io::stderr().lock(), self.stderr), "{text}");
    }
}

/// Tells of something from a thread that no command has a printer for: what a layer under the drivers says.
pub(crate) fn remark(text: &str) {
    // Nobody is left to be told when this fails.
    let _ = writeln!(io::stderr(), "{}", one_line(text));
}

/// Whether to colour one stream.
fn choose(when: ColorWhen, no_color: bool, force_color: bool, dumb: bool, terminal: bool) -> ColorChoice {
    let wanted = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if no_color => false,
        ColorWhen::Auto => force_color || (terminal && !dumb),
    };
    // `AlwaysAnsi`: styles are escapes in our text, on every platform.
    if wanted { ColorChoice::AlwaysAnsi } else { ColorChoice::Never }
}

/// Columns with two spaces between them and nothing behind the last.
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

/// Messages are one line each, whatever a driver put into them.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    // A file may hold what a terminal would obey.
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_option_then_environment_then_terminal() {
        let colour =
            |when, no, force, dumb, terminal| choose(when, no, force, dumb, terminal) == ColorChoice::AlwaysAnsi;
        assert!(colour(ColorWhen::Auto, false, false, false, true));
        assert!(!colour(ColorWhen::Auto, false, false, false, false));
        assert!(!colour(ColorWhen::Auto, true, true, false, true), "NO_COLOR wins over FORCE_COLOR");
        assert!(colour(ColorWhen::Auto, false, true, true, false), "FORCE_COLOR wins over the terminal");
        assert!(!colour(ColorWhen::Auto, false, false, true, true), "a dumb terminal");
        assert!(colour(ColorWhen::Always, true, false, true, false), "the option wins over all");
        assert!(!colour(ColorWhen::Never, false, true, false, true));
    }

    #[test]
    fn tables_align_and_leave_no_blanks_behind() {
        let columns = [Column::Text("name"), Column::Number("n"), Column::Text("end")];
        let rows = vec![vec!["a".into(), "10".into(), "x".into()], vec!["long".into(), "2".into(), String::new()]];
        assert_eq!(layout(&columns, rows), "name   n  end\na     10  x\nlong   2\n");
    }

    #[test]
    fn messages_become_one_line() {
        assert_eq!(one_line("first\n  second\n"), "first; second");
        assert_eq!(one_line("a\u{1b}[2Jb\tc"), "a [2Jb c");
    }
}
