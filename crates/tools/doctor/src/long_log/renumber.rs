//! Replaces line numbers in a conclusion.

use crate::conclusion::{Cause, Conclusion};
use crate::rules::{Evidence, LogLine};

/// Replaces all line numbers.
pub(super) fn renumber(conclusion: &mut Conclusion, original: &dyn Fn(usize) -> usize) {
    let in_text = |text: &mut String| {
        if let Some(number) = text.strip_prefix("line ").and_then(|number| number.parse().ok()) {
            *text = format!("line {}", original(number));
        }
    };
    let lines = |lines: &mut [LogLine]| lines.iter_mut().for_each(|line| line.number = original(line.number));
    let evidence = |all: &mut [Evidence]| all.iter_mut().for_each(|one| in_text(&mut one.location));
    let causes = |causes: &mut [Cause]| {
        for cause in causes {
            lines(&mut cause.lines);
            evidence(&mut cause.evidence);
        }
    };
    conclusion.facts.iter_mut().for_each(|fact| in_text(&mut fact.location));
    for event in &mut conclusion.events {
        lines(&mut event.lines);
        event.numbers.iter_mut().for_each(|number| *number = original(*number));
    }
    causes(&mut conclusion.causes);
    causes(&mut conclusion.possible);
    causes(&mut conclusion.notes);
    conclusion.failures.iter_mut().for_each(|failure| lines(&mut failure.lines));
    conclusion.excluded.iter_mut().for_each(|excluded| evidence(&mut excluded.evidence));
}
