//! Progress display: a table that is redrawn on a terminal, plain lines elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::executor::Usage;
use crate::experiment::Experiment;
use crate::message::listed;
use crate::outcome::Outcome;
use crate::store::{MetricValue, RunRow, RunState};
use crate::watchdog::{size, time};

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Time since its start.
    pub elapsed: Duration,
    /// Furthest phase.
    pub phase: Option<&'a str>,
    /// Last output line.
    pub last_line: &'a str,
    /// Resources used.
    pub usage: Option<Usage>,
    /// Reason for waiting in a queue, if it has not started.
    pub queued: Option<&'a str>,
}

/// Receives progress.
pub trait ProgressObserver {
    /// An experiment starts or continues.
    fn begin(&mut self, id: i64, experiment: &Experiment, runs: &[RunRow]);
    /// A run has started.
    fn started(&mut self, run: &RunRow);
    /// A run is in progress.
    fn tick(&mut self, run: &RunRow, progress: &Progress<'_>);
    /// A run has a result.
    fn done(&mut self, run: &RunRow, metrics: &[MetricValue]);
    /// A message in one line.
    fn note(&mut self, text: &str);
    /// There are no more runs.
    fn over(&mut self) {}
}

/// Prints nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl ProgressObserver for NoProgress {
    fn begin(&mut self, _: i64, _: &Experiment, _: &[RunRow]) {}
    fn started(&mut self, _: &RunRow) {}
    fn tick(&mut self, _: &RunRow, _: &Progress<'_>) {}
    fn done(&mut self, _: &RunRow, _: &[MetricValue]) {}
    fn note(&mut self, _: &str) {}
}

/// Size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub width: usize,
    /// Lines.
    pub height: usize,
}

impl TerminalSize {
    /// The terminal behind standard error; `None` if it is not one.
    pub fn of_standard_error() -> Option<Self> {
        let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
        let (width, height) = (usize::from(size.ws_col), usize::from(size.ws_row));
        (width > 0 && height > 0).then_some(Self { width, height })
    }
}

/// State of an experiment in progress.
#[derive(Clone, Debug, Default)]
pub struct ProgressTable {
    title: String,
    rows: Vec<ViewRow>,
    current: Option<usize>,
    now: String,
    last_line: String,
    elapsed: Duration,
}

#[derive(Clone, Debug)]
struct ViewRow {
    name: String,
    word: &'static str,
    detail: String,
}

impl ProgressTable {
    /// Lines of the table around the current run, fitted to the screen.
    pub fn lines(&self, screen: TerminalSize) -> Vec<String> {
        let done = self.rows.iter().filter(|row| row.word != PLANNED && row.word != RUNNING).count();
        let mut lines = vec![format!("{}: {done} of {} runs, {}", self.title, self.rows.len(), time(self.elapsed))];
        let room = screen.height.saturating_sub(4).max(1);
        let middle = self.current.unwrap_or(done);
        let first = middle.saturating_sub(room / 2).min(self.rows.len().saturating_sub(room));
        let visible = self.rows.iter().enumerate().skip(first).take(room);
        let names = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).min(screen.width / 3);
        for (at, row) in visible {
            let detail = if Some(at) == self.current { &self.now } else { &row.detail };
            lines.push(format!("  {:<8} {:<names$}  {detail}", row.word, fit(&row.name, names)));
        }
        if !self.last_line.is_empty() {
            lines.push(format!("  > {}", self.last_line));
        }
        lines.iter().map(|line| fit(line, screen.width).trim_end().to_owned()).collect()
    }
}

const PLANNED: &str = "-";
const RUNNING: &str = "RUNNING";

