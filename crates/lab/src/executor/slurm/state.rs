//! What Slurm says of a job, and what it means for a run.

use std::time::Duration;

use crate::executor::{Exit, JobState, Usage};

/// What Slurm says of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// `PENDING`, `RUNNING`, `COMPLETED`.
    pub(super) state: String,
    /// Why it is in that state.
    pub(super) reason: String,
    /// The exit code and the signal.
    pub(super) exit: (i32, i32),
}

impl Told {
    /// Reads a line of `scontrol show job --oneliner`: words with `=` in them. The first of a name counts: those behind
    /// it may be text of the user.
    pub(super) fn of_scontrol(line: &str) -> Option<Self> {
        let value = |name: &str| {
            line.split_whitespace()
                .find_map(|word| word.split_once('=').filter(|(left, _)| *left == name))
                .map(|(_, value)| value)
        };
        Some(Self {
            state: value("JobState")?.to_owned(),
            reason: value("Reason").unwrap_or_default().replace('_', " "),
            exit: exit(value("ExitCode").unwrap_or("0:0"))?,
        })
    }

    /// Reads a line of `sacct --format=State,ExitCode,Reason --parsable2`, which writes `CANCELLED by 1000`.
    pub(super) fn of_sacct(line: &str) -> Option<Self> {
        let mut fields = line.trim().split('|');
        let state = fields.next()?.split_whitespace().next()?.trim_end_matches('+').to_owned();
        Some(Self { state, exit: exit(fields.next()?)?, reason: fields.next().unwrap_or_default().to_owned() })
    }

    /// What that means for the run.
    pub(super) fn job_state(&self) -> JobState {
        let said = match self.reason.as_str() {
            "" | "None" => format!("Slurm: {}", self.state),
            reason => format!("Slurm: {}, {reason}", self.state),
        };
        let (code, signal) = self.exit;
        let signal = (signal != 0).then_some(signal);
        match self.state.as_str() {
            "PENDING" if never_starts(&self.reason) => JobState::Refused(said),
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD"
            | "SPECIAL_EXIT" => JobState::Queued(said),
            "RUNNING" | "COMPLETING" | "SIGNALING" | "STAGE_OUT" | "STOPPED" | "SUSPENDED" | "RESIZING" => {
                JobState::Running
            }
            "COMPLETED" => JobState::Exited(Exit { code: Some(0), ..Exit::default() }),
            // Of a signal that ended the script, Slurm tells the signal; the script tells that of its program as a shell does.
            "FAILED" => match signal {
                Some(_) => JobState::Exited(Exit { signal, note: Some(said), ..Exit::default() }),
                None => JobState::Exited(Exit { note: Some(said), ..Exit::of_shell(code) }),
            },
            "OUT_OF_MEMORY" => {
                JobState::Exited(Exit { signal: Some(9), out_of_memory: true, note: Some(said), ..Exit::default() })
            }
            "CANCELLED" | "TIMEOUT" => {
                JobState::Exited(Exit { signal: signal.or(Some(15)), note: Some(said), ..Exit::default() })
            }
            "BOOT_FAIL" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => JobState::Refused(said),
            // NODE_FAIL, PREEMPTED, DEADLINE, REVOKED, and what later versions add.
            _ => JobState::Gone(said),
        }
    }
}

/// Whether Slurm itself says that the job cannot ever start as it is.
fn never_starts(reason: &str) -> bool {
    ["BadConstraints", "launch failed requeued held", "JobHeldAdmin", "PartitionNodeLimit", "PartitionTimeLimit"]
        .contains(&reason)
}

/// `7:0`.
fn exit(text: &str) -> Option<(i32, i32)> {
    let (code, signal) = text.split_once(':')?;
    Some((code.parse().ok()?, signal.parse().ok()?))
}

/// Reads lines of `sstat --format=AveCPU,MaxRSS,NTasks --parsable2`, one for each step of the job.
pub(super) fn usage(lines: &str) -> Option<Usage> {
    let mut total = Usage::default();
    let mut any = false;
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut fields = line.split('|');
        let (cpu, memory) = (cpu_time(fields.next()?)?, bytes(fields.next()?)?);
        let tasks = fields.next()?.parse().ok()?;
        total.cpu += cpu.saturating_mul(tasks);
        total.memory = total.memory.saturating_add(memory.saturating_mul(tasks.into()));
        total.processes = total.processes.saturating_add(tasks);
        any = true;
    }
    any.then_some(total)
}

/// `[days-][hours:]minutes:seconds[.fraction]`.
fn cpu_time(text: &str) -> Option<Duration> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let seconds = clock.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + number(part)?))?;
    Duration::try_from_secs_f64(number(days)? * 86_400.0 + seconds).ok()
}

