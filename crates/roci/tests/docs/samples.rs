//! Commands with output in the documentation (`$ roci …` and the lines below) are run, and must
//! print that output.
//!
//! - `...` on a line of its own stands for any lines.
//! - Runs of spaces and line breaks are equal: pages wrap long lines.
//! - Times, rates, thread counts and addresses are not compared.
//!
//! An HTML comment in front of a block changes what the test does; readers do not see it:
//! `<!-- not run: REASON -->`, or `<!-- run on MACHINE -->`, which adds `--root` or `--facts` of a
//! machine of the doctor's tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use roci_testkit::require;
use roci_testkit::tools::Tool;

use crate::machines;
use crate::{is_changelog, pages, regex, report, root};

/// Indented lines, with the text above them. A blank line ends a block, except in the output of a
/// command.
struct Block<'a> {
    /// Lines above the block, back to the previous code.
    above: Vec<&'a str>,
    lines: Vec<&'a str>,
    /// Line number on the page, from 1.
    line: usize,
}

impl Block<'_> {
    /// The instruction in an HTML comment directly above the block.
    fn instruction(&self) -> Option<&str> {
        let above = self.above.iter().rev().find(|line| !line.is_empty())?;
        above.strip_prefix("<!-- ")?.strip_suffix(" -->")
    }

    /// Commands with the output that the page shows.
    fn samples(&self) -> Vec<Sample> {
        let mut found: Vec<Sample> = Vec::new();
        let mut continues = false;
        for line in &self.lines {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push(Sample { command: command.to_owned(), output: String::new() }),
                (None, Some(last)) if continues => {
                    last.command.truncate(last.command.len() - 1);
                    last.command.push_str(line);
                }
                (None, Some(last)) => {
                    last.output.push_str(line);
                    last.output.push('\n');
                }
                (None, None) => {}
            }
            continues = found.last().is_some_and(|last| last.output.is_empty() && last.command.ends_with('\\'));
        }
        found
    }
}

struct Sample {
    command: String,
    output: String,
}

/// The code blocks of a page.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut above = Vec::new();
    let (mut is_fenced, mut is_code) = (false, false);
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        is_fenced ^= line.starts_with("```");
        let next_is_code = lines.peek().is_some_and(|(_, next)| next.starts_with("    "));
        match (line.strip_prefix("    ").filter(|_| !is_fenced), found.last_mut().filter(|_| is_code)) {
            (Some(code), Some(block)) => block.lines.push(code),
            (Some(code), None) => {
                found.push(Block { above: std::mem::take(&mut above), lines: vec![code], line: number + 1 });
                is_code = true;
            }
            (None, Some(block)) if line.is_empty() && next_is_code && block.lines[0].starts_with("$ ") => {
                block.lines.push("");
            }
            (None, _) => {
                above.push(line);
                is_code = false;
            }
        }
    }
    found
}

/// Replaces what differs from run to run.
fn normalize(text: &str) -> String {
    let varies = [
        (r"\b[\d.]+ (?:ns|µs|ms|s)\b", "TIME"),
        (r"\bon \d+ threads?\b", "on THREADS"),
        (r"\b[\d.]+ G lane-operations/s", "RATE"),
        (r"\b0x[0-9a-f]{9,16}\b", "ADDRESS"),
        (r"\s+", " "),
    ];
    let replace = |text: String, (pattern, word): (&str, &str)| regex(pattern).replace_all(&text, word).into_owned();
    varies.into_iter().fold(text.to_owned(), replace).trim().to_owned()
}

/// The pattern of a normalized output, from what a page shows.
fn pattern(shown: &str) -> Regex {
    let parts: Vec<_> = regex(r"(?m)^ *\.\.\.$").split(shown).map(|part| regex::escape(&normalize(part))).collect();
    regex(&format!("^{}$", parts.join(".*?")))
}

/// The command, changed to run on one of the machines of the doctor's tests.
fn elsewhere(folder: &Path, command: &str, machine: &str) -> String {
    if !folder.join("machine").exists() {
        machines::lay_out(machine, &folder.join("machine"));
    }
    if command.starts_with("roci doctor") {
        return format!("{command} --root machine");
    }
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_roci"));
    let arguments = ["doctor", "--root", "machine", "--capture", "facts.json"];
    let output = doctor.args(arguments).current_dir(folder).env_clear().output().expect("roci was built");
    assert!(folder.join("facts.json").exists(), "{output:?}");
    format!("{command} --facts facts.json")
}

