//! Removes personal data from text, so that it can be published.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::identity::Identity;
use crate::secrets::{self, MASKED};
use crate::vocabulary::is_common;

/// A masked value, and what was masked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Masked<T> {
    /// Value in which names, addresses and secrets are replaced.
    pub value: T,
    /// Count of replacements by kind.
    pub taken: BTreeMap<&'static str, usize>,
}

impl<T> Masked<T> {
    /// Summary of the replacements.
    pub fn describe(&self) -> String {
        let parts: Vec<_> = self.taken.iter().map(|(what, count)| format!("{count} x {what}")).collect();
        if parts.is_empty() { "nothing had to be masked".into() } else { format!("masked: {}", parts.join(", ")) }
    }
}

struct Mask {
    what: &'static str,
    pattern: Regex,
    instead: &'static str,
    /// Whether it is about the name of a user or a host.
    is_name: bool,
    /// Whether a match does not identify a person and is kept.
    keeps: fn(&str) -> bool,
}

/// Masks every string in a value.
///
/// # Errors
/// If the value does not survive a round trip through JSON; a test checks this.
pub fn mask<T: Serialize + DeserializeOwned>(value: &T, identity: &Identity) -> Result<Masked<T>, String> {
    let masks = masks(identity)?;
    let mut taken = BTreeMap::new();
    let mut json = serde_json::to_value(value).map_err(|error| error.to_string())?;
    let host = hosts()?;
    each_text(&mut json, &mut Vec::new(), &mut |path, text| {
        let name = path.last().map_or("", String::as_str);
        *text = if secrets::is_secret(name) { MASKED.to_owned() } else { secrets::masked(text).into_owned() };
        // Most secrets were masked when they were read.
        let secrets = text.matches(MASKED).count();
        if secrets > 0 {
            *taken.entry("secret or kernel parameter").or_insert(0) += secrets;
        }
        // A user can have the name of a distribution, a chip or a driver.
        let stays = is_product(path);
        cover(text, masks.iter().filter(|mask| !(stays && mask.is_name)), &mut taken);
        // The whole value of a variable such as OLLAMA_HOST is an address.
        if ["HOST", "ADDR", "URL"].iter().any(|word| name.contains(word)) {
            cover(text, host.iter(), &mut taken);
        }
    });
    let value = serde_json::from_value(json).map_err(|error| error.to_string())?;
    Ok(Masked { value, taken })
}

fn mask_of(what: &'static str, pattern: &str, instead: &'static str, keeps: fn(&str) -> bool) -> Result<Mask, String> {
    let is_name = matches!(what, "host name" | "user name");
    Ok(Mask { what, pattern: Regex::new(pattern).map_err(|error| error.to_string())?, instead, is_name, keeps })
}

/// Host names in strings that are addresses as a whole.
fn hosts() -> Result<Vec<Mask>, String> {
    let name = r"^(?P<host>[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*)(?P<port>$|[:/])";
    let address = r"^(?P<host>(?:\d{1,3}\.){3}\d{1,3})(?P<port>$|[:/])";
    Ok(vec![
        mask_of("host name", name, "HOST${port}", |found| {
            is_public(found) || found.starts_with("HOST") || found.starts_with("IP") || found.starts_with("http")
        })?,
        mask_of("network address", address, "IP${port}", is_public)?,
    ])
}

/// Whether an address does not identify a machine: loopback, or a well-known service.
fn is_public(address: &str) -> bool {
    const KNOWN: &[&str] = &[
        "amd.com",
        "debian.org",
        "freedesktop.org",
        "github.com",
        "gitlab.com",
        "huggingface.co",
        "kernel.org",
        "mesa3d.org",
        "ollama.com",
        "pytorch.org",
        "radeon.com",
        "ubuntu.com",
        "localhost",
    ];
    let host = address.split_once("://").map_or(address, |(_, host)| host).trim_end_matches([':', '/']);
    let own = host.trim_start_matches(|c: char| !c.is_alphanumeric());
    let ends = |known: &str| host.strip_suffix(known).is_some_and(|front| front.is_empty() || front.ends_with('.'));
    own.starts_with("127.") || own.starts_with("0.0.0.0") || KNOWN.iter().any(|known| ends(known))
}