/// `3208K`, `1.50M`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'K') => (&text[..at], 1u64 << 10),
        (at, 'M') => (&text[..at], 1 << 20),
        (at, 'G') => (&text[..at], 1 << 30),
        (at, 'T') => (&text[..at], 1 << 40),
        _ => (text, 1),
    };
    let number = digits.parse::<f64>().ok().filter(|number| (0.0..1e12).contains(number))?;
    Some((number * factor as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Slurm 22.05 wrote it, shortened behind the exit code.
    const ENDED: &str = "JobId=1 JobName=j.sh UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 \
        Account=(null) QOS=(null) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=1 Restarts=0 \
        BatchFlag=1 Reboot=0 ExitCode=7:0 RunTime=00:00:01 Command=/home/a/JobState=RUNNING ExitCode=0:9/j.sh";

    fn told(state: &str, reason: &str, exit: (i32, i32)) -> Told {
        Told { state: state.into(), reason: reason.into(), exit }
    }

    #[test]
    fn a_line_of_scontrol_is_read_and_text_of_users_is_not_believed() {
        assert_eq!(Told::of_scontrol(ENDED), Some(told("FAILED", "NonZeroExitCode", (7, 0))));
        let waiting = "JobId=4 JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:vm ExitCode=0:0";
        let waiting = Told::of_scontrol(waiting).expect("a job").job_state();
        assert_eq!(waiting, JobState::Queued("Slurm: PENDING, ReqNodeNotAvail, UnavailableNodes:vm".into()));
        for bad in ["", "slurm_load_jobs error: Invalid job id specified", "JobState=RUNNING ExitCode=x"] {
            assert_eq!(Told::of_scontrol(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_line_of_sacct_is_read() {
        assert_eq!(Told::of_sacct("CANCELLED by 1000|0:15|None\n"), Some(told("CANCELLED", "None", (0, 15))));
        assert_eq!(Told::of_sacct("OUT_OF_MEMORY|0:125|None"), Some(told("OUT_OF_MEMORY", "None", (0, 125))));
        for bad in ["", "\n", "RUNNING", "RUNNING|0"] {
            assert_eq!(Told::of_sacct(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn states_become_those_of_runs() {
        let state = |state: &str, exit| told(state, "None", exit).job_state();
        assert_eq!(state("RUNNING", (0, 0)), JobState::Running);
        assert_eq!(state("COMPLETING", (0, 0)), JobState::Running, "its processes are still there");
        assert_eq!(state("COMPLETED", (0, 0)), JobState::Exited(Exit { code: Some(0), ..Exit::default() }));
        let ended = |job: JobState| match job {
            JobState::Exited(exit) => (exit.code, exit.signal, exit.out_of_memory),
            other => panic!("{other:?} is no end"),
        };
        assert_eq!(ended(state("FAILED", (7, 0))), (Some(7), None, false));
        assert_eq!(ended(state("FAILED", (0, 11))), (None, Some(11), false));
        assert_eq!(ended(state("FAILED", (134, 0))), (None, Some(6), false), "as the script's shell tells it");
        assert_eq!(ended(state("OUT_OF_MEMORY", (0, 125))), (None, Some(9), true));
        assert_eq!(ended(state("CANCELLED", (0, 0))), (None, Some(15), false));
        assert_eq!(ended(state("TIMEOUT", (0, 1))), (None, Some(1), false));
        assert_eq!(state("NODE_FAIL", (0, 0)), JobState::Gone("Slurm: NODE_FAIL".into()));
        assert_eq!(state("BOOT_FAIL", (0, 0)), JobState::Refused("Slurm: BOOT_FAIL".into()));
        let impossible = told("PENDING", "BadConstraints", (0, 0)).job_state();
        assert_eq!(impossible, JobState::Refused("Slurm: PENDING, BadConstraints".into()));
    }

    #[test]
    fn usage_is_read() {
        let usage = |text| usage(text).map(|usage| (usage.cpu.as_secs_f64(), usage.memory, usage.processes));
        assert_eq!(usage("00:00:00|3208K|1\n"), Some((0.0, 3208 << 10, 1)));
        assert_eq!(usage("1-02:03:04|1.50M|2\n00:01.500|0|1\n"), Some((2.0 * 93_784.0 + 1.5, 3 << 20, 3)));
        for bad in ["", "\n", "x|1K|1", "00:01||1", "00:01|1K|", "-1:00|1K|1", "00:nan|1K|1", "00:00|1X|1"] {
            assert_eq!(usage(bad), None, "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = Told::of_scontrol(&format!("JobState={text} ExitCode={text}")).map(|told| told.job_state());
            let _ = Told::of_sacct(&text);
            let _ = usage(&text);
        }
    }
}
