//! Interprets Slurm's job states.

use std::time::Duration;

use crate::executor::{Exit, JobState, Usage};

/// State of a job, as Slurm reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlurmState {
    /// `PENDING`, `RUNNING`, `COMPLETED`.
    pub(super) state: String,
    /// Why it is in this state: `Priority`, `Resources`.
    pub(super) reason: String,
    /// Exit code and signal.
    pub(super) exit: (i32, i32),
}

impl SlurmState {
    /// Parses a line of `scontrol show job --oneliner`: `KEY=VALUE` words. The first occurrence of
    /// a key counts: later ones can be user text.
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

    /// Parses a line of `sacct --format=State,ExitCode,Reason --parsable2`, which writes `CANCELLED
    /// by 1000`.
    pub(super) fn of_sacct(line: &str) -> Option<Self> {
        let mut fields = line.trim().split('|');
        let state = fields.next()?.split_whitespace().next()?.trim_end_matches('+').to_owned();
        Some(Self { state, exit: exit(fields.next()?)?, reason: fields.next().unwrap_or_default().to_owned() })
    }

    /// The equivalent state of the run.
    pub(super) fn job_state(&self) -> JobState {
        let note = match self.reason.as_str() {
            "" | "None" => format!("Slurm: {}", self.state),
            reason => format!("Slurm: {}, {reason}", self.state),
        };
        let (code, signal) = self.exit;
        let signal = (signal != 0).then_some(signal);
        match self.state.as_str() {
            "PENDING" if never_starts(&self.reason) => JobState::Refused(note),
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD"
            | "SPECIAL_EXIT" => JobState::Queued(note),
            "RUNNING" | "COMPLETING" | "SIGNALING" | "STAGE_OUT" | "STOPPED" | "SUSPENDED" | "RESIZING" => {
                JobState::Running
            }
            "COMPLETED" => JobState::Exited(Exit { code: Some(0), ..Exit::default() }),
            // If a signal killed the script, Slurm reports the signal; for its program the script
            // reports 128 plus the signal.
            "FAILED" => match signal {
                Some(_) => JobState::Exited(Exit { signal, note: Some(note), ..Exit::default() }),
                None => JobState::Exited(Exit { note: Some(note), ..Exit::of_shell(code) }),
            },
            "OUT_OF_MEMORY" => {
                JobState::Exited(Exit { signal: Some(9), out_of_memory: true, note: Some(note), ..Exit::default() })
            }
            "CANCELLED" | "TIMEOUT" => {
                JobState::Exited(Exit { signal: signal.or(Some(15)), note: Some(note), ..Exit::default() })
            }
            "BOOT_FAIL" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => JobState::Refused(note),
            // NODE_FAIL, PREEMPTED, DEADLINE, REVOKED, and states of later versions.
            _ => JobState::Gone(note),
        }
    }
}

/// Whether the reason means that the job can never start.
fn never_starts(reason: &str) -> bool {
    ["BadConstraints", "launch failed requeued held", "JobHeldAdmin", "PartitionNodeLimit", "PartitionTimeLimit"]
        .contains(&reason)
}

/// Parses `7:0`.
fn exit(text: &str) -> Option<(i32, i32)> {
    let (code, signal) = text.split_once(':')?;
    Some((code.parse().ok()?, signal.parse().ok()?))
}

/// Parses lines of `sstat --format=AveCPU,MaxRSS,NTasks --parsable2`, one per job step.
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

/// Parses `[days-][hours:]minutes:seconds[.fraction]`.
fn cpu_time(text: &str) -> Option<Duration> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let seconds = clock.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + number(part)?))?;
    Duration::try_from_secs_f64(number(days)? * 86_400.0 + seconds).ok()
}

/// Parses `3208K` and `1.50M`.
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

    /// Output of Slurm 22.05, shortened after the exit code.
    const ENDED: &str = "JobId=1 JobName=j.sh UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 \
        Account=(null) QOS=(null) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=1 Restarts=0 \
        BatchFlag=1 Reboot=0 ExitCode=7:0 RunTime=00:00:01 Command=/home/a/JobState=RUNNING ExitCode=0:9/j.sh";

    fn slurm_state(state: &str, reason: &str, exit: (i32, i32)) -> SlurmState {
        SlurmState { state: state.into(), reason: reason.into(), exit }
    }

    #[test]
    fn scontrol_lines_are_parsed_and_user_text_is_ignored() {
        assert_eq!(SlurmState::of_scontrol(ENDED), Some(slurm_state("FAILED", "NonZeroExitCode", (7, 0))));
        let waiting = "JobId=4 JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:vm ExitCode=0:0";
        let waiting = SlurmState::of_scontrol(waiting).expect("a job").job_state();
        assert_eq!(waiting, JobState::Queued("Slurm: PENDING, ReqNodeNotAvail, UnavailableNodes:vm".into()));
        for bad in ["", "slurm_load_jobs error: Invalid job id specified", "JobState=RUNNING ExitCode=x"] {
            assert_eq!(SlurmState::of_scontrol(bad), None, "{bad}");
        }
    }

    #[test]
    fn sacct_lines_are_parsed() {
        assert_eq!(
            SlurmState::of_sacct("CANCELLED by 1000|0:15|None\n"),
            Some(slurm_state("CANCELLED", "None", (0, 15)))
        );
        assert_eq!(
            SlurmState::of_sacct("OUT_OF_MEMORY|0:125|None"),
            Some(slurm_state("OUT_OF_MEMORY", "None", (0, 125)))
        );
        for bad in ["", "\n", "RUNNING", "RUNNING|0"] {
            assert_eq!(SlurmState::of_sacct(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn slurm_states_map_to_run_states() {
        let state = |state: &str, exit| slurm_state(state, "None", exit).job_state();
        assert_eq!(state("RUNNING", (0, 0)), JobState::Running);
        assert_eq!(state("COMPLETING", (0, 0)), JobState::Running, "its processes still exist");
        assert_eq!(state("COMPLETED", (0, 0)), JobState::Exited(Exit { code: Some(0), ..Exit::default() }));
        let ended = |job: JobState| match job {
            JobState::Exited(exit) => (exit.code, exit.signal, exit.out_of_memory),
            other => panic!("{other:?} is no end"),
        };
        assert_eq!(ended(state("FAILED", (7, 0))), (Some(7), None, false));
        assert_eq!(ended(state("FAILED", (0, 11))), (None, Some(11), false));
        assert_eq!(ended(state("FAILED", (134, 0))), (None, Some(6), false), "as the script's shell reports it");
        assert_eq!(ended(state("OUT_OF_MEMORY", (0, 125))), (None, Some(9), true));
        assert_eq!(ended(state("CANCELLED", (0, 0))), (None, Some(15), false));
        assert_eq!(ended(state("TIMEOUT", (0, 1))), (None, Some(1), false));
        assert_eq!(state("NODE_FAIL", (0, 0)), JobState::Gone("Slurm: NODE_FAIL".into()));
        assert_eq!(state("BOOT_FAIL", (0, 0)), JobState::Refused("Slurm: BOOT_FAIL".into()));
        let impossible = slurm_state("PENDING", "BadConstraints", (0, 0)).job_state();
        assert_eq!(impossible, JobState::Refused("Slurm: PENDING, BadConstraints".into()));
    }

    #[test]
    fn resource_usage_is_parsed() {
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
            let _ = SlurmState::of_scontrol(&format!("JobState={text} ExitCode={text}")).map(|slurm_state| slurm_state.job_state());
            let _ = SlurmState::of_sacct(&text);
            let _ = usage(&text);
        }
    }
}
