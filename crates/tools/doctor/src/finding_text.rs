//! Findings and remedies as text.

use crate::rules::{Confidence, Reboot, Severity, Step};

/// Wrap width in columns.
const WIDTH: usize = 100;

/// Name of a severity.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Blocker => "blocker",
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
        Severity::Info => "info",
    }
}

/// Description of a confidence.
pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::A => "A: source code or vendor",
        Confidence::B => "B: several reports",
        Confidence::C => "C: one report",
        Confidence::D => "D: general knowledge",
    }
}

/// Wraps text, with a prefix on each line.
pub fn indented(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&format!("{indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push_str(&format!("{indent}{line}\n"));
    }
    lines
}

/// The remedy as text. Commands have their own lines and are not wrapped.
pub fn remedy(steps: &[Step], reboot: Reboot, persistence: Option<&str>, indent: &str) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Run(command) => {
                command.lines().for_each(|line| text.push_str(&format!("{indent}$ {line}\n")));
            }
            Step::Say(words) => text.push_str(&indented(words, indent)),
        }
    }
    let then = match reboot {
        Reboot::None => None,
        Reboot::Login => Some("Log out and in again."),
        Reboot::Module => Some("Load the module again, or reboot."),
        Reboot::Reboot => Some("Reboot."),
    };
    text.push_str(&then.map(|then| format!("{indent}{then}\n")).unwrap_or_default());
    if let Some(persistence) = persistence {
        text.push_str(&indented(&format!("To keep it that way: {persistence}"), indent));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_and_commands_are_not() {
        let wrapped = indented(&"word ".repeat(40), "  ");
        assert!(
            wrapped.lines().count() == 3 && wrapped.lines().all(|line| line.len() <= WIDTH && line.starts_with("  "))
        );
        let long = format!("echo {}", "x ".repeat(80));
        let text = remedy(&[Step::Run(long.clone())], Reboot::Reboot, Some("put it into a file"), "  ");
        assert!(text.starts_with(&format!("  $ {}\n", long.trim_end_matches('\n'))));
        assert!(text.ends_with("  Reboot.\n  To keep it that way: put it into a file\n"));
    }
}
