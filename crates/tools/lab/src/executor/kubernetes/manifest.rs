//! Kubernetes objects: a namespace, and one Job per run.

use serde_json::{Map, Value, json};

use crate::executor::{RunSpec, StartError, command};
use crate::experiment::KubernetesOptions;

/// Label that identifies the objects of a run.
pub const LABEL: &str = "roci.lab/run";

/// Default namespace.
const NAMESPACE: &str = "roci-lab";

/// Name of the container in the pod.
pub const CONTAINER: &str = "run";

/// Seconds until a cluster deletes a finished Job that was not removed.
const KEPT: u64 = 3600;

/// Namespace of an experiment.
pub fn namespace(options: &KubernetesOptions) -> &str {
    options.namespace.as_deref().unwrap_or(NAMESPACE)
}

/// The namespace object.
pub fn namespace_manifest(options: &KubernetesOptions) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": namespace(options), "labels": { "app.kubernetes.io/managed-by": "roci" } },
    })
}

/// A run as a Job. It is tried once: a second pod would hang in the same way and mix its output
/// with the first's.
///
/// # Errors
/// If the run cannot be expressed as a Job.
pub fn job_manifest(spec: &RunSpec) -> Result<Value, StartError> {
    let options = &spec.options.kubernetes;
    command::check(spec)?;
    let image = spec.image.as_deref().filter(|image| !image.is_empty()).ok_or_else(command::no_image)?;
    let labels = json!({ LABEL: spec.mark, "app.kubernetes.io/managed-by": "roci" });
    let (volumes, mounts) = volumes(options)?;
    let limits = spec.limits;
    // Kubernetes counts from the creation of the Job. Without a deadline, a Job whose roci died
    // would run forever.
    let seconds = (limits.queue.saturating_add(limits.deadline).saturating_add(limits.grace)).as_secs();
    let mut pod = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": limits.grace.as_secs(),
        "automountServiceAccountToken": false,
        "containers": [{
            "name": CONTAINER,
            "image": image,
            "command": command::without_unset(spec).iter().map(|word| literal(word)).collect::<Vec<_>>(),
            "env": command::variables(spec).map(|(name, value)| json!({ "name": name, "value": literal(value) })).collect::<Vec<_>>(),
            "resources": { "limits": resources(spec) },
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    });
    // Device nodes mounted by hostPath need a privileged container; groups and node labels are the
    // user's choice.
    let container = &mut pod["containers"][0];
    if options.privileged {
        container["securityContext"] = json!({ "privileged": true });
    }
    if let Some(folder) = &spec.directory {
        container["workingDir"] = json!(folder.display().to_string());
    }
    if !options.groups.is_empty() {
        pod["securityContext"] = json!({ "supplementalGroups": options.groups });
    }
    if !options.node_selector.is_empty() {
        pod["nodeSelector"] = json!(options.node_selector);
    }
    Ok(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": spec.mark, "namespace": namespace(options), "labels": labels },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": seconds.min(i64::MAX.cast_unsigned()),
            "ttlSecondsAfterFinished": KEPT,
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    }))
}

/// Resource limits of the container: those of the options, and the memory limit of the run.
fn resources(spec: &RunSpec) -> Map<String, Value> {
    let asked = spec.options.kubernetes.resources.iter().map(|(name, amount)| (name.clone(), json!(amount)));
    let mut limits: Map<_, _> = asked.collect();
    if let Some(bytes) = spec.limits.memory {
        limits.entry("memory").or_insert_with(|| json!(bytes.to_string()));
    }
    limits
}

/// Escapes a string: Kubernetes replaces `$(NAME)` in commands and values, and turns `$$` into `$`.
fn literal(value: &str) -> String {
    value.replace('$', "$$")
}

