//! All processes of a run, including those that left their group or parent, and how to terminate
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use super::cgroup::Cgroup;
use super::process::Process;
use crate::executor::{MARK, Termination, Usage};
use crate::outcome::Survivor;

/// Timeout for a process to die after SIGKILL. One blocked in a kernel driver may never die; a
/// loaded machine is slow.
const DEATH: Duration = Duration::from_secs(10);

/// Processes of one run.
#[derive(Debug)]
pub(in crate::executor) struct Tree {
    mark: String,
    /// The started process, which leads the group; none if only the mark is known.
    leader: Option<u32>,
    /// Start time of that process, since its PID can be reused.
    born: u64,
    pub(super) cgroup: Option<Cgroup>,
    /// Whether every child of this process that it did not start itself belongs to the run.
    adopts: bool,
    /// CPU time of each process ever seen.
    cpu: BTreeMap<(u32, u64), Duration>,
}

impl Tree {
    pub(super) fn new(mark: &str, leader: Option<u32>, cgroup: Option<Cgroup>, adopts: bool) -> Self {
        let born = leader.and_then(Process::of).map_or(0, |process| process.started);
        Self { mark: mark.to_owned(), leader, born, cgroup, adopts, cpu: BTreeMap::new() }
    }

    /// Processes of a run that another program started, below `leader` if it is known.
    pub(in crate::executor) fn elsewhere(mark: &str, leader: Option<u32>) -> Self {
        Self::new(mark, leader, None, false)
    }

    /// Live processes. `thorough` also checks the environment of every process of the machine.
    pub(in crate::executor) fn alive(&self, thorough: bool) -> Vec<Process> {
        let mut found = self.members(thorough);
        found.retain(|process| !process.is_over());
        found
    }

    fn members(&self, thorough: bool) -> Vec<Process> {
        if let (Some(cgroup), false) = (&self.cgroup, thorough) {
            return cgroup.processes();
        }
        let own = std::process::id();
        let mut rest = Process::all();
        rest.retain(|process| process.id != own);
        let inside: Vec<u32> = self.cgroup.iter().flat_map(Cgroup::processes).map(|process| process.id).collect();
        let is_stranger = |leader: &u32| rest.iter().any(|now| now.id == *leader && now.started != self.born);
        let leader = self.leader.filter(|leader| !is_stranger(leader));
        let is_member = |process: &Process| {
            let leads = leader.is_some_and(|leader| process.group == leader || process.id == leader);
            leads
                || inside.contains(&process.id)
                || (self.adopts && process.parent == own)
                || (thorough && process.has_variable(MARK, &self.mark))
        };
        let (mut found, mut rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_member);
        // Children of members, recursively.
        loop {
            let is_child = |process: &Process| found.iter().any(|parent| parent.id == process.parent);
            let (children, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_child);
            if children.is_empty() {
                return found;
            }
            found.extend(children);
            rest = others;
        }
    }

    /// Usage of the `alive` processes and of earlier ones.
    pub(in crate::executor) fn usage(&mut self, alive: &[Process]) -> Usage {
        Usage {
            cpu: self.cpu(alive),
            memory: alive.iter().map(|process| process.memory).sum(),
            processes: alive.len() as u32,
            runnable: alive.iter().any(|process| process.state == 'R'),
        }
    }

    /// CPU time of all processes seen, including ended ones.
    fn cpu(&mut self, alive: &[Process]) -> Duration {
        if let Some(cpu) = self.cgroup.as_ref().and_then(Cgroup::cpu) {
            return cpu;
        }
        for process in alive {
            let known = self.cpu.entry((process.id, process.started)).or_default();
            *known = process.cpu.max(*known);
        }
        self.cpu.values().sum()
    }

    /// Terminates all of them, first with SIGTERM. `reap` is called while waiting, since ended
    /// processes remain until they are reaped.
    pub(in crate::executor) fn kill(&self, grace: Duration, mut reap: impl FnMut()) -> Termination {
        let begun = Instant::now();
        let first = self.alive(true);
        let mut terminated: BTreeSet<(u32, u64)> = BTreeSet::new();
        for process in &first {
            process.signal(Signal::TERM);
            // A stopped process cannot handle SIGTERM.
            process.signal(Signal::CONT);
        }
        let mut alive = first;
        while !alive.is_empty() && begun.elapsed() < grace {
            terminated.extend(alive.iter().map(|process| (process.id, process.started)));
            std::thread::sleep(Duration::from_millis(5));
            reap();
            alive = self.alive(false);
        }
        // SIGKILL repeatedly: processes that fork meanwhile must not escape.
        let forced = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            // Search again even if nothing was found: one search can miss a process that forks and
            // exits meanwhile.
            alive = self.alive(true);
            terminated.extend(alive.iter().map(|process| (process.id, process.started)));
            if alive.is_empty() || forced.elapsed() > DEATH {
                break;
            }
            if let Some(cgroup) = &self.cgroup {
                cgroup.kill();
            }
            alive.iter().for_each(|process| process.signal(Signal::KILL));
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
            reap();
            self.reap_adopted();
        }
        self.reap_adopted();
        let survivors = alive.iter().map(survivor).collect::<Vec<_>>();
        Termination { terminated: (terminated.len() - survivors.len()) as u32, survivors }
    }

    /// Reaps processes that became children of this one when their parents ended.
    pub(super) fn reap_adopted(&self) {
        let own = std::process::id();
        let is_ours = |process: &Process| {
            let is_leader = Some(process.id) == self.leader;
            let in_group = Some(process.group) == self.leader;
            process.parent == own && process.is_over() && !is_leader && (self.adopts || in_group)
        };
        for process in Process::all().into_iter().filter(is_ours) {
            if let Some(pid) = i32::try_from(process.id).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }
}

fn survivor(process: &Process) -> Survivor {
    Survivor {
        process: process.id,
        name: process.name.clone(),
        state: process.state.to_string(),
        waits_for: process.waits_for(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_not_the_leader() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("it starts");
        let mut tree = Tree::elsewhere("nobody-has-this-mark", Some(child.id()));
        assert_eq!(tree.alive(false).len(), 1);
        tree.born += 1;
        assert_eq!(tree.alive(false), []);
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
    }
}
