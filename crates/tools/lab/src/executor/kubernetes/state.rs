//! Interprets the state of a run's Job and pods.

use serde_json::Value;

use crate::executor::{Exit, JobState};

/// State of a run, from its Job and the list of pods with its label. Either is `null` if it does
/// not exist.
pub fn job_state(job: &Value, pods: &Value) -> JobState {
    // There is at most one pod; if there are more, the newest counts.
    let pod = pods["items"]
        .as_array()
        .and_then(|items| items.iter().max_by_key(|pod| text(&pod["metadata"]["creationTimestamp"])));
    match pod {
        Some(pod) => pod_state(pod),
        None => match ended(job) {
            Some(why) => JobState::Gone(why),
            None if job.is_null() => JobState::Gone("the cluster no longer has the job".into()),
            None => JobState::Queued("Kubernetes: no pod yet".into()),
        },
    }
}

/// The pod whose log to read, once its container has started.
pub fn pod_with_log(pods: &Value) -> Option<String> {
    let begun = |pod: &&Value| {
        let state = &pod["status"]["containerStatuses"][0]["state"];
        state["running"].is_object() || state["terminated"].is_object()
    };
    pods["items"].as_array()?.iter().find(begun).map(|pod| text(&pod["metadata"]["name"]).to_owned())
}

fn pod_state(pod: &Value) -> JobState {
    let status = &pod["status"];
    let state = &status["containerStatuses"][0]["state"];
    if state["terminated"].is_object() {
        return JobState::Exited(exit(&state["terminated"]));
    }
    let (reason, message) = (text(&status["reason"]), text(&status["message"]));
    match text(&status["phase"]) {
        // Evicted, or its node is lost: the end of its container is unknown.
        "Failed" | "Unknown" => {
            return JobState::Gone(note(if reason.is_empty() { "the pod failed" } else { reason }, message));
        }
        "Succeeded" => return JobState::Exited(Exit { code: Some(0), ..Exit::default() }),
        _ => {}
    }
    if state["running"].is_object() {
        return JobState::Running;
    }
    let waiting = &state["waiting"];
    let (reason, message) = (text(&waiting["reason"]), text(&waiting["message"]));
    match reason {
        "" => match unscheduled(status) {
            Some(why) => JobState::Queued(note("no node yet", why)),
            None => JobState::Queued("Kubernetes: the pod waits".into()),
        },
        // Kubernetes would retry these forever.
        "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "CreateContainerConfigError"
        | "CreateContainerError"
        | "RunContainerError" => JobState::Refused(note(reason, message)),
        // ContainerCreating, PodInitializing; the first ErrImagePull can be temporary.
        _ => JobState::Queued(note(reason, message)),
    }
}

