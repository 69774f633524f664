//! Services that compute: what systemd is told of them. They have neither the groups nor the variables
//! of the user who looks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::root::Root;

use super::machine::groups;

/// Names of units, the likeliest first.
const UNITS: &[&str] = &["ollama", "llama-server", "llama-swap", "llama-cpp", "llama", "local-ai", "vllm", "comfyui"];
/// Where units are, the one that counts first.
const FOLDERS: &[&str] =
    &["/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"];

/// Services.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Services {
    service: Service,
    /// Variables of the service.
    service_env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Service {
    /// A running GPU governor.
    governor: Option<String>,
    /// The first unit that is installed.
    unit: Option<String>,
    user: Option<String>,
    groups: Vec<String>,
}

impl Services {
    pub(super) fn gather(root: &Root) -> Self {
        let mut all = Self { service: Service { governor: governor(root), ..Service::default() }, ..Self::default() };
        let find = |unit: &&&str| FOLDERS.iter().any(|folder| root.has(&format!("{folder}/{unit}.service")));
        if let Some(unit) = UNITS.iter().find(find) {
            all.read(root, unit);
        }
        all
    }

    fn read(&mut self, root: &Root, unit: &str) {
        let file = format!("{unit}.service");
        let main = FOLDERS.iter().map(|folder| format!("{folder}/{file}")).find(|path| root.has(path));
        let mut paths: Vec<_> = main.into_iter().collect();
        for folder in FOLDERS.iter().rev() {
            let folder = format!("{folder}/{file}.d");
            let parts = root.list(&folder).into_iter().filter(|name| name.ends_with(".conf"));
            paths.extend(parts.map(|name| format!("{folder}/{name}")));
        }
        let (mut user, mut extra) = (None, Vec::new());
        for path in paths {
            for line in root.text(&path).unwrap_or_default().lines() {
                let Some((key, value)) = line.trim().split_once('=') else { continue };
                match (key.trim(), value.trim()) {
                    ("Environment", "") => self.service_env.clear(),
                    ("Environment", value) => self.set(&words(value)),
                    ("EnvironmentFile", value) => {
                        let text = root.text(value.trim_start_matches('-')).unwrap_or_default();
                        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
                        self.set(&lines.map(|line| line.replace(['"', '\''], "")).collect::<Vec<_>>());
                    }
                    ("User", value) => user = (!value.is_empty()).then(|| value.to_owned()),
                    ("DynamicUser", "yes" | "true" | "1") => user = user.or_else(|| Some(unit.to_owned())),
                    ("Group", value) => extra.push(value.to_owned()),
                    ("SupplementaryGroups", value) => extra.extend(value.split_whitespace().map(str::to_owned)),
                    _ => {}
                }
            }
        }
        let user = user.unwrap_or_else(|| "root".to_owned());
        extra.extend(groups_of(root, &user));
        extra.retain(|group| !group.is_empty());
        extra.sort();
        extra.dedup();
        (self.service.unit, self.service.user, self.service.groups) = (Some(unit.to_owned()), Some(user), extra);
    }

    fn set(&mut self, entries: &[String]) {
        let pairs = entries.iter().filter_map(|entry| entry.split_once('='));
        let counts = pairs.filter(|(name, _)| super::counts(name));
        self.service_env.extend(counts.map(|(name, value)| (name.to_owned(), super::shown(name, value))));
    }
}

/// `"A=1 2" B=3` as systemd reads it.
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

/// The groups that a user is in.
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

/// A BC-250 has no clock control but a program's.
fn governor(root: &Root) -> Option<String> {
    const KNOWN: &[&str] = &["oberon-governor", "cyan-skillfish-governor", "cyan-skillfish-governor-smu"];
    root.list("/proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find_map(|process| {
        let name = std::fs::read_to_string(root.path(&format!("/proc/{process}/comm"))).ok()?;
        let name = name.trim();
        // The kernel keeps fifteen letters of a name.
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
        assert_eq!((found.service.unit.as_deref(), found.service.user.as_deref()), (Some("ollama"), Some("ollama")));
        assert_eq!(found.service.groups, ["ollama", "render"]);
        let set: Vec<_> = found.service_env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(set, ["HIP_VISIBLE_DEVICES=1", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "OLLAMA_VULKAN=1"]);
    }
}
