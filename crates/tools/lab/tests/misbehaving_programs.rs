//! Misbehaving programs: each is classified correctly, and no process is left.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::collections::BTreeMap;

use roci_lab::Outcome;
use roci_lab::store::{EventKind, Store};

#[test]
fn the_process_under_test() {
    common::become_lab();
}

/// Every misbehavior as a strategy. Leftover processes would have `TOKEN` in their command line.
const PROGRAMS: &str = r#"
name = "habits"
command = ["/bin/sh", "-c", "exit 99"]

[limits]
deadline = "5m"
stall = "2m"
grace = "1s"

[executor.local]
stacks = "kernel"

[[phase]]
name = "loading"
pattern = '^loading'
[[phase]]
name = "computing"
pattern = '^computing'
[[phase]]
name = "done"
pattern = '^done'

[[metric]]
name = "speed"
pattern = '^speed ([\d.]+)'
unit = "t/s"

[success]
phase = "done"
wrong = ['^sum is off']
fault = ['HSA_STATUS_ERROR_\w+']

[[strategy]]
name = "pass"
shell = "echo loading; echo computing >&2; echo speed 42.5; echo done"

[[strategy]]
name = "no newline at the end"
shell = "printf 'loading\nspeed 7\rdone'"

[[strategy]]
name = "sleeps"
shell = "echo loading; exec sleep 100000.TOKEN"
limits = { stall = "2s" }
executor = { local = { stacks = "user" } }

[[strategy]]
name = "busy"
shell = "echo loading; echo computing; : TOKEN; while :; do :; done"
limits = { deadline = "5s" }

[[strategy]]
name = "stops itself"
shell = "echo loading; : TOKEN; kill -STOP $$"
limits = { stall = "2s" }

[[strategy]]
name = "child waits for parent, parent for child"
shell = "echo loading; mkfifo FOLDER/fifo; ( : TOKEN; cat < FOLDER/fifo ) & wait"
limits = { stall = "2s" }

[[strategy]]
name = "ignores SIGTERM"
shell = "trap '' TERM INT HUP; echo loading; : TOKEN; while :; do sleep 1000; done"
limits = { stall = "2s" }

[[strategy]]
name = "floods"
shell = "echo loading; echo computing >&2; exec yes done TOKEN"
limits = { deadline = "5s" }

[[strategy]]
name = "one endless line"
shell = "echo loading; : TOKEN; tr '\\0' x < /dev/zero"
limits = { deadline = "5s" }

[[strategy]]
name = "leaves a process behind"
shell = "echo loading; sleep 100000.TOKEN & echo done"

[[strategy]]
name = "becomes a daemon without a trace"
shell = "echo loading; setsid env -i /bin/sh -c 'sleep 100000.TOKEN & exit 0' > /dev/null 2>&1 < /dev/null; echo done"

[[strategy]]
name = "a daemon that holds the output open"
shell = "setsid env -i /bin/sh -c 'trap \"\" TERM; sleep 100000.TOKEN & wait' & echo done"

[[strategy]]
name = "leaks"
shell = "echo loading; : TOKEN; c=$(head -c 1048576 /dev/zero | tr '\\0' x); x=; while :; do x=$x$c; sleep 0.02; done"
limits = { memory = "48MiB" }

[[strategy]]
name = "exits with an error"
shell = "echo loading; echo cannot open the device >&2; exit 3"

[[strategy]]
name = "prints a fault and exits with 0"
shell = "echo loading; echo 'HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: at x'; echo done"

[[strategy]]
name = "wrong"
shell = "echo loading; echo sum is off by 3; echo done"

[[strategy]]
name = "ends early"
shell = "echo loading; exit 0"

[[strategy]]
name = "absent"
command = ["/nowhere/llama-bench"]

[[strategy]]
name = "no program"
command = ["/etc/passwd"]

[[strategy]]
name = "not yet"
skip = "tomorrow"

