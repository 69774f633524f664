//! Whose machine it is: words that a file for others must not have.

use std::collections::BTreeMap;

use crate::root::Root;

/// Words of a machine that name it or its users.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its name on the network.
    pub host: Option<String>,
    /// The names of users.
    pub users: Vec<String>,
    /// The user's folder.
    pub home: Option<String>,
}

/// Users that are services.
const SERVICES: &[&str] = &["ollama", "llama", "llama-server", "nobody"];

impl Identity {
    /// What the files of a machine and the variables of a user tell.
    pub fn gather(root: &Root, environment: &BTreeMap<String, String>) -> Self {
        let host = root.value("/proc/sys/kernel/hostname").or_else(|| root.value("/etc/hostname"));
        let variable = |name: &str| environment.get(name).cloned();
        let mut users: Vec<_> = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(variable).collect();
        let passwd = root.text("/etc/passwd").unwrap_or_default();
        users.extend(passwd.lines().filter_map(person).map(str::to_owned));
        // A machine or user called like a system or a service: the word says what that is, and nothing about anybody.
        let release = root.text("/etc/os-release").unwrap_or_default().to_lowercase();
        let tells = |name: &String| !release.contains(&name.to_lowercase()) && !SERVICES.contains(&name.as_str());
        users.retain(tells);
        Self { host: host.filter(tells), users, home: variable("HOME") }
    }
}

/// The name in a line of `/etc/passwd`, if a person's.
fn person(line: &str) -> Option<&str> {
    let mut fields = line.split(':');
    let (name, number) = (fields.next()?, fields.nth(1)?.parse::<u32>().ok()?);
    (1000..60_000).contains(&number).then_some(name)
}
