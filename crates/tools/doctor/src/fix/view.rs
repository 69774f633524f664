//! Plans as people and programs see them.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Serialize;

use crate::{command_line, secrets};

use super::apply::shell;
use super::plan::{FileEdit, Plan};

/// What a plan changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanView {
    /// Files that are changed.
    pub files: Vec<FileView>,
    /// Commands that are run then, as in a shell.
    pub commands: Vec<String>,
    /// Files that the commands change.
    pub by_commands: Vec<FileView>,
    /// What to set in the description of the system, where files are made from one.
    pub options: Vec<String>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// Change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileView {
    /// Path.
    pub path: String,
    /// Whether there is no such file yet.
    pub created: bool,
    /// Lines that are removed and added, in order. Secrets are masked.
    pub lines: Vec<LineChange>,
}

/// A line that is removed or added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineChange {
    /// Line number, from 1: in the old file for a removed line, in the new one for an added line.
    pub number: usize,
    /// `-` or `+`.
    pub sign: char,
    /// The line.
    pub text: String,
}

impl Plan {
    /// The plan for output.
    pub fn view(&self) -> PlanView {
        PlanView {
            files: self.edits.iter().map(view).collect(),
            commands: self.commands.iter().map(|command| shell(&command.run)).collect(),
            by_commands: self.by_commands.iter().map(view).collect(),
            options: self.options.clone(),
            notes: self.notes.clone(),
        }
    }
}

impl PlanView {
    /// The plan as text, with a diff of each file.
    pub fn text(&self, indent: &str) -> String {
        let mut text = String::new();
        let mut file = |file: &FileView, remark: &str| {
            let new = if file.created { " (new file)" } else { "" };
            text.push_str(&format!("{indent}{}{new}{remark}\n", file.path));
            for line in &file.lines {
                text.push_str(&format!("{indent}  {:>3} {}{}\n", line.number, line.sign, line.text));
            }
        };
        self.files.iter().for_each(|one| file(one, ""));
        self.by_commands.iter().for_each(|one| file(one, " (by the command)"));
        self.options.iter().flat_map(|option| option.lines()).for_each(|line| {
            text.push_str(&format!("{indent}{line}\n"));
        });
        self.commands.iter().for_each(|command| text.push_str(&format!("{indent}# {command}\n")));
        self.notes.iter().for_each(|note| text.push_str(&crate::finding_text::indented(note, indent)));
        text
    }
}

fn view(edit: &FileEdit) -> FileView {
    let before = edit.before.as_ref().map(|state| String::from_utf8_lossy(&state.bytes).into_owned());
    let after = String::from_utf8_lossy(&edit.after.bytes).into_owned();
    FileView {
        path: edit.path.clone(),
        created: before.is_none(),
        lines: diff(&edit.path, &before.unwrap_or_default(), &after),
    }
}

/// The lines that differ: the longest common subsequence stays.
fn diff(path: &str, before: &str, after: &str) -> Vec<LineChange> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (mut left, mut right) = (start, start);
    let mut lines = Vec::new();
    // Files of configuration: what lies between is short, so a greedy search suffices.
    while left < old.len() - end || right < new.len() - end {
        let same = left < old.len() - end && right < new.len() - end && old[left] == new[right];
        if same {
            (left, right) = (left + 1, right + 1);
        } else if left < old.len() - end && !new[right..new.len() - end].contains(&old[left]) {
            lines.push(LineChange { number: left + 1, sign: '-', text: shown(path, old[left]) });
            left += 1;
        } else if right < new.len() - end {
            lines.push(LineChange { number: right + 1, sign: '+', text: shown(path, new[right]) });
            right += 1;
        } else {
            lines.push(LineChange { number: left + 1, sign: '-', text: shown(path, old[left]) });
            left += 1;
        }
    }
    // An end of a line that only one of the files has.
    if lines.is_empty() && before != after {
        lines.push(LineChange { number: new.len().max(1), sign: '+', text: shown(path, new.last().unwrap_or(&"")) });
    }
    lines
}

