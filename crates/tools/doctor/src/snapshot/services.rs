//! Compute services, from their systemd units. They have neither the groups nor the variables of
//! the user who runs the doctor.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};

use crate::root::Root;

use super::machine::groups;

/// Unit names, the most likely first.
pub(crate) const COMPUTE_UNITS: &[&str] =
    &["ollama", "llama-server", "llama-swap", "llama-cpp", "llama", "local-ai", "vllm", "comfyui"];
/// Unit folders, in order of precedence.
const FOLDERS: &[&str] =
    &["/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"];

/// Compute services.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Services {
    service: Service,
    /// Environment variables of the services.
    #[serde(deserialize_with = "several_each")]
    service_env: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Service {
    /// The running GPU governor.
    governor: Option<String>,
    /// Installed units, the one with the fewest permissions first.
    #[serde(deserialize_with = "several")]
    unit: Vec<String>,
    /// User of that unit.
    user: Option<String>,
    /// Groups of that unit.
    groups: Vec<String>,
}

/// A value that earlier snapshots have once and newer ones several times.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Option<String>),
    All(Vec<String>),
}

impl OneOrMany {
    fn all(self) -> Vec<String> {
        match self {
            Self::One(one) => one.into_iter().collect(),
            Self::All(all) => all,
        }
    }
}

fn several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    OneOrMany::deserialize(from).map(OneOrMany::all)
}

fn several_each<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, BTreeSet<String>>, D::Error> {
    let all = BTreeMap::<String, OneOrMany>::deserialize(from)?;
    Ok(all.into_iter().map(|(name, values)| (name, values.all().into_iter().collect())).collect())
}

/// Settings of a unit.
#[derive(Default)]
struct Unit {
    name: String,
    user: String,
    groups: BTreeSet<String>,
    env: BTreeMap<String, String>,
}

impl Services {
    pub(super) fn gather(root: &Root) -> Self {
        let mut all = Self { service: Service { governor: governor(root), ..Service::default() }, ..Self::default() };
        let is_there = |unit: &&&str| FOLDERS.iter().any(|folder| root.has(&format!("{folder}/{unit}.service")));
        let mut units = Vec::new();
        for name in COMPUTE_UNITS.iter().filter(is_there) {
            let unit = Unit::read(root, name);
            for (name, value) in &unit.env {
                all.service_env.entry(name.clone()).or_default().insert(value.clone());
            }
            units.push(unit);
        }
        // The service with the fewest permissions is the one to check.
        units.sort_by_key(Unit::rights);
        all.service.unit = units.iter().map(|unit| unit.name.clone()).collect();
        if let Some(first) = units.into_iter().next() {
            (all.service.user, all.service.groups) = (Some(first.user), first.groups.into_iter().collect());
        }
        all
    }
}

impl Unit {
    fn read(root: &Root, unit: &str) -> Self {
        let mut all = Self { name: unit.to_owned(), ..Self::default() };
        let file = format!("{unit}.service");
        let main = FOLDERS.iter().map(|folder| format!("{folder}/{file}")).find(|path| root.has(path));
        let mut paths: Vec<_> = main.into_iter().collect();
        for folder in FOLDERS.iter().rev() {
            let folder = format!("{folder}/{file}.d");
            let parts = root.list(&folder).into_iter().filter(|name| name.ends_with(".conf"));
            paths.extend(parts.map(|name| format!("{folder}/{name}")));
        }
        let mut user = None;
        for path in paths {
            for line in root.text(&path).unwrap_or_default().lines() {
                let Some((key, value)) = line.trim().split_once('=') else { continue };
                match (key.trim(), value.trim()) {
                    ("Environment", "") => all.env.clear(),
                    ("Environment", value) => all.set(&words(value)),
                    ("EnvironmentFile", value) => {
                        let text = root.text(value.trim_start_matches('-')).unwrap_or_default();
                        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
                        all.set(&lines.map(|line| line.replace(['"', '\''], "")).collect::<Vec<_>>());
                    }
                    ("User", value) => user = (!value.is_empty()).then(|| value.to_owned()),
                    ("DynamicUser", "yes" | "true" | "1") => user = user.or_else(|| Some(unit.to_owned())),
                    ("Group" | "SupplementaryGroups", value) => {
                        all.groups.extend(value.split_whitespace().map(str::to_owned));
                    }
                    _ => {}
                }
            }
        }
        all.user = user.unwrap_or_else(|| "root".to_owned());
        all.groups.extend(groups_of(root, &all.user));
        all
    }

