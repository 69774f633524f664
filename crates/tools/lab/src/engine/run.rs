//! Executes one run, from its start to its outcome.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::executor::{JobState, RunningJob, Termination, Usage};
use crate::experiment::{Experiment, Limits};
use crate::kernel_log::{ExplainedLog, Explainer, KernelLog, reports_crash};
use crate::output_buffer::OutputBuffer;
use crate::output_parser::OutputParser;
use crate::progress_display::Progress;
use crate::store::{Event, EventKind, Finished, now};
use crate::verdict::{End, Evidence, verdict};
use crate::watchdog::{Alarm, Watchdog, time};

/// Interval at which resource usage is sampled and progress is reported.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum sleep between two reads of the output.
const MAX_SLEEP: Duration = Duration::from_millis(20);
/// Maximum number of bytes of output that are read after the end.
const MAX_FINAL_OUTPUT: usize = 16 << 20;

/// What a run needs besides its job.
pub(super) struct Context<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) limits: Limits,
    pub(super) baseline: Option<&'a BTreeMap<String, f64>>,
    pub(super) log: &'a mut dyn KernelLog,
    pub(super) explainer: &'a mut Explainer,
    pub(super) stop: &'a dyn Fn() -> bool,
}

/// Result of watching a run.
pub(super) enum WatchResult {
    /// It ended.
    Over {
        finished: Box<Finished>,
        /// The kernel log line that reports a GPU lost until a reboot.
        lost: Option<String>,
    },
    /// The user asked to stop.
    Interrupted,
}

struct RunMonitor<'a, 'b> {
    context: &'b mut Context<'a>,
    job: &'b mut dyn RunningJob,
    parser: OutputParser<'a>,
    output_buffer: OutputBuffer,
    events: Vec<Event>,
    start: Instant,
    /// Time of the last output, by the job's clock.
    last_output_time: Duration,
}

