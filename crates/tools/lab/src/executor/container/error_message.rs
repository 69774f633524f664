//! Error messages of container engines, with shortened IDs and a remedy for known errors.

/// Substrings of error messages in lower case, with remedies.
const REMEDIES: &[(&str, &str)] = &[
    (
        "rlimit",
        "the engine requests higher limits than this session allows: add `arguments = [\"--ulimit=host\"]` to `[executor.container]`",
    ),
    (
        "netavark",
        "container networking cannot be set up here: set `network = \"host\"` or `\"none\"` into `[executor.container]`, or \
         install nftables",
    ),
    ("aardvark", "container DNS cannot be set up here: set `network = \"host\"` into `[executor.container]`"),
    (
        "short-name",
        "write the full image name with its registry: `docker.io/NAME`, or `localhost/NAME` for a local image",
    ),
    (
        "docker.sock: connect: permission denied",
        "no permission to use Docker: sudo usermod -aG docker $USER, then log in again",
    ),
    ("cannot connect to the docker daemon", "start Docker's service: sudo systemctl start docker"),
    (
        "/etc/subuid",
        "assign subordinate IDs to your user: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER",
    ),
    ("newuidmap", "install the package uidmap, and assign subordinate IDs to your user in /etc/subuid and /etc/subgid"),
    ("manifest unknown", "there is no such tag: check the image name"),
    ("repository name not known", "there is no such image: check its name"),
    ("requested access to the resource is denied", "there is no such image, or it is private: `podman login REGISTRY`"),
    ("unauthorized", "there is no such image, or it is private: `podman login REGISTRY`"),
    ("no such host", "the registry cannot be found: check the image name and the network"),
    ("dial tcp", "the registry cannot be reached: check the network, or load the image by hand and use its name"),
    ("executable file", "the image has no such program: check `command`"),
    ("no space left on device", "free disk space: `podman image prune`"),
    ("error gathering device information", "a device in `devices` of `[executor.container]` does not exist"),
    ("/dev/kfd", "the GPU's device does not exist: load amdgpu, or remove it from `devices` in `[executor.container]`"),
    ("unknown flag", "the engine does not know an option in `arguments` of `[executor.container]`"),
];

/// The message with shortened IDs, and the remedy in parentheses.
pub(super) fn explained(message: &str) -> String {
    let message = shortened(message);
    match remedy(&message) {
        Some(remedy) => format!("{message} ({remedy})"),
        None => message,
    }
}

/// Remedy for an engine's error, if known.
pub(super) fn remedy(message: &str) -> Option<&'static str> {
    let message = message.to_lowercase();
    REMEDIES.iter().find(|(words, _)| message.contains(words)).map(|(_, remedy)| *remedy)
}

/// IDs of containers and layers have 64 digits; 12 are enough to identify them.
pub(super) fn shortened(message: &str) -> String {
    const LONG: usize = 32;
    const SHORT: usize = 12;
    let mut shortened_text = String::with_capacity(message.len());
    for word in message.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        if digits.len() >= LONG && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            shortened_text.push_str(&digits[..SHORT]);
            shortened_text.push_str(&word[digits.len()..]);
        } else {
            shortened_text.push_str(word);
        }
    }
    shortened_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_known_errors_have_their_remedy() {
        let id = "3f2a".repeat(16);
        let message = format!(
            "Error: unable to start container \"{id}\": crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI"
        );
        let explanation = explained(&message);
        assert!(
            explanation.starts_with("Error: unable to start container \"3f2a3f2a3f2a\": crun: setrlimit"),
            "{explanation}"
        );
        assert!(
            explanation.ends_with("add `arguments = [\"--ulimit=host\"]` to `[executor.container]`)"),
            "{explanation}"
        );
        for (message, part) in [
            ("Error: netavark: nftables error: unable to execute nft", "network = \"host\""),
            ("Error: short-name \"rocm\" did not resolve to an alias", "localhost/NAME"),
            ("crun: executable file `nope` not found in $PATH: No such file or directory", "check `command`"),
            ("Error: initializing source docker://x:latest: reading manifest latest: manifest unknown", "tag"),
        ] {
            assert!(explained(message).contains(part), "{message}");
        }
        assert_eq!(explained("something else, ü"), "something else, ü");
        assert_eq!(shortened(&id), "3f2a3f2a3f2a");
        assert_eq!(
            shortened("sha256:cafe roci-lab-0123456789abcdef01234567"),
            "sha256:cafe roci-lab-0123456789abcdef01234567"
        );
    }
}