[[strategy]]
name = "after one that passed"
shell = "echo loading; echo done"
after = [{ strategy = "pass", result = "passed" }, { strategy = "busy", phase = "computing" }]

[[strategy]]
name = "after one that hung"
shell = "echo loading; echo done"
after = [{ strategy = "busy", past = "computing" }]
"#;

/// Signals that kill a program, with their names in the shell.
const SIGNALS: [(&str, i32); 8] =
    [("ILL", 4), ("ABRT", 6), ("BUS", 7), ("FPE", 8), ("KILL", 9), ("SEGV", 11), ("PIPE", 13), ("TERM", 15)];

#[test]
fn every_misbehavior_is_classified_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let mut toml = PROGRAMS.replace("TOKEN", &token).replace("FOLDER", &folder.path().to_string_lossy());
    for (name, _) in SIGNALS {
        let shell = format!("ulimit -c 0; echo loading; kill -{name} $$");
        toml.push_str(&format!("\n[[strategy]]\nname = \"dies of {name}\"\nshell = '{shell}'\n"));
    }
    let db = folder.path().join("lab.db");
    let mut child = common::spawn(&db, Some(&common::write(folder.path(), &toml)));
    assert_eq!(common::ended(&mut child), Some(1), "not everything passed");
    let store = Store::open(&db).expect("it was made");
    let runs = common::runs(&db);
    let of: BTreeMap<&str, _> = runs.iter().map(|run| (run.strategy.as_str(), run)).collect();
    let outcome = |name: &str| of[name].outcome.clone().unwrap_or_else(|| panic!("{name} has no result"));
    let events = |name: &str| store.events(of[name].id).expect("they exist");
    let has = |name: &str, kind: EventKind| events(name).iter().any(|event| event.kind == kind);

    assert_eq!(outcome("pass"), Outcome::Pass);
    let figures = store.metrics(of["pass"].id).expect("they exist");
    assert_eq!(figures.iter().map(|one| (one.name.as_str(), one.value)).collect::<Vec<_>>(), [("speed", 42.5)]);
    let phases: Vec<_> = events("pass").into_iter().filter(|event| event.kind == EventKind::Phase).collect();
    assert_eq!(phases.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(), ["loading", "computing", "done"]);
    assert_eq!(outcome("no newline at the end"), Outcome::Pass);

    for (name, expected, event) in [
        ("sleeps", "loading", EventKind::Stall),
        ("stops itself", "loading", EventKind::Stall),
        ("child waits for parent, parent for child", "loading", EventKind::Stall),
        ("ignores SIGTERM", "loading", EventKind::Stall),
        ("busy", "computing", EventKind::Deadline),
        ("floods", "done", EventKind::Deadline),
        ("one endless line", "loading", EventKind::Deadline),
    ] {
        let Outcome::Hang { phase, stack, survivors, .. } = outcome(name) else { panic!("{name}: {}", outcome(name)) };
        assert_eq!(phase.as_deref(), Some(expected), "{name}");
        assert!(has(name, event), "{name}: {:?}", events(name));
        assert!(!stack.is_empty(), "{name} has no stack");
        assert!(survivors.is_empty(), "{name}: {survivors:?}");
    }
    let Outcome::Hang { stack, .. } = outcome("sleeps") else { unreachable!("it was one above") };
    let has_sleep_frame = stack.iter().flat_map(|one| &one.frames).any(|frame| frame.contains("sleep"));
    assert!(
        has_sleep_frame || stack.iter().all(|one| one.frames.is_empty()),
        "a sleeping program is in nanosleep: {stack:?}"
    );
    let Outcome::Hang { stack, .. } = outcome("child waits for parent, parent for child") else {
        unreachable!("as above")
    };
    assert!(stack.iter().map(|one| one.process).collect::<std::collections::BTreeSet<_>>().len() > 1, "{stack:?}");

    let output = store.output(of["floods"].id).expect("it exists");
    let (bytes, omitted) =
        output.iter().fold((0, 0), |(bytes, omitted), part| (bytes + part.bytes.len(), omitted + part.omitted));
    assert!(bytes <= 1 << 20, "{bytes} bytes were kept");
    assert!(omitted > 0, "more lines than are kept");

    for name in ["leaves a process behind", "becomes a daemon without a trace", "a daemon that holds the output open"] {
        assert_eq!(outcome(name), Outcome::Pass, "{name}");
        assert!(has(name, EventKind::Kill), "{name}: {:?}", events(name));
    }
    let Outcome::Crash { signal: Some(9), fault: Some(fault), .. } = outcome("leaks") else {
        panic!("{}", outcome("leaks"))
    };
    assert!(fault.contains("the limit is 48.0 MiB"), "{fault}");
    for (name, number) in SIGNALS {
        let name = format!("dies of {name}");
        let Outcome::Crash { signal, phase, .. } = outcome(&name) else { panic!("{name}: {}", outcome(&name)) };
        assert_eq!((signal, phase.as_deref()), (Some(number), Some("loading")), "{name}");
    }
    let Outcome::Crash { code: Some(3), fault: None, last_line: Some(line), .. } = outcome("exits with an error")
    else {
        panic!("{}", outcome("exits with an error"))
    };
    assert_eq!(line, "cannot open the device");
    let Outcome::Crash { code: Some(0), fault: Some(fault), .. } = outcome("prints a fault and exits with 0") else {
        panic!("{}", outcome("prints a fault and exits with 0"))
    };
    assert!(fault.starts_with("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"), "{fault}");
    assert_eq!(outcome("wrong"), Outcome::Wrong { phase: Some("done".into()), why: "sum is off by 3".into() });
    let Outcome::Partial { phase, end: None, .. } = outcome("ends early") else { panic!("{}", outcome("ends early")) };
    assert_eq!(phase.as_deref(), Some("loading"));
    for name in ["absent", "no program"] {
        assert!(matches!(outcome(name), Outcome::Blocked { .. }), "{name}: {}", outcome(name));
    }
    assert_eq!(outcome("not yet"), Outcome::Skipped { why: "tomorrow".into() });
    assert_eq!(outcome("after one that passed"), Outcome::Pass);
    assert!(matches!(outcome("after one that hung"), Outcome::Skipped { .. }));

    assert_eq!(common::processes_with(&token), [0; 0], "something is left running");
    for run in runs.iter().filter(|run| !run.mark.is_empty()) {
        assert_eq!(common::processes_with(&run.mark), [0; 0], "{} left something", run.strategy);
    }
}

