//! Text output of a conclusion: the verdict first, then what the reader can act on.

use std::fmt::Write as _;

use crate::finding_text;
use crate::logs::Vendor;
use crate::rules::{Evidence, LogLine, Severity};

use super::{Cause, Certainty, Conclusion};

/// Causes in short output; the rest is counted.
const CAUSES: usize = 3;
const OTHERS: usize = 4;
const FACTS: usize = 8;
const INDENT: &str = "   ";

impl Conclusion {
    /// The conclusion as plain text. `verbose` omits nothing.
    pub fn text(&self, verbose: bool) -> String {
        let mut out = String::new();
        let most = |count: usize| if verbose { usize::MAX } else { count };
        let _ = writeln!(out, "{}", self.verdict());
        self.write_recognized(&mut out, most(FACTS));
        if !self.events.is_empty() {
            let _ = writeln!(out, "\nWhat happened:");
            for event in self.events.iter().take(most(2 * OTHERS)) {
                let _ = writeln!(out, "  - {} ({})", event.what, lines_of(&event.lines, event.count));
            }
            rest(&mut out, self.events.len(), most(2 * OTHERS));
        }
        // Other failures usually follow from the cause.
        let beside = self.causes.iter().any(Cause::is_a_problem);
        if !beside {
            self.write_failures(&mut out, "Failures that no rule explains", most(OTHERS), true);
        }
        for (index, cause) in self.causes.iter().take(most(CAUSES)).enumerate() {
            let _ = writeln!(out, "\n{}. {} [{}]", index + 1, cause.title, cause.id);
            out.push_str(&cause.text(verbose));
        }
        for cause in self.causes.iter().skip(most(CAUSES)) {
            let _ = writeln!(out, "\nAlso: {} [{}] ({})", cause.title, cause.id, lines_of(&cause.lines, cause.count));
        }
        if beside {
            self.write_failures(&mut out, "Other failures", most(2), verbose);
        }
        if !self.possible.is_empty() {
            let _ = writeln!(out, "\nPossible, depending on facts that the log does not have:");
            for cause in self.possible.iter().take(most(3)) {
                let _ = writeln!(out, "  - {} [{}]", cause.title, cause.id);
                let _ = writeln!(out, "    depends on {}", cause.unknown.join(", "));
                if verbose {
                    out.push_str(&cause.text(true));
                }
            }
            rest(&mut out, self.possible.len(), most(3));
        }
        let notes = if self.causes.is_empty() { usize::MAX } else { most(2) };
        for note in self.notes.iter().take(notes) {
            let _ = writeln!(out, "\nNote: {} [{}]", note.title, note.id);
            if verbose {
                out.push_str(&note.text(true));
            }
        }
        let trouble = !(self.causes.is_empty() && self.possible.is_empty() && self.events.is_empty());
        if (verbose || trouble) && !self.excluded.is_empty() {
            let _ = writeln!(out, "\nRuled out:");
            for excluded in self.excluded.iter().take(most(OTHERS)) {
                let evidence: Vec<_> = excluded.evidence.iter().map(fact).collect();
                let _ = writeln!(out, "  - {} [{}]: {}", excluded.title, excluded.id, evidence.join(", "));
            }
            rest(&mut out, self.excluded.len(), most(OTHERS));
        }
        if !self.next.is_empty() {
            let _ = writeln!(out, "\nCheck next:");
            for check in self.next.iter().take(most(OTHERS)) {
                let decides = if check.decides.is_empty() { String::new() } else { check.decides.join(", ") };
                let why = if decides.is_empty() { String::new() } else { format!("   # decides {decides}") };
                let _ = writeln!(out, "  $ {}{why}", check.run);
            }
            rest(&mut out, self.next.len(), most(OTHERS));
        }
        out
    }

    /// The verdict in one line.
    fn verdict(&self) -> String {
        let weighty = self.events.iter().filter(|event| event.severity <= Severity::Medium);
        let worst = weighty.min_by_key(|event| event.severity);
        match (self.causes.first(), worst) {
            (_, None) if !self.failures.is_empty() && !self.causes.iter().any(Cause::is_a_problem) => self.failed(),
            (Some(cause), _) => {
                let how = match (cause.severity, cause.certainty) {
                    (Severity::Low, _) => "Minor problem",
                    (_, Certainty::Certain) => "Most likely cause",
                    _ => "Probable cause",
                };
                format!("{how}: {}.", cause.title.trim_end_matches('.'))
            }
            (None, Some(event)) if !self.is_open() => {
                format!("{} No known cause explains it.", event.what)
            }
            (None, Some(event)) => {
                format!("{} The log does not have enough information to find the cause.", event.what)
            }
            (None, None) if !self.possible.is_empty() => {
                let what = self.events.first().map_or("", |event| event.what.as_str());
                format!("{what} The log does not show whether this is a problem.").trim_start().to_owned()
            }
            (None, None) if self.programs.is_empty() => {
                "Unrecognized log format, and no line that roci recognizes as a failure. This is no all-clear.".into()
            }
            (None, None) if self.vendor == Vendor::Other => {
                "No known problem found: the log is about a GPU of another vendor.".into()
            }
            (None, None) if self.vendor == Vendor::Unknown && !self.events.is_empty() => {
                format!("{} The log does not show whether it is about an AMD GPU.", self.events[0].what)
            }
            (None, None) if !self.works || !self.shows_a_gpu() => {
                "The log shows no failure that roci recognizes, and no GPU at work. This is no all-clear.".into()
            }
            (None, None) => "The log shows no known problem.".into(),
        }
    }

