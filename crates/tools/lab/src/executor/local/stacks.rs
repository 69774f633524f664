//! Stacks of a run's threads: in user space, if a debugger is installed and permitted, and in the
//! kernel.

use std::fs;
use std::time::Duration;

use super::process::Process;
use crate::executor::tool::Tool;
use crate::experiment::StackSource;
use crate::outcome::Stack;

/// Maximum number of processes and threads; more add no information.
const MAX_PROCESSES: usize = 8;
const MAX_THREADS: usize = 32;
const MAX_FRAMES: usize = 24;
/// Timeout of a debugger per process.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Stacks of these processes.
pub(in crate::executor) fn of(processes: &[Process], how: StackSource) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for process in processes.iter().take(MAX_PROCESSES) {
        let mut threads = threads(process);
        // A debugger would wait for a process in uninterruptible sleep.
        let waits = threads.iter().any(|thread| thread.state == "D");
        if how == StackSource::User && !waits {
            for (thread, source, frames) in user(process.id) {
                if let Some(known) = threads.iter_mut().find(|known| known.thread == thread) {
                    (known.source, known.frames) = (source.to_owned(), frames);
                }
            }
        }
        stacks.append(&mut threads);
    }
    stacks.truncate(MAX_THREADS);
    stacks
}

/// All threads of a process, with the kernel's data.
fn threads(process: &Process) -> Vec<Stack> {
    let folder = format!("/proc/{}/task", process.id);
    let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.truncate(MAX_THREADS);
    numbers.into_iter().filter_map(|number| thread(process.id, number)).collect()
}

fn thread(process: u32, thread: u32) -> Option<Stack> {
    let folder = format!("/proc/{process}/task/{thread}");
    let known = Process::at(&folder)?;
    let text = |name: &str| fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    // Format: `[<0>] hrtimer_nanosleep+0x9a/0x140`; readable only by root.
    let frame = |line: &str| Some(line.split_once("] ")?.1.split('+').next()?.to_owned());
    let frames: Vec<String> = text("stack").lines().filter_map(frame).take(MAX_FRAMES).collect();
    let (source, frames) = match (frames.is_empty(), text("wchan").trim()) {
        (false, _) => ("kernel", frames),
        (true, "" | "0") => ("kernel", system_call(&text("syscall")).into_iter().collect()),
        (true, location) => ("wchan", vec![location.to_owned()]),
    };
    Some(Stack { process, thread, name: known.name, state: known.state.to_string(), source: source.into(), frames })
}

/// Parses `230 0x1 …` or `running`.
fn system_call(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    match word.parse::<i64>() {
        Ok(number) if number >= 0 => Some(format!("system call {number}")),
        _ => (word == "running").then(|| "running".to_owned()),
    }
}

/// User-space stacks of a process by thread, and the debugger; empty if none is installed or
/// permitted.
fn user(process: u32) -> Vec<(u32, &'static str, Vec<String>)> {
    let pid = process.to_string();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let debuggers: [(&str, Vec<String>); 2] = [
        ("eu-stack", words(&["-p", &pid, "-n", "24"])),
        (
            "gdb",
            words(&[
                "-nx",
                "-batch",
                "-iex",
                "set debuginfod enabled off",
                "-iex",
                "set auto-load off",
                "-p",
                &pid,
                "-ex",
                "thread apply all backtrace 24",
            ]),
        ),
    ];
    for (program, arguments) in debuggers {
        let tool = Tool { program: program.into(), env: vec![], remedy: "install gdb or elfutils" };
        let Ok(answer) = tool.call(&arguments, TIMEOUT) else { continue };
        let found = parse(&answer.out, process);
        if !found.is_empty() {
            return found.into_iter().map(|(thread, frames)| (thread, program, frames)).collect();
        }
    }
    Vec::new()
}

/// Parses the output of `eu-stack` (`TID 12:`, `#0  0x… name`) and `gdb` (`Thread 1 (… (LWP 12)
/// …):`, `#0  0x… in name (…) …`).
fn parse(text: &str, process: u32) -> Vec<(u32, Vec<String>)> {
    let mut found: Vec<(u32, Vec<String>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        let lwp = line.split_once("(LWP ").filter(|_| line.starts_with("Thread ")).map(|(_, behind)| behind);
        let only = line.starts_with("Thread 1 (process ").then_some(process);
        let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        if let Some(thread) = line.strip_prefix("TID ").or(lwp).and_then(number).or(only) {
            found.push((thread, Vec::new()));
        } else if let (Some(name), Some((_, frames))) = (frame(line), found.last_mut())
            && frames.len() < MAX_FRAMES
        {
            frames.push(name);
        }
    }
    found.retain(|(_, frames)| !frames.is_empty());
    found
}

/// Function name in a backtrace line.
fn frame(line: &str) -> Option<String> {
    let rest = line.strip_prefix('#')?.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let rest = match rest.strip_prefix("0x") {
        Some(behind) => behind.split_once(' ')?.1.trim_start(),
        None => rest,
    };
    let name = rest.strip_prefix("in ").unwrap_or(rest).split(" (").next()?.trim();
    let name = name.strip_suffix(" - 1").unwrap_or(name).trim();
    (!name.is_empty()).then(|| name.chars().take(160).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_both_debuggers_is_parsed() {
        let gdb = "[New LWP 42]\n\nThread 2 (Thread 0x7f (LWP 42) \"worker\"):\n#0  0x00007f in futex_wait () from /lib/libc.so.6\n\
            #1  wait_for (lock=0x7f) at main.rs:3\n\nThread 1 (Thread 0x7e (LWP 41) \"main\"):\n#0  0x00 in clock_nanosleep ()\n";
        assert_eq!(
            parse(gdb, 41),
            [(42, vec!["futex_wait".into(), "wait_for".into()]), (41, vec!["clock_nanosleep".to_owned()])]
        );
        let eu =
            "PID 41 - process\nTID 41:\n#0  0x00007f9 clock_nanosleep\n#1  0x00007f8 - 1 main\nTID 42:\n#0 0x1 read\n";
        assert_eq!(parse(eu, 41)[0].0, 41);
        assert_eq!(parse(eu, 41)[1], (42, vec!["read".into()]));
        assert_eq!(parse("Thread 1 (process 7):\n#0  0x00 in pause ()\n", 7), [(7, vec!["pause".to_owned()])]);
        assert!(parse("ptrace: Operation not permitted.\n#", 41).is_empty());
    }

    #[test]
    fn the_kernel_reports_every_thread() {
        let own = Process::of(std::process::id()).expect("it runs");
        let stacks = of(&[own], StackSource::Kernel);
        assert!(stacks.iter().any(|stack| stack.thread == std::process::id()), "{stacks:?}");
    }
}
