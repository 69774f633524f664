//! A strategy as a shell script, a Kubernetes Job or a compose service.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::experiment::{ExecutorKind, Strategy};
use crate::requirements::in_words;

use super::text;

/// Device nodes of AMD GPUs: KFD and the render nodes.
const DEVICES: [&str; 2] = ["/dev/kfd", "/dev/dri"];
/// Groups that own them on most distributions.
const GROUPS: [&str; 2] = ["video", "render"];
/// Placeholder for an image if the runs had none.
const NO_IMAGE: &str = "your-image";

/// A POSIX shell script; it passes its arguments to the program.
pub(super) fn script(strategy: &Strategy, heading: &str) -> String {
    let mut script = format!("#!/bin/sh\n# {}\n", text::line(heading));
    for need in &strategy.needs {
        let _ = writeln!(script, "# needs {}", text::line(&in_words(need)));
    }
    script.push_str("set -eu\n");
    match &strategy.image {
        Some(image) if strategy.executor.kind != ExecutorKind::Local => container(&mut script, strategy, image),
        _ => process(&mut script, strategy),
    }
    script
}

fn process(script: &mut String, strategy: &Strategy) {
    // Names that are not valid in a shell are set with `env`.
    let (plain, odd): (Vec<_>, Vec<_>) = strategy.env.iter().partition(|(name, _)| text::is_variable(name));
    for name in strategy.unset.iter().filter(|name| text::is_variable(name)) {
        let _ = writeln!(script, "unset {name}");
    }
    for (name, value) in plain {
        let _ = writeln!(script, "export {name}={}", text::shell(value));
    }
    if let Some(directory) = &strategy.directory {
        let _ = writeln!(script, "cd -- {}", text::shell(&directory.to_string_lossy()));
    }
    let mut words: Vec<String> = Vec::new();
    if !odd.is_empty() {
        words.push("env".to_owned());
        words.extend(odd.iter().map(|(name, value)| text::shell(&format!("{name}={value}"))));
    }
    words.extend(strategy.command.iter().map(|word| text::shell(word)));
    let _ = writeln!(script, "exec {} \"$@\"", words.join(" "));
}

fn container(script: &mut String, strategy: &Strategy, image: &str) {
    let options = &strategy.executor.container;
    let engine = options.engine.as_deref().unwrap_or("podman");
    let _ = write!(script, "exec {} run --rm --init", text::shell(engine));
    let mut option = |name: &str, value: &str| {
        let _ = write!(script, " \\\n  {name} {}", text::shell(value));
    };
    for device in devices(strategy) {
        option("--device", &device);
    }
    for group in groups(strategy) {
        option("--group-add", &group);
    }
    for mount in &options.mounts {
        option("--volume", mount);
    }
    if let Some(network) = &options.network {
        option("--network", network);
    }
    if let Some(directory) = &strategy.directory {
        option("--workdir", &directory.to_string_lossy());
    }
    for name in &strategy.unset {
        option("--unsetenv", name);
    }
    for (name, value) in &strategy.env {
        option("--env", &format!("{name}={value}"));
    }
    let (before, after) = (options.arguments.iter().map(String::as_str), strategy.command.iter().map(String::as_str));
    let words: Vec<_> = before.chain([image]).chain(after).map(text::shell).collect();
    let _ = writeln!(script, " \\\n  {} \"$@\"", words.join(" "));
}

/// A Job for `kubectl apply`.
pub(super) fn kubernetes(strategy: &Strategy, name: &str) -> String {
    let options = &strategy.executor.kubernetes;
    let env: Vec<_> =
        strategy.env.iter().map(|(name, value)| json!({"name": name, "value": dollars(value, "$(")})).collect();
    let command: Vec<_> = command(strategy).iter().map(|word| dollars(word, "$(")).collect();
    let (mut mounts, mut volumes) = (Vec::new(), Vec::new());
    let mut add = |host: &str, inside: &str, read_only: bool| {
        let volume = format!("host-{}", volumes.len());
        let mut mount = json!({"name": volume, "mountPath": inside});
        if read_only {
            mount["readOnly"] = true.into();
        }
        mounts.push(mount);
        volumes.push(json!({"name": volume, "hostPath": {"path": host}}));
    };
    for device in &options.devices {
        add(device, device, false);
    }
    for mount in options.mounts.iter().chain(&strategy.executor.container.mounts) {
        let mut parts = mount.splitn(3, ':');
        let host = parts.next().unwrap_or_default();
        let inside = parts.next().unwrap_or(host);
        add(host, inside, parts.next().is_some_and(|rest| rest.split(',').any(|word| word == "ro")));
    }
    let mut resources: Map<_, _> = options.resources.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    if resources.is_empty() && options.devices.is_empty() {
        resources.insert("amd.com/gpu".into(), json!("1"));
    }
    let mut container = Map::from_iter([
        ("name".to_owned(), json!("lab")),
        ("image".to_owned(), json!(strategy.image.as_deref().unwrap_or(NO_IMAGE))),
        ("command".to_owned(), json!(command)),
    ]);
    let mut set = |key: &str, value: Value, is_set: bool| {
        if is_set {
            container.insert(key.to_owned(), value);
        }
    };
    set(
        "workingDir",
        json!(strategy.directory.as_ref().map(|path| path.to_string_lossy())),
        strategy.directory.is_some(),
    );
    set("env", json!(env), !env.is_empty());
    set("resources", json!({"limits": resources}), !resources.is_empty());
    set("volumeMounts", json!(mounts), !mounts.is_empty());
    // Only a privileged container can open a device node of the host.
    set("securityContext", json!({"privileged": true}), options.privileged || !options.devices.is_empty());
    let mut pod = json!({"restartPolicy": "Never", "containers": [container]});
    if !volumes.is_empty() {
        pod["volumes"] = json!(volumes);
    }
    if !options.node_selector.is_empty() {
        pod["nodeSelector"] = json!(options.node_selector);
    }
    if !options.groups.is_empty() {
        pod["securityContext"] = json!({"supplementalGroups": options.groups});
    }
    let mut metadata = json!({"name": label(name)});
    if let Some(namespace) = &options.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    });
    format!("{}{}", remarks(strategy), document(&job))
}

