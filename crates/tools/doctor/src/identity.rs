//! Host and user names, which must not appear in published files.

use std::collections::BTreeMap;

use crate::root::Root;

/// Names that identify a machine or its users.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Identity {
    /// Host name.
    pub host: Option<String>,
    /// User names.
    pub users: Vec<String>,
    /// Home folder.
    pub home: Option<String>,
}

/// Service accounts.
const SERVICES: &[&str] = &["ollama", "llama", "llama-server", "nobody"];

impl Identity {
    /// Reads the names from files and environment variables.
    pub fn gather(root: &Root, environment: &BTreeMap<String, String>) -> Self {
        let host = root.value("/proc/sys/kernel/hostname").or_else(|| root.value("/etc/hostname"));
        let variable = |name: &str| environment.get(name).cloned();
        let mut users: Vec<_> = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(variable).collect();
        let passwd = root.text("/etc/passwd").unwrap_or_default();
        users.extend(passwd.lines().filter_map(person).map(str::to_owned));
        // Names of services do not identify a person.
        users.retain(|name| !SERVICES.contains(&name.as_str()));
        users.sort();
        users.dedup();
        Self { host, users, home: variable("HOME") }
    }
}

/// The name in a line of `/etc/passwd`, if the account is a person's.
pub(crate) fn person(line: &str) -> Option<&str> {
    let mut fields = line.split(':');
    let (name, number) = (fields.next()?, fields.nth(1)?.parse::<u32>().ok()?);
    (1000..60_000).contains(&number).then_some(name)
}