/// Device nodes and folders of the node, as volumes and mounts.
fn volumes(options: &KubernetesOptions) -> Result<(Vec<Value>, Vec<Value>), StartError> {
    let devices = options.devices.iter().map(|device| Ok((device.as_str(), device.as_str(), false)));
    let folders = options.mounts.iter().map(|mount| command::mount(mount));
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    for (number, mount) in devices.chain(folders).enumerate() {
        let (host, inside, read_only) = mount?;
        let name = format!("host-{number}");
        volumes.push(json!({ "name": name, "hostPath": { "path": host } }));
        let mut mount = json!({ "name": name, "mountPath": inside });
        if read_only {
            mount["readOnly"] = json!(true);
        }
        mounts.push(mount);
    }
    Ok((volumes, mounts))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::executor::command::tests::spec;

    #[test]
    fn a_run_becomes_a_job_without_retries() {
        let mut spec = spec(&["llama-bench", "-ngl", "99"]);
        spec.limits.deadline = Duration::from_secs(300);
        spec.limits.queue = Duration::from_secs(3600);
        spec.limits.memory = Some(1 << 30);
        spec.options.kubernetes.resources = [("amd.com/gpu".to_owned(), "1".to_owned())].into();
        spec.options.kubernetes.node_selector = [("gpu".to_owned(), "gfx1151".to_owned())].into();
        let job = job_manifest(&spec).expect("a job");
        assert_eq!(job["metadata"]["name"], "roci-lab-0123456789abcdef");
        assert_eq!(job["metadata"]["namespace"], "roci-lab");
        assert_eq!(job["spec"]["backoffLimit"], 0);
        assert_eq!(job["spec"]["activeDeadlineSeconds"], 3600 + 300 + 2);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["restartPolicy"], "Never");
        assert_eq!(pod["nodeSelector"]["gpu"], "gfx1151");
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "localhost/llama:rocm");
        assert_eq!(container["command"], json!(["env", "-u", "HSA_OVERRIDE_GFX_VERSION", "llama-bench", "-ngl", "99"]));
        assert_eq!(container["env"][0], json!({ "name": "HSA_ENABLE_SDMA", "value": "0" }));
        assert_eq!(container["resources"]["limits"], json!({ "amd.com/gpu": "1", "memory": "1073741824" }));
        assert_eq!(container.get("securityContext"), None);
    }

    #[test]
    fn devices_without_a_plugin_use_host_paths() {
        let mut spec = spec(&["rocminfo"]);
        let options = &mut spec.options.kubernetes;
        options.devices = vec!["/dev/kfd".into(), "/dev/dri".into()];
        options.mounts = vec!["/models:/models:ro".into()];
        options.groups = vec![44, 109];
        options.privileged = true;
        options.namespace = Some("gpu-lab".into());
        let job = job_manifest(&spec).expect("a job");
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0], json!({ "name": "host-0", "hostPath": { "path": "/dev/kfd" } }));
        let mounts = &pod["containers"][0]["volumeMounts"];
        assert_eq!(mounts[1]["mountPath"], "/dev/dri");
        assert_eq!(mounts[2], json!({ "name": "host-2", "mountPath": "/models", "readOnly": true }));
        assert_eq!(pod["securityContext"]["supplementalGroups"], json!([44, 109]));
        assert_eq!(pod["containers"][0]["securityContext"]["privileged"], true);
        assert_eq!(job["metadata"]["namespace"], "gpu-lab");
        assert_eq!(namespace_manifest(&spec.options.kubernetes)["metadata"]["name"], "gpu-lab");
    }

    #[test]
    fn dollar_signs_are_not_expanded_by_the_cluster() {
        assert_eq!(literal("a$(B) $C $$"), "a$$(B) $$C $$$$");
        let mut spec = spec(&["sh", "-c", "echo $(date)"]);
        spec.env.insert("A".into(), "$(HOME)".into());
        spec.unset.clear();
        let job = job_manifest(&spec).expect("a job");
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"][2], "echo $$(date)");
        assert_eq!(container["env"][0]["value"], "$$(HOME)");
    }

    #[test]
    fn invalid_jobs_are_rejected_with_a_remedy() {
        let mut spec = spec(&["true"]);
        spec.options.kubernetes.mounts = vec!["models".into()];
        assert!(job_manifest(&spec).expect_err("no mount").hint.is_some());
        spec.options.kubernetes.mounts.clear();
        spec.image = None;
        let error = job_manifest(&spec).expect_err("no image");
        assert_eq!(error.reason, "the strategy has no image");
    }
}