    /// Number of device groups that it is in.
    fn rights(&self) -> usize {
        match self.user.as_str() {
            "root" => usize::MAX,
            _ => ["render", "video"].into_iter().filter(|group| self.groups.contains(*group)).count(),
        }
    }

    fn set(&mut self, entries: &[String]) {
        let pairs = entries.iter().filter_map(|entry| entry.split_once('='));
        let counts = pairs.filter(|(name, _)| super::counts(name));
        self.env.extend(counts.map(|(name, value)| (name.to_owned(), super::shown(name, value))));
    }
}

/// Splits `"A=1 2" B=3` as systemd does.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, letter) if letter.is_whitespace() => all.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    all.push(word);
    all.retain(|word| !word.is_empty());
    all
}

fn groups_of(root: &Root, user: &str) -> Vec<String> {
    let names = groups(root);
    let passwd = root.text("/etc/passwd").unwrap_or_default();
    let own = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(user)).then(|| fields.nth(2))?
    });
    let own = own.and_then(|number| names.iter().find(|(_, known)| known == number)).map(|(name, _)| name.clone());
    let group = root.text("/etc/group").unwrap_or_default();
    let member = |line: &&str| line.rsplit(':').next().is_some_and(|members| members.split(',').any(|one| one == user));
    let others = group.lines().filter(member).filter_map(|line| line.split(':').next()).map(str::to_owned);
    own.into_iter().chain(others).collect()
}

/// A BC-250 needs a governor program to change clocks.
fn governor(root: &Root) -> Option<String> {
    const KNOWN: &[&str] = &["oberon-governor", "cyan-skillfish-governor", "cyan-skillfish-governor-smu"];
    root.list("/proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find_map(|process| {
        let name = root.volatile_text(&format!("/proc/{process}/comm"))?;
        let name = name.as_str();
        // The kernel truncates names to 15 characters.
        KNOWN
            .iter()
            .find(|known| known.len() >= name.len() && name.len() >= 15 && known.starts_with(name) || *known == &name)
            .map(|known| (*known).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_gives_user_groups_and_variables() {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            (
                "etc/systemd/system/ollama.service",
                "[Service]\nUser=ollama\nEnvironment=\"PATH=/bin\" HIP_VISIBLE_DEVICES=1\n",
            ),
            ("usr/lib/systemd/system/vllm.service", "[Service]\nEnvironment=HIP_VISIBLE_DEVICES=0\n"),
            ("etc/systemd/system/llama-swap.service", "[Service]\nUser=llama\nSupplementaryGroups=render video\n"),
            (
                "etc/systemd/system/ollama.service.d/override.conf",
                "[Service]\nEnvironment=\"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\nEnvironmentFile=-/etc/default/ollama\n",
            ),
            ("etc/default/ollama", "# mine\nOLLAMA_VULKAN=\"1\"\n"),
            ("etc/passwd", "root:x:0:0::/root:/bin/sh\nollama:x:997:996::/usr/share/ollama:/bin/false\n"),
            ("etc/group", "root:x:0:\nollama:x:996:\nrender:x:109:ollama,me\nvideo:x:44:me\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let found = Services::gather(&Root::at(folder.path()));
        assert_eq!(found.service.unit, ["ollama", "llama-swap", "vllm"]);
        assert_eq!(found.service.user.as_deref(), Some("ollama"), "it has fewer rights than the others");
        assert_eq!(found.service.groups, ["ollama", "render"]);
        let values = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(" ");
        let set: Vec<_> = found.service_env.iter().map(|(name, all)| format!("{name}={}", values(all))).collect();
        assert_eq!(set, ["HIP_VISIBLE_DEVICES=0 1", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "OLLAMA_VULKAN=1"]);
    }

    #[test]
    fn snapshots_with_a_single_value_are_parsed() {
        let old =
            r#"{"service":{"unit":"ollama","user":null,"groups":["render"]},"service_env":{"OLLAMA_VULKAN":"1"}}"#;
        let read: Services = serde_json::from_str(old).expect("it is a snapshot");
        assert_eq!((read.service.unit, read.service.user), (vec!["ollama".to_owned()], None));
        assert_eq!(read.service_env["OLLAMA_VULKAN"], BTreeSet::from(["1".to_owned()]));
    }
}