/// The same without cgroups: processes are found by group, environment or parent.
#[test]
fn without_cgroups_nothing_is_left() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let toml = r#"
name = "plain"
command = ["/bin/sh"]
[limits]
grace = "1s"
[executor.local]
no-cgroup = true
stacks = "kernel"
[[strategy]]
name = "in the group"
shell = "sleep 100000.TOKEN & exit 0"
[[strategy]]
name = "in a session of its own"
shell = "setsid sh -c 'sleep 100000.TOKEN & exit 0'"
[[strategy]]
name = "without a trace"
shell = "setsid env -i /bin/sh -c 'sleep 100000.TOKEN & exit 0' > /dev/null 2>&1 < /dev/null"
[[strategy]]
name = "hangs with children everywhere"
shell = "setsid env -i /bin/sh -c 'sleep 100000.TOKEN & sleep 100000.TOKEN' & sleep 100000.TOKEN"
limits = { stall = "2s" }
"#;
    let db = folder.path().join("lab.db");
    let file = common::write(folder.path(), &toml.replace("TOKEN", &token));
    let mut child = common::spawn(&db, Some(&file));
    assert_eq!(common::ended(&mut child), Some(1), "one hangs");
    let words: Vec<_> = common::runs(&db).iter().filter_map(|run| Some(run.outcome.as_ref()?.word())).collect();
    assert_eq!(words, ["PASS", "PASS", "PASS", "HANG"]);
    assert_eq!(common::processes_with(&token), [0; 0], "something is left running");
}
