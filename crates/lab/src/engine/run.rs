//! One run, from its start to its verdict.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::executor::{Ended, JobState, RunningJob, Usage};
use crate::experiment::{Experiment, Limits};
use crate::keep::Keeper;
use crate::kernel_log::{Explainer, KernelLog, Told, tells_of_a_crash};
use crate::live::Progress;
use crate::phases::Listener;
use crate::store::{Event, EventKind, Finished, now};
use crate::verdict::{End, Evidence, verdict};
use crate::watch::{Alarm, Watchdog, time};

/// How often what a run has used is looked at, and people are told.
const LOOK: Duration = Duration::from_millis(250);
/// The longest rest between two looks at the output.
const REST: Duration = Duration::from_millis(20);
/// What is still taken in after the end.
const MOST_AFTERWARDS: usize = 16 << 20;

/// What a run needs beside its job.
pub(super) struct Context<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) limits: Limits,
    pub(super) baseline: Option<&'a BTreeMap<String, f64>>,
    pub(super) log: &'a mut dyn KernelLog,
    pub(super) explainer: &'a mut Explainer,
    pub(super) stop: &'a dyn Fn() -> bool,
}

/// What came of watching a run.
pub(super) enum Watched {
    /// It is over.
    Over {
        finished: Box<Finished>,
        /// The kernel's line that says that the GPU is gone until a reboot.
        lost: Option<String>,
    },
    /// Somebody asked to stop.
    Interrupted,
}

struct Watch<'a, 'b> {
    context: &'b mut Context<'a>,
    job: &'b mut dyn RunningJob,
    listener: Listener<'a>,
    keeper: Keeper,
    events: Vec<Event>,
    begun: Instant,
    /// When something last came, by the job's own clock.
    heard: Duration,
}

