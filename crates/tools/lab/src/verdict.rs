//! Determines the outcome of a run: a pure function of its output, its end and the criteria.

use std::collections::BTreeMap;

use crate::executor::Exit;
use crate::experiment::{Experiment, MetricCriterion, MetricDirection};
use crate::outcome::{Outcome, Stack, Survivor};
use crate::output_parser::ParsedOutput;
use crate::store::MetricValue;
use crate::watchdog::Alarm;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The program ended by itself, or by a signal from elsewhere.
    Exited(Exit),
    /// The watchdog killed it.
    Killed {
        /// Reason of the watchdog.
        alarm: Alarm,
        /// Stacks of its threads.
        stack: Vec<Stack>,
    },
    /// The exit is unknown.
    Gone(String),
    /// It was never started.
    Refused(String),
}

/// Everything known about an ended run.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// How it ended.
    pub end: End,
    /// Processes that survived SIGKILL.
    pub survivors: Vec<Survivor>,
    /// What its output contained.
    pub parsed: &'a ParsedOutput,
    /// A kernel log line about a fault of the GPU or of a process of this run.
    pub kernel_fault: Option<String>,
    /// Baseline values by metric; `None` for a run of the baseline.
    pub baseline: Option<&'a BTreeMap<String, f64>>,
}

/// Determines the outcome.
pub fn verdict(experiment: &Experiment, evidence: &Evidence<'_>) -> Outcome {
    if let End::Refused(why) = &evidence.end {
        return Outcome::blocked(why);
    }
    let phase = evidence.parsed.phase(experiment);
    let failure = failure(experiment, evidence, phase.clone());
    if let Some(failure) = failure {
        return match past_progress(experiment, evidence.parsed) {
            Some(mark) => {
                let why = format!("past {mark}, {}", short(&failure));
                Outcome::Partial { phase, why, end: Some(Box::new(failure)) }
            }
            None => failure,
        };
    }
    if let Some(line) = &evidence.parsed.wrong {
        return Outcome::Wrong { phase, why: line.clone() };
    }
    let silent = experiment.success.right.iter().zip(&evidence.parsed.right).find(|(_, matched)| !**matched);
    if let Some((pattern, _)) = silent {
        return Outcome::Wrong { phase, why: format!("no line matches `{}`", pattern.as_str()) };
    }
    match missing(experiment, evidence) {
        Some(why) => Outcome::Partial { phase, why, end: None },
        None => Outcome::Pass,
    }
}

/// The failure, if it failed.
fn failure(experiment: &Experiment, evidence: &Evidence<'_>, phase: Option<String>) -> Option<Outcome> {
    let survivors = evidence.survivors.clone();
    let fault = || evidence.parsed.fault.clone().or_else(|| evidence.kernel_fault.clone());
    match &evidence.end {
        End::Killed { alarm: alarm @ Alarm::Memory(..), .. } => {
            let fault = Some(alarm.describe());
            Some(Outcome::Crash { phase, signal: Some(9), code: None, fault, last_line: None })
        }
        End::Killed { alarm, stack } => {
            Some(Outcome::Hang { phase, why: alarm.describe(), stack: stack.clone(), survivors })
        }
        // No program ran: `verdict` has handled this.
        End::Refused(_) => None,
        End::Gone(why) => {
            Some(Outcome::Crash { phase, signal: None, code: None, fault: Some(why.clone()), last_line: None })
        }
        End::Exited(exit) => {
            let well = exit.signal.is_none()
                && !exit.out_of_memory
                && exit.code.is_some_and(|code| experiment.success.exit.contains(&code));
            if well && evidence.parsed.fault.is_none() {
                return None;
            }
            let out_of_memory = exit.out_of_memory.then(|| "killed for lack of memory".to_owned());
            let fault = out_of_memory.or_else(fault).or_else(|| exit.note.clone());
            // The last line of output is not a reason, even if no other is known.
            let last = Some(&evidence.parsed.last_line).filter(|line| fault.is_none() && !line.is_empty());
            Some(Outcome::Crash { phase, signal: exit.signal, code: exit.code, last_line: last.cloned(), fault })
        }
    }
}

/// The phase that counts as progress, if the run got past it.
fn past_progress<'a>(experiment: &'a Experiment, parsed: &ParsedOutput) -> Option<&'a str> {
    let name = experiment.success.partial.as_deref()?;
    let mark = experiment.phase_index(name)?;
    (parsed.furthest? > mark).then_some(name)
}

/// A short description of a failure.
fn short(failure: &Outcome) -> String {
    let at = failure.phase().map(|phase| format!(" at {phase}")).unwrap_or_default();
    match failure {
        Outcome::Hang { .. } => format!("hung{at}"),
        Outcome::Crash { signal, code, .. } => {
            let how = match (signal, code) {
                (Some(signal), _) => format!(" ({})", crate::outcome::signal_name(*signal)),
                (None, Some(code)) => format!(" (exit code {code})"),
                (None, None) => String::new(),
            };
            format!("crashed{at}{how}")
        }
        other => other.detail(),
    }
}