/// The front of a line with a kernel command line, up to the first parameter.
static FRONT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*(?:[A-Z_]+(?:\[\w*\])?\+?=["']|options\s+(?:\w+\s)?|"[^"]*"\s+"|)"#).ok());
/// A parameter with a value.
static PARAMETER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?P<name>[\w.-]+)=(?P<value>"[^"]*"|[^\s"']+)"#).ok());

/// A line for output: without control characters, with secrets masked.
fn shown(path: &str, line: &str) -> String {
    let plain: String = line.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    let is_command_line = path.starts_with("/boot/") || path.starts_with("/efi/") || path.starts_with("/etc/default/");
    let others = ["/etc/kernel/cmdline", "/etc/sdboot-manage.conf"];
    if !is_command_line && !others.contains(&path) {
        return secrets::masked(&plain).into_owned();
    }
    let front = FRONT.as_ref().and_then(|pattern| pattern.find(&plain));
    let start = front.map_or(0, |found| found.end());
    let Some(pattern) = PARAMETER.as_ref() else { return secrets::MASKED.to_owned() };
    let masked = pattern.replace_all(&plain[start..], |found: &Captures<'_>| {
        format!("{}={}", &found["name"], command_line::value(&found["name"], found["value"].trim_matches('"')))
    });
    // The closing quote is not part of the last value.
    let body = masked.trim_end_matches(['"', '\'']);
    format!("{}{}{}", &plain[..start], secrets::masked(body), &masked[body.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(before: &str, after: &str) -> Vec<String> {
        diff("/etc/x", before, after).iter().map(|line| format!("{}{}{}", line.number, line.sign, line.text)).collect()
    }

    #[test]
    fn only_lines_that_differ_are_shown() {
        assert_eq!(signs("a\nb\nc\n", "a\nx\nc\n"), ["2-b", "2+x"]);
        assert_eq!(signs("", "a\nb\n"), ["1+a", "2+b"]);
        assert_eq!(signs("a\nb\n", "b\n"), ["1-a"]);
        assert_eq!(signs("a\nb\nc\nd\n", "a\nB\nc\nD\n"), ["2-b", "2+B", "4-d", "4+D"]);
        assert_eq!(signs("a\n", "a\n"), [""; 0]);
        assert_eq!(signs("a", "a\n"), ["1+a"]);
    }

    #[test]
    fn secrets_in_changed_lines_are_masked() {
        for (path, line, expected) in [
            (
                "/etc/default/grub",
                "GRUB_CMDLINE_LINUX=\"root=/dev/x quiet amdgpu.dc=1 rd.iscsi.password=s\"",
                "GRUB_CMDLINE_LINUX=\"root=MASKED quiet amdgpu.dc=1 rd.iscsi.password=MASKED\"",
            ),
            (
                "/boot/loader/entries/a.conf",
                "options root=UUID=1 note=\"a b\" iommu=pt",
                "options root=MASKED note=MASKED iommu=pt",
            ),
            ("/etc/kernel/cmdline", "root=UUID=1 rw serialno=X", "root=MASKED rw serialno=MASKED"),
            ("/boot/refind_linux.conf", "\"Boot\"  \"root=/dev/x quiet\"", "\"Boot\"  \"root=MASKED quiet\""),
            (
                "/etc/default/limine",
                "KERNEL_CMDLINE[default]+=\"root=x quiet\"",
                "KERNEL_CMDLINE[default]+=\"root=MASKED quiet\"",
            ),
            ("/etc/environment", "OLLAMA_API_KEY=abc", "OLLAMA_API_KEY=MASKED"),
            ("/etc/modprobe.d/x.conf", "options amdgpu cwsr_enable=0", "options amdgpu cwsr_enable=0"),
        ] {
            assert_eq!(shown(path, line), expected);
        }
    }
}