/// Watches a job, started at `start`, until it ends. Reports progress to `tell`.
pub(super) fn watch(
    context: &mut Context<'_>,
    job: &mut dyn RunningJob,
    start: Instant,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<WatchResult, String> {
    let started = now() - i64::try_from(start.elapsed().as_millis()).unwrap_or(0);
    let parser = OutputParser::new(context.experiment)?;
    let (output_buffer, events, last_output_time) = Default::default();
    let mut watch = RunMonitor { context, job, parser, output_buffer, events, start, last_output_time };
    let Some(end) = watch.until_end(tell) else {
        watch.job.kill(watch.context.limits.grace);
        return Ok(WatchResult::Interrupted);
    };
    Ok(watch.conclude(end, started))
}

impl RunMonitor<'_, '_> {
    /// Waits for the end; `None` if the user asked to stop.
    fn until_end(&mut self, tell: &mut dyn FnMut(&Progress<'_>)) -> Option<End> {
        let mut dog = Watchdog::new(self.context.limits);
        let (mut looked, mut wrote, mut rest) = (None::<Instant>, false, Duration::from_millis(1));
        let mut usage: Option<Usage> = None;
        loop {
            if (self.context.stop)() {
                return None;
            }
            let state = self.job.poll();
            let had_output = self.take_output() > 0;
            wrote |= had_output;
            match &state {
                JobState::Exited(exit) => return Some(End::Exited(exit.clone())),
                JobState::Gone(why) => return Some(End::Gone(why.clone())),
                JobState::Refused(why) => return Some(End::Refused(why.clone())),
                JobState::Queued(_) | JobState::Running => {}
            }
            if looked.is_none_or(|looked| looked.elapsed() >= SAMPLE_INTERVAL) {
                looked = Some(Instant::now());
                let elapsed = self.start.elapsed();
                let queued = match &state {
                    JobState::Queued(what) => {
                        dog.queued();
                        if elapsed >= self.context.limits.queue {
                            let waited = time(self.context.limits.queue);
                            return Some(End::Refused(format!("it waited in the queue for {waited}: {what}")));
                        }
                        Some(what.as_str())
                    }
                    _ => {
                        usage = self.job.usage();
                        if let Some(alarm) = dog.running(elapsed, wrote, usage) {
                            // It may have ended since the last poll.
                            if let JobState::Exited(exit) = self.job.poll() {
                                return Some(End::Exited(exit));
                            }
                            return Some(self.alarmed(alarm));
                        }
                        None
                    }
                };
                wrote = false;
                let parsed = self.parser.parsed();
                let phase = parsed.furthest.map(|at| self.context.experiment.phases[at].name.as_str());
                tell(&Progress { elapsed, phase, last_line: &parsed.last_line, usage, queued });
            }
            rest = if had_output { Duration::from_millis(1) } else { (rest * 2).min(MAX_SLEEP) };
            // A program with much output must not wait for the next poll.
            if !had_output {
                std::thread::sleep(rest);
            }
        }
    }

    /// Reads new output; returns the number of bytes.
    fn take_output(&mut self) -> usize {
        let chunks = self.job.take_output();
        for chunk in &chunks {
            self.last_output_time = self.last_output_time.max(chunk.at);
            self.output_buffer.keep(chunk);
            self.parser.parse(chunk);
        }
        chunks.iter().map(|chunk| chunk.bytes.len()).sum()
    }

    fn alarmed(&mut self, alarm: Alarm) -> End {
        let kind = match alarm {
            Alarm::Deadline(_) => EventKind::Deadline,
            Alarm::Stall(_) => EventKind::Stall,
            Alarm::Memory(..) => EventKind::Memory,
        };
        self.event(kind, alarm.describe());
        let stack = if matches!(alarm, Alarm::Memory(..)) { Vec::new() } else { self.job.stacks() };
        End::Killed { alarm, stack }
    }

    fn event(&mut self, kind: EventKind, text: String) {
        // The end cannot precede the last output, whatever the clocks say.
        let at = i64::try_from(self.start.elapsed().max(self.last_output_time).as_millis()).unwrap_or(i64::MAX);
        self.events.push(Event { at, kind, text });
    }

    /// Cleans up, reads the remaining output, and determines the outcome.
    fn conclude(mut self, end: End, started: i64) -> WatchResult {
        let by_itself = !matches!(end, End::Killed { .. });
        if by_itself {
            self.drain();
        }
        if let End::Exited(exit) = &end {
            let how = match (exit.signal, exit.code) {
                (Some(signal), _) => crate::outcome::signal_name(signal),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "ended".to_owned(),
            };
            self.event(EventKind::Exit, how);
        }
        let termination = self.job.kill(self.context.limits.grace);
        self.note_terminated(&termination, by_itself);
        self.drain();
        self.parser.finish();
        let ExplainedLog { lines, fault, reset, lost } = self.context.explainer.explain(self.context.log.new_lines());
        if reset {
            self.event(EventKind::Reset, "the GPU was reset during the run".into());
        }
        // Other processes crash too: only a program that died of a signal can be the subject of
        // such a line.
        let died =
            matches!(&end, End::Exited(exit) if exit.signal.is_some() || exit.code > Some(128) || exit.out_of_memory);
        let crash =
            || lines.iter().filter(|_| died).find(|line| reports_crash(&line.line)).map(|line| line.line.clone());
        let lost = lost.then(|| fault.clone().unwrap_or_default());
        let parsed = self.parser.parsed();
        let kernel_fault = fault.or_else(crash);
        let baseline = self.context.baseline;
        let evidence = Evidence { end, survivors: termination.survivors, parsed, kernel_fault, baseline };
        let outcome = verdict(self.context.experiment, &evidence);
        // The order of simultaneous output on two streams is unknown; assume the experiment's order
        // of phases.
        let location = |event: &Event| self.context.experiment.phase_index(&event.text);
        let mut events = parsed.phases.clone();
        events.sort_by_key(|event| (event.at, location(event)));
        events.append(&mut self.events);
        events.sort_by_key(|event| event.at);
        let metrics = parsed.metrics(self.context.experiment);
        let finished = Finished {
            outcome,
            started: Some(started),
            ended: now(),
            events,
            metrics,
            output: self.output_buffer.finish(),
            kernel_lines: lines,
        };
        WatchResult::Over { finished: Box::new(finished), lost }
    }

    fn drain(&mut self) {
        let mut bytes_read = 0;
        while bytes_read < MAX_FINAL_OUTPUT {
            match self.take_output() {
                0 => break,
                bytes => bytes_read += bytes,
            }
        }
    }

    fn note_terminated(&mut self, termination: &Termination, by_itself: bool) {
        match (termination.terminated, by_itself) {
            (0, _) => {}
            (1, true) => self.event(EventKind::Kill, "it left a process running, which was killed".into()),
            (count, true) => {
                self.event(EventKind::Kill, format!("it left {count} processes running, which were killed"))
            }
            (1, false) => self.event(EventKind::Kill, "the process was terminated".into()),
            (count, false) => self.event(EventKind::Kill, format!("{count} processes were terminated")),
        }
        for left in &termination.survivors {
            let waits = left.waits_for.as_ref().map(|location| format!(" in {location}")).unwrap_or_default();
            let text =
                format!("process {} ({}) survives SIGKILL: state {}{waits}", left.process, left.name, left.state);
            self.event(EventKind::Note, text);
        }
    }
}
