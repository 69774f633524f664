//! What the output tells: phases, figures, lines that mean something is wrong. Bytes come in as they are read; memory stays
//! bounded whatever a program writes.

use std::time::Duration;

use regex::RegexSet;
use roci_doctor::Reader;

use crate::executor::{Chunk, Stream};
use crate::experiment::{Better, Experiment, Metric, Take};
use crate::store::{Event, EventKind, MetricValue};

/// What follows in a line that is longer is not looked at.
const LONGEST_LINE: usize = 16 << 10;

/// What the output told so far.
#[derive(Debug)]
pub struct Listener<'a> {
    experiment: &'a Experiment,
    patterns: RegexSet,
    /// What each pattern is looked for.
    meanings: Vec<Meaning>,
    /// The line of each stream that has no end yet.
    lines: [Vec<u8>; 2],
    /// When something last came on each.
    heard: [Duration; 2],
    seen: Seen,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Phases that were reached, in the order of time.
    pub phases: Vec<Event>,
    /// The place of the furthest phase in the experiment's order.
    pub furthest: Option<usize>,
    /// The first line that means that the result is wrong.
    pub wrong: Option<String>,
    /// The first line that means that the run failed.
    pub fault: Option<String>,
    /// Which of the lines that must come have come.
    pub right: Vec<bool>,
    /// Figures by the place of the metric.
    values: Vec<Option<Values>>,
    /// The last line that was not empty.
    pub last_line: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Values {
    first: f64,
    last: f64,
    highest: f64,
    lowest: f64,
    sum: f64,
    count: u64,
}

/// What a line that matches means.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Phase(usize),
    Metric(usize),
    Wrong,
    Right(usize),
    Fault,
}

impl<'a> Listener<'a> {
    /// For an experiment.
    ///
    /// # Errors
    /// The patterns together are too large.
    pub fn new(experiment: &'a Experiment) -> Result<Self, String> {
        let success = &experiment.success;
        let phases = experiment.phases.iter().enumerate().map(|(at, phase)| (Meaning::Phase(at), &phase.pattern));
        let metrics = experiment.metrics.iter().enumerate().map(|(at, metric)| (Meaning::Metric(at), &metric.pattern));
        let wrong = success.wrong.iter().map(|pattern| (Meaning::Wrong, pattern));
        let right = success.right.iter().enumerate().map(|(at, pattern)| (Meaning::Right(at), pattern));
        let fault = success.fault.iter().map(|pattern| (Meaning::Fault, pattern));
        let all = phases.chain(metrics).chain(wrong).chain(right).chain(fault);
        let (meanings, patterns): (Vec<_>, Vec<_>) = all.map(|(meaning, pattern)| (meaning, pattern.as_str())).unzip();
        let patterns = RegexSet::new(patterns).map_err(|error| error.to_string())?;
        let seen = Seen {
            right: vec![false; success.right.len()],
            values: vec![None; experiment.metrics.len()],
            ..Seen::default()
        };
        Ok(Self { experiment, patterns, meanings, lines: Default::default(), heard: Default::default(), seen })
    }

    /// Takes in a part of the output.
    pub fn hear(&mut self, chunk: &Chunk) {
        let which = usize::from(chunk.stream == Stream::Err);
        self.heard[which] = chunk.at;
        // Programs that draw progress end lines with a carriage return.
        for part in chunk.bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, ends) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let line = &mut self.lines[which];
            let room = LONGEST_LINE.saturating_sub(line.len());
            line.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.end_line(which, chunk.at);
            }
        }
    }

    /// No more comes: what stands without an end of line counts too, as of when it came. A program that hangs within a
    /// phase has often not ended the line that tells of it.
    pub fn finish(&mut self) {
        (0..self.lines.len()).for_each(|which| self.end_line(which, self.heard[which]));
    }

    fn end_line(&mut self, which: usize, at: Duration) {
        let mut line = std::mem::take(&mut self.lines[which]);
        self.line(&line, at);
        // The buffer is used again.
        line.clear();
        self.lines[which] = line;
    }

    /// What was seen.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    fn line(&mut self, bytes: &[u8], at: Duration) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let text = Reader::decode(bytes);
        let text = text.trim_end();
        let shown = shown(text);
        for hit in self.patterns.matches(text) {
            match self.meanings[hit] {
                Meaning::Phase(at_phase) => self.phase(at_phase, at),
                Meaning::Metric(metric) => {
                    if let Some(value) = figure(&self.experiment.metrics[metric], text) {
                        self.value(metric, value);
                    }
                }
                Meaning::Wrong => {
                    self.seen.wrong.get_or_insert_with(|| shown.clone());
                }
                Meaning::Right(at_right) => self.seen.right[at_right] = true,
                Meaning::Fault => {
                    self.seen.fault.get_or_insert_with(|| shown.clone());
                }
            }
        }
        self.seen.last_line = shown;
    }

    fn phase(&mut self, index: usize, at: Duration) {
        let name = &self.experiment.phases[index].name;
        if self.seen.phases.iter().any(|event| event.text == *name) {
            return;
        }
        let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        self.seen.phases.push(Event { at, kind: EventKind::Phase, text: name.clone() });
        self.seen.furthest = self.seen.furthest.max(Some(index));
    }

    fn value(&mut self, metric: usize, value: f64) {
        let values = self.seen.values[metric].get_or_insert(Values {
            first: value,
            last: value,
            highest: value,
            lowest: value,
            sum: 0.0,
            count: 0,
        });
        (values.last, values.sum, values.count) = (value, values.sum + value, values.count + 1);
        (values.highest, values.lowest) = (values.highest.max(value), values.lowest.min(value));
    }
}

impl Seen {
    /// The figures, one a metric that has any.
    pub fn metrics(&self, experiment: &Experiment) -> Vec<MetricValue> {
        let value = |(metric, values): (&Metric, &Option<Values>)| {
            let values = (*values)?;
            let value = match (metric.take, metric.better) {
                (Take::First, _) => values.first,
                (Take::Last, _) => values.last,
                (Take::Best, Better::Higher) => values.highest,
                (Take::Best, Better::Lower) => values.lowest,
                (Take::Mean, _) => values.sum / values.count as f64,
            };
            Some(MetricValue { name: metric.name.clone(), value, unit: metric.unit.clone() })
        };
        experiment.metrics.iter().zip(&self.values).filter_map(value).collect()
    }

    /// The name of the furthest phase.
    pub fn phase(&self, experiment: &Experiment) -> Option<String> {
        self.furthest.map(|index| experiment.phases[index].name.clone())
    }
}

/// The figure in a line; thousands may be set apart with commas.
fn figure(metric: &Metric, line: &str) -> Option<f64> {
    let groups = metric.pattern.captures(line)?;
    let text = groups.name("value").or_else(|| groups.get(1))?.as_str();
    text.replace(',', "").trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// A line as it is shown: not too long, nothing that a terminal would obey.
pub(crate) fn shown(line: &str) -> String {
    const LONGEST: usize = 300;
    let mut text: String = line.trim().chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.trim().chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}