/// The masks, from the most specific to the most general: a later one does not see what an earlier
/// one replaced.
fn masks(identity: &Identity) -> Result<Vec<Mask>, String> {
    let mut all = Vec::new();
    let mut add_unless = |what, pattern: &str, instead, keeps: fn(&str) -> bool| -> Result<(), String> {
        all.push(mask_of(what, pattern, instead, keeps)?);
        Ok(())
    };
    let mut add = |what, pattern: &str, instead| add_unless(what, pattern, instead, |_| false);
    // Short names are common words, and `root` does not identify a person.
    let telling = |name: &&String| name.len() >= 3 && name.as_str() != "root" && name.as_str() != "localhost";
    if let Some(home) = identity.home.as_ref().filter(|home| home.len() > 5 && home.as_str() != "/root") {
        add("home folder", &regex::escape(home), "/home/USER")?;
    }
    add("home folder", r"/home/(?P<name>[^/\s:]+)", "/home/USER")?;
    // Mount points have the names of owners or contents; `/mnt/c` is the same on every WSL.
    add("disk", r"/media/[^/\s:]+(?:/[^/\s:]+)?", "/media/DISK")?;
    add("disk", r"/mnt/[^/\s:]{2,}", "/mnt/DISK")?;
    // A name that is part of a common word is masked as a whole word only: `fedora_tim`, but not
    // `timeout`. All others are masked inside words too: `vgnaomi`.
    let edged = |name: &str| match is_common(name) {
        true => format!(r"(?i)(?P<front>^|[^A-Za-z0-9]){}(?P<back>$|[^A-Za-z0-9])", regex::escape(name)),
        false => format!(r"(?i)(?P<front>){}(?P<back>)", regex::escape(name)),
    };
    let host = identity.host.as_deref().unwrap_or_default();
    let hosts = [host, host.split('.').next().unwrap_or_default()].map(str::to_owned);
    // Twice: two adjacent names share the space between them.
    for _ in 0..2 {
        for host in hosts.iter().filter(telling) {
            add("host name", &edged(host), "${front}HOST${back}")?;
        }
        for user in identity.users.iter().filter(telling) {
            add("user name", &edged(user), "${front}USER${back}")?;
        }
    }
    let hex = "[0-9a-fA-F]";
    add("UUID", &format!(r"\b{hex}{{8}}-{hex}{{4}}-{hex}{{4}}-{hex}{{4}}-{hex}{{12}}\b"), "UUID")?;
    add("UUID", r"(?i)\b(?P<front>(?:PART)?UUID[=:])[0-9a-f][0-9a-f:-]{5,}", "${front}UUID")?;
    add("UUID", &format!(r"\b(?:{hex}{{8}}:){{3}}{hex}{{8}}\b"), "UUID")?;
    add("machine number", &format!(r"\b{hex}{{32}}\b"), "MACHINE")?;
    add("serial number", &format!(r"\bGPU-{hex}{{16}}\b"), "GPU-NUMBER")?;
    // Global, private and link-level IPv6 and MAC addresses; the first group excludes times and
    // paths.
    let group = format!("{hex}{{1,4}}");
    let first = r"(?i)\b(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f])";
    add("network address", &format!(r"{first}(?::{group}){{7}}\b"), "IP")?;
    add("network address", &format!(r"{first}(?::{group}){{0,6}}::{group}(?::{group}){{0,6}}\b"), "IP")?;
    add("network address", &format!(r"{first}(?::{group}){{0,6}}::/"), "IP/")?;
    add("network address", &format!(r"{first}(?::{group}){{1,6}}::(?P<back>$|[^\w:])"), "IP${back}")?;
    add("network address", r"(?i)::ffff:(?:\d{1,3}\.){3}\d{1,3}\b", "IP")?;
    add("hardware address", &format!(r"\b(?:{hex}{{2}}:){{5}}{hex}{{2}}\b"), "MAC")?;
    add("mail address", r"\b[\w.+-]+@[\w-]+\.[\w.]+\b", "MAIL")?;
    // Version numbers are excluded: other words precede them.
    add("network address", r"(?i)\b(ip[:= ]|addr(?:ess)?[:= ]|//|nfsroot=)(?:\d{1,3}\.){3}\d{1,3}\b", "${1}IP")?;
    add("network address", r"(?:\d{1,3}\.){3}\d{1,3}(?P<port>:\d{2,5})", "IP${port}")?;
    // Private IPv4 addresses, which no version number looks like.
    let home = r"(?:10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254)\.\d{1,3}\.\d{1,3}";
    let edges = format!(r"(?P<front>^|[^\w.-]){home}(?P<back>$|[^\w.-]|\.(?:\s|$))");
    add("network address", &edges, "${front}IP${back}")?;
    // The kernel prints a message about the serial driver.
    let serial = r"(?i)\b(serial(?: ?number)?[:= ]+|serialno=)\S+";
    add_unless("serial number", serial, "${1}SERIAL", |found| found.ends_with("8250/16550"))?;
    let url = r"(?P<front>\b[a-z][a-z0-9+]*://)(?P<host>[A-Za-z0-9.-]+)";
    add_unless("host name", url, "${front}HOST", |found| is_public(found) || found.ends_with("://IP"))?;
    Ok(all)
}