/// Truncates text to a number of columns.
fn fit(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Metrics in one line.
fn figures(metrics: &[MetricValue]) -> String {
    let figure =
        |metric: &MetricValue| format!("{} {} {}", metric.name, round(metric.value), metric.unit).trim_end().to_owned();
    metrics.iter().map(figure).collect::<Vec<_>>().join(", ")
}

/// A value with about four digits.
fn round(value: f64) -> String {
    // The logarithm of zero is undefined.
    let size = if value.is_normal() { value.abs().log10().floor() } else { 0.0 };
    let text = format!("{value:.*}", (3.0 - size).clamp(0.0, 6.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn name(run: &RunRow, repeats: bool) -> String {
    if repeats { format!("{} #{}", run.strategy, run.repeat) } else { run.strategy.clone() }
}

fn detail(outcome: &Outcome, metrics: &[MetricValue]) -> String {
    let parts = [outcome.detail(), figures(metrics)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Display for people.
pub struct ProgressDisplay<'a> {
    out: &'a mut dyn Write,
    /// The terminal; plain lines without one.
    screen: Option<TerminalSize>,
    view: ProgressTable,
    runs: Vec<i64>,
    repeats: bool,
    begun: Instant,
    drawn: usize,
    phase: Option<String>,
    /// Consecutive runs that were not started for the same reason: its description, and their
    /// names.
    alike: Option<(String, Vec<String>)>,
}

impl std::fmt::Debug for ProgressDisplay<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgressDisplay").field("runs", &self.runs).field("phase", &self.phase).finish_non_exhaustive()
    }
}

impl<'a> ProgressDisplay<'a> {
    /// For a terminal of this size, or plain lines.
    pub fn new(out: &'a mut dyn Write, screen: Option<TerminalSize>) -> Self {
        let (view, runs, repeats, drawn, phase, alike) = Default::default();
        Self { out, screen, view, runs, repeats, begun: Instant::now(), drawn, phase, alike }
    }

    fn line(&mut self, text: &str) {
        // Nothing can be reported if writing fails.
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }

    /// Prints held-back runs: many equal lines become one.
    fn print_held_back(&mut self) {
        let Some((summary, names)) = self.alike.take() else { return };
        let text = match names.as_slice() {
            [name] => format!("{name}: {summary}"),
            names => format!("{} runs: {summary}: {}", names.len(), listed(names)),
        };
        self.line(&text);
    }

    fn draw(&mut self) {
        let Some(screen) = self.screen else { return };
        self.view.elapsed = self.begun.elapsed();
        let lines = self.view.lines(screen);
        // Moves to the first line, overwrites each line and clears its rest, then clears what is
        // below.
        let mut text = if self.drawn > 0 { format!("\u{1b}[{}A\r", self.drawn) } else { String::new() };
        for line in &lines {
            text.push_str(line);
            text.push_str("\u{1b}[K\n");
        }
        text.push_str("\u{1b}[J");
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.drawn = lines.len();
    }

    fn row(&mut self, run: &RunRow) -> Option<&mut ViewRow> {
        let at = self.runs.iter().position(|id| *id == run.id)?;
        self.view.rows.get_mut(at)
    }
}

impl ProgressObserver for ProgressDisplay<'_> {
    fn begin(&mut self, id: i64, experiment: &Experiment, runs: &[RunRow]) {
        self.repeats = experiment.strategies.iter().any(|strategy| strategy.repeats > 1);
        self.view.title = format!("{} (experiment {id})", experiment.name);
        self.runs = runs.iter().map(|run| run.id).collect();
        let row = |run: &RunRow| ViewRow {
            name: name(run, self.repeats),
            word: run.outcome.as_ref().map_or(PLANNED, Outcome::word),
            detail: run.outcome.as_ref().map(Outcome::detail).unwrap_or_default(),
        };
        self.view.rows = runs.iter().map(row).collect();
        if self.screen.is_none() {
            let open = runs.iter().filter(|run| run.state != RunState::Done).count();
            let text = format!("{}: {open} of {} runs to do", self.view.title, runs.len());
            self.line(&text);
        }
    }

    fn started(&mut self, run: &RunRow) {
        self.phase = None;
        self.view.current = self.runs.iter().position(|id| *id == run.id);
        (self.view.now, self.view.last_line) = Default::default();
        if let Some(row) = self.row(run) {
            row.word = RUNNING;
        }
        self.print_held_back();
        if self.screen.is_none() {
            let text = format!("{}: started", name(run, self.repeats));
            self.line(&text);
        }
        self.draw();
    }

    fn tick(&mut self, run: &RunRow, progress: &Progress<'_>) {
        if self.screen.is_none() {
            if progress.phase != self.phase.as_deref() {
                self.phase = progress.phase.map(str::to_owned);
                let text = format!("{}: {}", name(run, self.repeats), progress.phase.unwrap_or_default());
                self.line(&text);
            }
            return;
        }
        let mut parts = vec![time(progress.elapsed)];
        parts.extend(progress.queued.map(|what| format!("waits: {what}")));
        parts.extend(progress.phase.map(str::to_owned));
        parts.extend(progress.usage.map(|usage| size(usage.memory)));
        self.view.now = parts.join(", ");
        self.view.last_line = progress.last_line.to_owned();
        self.draw();
    }

    fn done(&mut self, run: &RunRow, metrics: &[MetricValue]) {
        let Some(outcome) = &run.outcome else { return };
        let (word, detail) = (outcome.word(), detail(outcome, metrics));
        if let Some(row) = self.row(run) {
            (row.word, row.detail) = (word, detail.clone());
        }
        self.view.current = None;
        self.view.last_line.clear();
        if self.screen.is_none() {
            let (name, summary) = (name(run, self.repeats), format!("{word} {detail}").trim_end().to_owned());
            match &mut self.alike {
                Some((known, names)) if *known == summary => names.push(name),
                _ if outcome.ran() => self.line(&format!("{name}: {summary}")),
                _ => {
                    self.print_held_back();
                    self.alike = Some((summary, vec![name]));
                }
            }
        }
        self.draw();
    }

    fn over(&mut self) {
        self.print_held_back();
    }

    fn note(&mut self, text: &str) {
        self.print_held_back();
        self.line(text);
        // The table is redrawn below it.
        self.drawn = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> ProgressTable {
        let row = |name: &str, word, detail: &str| ViewRow { name: name.into(), word, detail: detail.into() };
        ProgressTable {
            title: "gfx1151-rocm (experiment 3)".into(),
            rows: vec![
                row("vulkan", "PASS", "prompt 721 t/s"),
                row("sdma-off", "PARTIAL", "past async uploads, hung at graph_reserve"),
                row("minimal-image", RUNNING, ""),
                row("gfx1100-override", PLANNED, ""),
            ],
            current: Some(2),
            now: "43 s, graph_reserve, 1.2 GiB".into(),
            last_line: "graph_reserve: reserving a graph for ubatch".into(),
            elapsed: Duration::from_secs(75),
        }
    }

    #[test]
    fn the_plain_table_shows_the_results() {
        let lines = view().lines(TerminalSize { width: 80, height: 24 });
        assert_eq!(
            lines.join("\n"),
            "gfx1151-rocm (experiment 3): 2 of 4 runs, 75 s
  PASS     vulkan            prompt 721 t/s
  PARTIAL  sdma-off          past async uploads, hung at graph_reserve
  RUNNING  minimal-image     43 s, graph_reserve, 1.2 GiB
  -        gfx1100-override
  > graph_reserve: reserving a graph for ubatch"
        );
    }

    #[test]
    fn the_table_fits_any_screen() {
        for (width, height) in [(1, 1), (20, 5), (40, 6), (200, 3)] {
            let lines = view().lines(TerminalSize { width, height });
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:?}");
            assert!(lines.len() <= height.max(3), "{height}: {lines:?}");
        }
        let small = view().lines(TerminalSize { width: 80, height: 5 });
        assert!(small[1].contains("minimal-image"), "the current run is visible: {small:?}");
    }

    #[test]
    fn values_have_about_four_digits() {
        assert_eq!((round(0.0), round(1e300).len() > 9, round(f64::MIN_POSITIVE)), ("0".into(), true, "0".into()));
        assert_eq!(
            (round(721.034), round(63.0), round(0.00123), round(12345.6)),
            ("721".into(), "63".into(), "0.00123".into(), "12346".into())
        );
    }
}