/// Watches a job to its end, which was started at `begun`. `tell` gets word of how it goes.
pub(super) fn watch(
    context: &mut Context<'_>,
    job: &mut dyn RunningJob,
    begun: Instant,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Watched, String> {
    let started = now() - i64::try_from(begun.elapsed().as_millis()).unwrap_or(0);
    let listener = Listener::new(context.experiment)?;
    let (keeper, events, heard) = Default::default();
    let mut watch = Watch { context, job, listener, keeper, events, begun, heard };
    let Some(end) = watch.until_end(tell) else {
        watch.job.kill(watch.context.limits.grace);
        return Ok(Watched::Interrupted);
    };
    Ok(watch.judge(end, started))
}

impl Watch<'_, '_> {
    /// Waits for the end; nothing if somebody asked to stop.
    fn until_end(&mut self, tell: &mut dyn FnMut(&Progress<'_>)) -> Option<End> {
        let mut dog = Watchdog::new(self.context.limits);
        let (mut looked, mut wrote, mut rest) = (None::<Instant>, false, Duration::from_millis(1));
        let mut usage: Option<Usage> = None;
        loop {
            if (self.context.stop)() {
                return None;
            }
            let state = self.job.poll();
            let heard = self.take_output() > 0;
            wrote |= heard;
            match &state {
                JobState::Exited(exit) => return Some(End::Exited(exit.clone())),
                JobState::Gone(why) => return Some(End::Gone(why.clone())),
                JobState::Refused(why) => return Some(End::Refused(why.clone())),
                JobState::Queued(_) | JobState::Running => {}
            }
            if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
                looked = Some(Instant::now());
                let elapsed = self.begun.elapsed();
                let queued = match &state {
                    JobState::Queued(what) => {
                        dog.queued();
                        if elapsed >= self.context.limits.queue {
                            let waited = time(self.context.limits.queue);
                            return Some(End::Refused(format!("its turn did not come for {waited}: {what}")));
                        }
                        Some(what.as_str())
                    }
                    _ => {
                        usage = self.job.usage();
                        if let Some(alarm) = dog.running(elapsed, wrote, usage) {
                            // It may have ended while we looked.
                            if let JobState::Exited(exit) = self.job.poll() {
                                return Some(End::Exited(exit));
                            }
                            return Some(self.alarmed(alarm));
                        }
                        None
                    }
                };
                wrote = false;
                let seen = self.listener.seen();
                let phase = seen.furthest.map(|at| self.context.experiment.phases[at].name.as_str());
                tell(&Progress { elapsed, phase, last_line: &seen.last_line, usage, queued });
            }
            rest = if heard { Duration::from_millis(1) } else { (rest * 2).min(REST) };
            // A program that floods its output is not made to wait for us.
            if !heard {
                std::thread::sleep(rest);
            }
        }
    }

    /// Takes in what was written; how many bytes.
    fn take_output(&mut self) -> usize {
        let chunks = self.job.take_output();
        for chunk in &chunks {
            self.heard = self.heard.max(chunk.at);
            self.keeper.keep(chunk);
            self.listener.hear(chunk);
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
        End::Ended { alarm, stack }
    }

    fn event(&mut self, kind: EventKind, text: String) {
        // No end comes before the last that was heard, whatever the two clocks say.
        let at = i64::try_from(self.begun.elapsed().max(self.heard).as_millis()).unwrap_or(i64::MAX);
        self.events.push(Event { at, kind, text });
    }

    /// Clears up, takes in the rest, and names what came of it.
    fn judge(mut self, end: End, started: i64) -> Watched {
        let by_itself = !matches!(end, End::Ended { .. });
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
        let ended = self.job.kill(self.context.limits.grace);
        self.note_ended(&ended, by_itself);
        self.drain();
        self.listener.finish();
        let Told { lines, fault, reset, lost } = self.context.explainer.explain(self.context.log.new_lines());
        if reset {
            self.event(EventKind::Reset, "the GPU was reset meanwhile".into());
        }
        // Processes of others crash too: only one that died of a signal has such a line in the log.
        let died =
            matches!(&end, End::Exited(exit) if exit.signal.is_some() || exit.code > Some(128) || exit.out_of_memory);
        let crash =
            || lines.iter().filter(|_| died).find(|line| tells_of_a_crash(&line.line)).map(|line| line.line.clone());
        let lost = lost.then(|| fault.clone().unwrap_or_default());
        let seen = self.listener.seen();
        let kernel_fault = fault.or_else(crash);
        let baseline = self.context.baseline;
        let evidence = Evidence { end, survivors: ended.survivors, seen, kernel_fault, baseline };
        let outcome = verdict(self.context.experiment, &evidence);
        // Of what came at the same time by two streams, nobody knows the order; the experiment's is the likeliest.
        let place = |event: &Event| self.context.experiment.phase_index(&event.text);
        let mut events = seen.phases.clone();
        events.sort_by_key(|event| (event.at, place(event)));
        events.append(&mut self.events);
        events.sort_by_key(|event| event.at);
        let metrics = seen.metrics(self.context.experiment);
        let finished = Finished {
            outcome,
            started: Some(started),
            ended: now(),
            events,
            metrics,
            output: self.keeper.finish(),
            kernel_lines: lines,
        };
        Watched::Over { finished: Box::new(finished), lost }
    }

    fn drain(&mut self) {
        let mut taken = 0;
        while taken < MOST_AFTERWARDS {
            match self.take_output() {
                0 => break,
                bytes => taken += bytes,
            }
        }
    }

    fn note_ended(&mut self, ended: &Ended, by_itself: bool) {
        match (ended.ended, by_itself) {
            (0, _) => {}
            (1, true) => self.event(EventKind::Kill, "it left a process behind, which was ended".into()),
            (count, true) => self.event(EventKind::Kill, format!("it left {count} processes behind, which were ended")),
            (1, false) => self.event(EventKind::Kill, "the process was ended".into()),
            (count, false) => self.event(EventKind::Kill, format!("{count} processes were ended")),
        }
        for left in &ended.survivors {
            let waits = left.waits_for.as_ref().map(|place| format!(" in {place}")).unwrap_or_default();
            let text = format!("process {} ({}) cannot be ended: state {}{waits}", left.process, left.name, left.state);
            self.event(EventKind::Note, text);
        }
    }
}