/// Unmet criteria of a run that exited successfully.
fn missing(experiment: &Experiment, evidence: &Evidence<'_>) -> Option<String> {
    if let Some(phase) = &experiment.success.phase {
        let reached = evidence.parsed.phases.iter().any(|event| event.text == *phase);
        if !reached {
            return Some(format!("exited without reaching {phase}"));
        }
    }
    let metrics = evidence.parsed.metrics(experiment);
    experiment
        .success
        .metrics
        .iter()
        .find_map(|criterion| shortfall(experiment, criterion, &metrics, evidence.baseline))
}

fn shortfall(
    experiment: &Experiment,
    criterion: &MetricCriterion,
    metrics: &[MetricValue],
    baseline: Option<&BTreeMap<String, f64>>,
) -> Option<String> {
    let name = &criterion.metric;
    let Some(MetricValue { value, unit, .. }) = metrics.iter().find(|metric| metric.name == *name) else {
        return Some(format!("exited without a value for {name}"));
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if let Some(min) = criterion.min.filter(|min| value < min) {
        return Some(format!("{name} is {value}{unit}, the minimum is {min}"));
    }
    if let Some(max) = criterion.max.filter(|max| value > max) {
        return Some(format!("{name} is {value}{unit}, the maximum is {max}"));
    }
    let (ratio, baseline) = criterion.ratio.zip(baseline)?;
    let Some(base) = baseline.get(name).filter(|base| **base > 0.0) else {
        return Some(format!("{name} cannot be compared: the baseline has no value for it"));
    };
    let higher =
        experiment.metrics.iter().any(|metric| metric.name == *name && metric.direction == MetricDirection::Higher);
    let reached = if higher { value / base } else { base / value.max(f64::MIN_POSITIVE) };
    (reached < ratio).then(|| {
        let reached = below(reached, ratio);
        format!("{name} is {value}{unit}: {reached} of the baseline, the minimum is {ratio}")
    })
}

/// A value below a limit, with enough digits to show it.
fn below(value: f64, limit: f64) -> String {
    let rounded = (2..17).map(|digits| format!("{value:.digits$}"));
    let mut visible = rounded.filter(|text| text.parse::<f64>().is_ok_and(|rounded| rounded < limit));
    visible.next().unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::executor::{Chunk, Stream};
    use crate::output_parser::OutputParser;

    const EXPERIMENT: &str = r"
name = 'x'
command = ['a']
[[phase]]
name = 'upload'
pattern = '^upload'
[[phase]]
name = 'graph'
pattern = '^graph'
[[phase]]
name = 'done'
pattern = '^done'
[[metric]]
name = 'speed'
pattern = 'speed ([\d.,]+)'
[[metric]]
name = 'latency'
pattern = 'latency (?P<value>[\d.]+)'
better = 'lower'
take = 'best'
[baseline]
values = { speed = 100, latency = 10 }
[success]
phase = 'done'
partial = 'upload'
exit = [0, 7]
metric = [{ name = 'speed', ratio = 0.9, min = 5 }]
wrong = ['NaN']
right = ['sum ok']
fault = ['ERROR_\w+']
";

    fn judge(toml: &str, output: &str, end: End) -> Outcome {
        let experiment = Experiment::parse("x", toml, &BTreeMap::new()).expect("it is right");
        let mut parser = OutputParser::new(&experiment).expect("its patterns are small");
        for piece in output.as_bytes().chunks(3) {
            let at = Duration::from_millis(5);
            parser.parse(&Chunk { stream: Stream::Out, at, bytes: piece.to_vec() });
        }
        parser.finish();
        let baseline = experiment.baseline.as_ref().map(|baseline| &baseline.values);
        let evidence = Evidence { end, survivors: vec![], parsed: parser.parsed(), kernel_fault: None, baseline };
        verdict(&experiment, &evidence)
    }

    #[test]
    fn an_unterminated_line_counts_from_its_arrival() {
        let experiment = Experiment::parse("x", EXPERIMENT, &BTreeMap::new()).expect("it is right");
        let mut parser = OutputParser::new(&experiment).expect("its patterns are small");
        for (at, text) in [(5, "upload\ngr"), (7, "aph")] {
            let at = Duration::from_millis(at);
            parser.parse(&Chunk { stream: Stream::Err, at, bytes: text.into() });
        }
        parser.finish();
        let phases: Vec<_> = parser.parsed().phases.iter().map(|event| (event.at, event.text.as_str())).collect();
        assert_eq!(phases, [(5, "upload"), (7, "graph")]);
    }

    fn exited(code: i32) -> End {
        End::Exited(Exit { code: Some(code), ..Exit::default() })
    }

    fn hung() -> End {
        End::Killed { alarm: Alarm::Stall(Duration::from_secs(60)), stack: vec![] }
    }

    const GOOD: &str = "upload\ngraph\nspeed 1,095.5\nsum ok\ndone\n";

    #[test]
    fn a_run_that_meets_all_criteria_passes() {
        assert_eq!(judge(EXPERIMENT, GOOD, exited(0)), Outcome::Pass);
        assert_eq!(judge(EXPERIMENT, GOOD, exited(7)), Outcome::Pass);
        assert_eq!(judge(EXPERIMENT, &GOOD.replace('\n', "\r\n"), exited(0)), Outcome::Pass);
        assert_eq!(judge(EXPERIMENT, &GOOD.replace("upload", "\u{1b}[31mupload\u{1b}[0m"), exited(0)), Outcome::Pass);
    }

    #[test]
    fn a_hang_names_its_phase_and_is_partial_past_the_mark() {
        let before = judge(EXPERIMENT, "upload\n", hung());
        assert_eq!(before.to_string(), "HANG - hung at upload: no output and no CPU for 60 s");
        let past = judge(EXPERIMENT, "upload\ngraph", hung());
        assert_eq!(past.to_string(), "PARTIAL - past upload, hung at graph");
        let Outcome::Partial { end: Some(end), .. } = past else { panic!("{past}") };
        assert!(matches!(*end, Outcome::Hang { .. }));
        assert_eq!(judge(EXPERIMENT, "", hung()).to_string(), "HANG - hung: no output and no CPU for 60 s");
        assert_eq!(
            judge(EXPERIMENT, "upload\ngraph\n", exited(3)).to_string(),
            "PARTIAL - past upload, crashed at graph (exit code 3)"
        );
    }

    #[test]
    fn failures_have_their_reason() {
        let signal = End::Exited(Exit { signal: Some(11), ..Exit::default() });
        assert_eq!(
            judge(EXPERIMENT, "upload\n", signal).to_string(),
            "CRASH - SIGSEGV at upload; its last line: upload"
        );
        let fault = judge(EXPERIMENT, "x ERROR_APERTURE y\nupload\nlast", exited(0));
        assert_eq!(fault.to_string(), "CRASH - exit code 0 at upload: x ERROR_APERTURE y");
        let memory = End::Exited(Exit { signal: Some(9), out_of_memory: true, ..Exit::default() });
        assert_eq!(judge(EXPERIMENT, "", memory).to_string(), "CRASH - SIGKILL: killed for lack of memory");
        let large = End::Killed { alarm: Alarm::Memory(2 << 30, 1 << 30), stack: vec![] };
        assert_eq!(
            judge(EXPERIMENT, "", large).to_string(),
            "CRASH - SIGKILL: used 2.0 GiB of memory, the limit is 1.0 GiB"
        );
        let node_lost = judge(EXPERIMENT, "upload\n", End::Gone("the node is down".into()));
        assert_eq!(node_lost.to_string(), "CRASH - it went away at upload: the node is down");
        let refused = judge(EXPERIMENT, "", End::Refused("no such image".into()));
        assert_eq!(refused.to_string(), "BLOCKED - no such image");
    }

    #[test]
    fn wrong_results_are_wrong_even_if_fast() {
        assert_eq!(
            judge(EXPERIMENT, &GOOD.replace("graph", "NaN in row 3"), exited(0)).to_string(),
            "WRONG - NaN in row 3"
        );
        assert_eq!(
            judge(EXPERIMENT, &GOOD.replace("sum ok", ""), exited(0)).to_string(),
            "WRONG - no line matches `sum ok`"
        );
    }

    #[test]
    fn unmet_criteria_make_it_partial() {
        let says = |output: &str| judge(EXPERIMENT, output, exited(0)).to_string();
        assert_eq!(says(&GOOD.replace("done", "")), "PARTIAL - exited without reaching done");
        assert_eq!(says(&GOOD.replace("speed", "pace")), "PARTIAL - exited without a value for speed");
        assert_eq!(
            says(&GOOD.replace("1,095.5", "80")),
            "PARTIAL - speed is 80: 0.80 of the baseline, the minimum is 0.9"
        );
        let near = says(&GOOD.replace("1,095.5", "89.9999"));
        assert_eq!(near, "PARTIAL - speed is 89.9999: 0.899999 of the baseline, the minimum is 0.9");
        assert_eq!(says(&GOOD.replace("1,095.5", "4")), "PARTIAL - speed is 4, the minimum is 5");
        let lower =
            EXPERIMENT.replace("name = 'speed', ratio = 0.9, min = 5", "name = 'latency', ratio = 0.9, max = 30");
        let slow =
            |latency: &str| judge(&lower, &format!("{GOOD}latency 50\nlatency {latency}\n"), exited(0)).to_string();
        assert_eq!(slow("20"), "PARTIAL - latency is 20: 0.50 of the baseline, the minimum is 0.9");
        assert_eq!(slow("11"), "PASS");
        assert_eq!(slow("40"), "PARTIAL - latency is 40, the maximum is 30");
        let without = EXPERIMENT.replace("values = { speed = 100, latency = 10 }", "values = { latency = 10 }");
        assert!(judge(&without, GOOD, exited(0)).to_string().contains("cannot be compared"));
    }

    #[test]
    fn an_endless_line_is_truncated() {
        let long = format!("upload\n{}\ngraph\nspeed 100\nsum ok\ndone", "x".repeat(1_000_000));
        assert_eq!(judge(EXPERIMENT, &long, exited(0)), Outcome::Pass);
    }
}
