//! Masks secrets in text: values after names such as `password` and `serialno`, URLs with
//! credentials, tokens by their format, and kernel command lines in logs. Text is masked when it is
//! read, so that no output has secrets.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::command_line;

/// Replaces a secret.
pub(crate) const MASKED: &str = "MASKED";

/// Substrings of names whose values are secret.
const NAMES: &[&str] =
    &["passw", "passphrase", "secret", "token", "credential", "apikey", "api_key", "api-key", "serialno", "nfsroot"];

/// The groups `name`, `sign`, `scheme` and `kind` stay; the rest is masked. After a secret's name,
/// everything up to a space or the end of a quoted string is masked. A `token=` counts only if its
/// value is long, since language models count tokens.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?xi)
        (?P<name> [\w.-]* (?: passw(?:or)?d | passphrase | secret | credential s? | api[_-]?key | (?:private|access|auth)[_-]?key
            | serial(?:no|_?number) | nfsroot ) [\w.-]* | \b (?:rd\.)? (?:iscsi|luks) [\w.]* | \b cryptdevice )
        (?P<sign> \s* = \s* | \s* : \s+ ) (?: "[^"]*" | '[^']*' | [^\s,;]+ )
        | (?P<token> \b [\w.-]* token = ) [^\s,;&]{8,}
        | (?P<scheme> \b [a-z][a-z0-9+.-]* :// ) [^/\s@]+ @
        | (?P<kind> \b (?:bearer|basic) \s+ ) [a-z0-9._~+/=-]{8,}
        | \b (?: hf_ | gh[pousr]_ | github_pat_ | sk- | xox[abp]- ) [a-z0-9_-]{16,}"#,
    )
    .ok()
});

/// Whether the value of this name is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part)) || name.ends_with("key")
}

/// Text with secrets masked.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    let Some(secrets) = SECRETS.as_ref() else { return Cow::Borrowed(MASKED) };
    let lines = if text.contains(COMMAND_LINE) {
        Cow::Owned(text.split('\n').map(without_command_line).collect::<Vec<_>>().join("\n"))
    } else {
        Cow::Borrowed(text)
    };
    let replaced = secrets.replace_all(&lines, |found: &Captures<'_>| {
        let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
        let front = ["name", "sign", "token", "scheme", "kind"].map(group).concat();
        let at = if found.name("scheme").is_some() { "@" } else { "" };
        format!("{front}{MASKED}{at}")
    });
    match replaced {
        Cow::Borrowed(_) => lines,
        Cow::Owned(text) => Cow::Owned(text),
    }
}

/// `Command line: `, `Kernel command line: `, `Unknown kernel command line parameters "`.
const COMMAND_LINE: &str = "ommand line";

/// A log line with the values of its command line masked.
fn without_command_line(line: &str) -> Cow<'_, str> {
    let behind = line.find(COMMAND_LINE).map(|at| at + COMMAND_LINE.len());
    let start = behind.and_then(|behind| Some(behind + line[behind..].find([':', '"'])? + 1));
    let Some(start) = start else { return Cow::Borrowed(line) };
    let (front, words) = line.split_at(start);
    // A quoted command line ends at the quote.
    let (words, rest) = match (front.ends_with('"'), words.rfind('"')) {
        (true, Some(end)) => words.split_at(end),
        _ => (words, ""),
    };
    let space = if words.starts_with(' ') { " " } else { "" };
    Cow::Owned(format!("{front}{space}{}{rest}", command_line::masked(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_their_names_stay() {
        for (text, shown) in [
            ("    serialno=X1Y2", "    serialno=MASKED"),
            ("db_password: hunter2, next", "db_password: MASKED, next"),
            ("PASSWD='a b c' x", "PASSWD=MASKED x"),
            ("http://naomi:hunter2@nas/models", "http://MASKED@nas/models"),
            ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer MASKED"),
            ("token=abcdefghijkl", "token=MASKED"),
            ("login with hf_abcdefghijklmnopqrst", "login with MASKED"),
            ("rd.luks.uuid=luks-1 ok", "rd.luks.uuid=MASKED ok"),
            (
                "[ 0.0] Kernel command line: root=/dev/sda2 ro amdgpu.dc=1 foo=hunter2",
                "[ 0.0] Kernel command line: root=MASKED ro amdgpu.dc=1 foo=MASKED",
            ),
            (
                "Unknown kernel command line parameters \"splash foo=hunter2\", will be passed to user space.",
                "Unknown kernel command line parameters \"splash foo=MASKED\", will be passed to user space.",
            ),
        ] {
            assert_eq!(masked(text), shown);
            assert_eq!(masked(shown), shown, "twice is once");
        }
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        for text in [
            "n_tokens = 512, token: 5, eos_token=128009",
            "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=11",
            "error: permission denied: /dev/kfd",
            "usage: roci [--command line tools] x=1",
            "https://github.com/ROCm/ROCm",
            "HSA_OVERRIDE_GFX_VERSION=10.3.0",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