/// A file for `docker compose` or `podman-compose`.
pub(super) fn compose(strategy: &Strategy, name: &str) -> String {
    let options = &strategy.executor.container;
    let plain = |words: Vec<String>| -> Vec<_> { words.iter().map(|word| dollars(word, "$")).collect() };
    let env: Map<_, _> = strategy.env.iter().map(|(name, value)| (name.clone(), json!(dollars(value, "$")))).collect();
    let image = dollars(strategy.image.as_deref().unwrap_or(NO_IMAGE), "$");
    let mut service = json!({
        "image": image,
        // The image's own entry point would get the command as arguments.
        "entrypoint": plain(command(strategy)),
        "devices": plain(devices(strategy).iter().map(|device| format!("{device}:{device}")).collect()),
        "group_add": plain(groups(strategy)),
    });
    if !env.is_empty() {
        service["environment"] = Value::Object(env);
    }
    if let Some(directory) = &strategy.directory {
        service["working_dir"] = json!(dollars(&directory.to_string_lossy(), "$"));
    }
    if !options.mounts.is_empty() {
        service["volumes"] = json!(plain(options.mounts.clone()));
    }
    if let Some(network) = &options.network {
        service["network_mode"] = json!(dollars(network, "$"));
    }
    let services = Map::from_iter([(label(name), service)]);
    format!("{}{}", remarks(strategy), document(&json!({"services": services})))
}

/// A document as JSON, which is valid YAML. Characters that a page makes visible are escaped.
fn document(value: &Value) -> String {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut document = String::with_capacity(json.len() + 1);
    for letter in json.chars() {
        if letter != '\n' && text::is_hidden(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(document, "\\u{unit:04x}");
            }
        } else {
            document.push(letter);
        }
    }
    document.push('\n');
    document
}

/// Comments for the reader.
fn remarks(strategy: &Strategy) -> String {
    let mut comment = String::new();
    if strategy.image.is_none() {
        let program = strategy.command.first().map(|word| text::line(word)).unwrap_or_default();
        let _ = writeln!(comment, "# The runs had no image: choose one with {program}.");
    }
    for need in &strategy.needs {
        let _ = writeln!(comment, "# The host needs {}.", text::line(&in_words(need)));
    }
    comment
}

fn devices(strategy: &Strategy) -> Vec<String> {
    let devices = strategy.executor.container.devices.clone();
    devices.unwrap_or_else(|| DEVICES.map(str::to_owned).into())
}

fn groups(strategy: &Strategy) -> Vec<String> {
    let groups = strategy.executor.container.groups.clone();
    groups.unwrap_or_else(|| GROUPS.map(str::to_owned).into())
}

/// The command, prefixed with `env -u` if variables must be unset.
fn command(strategy: &Strategy) -> Vec<String> {
    let mut words = Vec::new();
    if !strategy.unset.is_empty() {
        words.push("env".to_owned());
        words.extend(strategy.unset.iter().flat_map(|name| ["-u".to_owned(), name.clone()]));
    }
    words.extend(strategy.command.iter().cloned());
    words
}

/// Doubles the dollar of text that would be expanded.
fn dollars(text: &str, start: &str) -> String {
    text.replace(start, &format!("${start}"))
}

/// A DNS label, as Kubernetes and compose require.
fn label(name: &str) -> String {
    let mut name_part = String::new();
    for letter in name.chars().map(|letter| letter.to_ascii_lowercase()) {
        match letter {
            'a'..='z' | '0'..='9' => name_part.push(letter),
            _ if name_part.ends_with('-') || name_part.is_empty() => {}
            _ => name_part.push('-'),
        }
        if name_part.len() == 50 {
            break;
        }
    }
    let name_part = name_part.trim_end_matches('-');
    if name_part.is_empty() { "lab".to_owned() } else { name_part.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_escape_hidden_characters() {
        let value = json!({ "a\u{202e}": "\u{1b}\u{85}\u{1f600}\n" });
        assert_eq!(document(&value), "{\n  \"a\\u202e\": \"\\u001b\\u0085\u{1f600}\\n\"\n}\n");
        assert_eq!(serde_json::from_str::<Value>(&document(&value)).expect("JSON"), value);
    }

    #[test]
    fn names_become_dns_labels() {
        assert_eq!(label("gfx1151-rocm-SDMA=0/flash=on"), "gfx1151-rocm-sdma-0-flash-on");
        assert_eq!(label("…"), "lab");
        assert_eq!(label(&"-a".repeat(99)).len(), 49);
    }

    #[test]
    fn dollar_signs_are_escaped() {
        assert_eq!(dollars("a$(B)$C", "$("), "a$$(B)$C");
        assert_eq!(dollars("a$(B)$C", "$"), "a$$(B)$$C");
    }
}
