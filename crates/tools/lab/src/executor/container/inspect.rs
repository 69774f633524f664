//! Container state from the engine.

use crate::executor::Exit;

/// Arguments for `inspect`. Podman and Docker have the same fields.
pub(super) const FORMAT: &str = "--format={{.State.ExitCode}} {{.State.OOMKilled}} {{.State.Pid}} {{.State.StartedAt}}";

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContainerState {
    code: i32,
    out_of_memory: bool,
    /// Host PID of its first process; none if it does not run.
    pub(super) process: Option<u32>,
    /// Whether it ever ran.
    pub(super) started: bool,
}

impl ContainerState {
    /// Parses the output for [`FORMAT`].
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            code: words.next()?.parse().ok()?,
            out_of_memory: words.next()? == "true",
            process: Some(words.next()?.parse().ok()?).filter(|process| *process != 0),
            // Both print the year 1 for "never".
            started: !words.next()?.starts_with("0001-"),
        })
    }

    /// Exit of its program. Engines do not always report that the kernel killed a program for lack
    /// of memory; with a `limit`, and unless roci sent it, a SIGKILL means that.
    pub(super) fn exit(&self, limit: bool) -> Exit {
        let exit = Exit::of_shell(self.code);
        let out_of_memory = self.out_of_memory || (limit && exit.signal == Some(9));
        Exit { out_of_memory, ..exit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_podman_and_docker_is_parsed() {
        let podman =
            ContainerState::parse("139 false 0 2026-11-17 12:05:45.248085735 +0000 UTC\n").expect("it is complete");
        assert!(podman.started && podman.process.is_none());
        assert_eq!(podman.exit(true), Exit { signal: Some(11), ..Exit::default() });
        let docker = ContainerState::parse("0 false 4711 2026-11-17T12:05:45.248085735Z\n").expect("it is complete");
        assert_eq!((docker.process, docker.started), (Some(4711), true));
        let never = ContainerState::parse("0 false 0 0001-01-01 00:00:00 +0000 UTC").expect("it is complete");
        assert!(!never.started);
    }

    #[test]
    fn out_of_memory_is_reported_or_inferred() {
        let exit = ContainerState::parse("137 true 0 2026").expect("it is complete").exit(false);
        let concluded = ContainerState::parse("137 false 0 2026").expect("it is complete").exit(true);
        assert_eq!(exit, Exit { signal: Some(9), out_of_memory: true, ..Exit::default() });
        assert_eq!(exit, concluded);
        assert!(!ContainerState::parse("137 false 0 2026").expect("it is complete").exit(false).out_of_memory);
    }

    #[test]
    fn an_incomplete_answer_is_none() {
        for bad in ["", "0", "0 false", "0 false x 2026", "x false 0 2026", "Error: no such container"] {
            assert_eq!(ContainerState::parse(bad), None, "{bad}");
        }
    }
}
