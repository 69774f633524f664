//! Manifests as kubectl parses them.

use std::process::{Command, Stdio};

use roci_lab::executor::kubernetes::manifest::job_manifest;
use roci_lab::experiment::{ExecutorKind, ExecutorOptions, KubernetesOptions};
use roci_testkit::require;
use roci_testkit::tools::Tool;
use serde_json::Value;

use crate::drive::spec;

/// Lets kubectl parse a Job as a typed object and returns its output. Without a cluster only few
/// commands do that; this one adds a variable.
fn read_by_kubectl(kubectl: &Tool, object: &Value) -> Result<Value, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("object.json");
    std::fs::write(&file, object.to_string()).expect("writable");
    let output = Command::new(kubectl.path())
        .args(["set", "env", "--local", "--output=json", "ROCI_READ=1", "--filename"])
        .arg(&file)
        // Uses neither a cluster nor the user's configuration.
        .env("KUBECONFIG", folder.path().join("none"))
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("it can be started");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

#[test]
fn kubectl_parses_the_manifests_without_loss() {
    let Some(kubectl) = require("kubectl", Tool::find(&["kubectl"])) else { return };
    let kubernetes = KubernetesOptions {
        resources: [("amd.com/gpu".to_owned(), "1".to_owned())].into(),
        devices: vec!["/dev/kfd".into(), "/dev/dri".into()],
        mounts: vec!["/models:/models:ro".into()],
        node_selector: [("gpu".to_owned(), "gfx1151".to_owned())].into(),
        groups: vec![44, 109],
        privileged: true,
        ..KubernetesOptions::default()
    };
    let options = ExecutorOptions { kind: ExecutorKind::Kubernetes, kubernetes, ..Default::default() };
    let mut spec = spec(options, &["llama-bench", "-ngl", "99"]);
    spec.image = Some("localhost/llama:rocm".into());
    spec.unset = vec!["HSA_OVERRIDE_GFX_VERSION".into()];
    spec.limits.memory = Some(1 << 30);
    let job = job_manifest(&spec).expect("a job");
    let read = read_by_kubectl(&kubectl, &job).unwrap_or_else(|error| panic!("{error}\n{job:#}"));
    assert_eq!(lost(&job, &read, ""), Vec::<String>::new());

    let mut wrong = job.clone();
    wrong["spec"]["backoffLimit"] = "none".into();
    read_by_kubectl(&kubectl, &wrong).expect_err("a number is wanted");
    let mut odd = job;
    odd["spec"]["template"]["spec"]["restartPolice"] = "Never".into();
    let read = read_by_kubectl(&kubectl, &odd).expect("unknown fields are dropped");
    assert_eq!(lost(&odd, &read, ""), ["/spec/template/spec/restartPolice"]);
}

/// Fields that were sent but are missing from the output: kubectl drops unknown fields when it
/// parses a typed object.
fn lost(sent: &Value, read: &Value, location: &str) -> Vec<String> {
    match sent {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| lost(value, &read[name], &format!("{location}/{name}"))).collect()
        }
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.flat_map(|(number, value)| lost(value, &read[number], &format!("{location}/{number}"))).collect()
        }
        _ if sent == read => Vec::new(),
        _ => vec![location.to_owned()],
    }
}
