//! Parses output for phases, metrics and error lines. Input arrives in chunks; memory is bounded.

use std::time::Duration;

use regex::RegexSet;
use roci_doctor::LogReader;

use crate::executor::{Chunk, Stream};
use crate::experiment::{Experiment, Metric, MetricAggregation, MetricDirection};
use crate::store::{Event, EventKind, MetricValue};

/// Maximum length of a line in bytes; the rest of a longer one is ignored.
const MAX_LINE_LENGTH: usize = 16 << 10;

/// Parser of a run's output.
#[derive(Debug)]
pub struct OutputParser<'a> {
    experiment: &'a Experiment,
    patterns: RegexSet,
    /// Meaning of each pattern.
    meanings: Vec<LineMatch>,
    /// Unterminated line of each stream.
    lines: [Vec<u8>; 2],
    /// Time of the last output on each stream.
    last_output_time: [Duration; 2],
    parsed: ParsedOutput,
}

/// What the output contained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedOutput {
    /// Phases reached, by time.
    pub phases: Vec<Event>,
    /// Index of the furthest phase.
    pub furthest: Option<usize>,
    /// First line that means a wrong result.
    pub wrong: Option<String>,
    /// First line that means a failed run.
    pub fault: Option<String>,
    /// Which of the required lines were seen.
    pub right: Vec<bool>,
    /// Values by index of the metric.
    values: Vec<Option<Values>>,
    /// Last nonempty line.
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

/// Meaning of a matching line.
#[derive(Clone, Copy, Debug)]
enum LineMatch {
    Phase(usize),
    Metric(usize),
    Wrong,
    Right(usize),
    Fault,
}

impl<'a> OutputParser<'a> {
    /// For an experiment.
    ///
    /// # Errors
    /// If the patterns together are too large.
    pub fn new(experiment: &'a Experiment) -> Result<Self, String> {
        let success = &experiment.success;
        let phases = experiment.phases.iter().enumerate().map(|(at, phase)| (LineMatch::Phase(at), &phase.pattern));
        let metrics =
            experiment.metrics.iter().enumerate().map(|(at, metric)| (LineMatch::Metric(at), &metric.pattern));
        let wrong = success.wrong.iter().map(|pattern| (LineMatch::Wrong, pattern));
        let right = success.right.iter().enumerate().map(|(at, pattern)| (LineMatch::Right(at), pattern));
        let fault = success.fault.iter().map(|pattern| (LineMatch::Fault, pattern));
        let all = phases.chain(metrics).chain(wrong).chain(right).chain(fault);
        let (meanings, patterns): (Vec<_>, Vec<_>) = all.map(|(meaning, pattern)| (meaning, pattern.as_str())).unzip();
        let patterns = RegexSet::new(patterns).map_err(|error| error.to_string())?;
        let parsed = ParsedOutput {
            right: vec![false; success.right.len()],
            values: vec![None; experiment.metrics.len()],
            ..ParsedOutput::default()
        };
        Ok(Self {
            experiment,
            patterns,
            meanings,
            lines: Default::default(),
            last_output_time: Default::default(),
            parsed,
        })
    }

    /// Parses a chunk of output.
    pub fn parse(&mut self, chunk: &Chunk) {
        let which = usize::from(chunk.stream == Stream::Err);
        self.last_output_time[which] = chunk.at;
        // Programs that draw progress end lines with a carriage return.
        for part in chunk.bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, ends) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let line = &mut self.lines[which];
            let room = MAX_LINE_LENGTH.saturating_sub(line.len());
            line.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.end_line(which, chunk.at);
            }
        }
    }

    /// Parses unterminated lines at the end, with the time at which they arrived. A program that
    /// hangs within a phase often has not terminated the line that reports it.
    pub fn finish(&mut self) {
        (0..self.lines.len()).for_each(|which| self.end_line(which, self.last_output_time[which]));
    }

    fn end_line(&mut self, which: usize, at: Duration) {
        let mut line = std::mem::take(&mut self.lines[which]);
        self.line(&line, at);
        // Reuses the buffer.
        line.clear();
        self.lines[which] = line;
    }

    /// What was seen so far.
    pub fn parsed(&self) -> &ParsedOutput {
        &self.parsed
    }

    fn line(&mut self, bytes: &[u8], at: Duration) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let text = LogReader::decode(bytes);
        let text = text.trim_end();
        let shown = shown(text);
        for hit in self.patterns.matches(text) {
            match self.meanings[hit] {
                LineMatch::Phase(at_phase) => self.phase(at_phase, at),
                LineMatch::Metric(metric) => {
                    if let Some(value) = figure(&self.experiment.metrics[metric], text) {
                        self.value(metric, value);
                    }
                }
                LineMatch::Wrong => {
                    self.parsed.wrong.get_or_insert_with(|| shown.clone());
                }
                LineMatch::Right(at_right) => self.parsed.right[at_right] = true,
                LineMatch::Fault => {
                    self.parsed.fault.get_or_insert_with(|| shown.clone());
                }
            }
        }
        self.parsed.last_line = shown;
    }

    fn phase(&mut self, index: usize, at: Duration) {
        let name = &self.experiment.phases[index].name;
        if self.parsed.phases.iter().any(|event| event.text == *name) {
            return;
        }
        let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        self.parsed.phases.push(Event { at, kind: EventKind::Phase, text: name.clone() });
        self.parsed.furthest = self.parsed.furthest.max(Some(index));
    }

    fn value(&mut self, metric: usize, value: f64) {
        let values = self.parsed.values[metric].get_or_insert(Values {
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

impl ParsedOutput {
    /// Metrics that the output has, reduced as the experiment says.
    pub fn metrics(&self, experiment: &Experiment) -> Vec<MetricValue> {
        let value = |(metric, values): (&Metric, &Option<Values>)| {
            let values = (*values)?;
            let value = match (metric.aggregation, metric.direction) {
                (MetricAggregation::First, _) => values.first,
                (MetricAggregation::Last, _) => values.last,
                (MetricAggregation::Best, MetricDirection::Higher) => values.highest,
                (MetricAggregation::Best, MetricDirection::Lower) => values.lowest,
                (MetricAggregation::Mean, _) => values.sum / values.count as f64,
            };
            Some(MetricValue { name: metric.name.clone(), value, unit: metric.unit.clone() })
        };
        experiment.metrics.iter().zip(&self.values).filter_map(value).collect()
    }

    /// Name of the furthest phase.
    pub fn phase(&self, experiment: &Experiment) -> Option<String> {
        self.furthest.map(|index| experiment.phases[index].name.clone())
    }
}

/// Value in a line; commas can separate thousands.
fn figure(metric: &Metric, line: &str) -> Option<f64> {
    let groups = metric.pattern.captures(line)?;
    let text = groups.name("value").or_else(|| groups.get(1))?.as_str();
    text.replace(',', "").trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// A line for output: shortened, without terminal escapes.
pub(crate) fn shown(line: &str) -> String {
    const MAX_LENGTH: usize = 300;
    let mut text: String = line.trim().chars().take(MAX_LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.trim().chars().nth(MAX_LENGTH).is_some() {
        text.push('…');
    }
    text
}