fn cover<'m>(text: &mut String, masks: impl Iterator<Item = &'m Mask>, taken: &mut BTreeMap<&'static str, usize>) {
    for mask in masks {
        let is_masked = |found: &str| found.ends_with("/USER") || found.ends_with("/DISK") || (mask.keeps)(found);
        let mut hits = 0;
        let replaced = mask.pattern.replace_all(text, |found: &Captures<'_>| {
            if is_masked(&found[0]) {
                return found[0].to_owned();
            }
            hits += 1;
            let mut instead = String::new();
            found.expand(mask.instead, &mut instead);
            instead
        });
        let replaced = replaced.into_owned();
        if hits > 0 {
            *taken.entry(mask.what).or_insert(0) += hits;
            *text = replaced;
        }
    }
}

/// Whether a field of a snapshot names a product: what it contains was not chosen by the user.
fn is_product(path: &[String]) -> bool {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["os" | "cpu" | "board" | "bios", ..] | ["kernel", "release"] | ["arch"] => true,
        ["gpus", field, ..] => matches!(*field, "name" | "target" | "forced" | "driver" | "pci" | "pci_id"),
        _ => false,
    }
}

/// Visits every string, with the names of the fields that lead to it.
pub(crate) fn each_text(value: &mut Value, path: &mut Vec<String>, change: &mut impl FnMut(&[String], &mut String)) {
    match value {
        Value::String(text) => change(path, text),
        Value::Array(values) => values.iter_mut().for_each(|value| each_text(value, path, change)),
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(name.clone());
                each_text(value, path, change);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> Masked<String> {
        let identity =
            Identity { host: Some("tycho".into()), users: vec!["naomi".into()], home: Some("/data/naomi".into()) };
        mask(&text.to_owned(), &identity).expect("it is text before and after")
    }

    #[test]
    fn personal_names_are_masked() {
        let text = masked(
            "tycho kernel: root=UUID=0a1b2c3d-1111-2222-3333-444455556666 naomi /data/naomi/x /home/amos/y aa:bb:cc:dd:ee:ff \
             a.b@c.org Serial: X1Y2 nfsroot=10.0.0.7 rd.lvm.lv=fedora_tycho/root root=PARTUUID=5a1b2c3d-02 \
             [fe80::1%eth0] 2001:db8:aa:bb:cc:dd:ee:ff 2001:DB8::8:800 fd12:3456::/48 ::ffff:10.0.0.7",
        );
        assert_eq!(
            text.value,
            "HOST kernel: root=UUID=UUID USER /home/USER/x /home/USER/y MAC MAIL Serial: SERIAL nfsroot=MASKED rd.lvm.lv=fedora_HOST/root root=PARTUUID=UUID [IP%eth0] IP IP IP/48 IP"
        );
        assert_eq!(text.taken.values().sum::<usize>(), 16, "{:?}", text.taken);
        assert!(text.describe().contains("2 x home folder"), "{}", text.describe());
    }

    #[test]
    fn addresses_disks_and_serial_numbers_are_masked() {
        let text = masked(
            "listen 192.168.1.77. http://nas.smith.lan/x http://[fe80::2]/ https://www.amd.com/en GPU-9ecafe5536937880 \
             /run/media/amos/Films/m.gguf /media/amos /mnt/smith/models:/mnt/c/x Naomi NAOMI Tycho",
        );
        assert_eq!(
            text.value,
            "listen IP. http://HOST/x http://[IP]/ https://www.amd.com/en GPU-NUMBER /run/media/DISK/m.gguf /media/DISK \
             /mnt/DISK/models:/mnt/c/x USER USER HOST"
        );
        let env = |name: &str, value: &str| {
            let variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            mask(&variables, &Identity::default()).expect("it is text before and after").value[name].clone()
        };
        assert_eq!(env("OLLAMA_HOST", "192.168.1.77"), "IP");
        assert_eq!(env("OLLAMA_HOST", "84.12.3.7:11434"), "IP:11434");
        assert_eq!(env("OLLAMA_HOST", "nas.smith.lan"), "HOST");
        assert_eq!(env("OLLAMA_HOST", "http://nas:11434"), "http://HOST:11434");
        assert_eq!(env("OLLAMA_HOST", "0.0.0.0"), "0.0.0.0");
        assert_eq!(env("OLLAMA_HOST", "localhost:11434"), "localhost:11434");
        assert_eq!(env("HSA_OVERRIDE_GFX_VERSION", "10.3.0"), "10.3.0");
    }

    #[test]
    fn names_inside_words_are_masked_unless_the_word_is_common() {
        let identity = Identity { host: Some("desk".into()), users: vec!["naomi".into(), "tim".into()], home: None };
        let text = "vgnaomi NaomiPC1 /dev/mapper/vg_tim-root timeout tim.local ring gfx timed out desktop desk-7 2a02:8071:5::";
        let found = mask(&text.to_owned(), &identity).expect("it is text before and after").value;
        assert_eq!(
            found,
            "vgUSER USERPC1 /dev/mapper/vg_USER-root timeout USER.local ring gfx timed out desktop HOST-7 IP"
        );
    }

    #[test]
    fn a_user_with_the_name_of_the_distribution_is_masked_elsewhere() {
        let identity = Identity { host: Some("fedora".into()), users: vec!["arch".into()], home: None };
        let machine = serde_json::json!({
            "os": {"id": "arch", "like": ["fedora"]}, "kernel": {"release": "6.1-arch1"},
            "service": {"user": "arch"}, "kernel_log": "fedora kernel: arch", "gpus": [{"name": "Arch", "node": "arch"}],
        });
        let found = mask(&machine, &identity).expect("it is data before and after").value;
        let expected = serde_json::json!({
            "os": {"id": "arch", "like": ["fedora"]}, "kernel": {"release": "6.1-arch1"},
            "service": {"user": "USER"}, "kernel_log": "HOST kernel: USER", "gpus": [{"name": "Arch", "node": "USER"}],
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn diagnostic_data_is_not_masked() {
        let text = "amdgpu 0000:03:00.0: VM_CONTEXT1 0x00000000 address 0x00007f10 6.12.9 gfx1010 10.3.0 rocm-6.2.0.60200 \
             2025-01-12T10:31:07.211+01:00 c10::Error std::bad_alloc 1002:744c 0x1002:0x13FE fd::f a::b 12:30::x 2024::Foo \
             gfxhub0 vmid:8 pasid:32770 in process fc00:1 Serial: 8250/16550 driver, 32 ports, DMUB 0.1.2.3 10.3.0.1-2";
        let masked_text = masked(text);
        assert_eq!(masked_text.value, text);
        assert_eq!(masked_text.describe(), "nothing had to be masked");
    }
}