/// Exit of a container.
fn exit(terminated: &Value) -> Exit {
    let (reason, message) = (text(&terminated["reason"]), text(&terminated["message"]));
    let code = terminated["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1);
    let signal =
        terminated["signal"].as_i64().and_then(|signal| i32::try_from(signal).ok()).filter(|signal| *signal != 0);
    let exit = match signal {
        Some(_) => Exit { signal, ..Exit::default() },
        None => Exit::of_shell(code),
    };
    let plain = matches!(reason, "" | "Completed" | "Error") && message.is_empty();
    Exit { out_of_memory: reason == "OOMKilled", note: (!plain).then(|| note(reason, message)), ..exit }
}

/// Why no node accepts it.
fn unscheduled(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array()?;
    let condition = conditions.iter().find(|one| one["type"] == "PodScheduled" && one["status"] == "False")?;
    Some(text(&condition["message"]))
}

/// Why a job is over, if it is.
fn ended(job: &Value) -> Option<String> {
    let over = |one: &&Value| (one["type"] == "Failed" || one["type"] == "Complete") && one["status"] == "True";
    let condition = job["status"]["conditions"].as_array()?.iter().find(over)?;
    Some(note(text(&condition["reason"]), text(&condition["message"])))
}

/// The cluster's message in one line.
fn note(reason: &str, message: &str) -> String {
    let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match (reason, message.as_str()) {
        (reason, "") => format!("Kubernetes: {reason}"),
        ("", message) => format!("Kubernetes: {message}"),
        (reason, message) => format!("Kubernetes: {reason}, {message}"),
    }
}

/// A string value; empty if it is not one.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pods(status: Value) -> Value {
        json!({ "items": [{ "metadata": { "name": "run-x" }, "status": status }] })
    }

    fn of(status: Value) -> JobState {
        job_state(&json!({}), &pods(status))
    }

    fn container(state: Value) -> Value {
        json!({ "phase": "Pending", "containerStatuses": [{ "name": "run", "state": state }] })
    }

    #[test]
    fn a_pending_pod_is_queued_with_its_reason() {
        let unscheduled = of(json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
              "message": "0/3 nodes are available: 3 Insufficient amd.com/gpu." },
        ]}));
        let why = "Kubernetes: no node yet, 0/3 nodes are available: 3 Insufficient amd.com/gpu.";
        assert_eq!(unscheduled, JobState::Queued(why.into()));
        let creating = of(container(json!({ "waiting": { "reason": "ContainerCreating" } })));
        assert_eq!(creating, JobState::Queued("Kubernetes: ContainerCreating".into()));
        assert_eq!(of(json!({ "phase": "Pending" })), JobState::Queued("Kubernetes: the pod waits".into()));
    }

    #[test]
    fn states_that_retry_forever_are_rejected() {
        let state = of(container(
            json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling\n  image \"x\"" } }),
        ));
        assert_eq!(state, JobState::Refused("Kubernetes: ImagePullBackOff, Back-off pulling image \"x\"".into()));
    }

    #[test]
    fn exits_are_distinguished() {
        let ended = |terminated| of(container(json!({ "terminated": terminated })));
        let pass = ended(json!({ "exitCode": 0, "reason": "Completed" }));
        assert_eq!(pass, JobState::Exited(Exit { code: Some(0), ..Exit::default() }));
        let abort = ended(json!({ "exitCode": 134, "reason": "Error" }));
        assert_eq!(abort, JobState::Exited(Exit { signal: Some(6), ..Exit::default() }));
        let memory = ended(json!({ "exitCode": 137, "reason": "OOMKilled" }));
        let note = Some("Kubernetes: OOMKilled".into());
        assert_eq!(memory, JobState::Exited(Exit { code: None, signal: Some(9), out_of_memory: true, note }));
        let evicted = of(json!({ "phase": "Failed", "reason": "Evicted", "message": "The node was low on memory" }));
        assert_eq!(evicted, JobState::Gone("Kubernetes: Evicted, The node was low on memory".into()));
    }

    #[test]
    fn a_job_without_a_pod_has_a_state() {
        let none = json!({ "items": [] });
        assert_eq!(job_state(&json!({ "status": {} }), &none), JobState::Queued("Kubernetes: no pod yet".into()));
        let failed = json!({ "status": { "conditions": [
            { "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long" } ] } });
        assert_eq!(job_state(&failed, &none), JobState::Gone("Kubernetes: DeadlineExceeded, too long".into()));
        assert!(matches!(job_state(&Value::Null, &Value::Null), JobState::Gone(_)));
    }

    #[test]
    fn the_log_is_available_once_the_container_started() {
        assert_eq!(pod_with_log(&pods(json!({ "phase": "Pending" }))), None);
        let running = container(json!({ "running": { "startedAt": "2026-01-01T00:00:00Z" } }));
        assert_eq!(pod_with_log(&pods(running.clone())).as_deref(), Some("run-x"));
        assert_eq!(of(running), JobState::Running);
    }

    #[test]
    fn malformed_answers_do_not_panic() {
        for odd in [json!(null), json!([]), json!("x"), json!({ "items": "x" }), json!({ "items": [null, 3] })] {
            let _ = job_state(&odd, &odd);
            let _ = pod_with_log(&odd);
        }
        let huge = of(container(json!({ "terminated": { "exitCode": 99_999_999_999_i64 } })));
        assert_eq!(huge, JobState::Exited(Exit { code: Some(-1), ..Exit::default() }));
    }
}