/// Writes what the command reads: arrays, and kernels that the page shows, compiled as it says.
/// `None` if the machine lacks the compiler.
fn prepare(folder: &Path, blocks: &[Block<'_>], command: &str) -> Option<()> {
    for name in regex(r"\b\w+\.npy").find_iter(command) {
        // numpy.arange(256, dtype="f4")
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (256,), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend((0..=255u8).flat_map(|value| f32::from(value).to_le_bytes()));
        fs::write(folder.join(name.as_str()), bytes).expect("a temporary file");
    }
    let Some(object) = regex(r"\b(\w+)\.co\b").captures(command) else { return Some(()) };
    let chip = &regex(r"--gpu (gfx\d+)").captures(command).expect("the command names a chip")[1];
    require("clang", Tool::find(&["clang-22"]))?;
    let source = format!("`{}.cl`", &object[1]);
    let sample = blocks.iter().find(|block| block.above.iter().any(|line| line.contains(&source)));
    fs::write(folder.join(source.trim_matches('`')), sample.expect("the page shows the source").lines.join("\n"))
        .expect("a temporary file");
    let compiler = blocks.iter().flat_map(|block| &block.lines).find(|line| line.starts_with("clang-22 "));
    let compiler =
        regex(r"-mcpu=\w+").replace(compiler.expect("the page shows how to compile"), format!("-mcpu={chip}"));
    let compiler = regex(r"\w+\.(cl|co)\b").replace_all(&compiler, format!("{}.$1", &object[1])).into_owned();
    let output = Command::new("sh").args(["-c", &compiler]).current_dir(folder).output().expect("a shell");
    assert!(output.status.success(), "`{compiler}`: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Both streams of a shell command, in the order in which they were written.
fn run(folder: &Path, command: &str) -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_roci")).parent().expect("a folder");
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", own.display()))
        .env("HOME", folder)
        .output();
    String::from_utf8(output.expect("a shell").stdout).expect("UTF-8")
}

#[test]
fn sample_outputs_are_what_the_commands_print() {
    let mut problems = Vec::new();
    let mut ran = 0;
    for (page, text) in pages().into_iter().filter(|(page, _)| !is_changelog(page)) {
        let place = page.strip_prefix(root()).expect("a page of the repository").display().to_string();
        let blocks = blocks(&text);
        for block in blocks.iter().filter(|block| block.lines.iter().any(|line| line.starts_with("$ "))) {
            let instruction = block.instruction().unwrap_or_default();
            if let Some(reason) = instruction.strip_prefix("not run:") {
                assert!(reason.trim().len() > 10, "{place}:{}: the reason is missing", block.line);
                continue;
            }
            let folder = tempfile::tempdir().expect("a temporary folder");
            let machine = instruction.strip_prefix("run on ");
            for Sample { command, output } in block.samples() {
                if command.contains("rocminfo") && require("rocminfo", Tool::find(&["rocminfo"])).is_none()
                    || prepare(folder.path(), &blocks, &command).is_none()
                {
                    continue;
                }
                let there = machine.map(|machine| elsewhere(folder.path(), &command, machine));
                let printed = run(folder.path(), there.as_deref().unwrap_or(&command));
                ran += 1;
                if !pattern(&output).is_match(&normalize(&printed)) {
                    problems.push(format!("{place}:{}: `{command}` prints\n{printed}instead of\n{output}", block.line));
                }
            }
        }
    }
    report(&problems);
    assert!(ran > 2, "only {ran} samples were run");
}

#[test]
fn wrong_samples_are_found() {
    let printed = "kernel  saxpy\ntime  1.5 ms on 8 threads\n  Compute Unit:  40\nwrote r.npy\n";
    let matches = |shown: &str| pattern(shown).is_match(&normalize(printed));
    assert!(matches("kernel saxpy\ntime 99.1 s on 2 threads\n  Compute Unit: 40\nwrote r.npy\n"));
    assert!(matches("kernel saxpy\n...\nwrote r.npy\n") && matches("...\n  Compute Unit: 40\n...\n"));
    assert!(!matches("kernel saxpy\n") && !matches("") && !matches("...\n  Compute Unit: 41\n...\n"));
    assert!(!matches("kernel saxpy\n...\nCompute Unit: 40\n"), "a line is missing at the end");
}

#[test]
fn commands_and_outputs_are_distinguished() {
    let page = "Text.\n\n<!-- not run: a reason -->\n\n    $ roci a \\\n        --b\n    one\n\n    two\n    $ roci c\n\nText.\n\n    other\n\n    more\n";
    let blocks = blocks(page);
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks[0].instruction(), Some("not run: a reason"));
    let samples = blocks[0].samples();
    assert_eq!((&*samples[0].command, &*samples[0].output), ("roci a     --b", "one\n\ntwo\n"));
    assert_eq!((&*samples[1].command, &*samples[1].output), ("roci c", ""));
}

/// The picture of the README is the doctor's present output, up to the line at which it is cut.
#[test]
fn the_picture_of_the_doctor_is_current() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    machines::lay_out("bc250-stock", &folder.path().join("bc250"));
    let printed = run(folder.path(), "roci doctor --root bc250");
    let picture = fs::read_to_string(root().join("docs/pictures/doctor.svg")).expect("the picture");
    let text = regex(r"<text [^>]*>([^<]*)</text>");
    let mut shown = String::new();
    for piece in text.captures_iter(&picture).skip(1).map(|piece| piece[1].to_owned()) {
        let entities = [("&quot;", "\""), ("&#x27;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
        let plain = entities.into_iter().fold(piece, |piece, (entity, one)| piece.replace(entity, one));
        shown.push_str(&plain.split_whitespace().collect::<String>());
    }
    let shown = shown.trim_end_matches('…');
    let printed: String = printed.split_whitespace().collect();
    assert!(
        shown.len() > 1000 && printed.starts_with(shown),
        "run scripts/make-pictures; it shows\n{shown}\nnot\n{printed}"
    );
}