    /// Whether facts that the log does not have would decide about a cause.
    fn is_open(&self) -> bool {
        !self.possible.is_empty() || self.next.iter().any(|check| !check.decides.is_empty())
    }

    /// Whether the log names a GPU.
    fn shows_a_gpu(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact.name.as_str(), "gpu.target" | "gpu.name" | "gpu.device"))
    }

    /// The most severe unexplained failure, in one line.
    fn failed(&self) -> String {
        let Some(failure) = self.failures.first() else { return String::new() };
        let number = failure.lines.first().map_or(0, |line| line.number);
        let cause = match self.is_open() {
            false => "No rule explains it.",
            true => "The log does not have enough information to find the cause.",
        };
        let vendor = if self.vendor == Vendor::Other { " The log is about a GPU of another vendor." } else { "" };
        format!("Line {number} reports {}. {cause}{vendor}", failure.what)
    }

    fn write_failures(&self, out: &mut String, title: &str, most: usize, collect: bool) {
        if self.failures.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{title}:");
        for failure in self.failures.iter().take(most) {
            let Some(line) = failure.lines.first() else { continue };
            let component = &failure.component;
            let component = if component.is_empty() { String::new() } else { format!(" ({component})") };
            let _ = writeln!(out, "  - line {} reports {}{component}:", line.number, failure.what);
            let _ = writeln!(out, "    {}", line.text.trim());
            if failure.count > 1 {
                let _ = writeln!(out, "    ({})", lines_of(&failure.lines, failure.count));
            }
            for more in failure.collect.iter().filter(|_| collect) {
                let _ = writeln!(out, "    Collect: {more}");
            }
        }
        rest(out, self.failures.len(), most);
    }

    fn write_recognized(&self, out: &mut String, most: usize) {
        if !self.programs.is_empty() {
            let _ = writeln!(out, "Recognized: {}.", self.programs.join(", "));
        }
        let shown = |name: &str| {
            matches!(name, "kernel.release" | "mesa.version" | "rocm.version" | "wheel.torch" | "program.llama")
                || matches!(name, "gpu.target" | "gpu.name" | "gpu.forced" | "gpu.vram" | "gpu.gtt")
                || name.starts_with("env.")
                || name.starts_with("gpu.firmware.mes")
        };
        let facts: Vec<_> = self.facts.iter().filter(|fact| most == usize::MAX || shown(&fact.name)).collect();
        if !facts.is_empty() {
            let words = facts.iter().take(most).map(|fact| format!("{} {}", fact.name, fact.value));
            let _ = writeln!(out, "Facts: {}.", words.collect::<Vec<_>>().join(", "));
        }
    }
}

impl Cause {
    /// Evidence, explanation and remedy, as lines below the title.
    pub fn text(&self, verbose: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let _ = writeln!(out, "{INDENT}line {}: {}", line.number, line.text.trim());
        }
        if self.count > self.lines.len() {
            let _ = writeln!(out, "{INDENT}({} such lines)", self.count);
        }
        if !self.evidence.is_empty() {
            let facts = self.evidence.iter().map(fact).collect::<Vec<_>>().join(", ");
            out.push_str(&finding_text::indented(&format!("because {facts}"), INDENT));
        }
        if !self.unknown.is_empty() {
            out.push_str(&finding_text::indented(&format!("not known: {}", self.unknown.join(", ")), INDENT));
        }
        out.push_str(&finding_text::indented(&self.meaning, INDENT));
        for explained in &self.explains {
            let _ = writeln!(out, "{INDENT}This explains: {} [{}]", explained.title, explained.id);
        }
        let _ = writeln!(out, "{INDENT}What to do:");
        let steps = if verbose { &self.steps } else { &self.steps_here };
        out.push_str(&finding_text::remedy(steps, self.reboot, self.persistence.as_deref(), &format!("{INDENT}  ")));
        if let Some(advice) = &self.outdated_advice {
            out.push_str(&finding_text::indented(&format!("Old advice: {advice}"), INDENT));
        }
        if verbose {
            let _ = writeln!(out, "{INDENT}Confidence {}", finding_text::confidence(self.confidence));
            self.sources.iter().for_each(|source| out.push_str(&format!("{INDENT}{source}\n")));
        }
        out
    }
}

fn lines_of(lines: &[LogLine], count: usize) -> String {
    match lines {
        [] => "no line".into(),
        [one] => format!("line {}", one.number),
        [first, .., last] => format!("{count} lines, {} to {}", first.number, last.number),
    }
}

fn fact(evidence: &Evidence) -> String {
    let location = if evidence.location.is_empty() { String::new() } else { format!(" ({})", evidence.location) };
    match &evidence.value {
        Some(value) => format!("{} is {value}{location}", evidence.name),
        None => format!("there is no {}", evidence.name),
    }
}

fn rest(out: &mut String, count: usize, shown: usize) {
    if count > shown {
        let _ = writeln!(out, "  and {} more", count - shown);
    }
}
