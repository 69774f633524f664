//! Takes out of a text what tells who somebody is, so that it can be shown in public.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What may be shown, and what was taken out of it.
#[derive(Clone, Debug)]
pub struct Masked<T> {
    /// What may be shown.
    pub value: T,
    /// How many of each kind were taken out.
    pub taken: BTreeMap<&'static str, usize>,
}

impl<T> Masked<T> {
    /// What was taken out, in words.
    pub fn describe(&self) -> String {
        let parts: Vec<_> = self.taken.iter().map(|(what, count)| format!("{count} x {what}")).collect();
        if parts.is_empty() { "nothing had to be masked".into() } else { format!("masked: {}", parts.join(", ")) }
    }
}

/// Words of this machine that name it or its user.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its name on the network.
    pub host: Option<String>,
    /// The names of users.
    pub users: Vec<String>,
    /// The user's folder.
    pub home: Option<String>,
}

struct Mask {
    what: &'static str,
    pattern: Regex,
    instead: &'static str,
}

/// Masks every text in a value.
///
/// # Errors
/// A value that is not the same after it went through JSON, which the tests do not let through.
pub fn mask<T: Serialize + DeserializeOwned>(value: &T, identity: &Identity) -> Result<Masked<T>, String> {
    let masks = masks(identity)?;
    let mut taken = BTreeMap::new();
    let mut json = serde_json::to_value(value).map_err(|error| error.to_string())?;
    walk(&mut json, &mut |text| cover(text, &masks, &mut taken));
    let value = serde_json::from_value(json).map_err(|error| error.to_string())?;
    Ok(Masked { value, taken })
}

/// From the narrowest to the widest: what one has covered, the next does not see.
fn masks(identity: &Identity) -> Result<Vec<Mask>, String> {
    let mut all = Vec::new();
    let mut add = |what, pattern: &str, instead| -> Result<(), String> {
        all.push(Mask { what, pattern: Regex::new(pattern).map_err(|error| error.to_string())?, instead });
        Ok(())
    };
    // Short names are words of everyday, and `root` is nobody in particular.
    let telling = |name: &&String| name.len() >= 3 && name.as_str() != "root" && name.as_str() != "localhost";
    if let Some(home) = identity.home.as_ref().filter(|home| home.len() > 5 && home.as_str() != "/root") {
        add("home folder", &regex::escape(home), "/home/USER")?;
    }
    add("home folder", r"/home/(?P<name>[^/\s:]+)", "/home/USER")?;
    // A name within a longer word is another word; `fedora_ceres` is not.
    let edged = |name: &str| format!(r"(?P<front>^|[^A-Za-z0-9]){}(?P<back>$|[^A-Za-z0-9])", regex::escape(name));
    let host = identity.host.as_deref().unwrap_or_default();
    for host in [host, host.split('.').next().unwrap_or_default()].map(str::to_owned).iter().filter(telling) {
        add("host name", &edged(host), "${front}HOST${back}")?;
    }
    for user in identity.users.iter().filter(telling) {
        add("user name", &edged(user), "${front}USER${back}")?;
    }
    let hex = "[0-9a-fA-F]";
    add("UUID", &format!(r"\b{hex}{{8}}-{hex}{{4}}-{hex}{{4}}-{hex}{{4}}-{hex}{{12}}\b"), "UUID")?;
    add("UUID", r"(?i)\b(?P<front>(?:PART)?UUID[=:])[0-9a-f][0-9a-f:-]{5,}", "${front}UUID")?;
    add("UUID", &format!(r"\b(?:{hex}{{8}}:){{3}}{hex}{{8}}\b"), "UUID")?;
    add("machine number", &format!(r"\b{hex}{{32}}\b"), "MACHINE")?;
    // Those that name a machine on the net, its own net or its cable; the first group tells them from times and places.
    let group = format!("{hex}{{1,4}}");
    let first = r"(?i)\b(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f])";
    add("network address", &format!(r"{first}(?::{group}){{7}}\b"), "IP")?;
    add("network address", &format!(r"{first}(?::{group}){{0,6}}::{group}(?::{group}){{0,6}}\b"), "IP")?;
    add("network address", &format!(r"{first}(?::{group}){{0,6}}::/"), "IP/")?;
    add("network address", r"(?i)::ffff:(?:\d{1,3}\.){3}\d{1,3}\b", "IP")?;
    add("hardware address", &format!(r"\b(?:{hex}{{2}}:){{5}}{hex}{{2}}\b"), "MAC")?;
    add("mail address", r"\b[\w.+-]+@[\w-]+\.[\w.]+\b", "MAIL")?;
    add("serial number", r"(?i)\b(serial(?: ?number)?[:= ]+|serialno=)\S+", "${1}SERIAL")?;
    // Not the numbers of versions: those have other words in front.
    add("network address", r"(?i)\b(ip[:= ]|addr(?:ess)?[:= ]|//|nfsroot=)(?:\d{1,3}\.){3}\d{1,3}\b", "${1}IP")?;
    add("network address", r"(?:\d{1,3}\.){3}\d{1,3}(?P<port>:\d{2,5})", "IP${port}")?;
    Ok(all)
}

fn cover(text: &mut String, masks: &[Mask], taken: &mut BTreeMap<&'static str, usize>) {
    for mask in masks {
        let hits = mask.pattern.find_iter(text).filter(|found| !found.as_str().ends_with("/USER")).count();
        if hits > 0 {
            *taken.entry(mask.what).or_insert(0) += hits;
            *text = mask.pattern.replace_all(text, mask.instead).into_owned();
        }
    }
}

fn walk(value: &mut Value, cover: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => cover(text),
        Value::Array(values) => values.iter_mut().for_each(|value| walk(value, cover)),
        Value::Object(fields) => fields.values_mut().for_each(|value| walk(value, cover)),
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
    fn what_names_somebody_is_gone() {
        let seen = masked(
            "tycho kernel: root=UUID=0a1b2c3d-1111-2222-3333-444455556666 naomi /data/naomi/x /home/amos/y aa:bb:cc:dd:ee:ff \
             a.b@c.org Serial: X1Y2 nfsroot=10.0.0.7 rd.lvm.lv=fedora_tycho/root root=PARTUUID=5a1b2c3d-02 \
             [fe80::1%eth0] 2001:db8:aa:bb:cc:dd:ee:ff 2001:DB8::8:800 fd12:3456::/48 ::ffff:10.0.0.7",
        );
        assert_eq!(
            seen.value,
            "HOST kernel: root=UUID=UUID USER /home/USER/x /home/USER/y MAC MAIL Serial: SERIAL nfsroot=IP rd.lvm.lv=fedora_HOST/root root=PARTUUID=UUID [IP%eth0] IP IP IP/48 IP"
        );
        assert_eq!(seen.taken.values().sum::<usize>(), 16);
        assert!(seen.describe().contains("2 x home folder"), "{}", seen.describe());
    }

    #[test]
    fn what_a_doctor_needs_stays() {
        let text = "amdgpu 0000:03:00.0: VM_CONTEXT1 0x00000000 address 0x00007f10 6.12.9 gfx1010 10.3.0 rocm-6.2.0.60200 \
             2025-01-12T10:31:07.211+01:00 c10::Error std::bad_alloc 1002:744c 0x1002:0x13FE fd::f a::b 12:30::x 2024::Foo \
             gfxhub0 vmid:8 pasid:32770 in process fc00:1";
        let seen = masked(text);
        assert_eq!(seen.value, text);
        assert_eq!(seen.describe(), "nothing had to be masked");
    }
}
