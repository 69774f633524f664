//! The command of a run as text, for containers, shell scripts and manifests.

use super::{MARK, RunSpec, StartError};

/// Rejects a command or variable that no executor can pass on, before anything is created.
///
/// # Errors
/// An invalid command or variable.
pub(super) fn check(spec: &RunSpec) -> Result<(), StartError> {
    let refuse = |what: String, hint: &str| Err(StartError::new(what, hint));
    match spec.command.first() {
        None => return refuse("there is no command".into(), "give `command = [\"program\", …]`"),
        Some(program) if program.is_empty() => {
            return refuse("the command has an empty program name".into(), "start `command` with a program");
        }
        Some(_) => {}
    }
    let names = spec.env.keys().chain(&spec.unset);
    if let Some(name) = names.clone().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return refuse(format!("`{}` is not a valid variable name", name.escape_debug()), "name it without `=`");
    }
    let texts = spec.command.iter().chain(spec.env.values()).chain(&spec.image);
    if let Some(text) = texts.clone().find(|text| text.contains('\0')) {
        return refuse(format!("`{}` has a zero byte in it", text.escape_debug()), "remove it");
    }
    Ok(())
}

/// All variables of a run, including its mark.
pub(super) fn variables(spec: &RunSpec) -> impl Iterator<Item = (&str, &str)> {
    let given = spec.env.iter().filter(|(name, _)| *name != MARK).map(|(name, value)| (name.as_str(), value.as_str()));
    given.chain([(MARK, spec.mark.as_str())])
}

/// The command, prefixed with `env -u` if variables must be unset: neither Docker nor Kubernetes
/// can unset a variable of the image.
pub(super) fn without_unset(spec: &RunSpec) -> Vec<String> {
    let mut command = Vec::new();
    if !spec.unset.is_empty() {
        command.push("env".to_owned());
        command.extend(spec.unset.iter().flat_map(|name| ["-u".to_owned(), name.clone()]));
    }
    command.extend(spec.command.iter().cloned());
    command
}

/// Splits `HOST:CONTAINER[:ro]`; the last value is whether it is read-only.
///
/// # Errors
/// If it has another form.
pub(super) fn mount(text: &str) -> Result<(&str, &str, bool), StartError> {
    let parts: Vec<_> = text.split(':').collect();
    let whole = |path: &str| path.starts_with('/');
    match parts.as_slice() {
        [host, inside] if whole(host) && whole(inside) => Ok((host, inside, false)),
        [host, inside, "ro"] if whole(host) && whole(inside) => Ok((host, inside, true)),
        _ => Err(StartError::new(
            format!("`{}` is not a mount", text.escape_debug()),
            "write `/on/the/host:/in/the/container`, with `:ro` appended for read-only",
        )),
    }
}

/// The error for a run without an image.
pub(super) fn no_image() -> StartError {
    StartError::new("the strategy has no image", "add `image = \"…\"`, or choose the executor `local`")
}

/// Quotes a word for POSIX shells.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{ExecutorOptions, Limits};

    /// A run of a command, for tests of all executors.
    pub(in super::super) fn spec(command: &[&str]) -> RunSpec {
        RunSpec {
            mark: "roci-lab-0123456789abcdef".into(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            env: [("HSA_ENABLE_SDMA".to_owned(), "0".to_owned())].into(),
            unset: vec!["HSA_OVERRIDE_GFX_VERSION".into()],
            directory: None,
            image: Some("localhost/llama:rocm".into()),
            limits: Limits::default(),
            options: ExecutorOptions::default(),
        }
    }

    #[test]
    fn invalid_commands_and_variables_are_rejected() {
        let bad = |change: fn(&mut RunSpec)| {
            let mut spec = spec(&["true"]);
            change(&mut spec);
            check(&spec).expect_err("it is refused").reason
        };
        assert!(check(&spec(&["true", "", "a b"])).is_ok());
        assert_eq!(bad(|spec| spec.command.clear()), "there is no command");
        assert_eq!(bad(|spec| spec.command[0].clear()), "the command has an empty program name");
        assert_eq!(bad(|spec| spec.unset.push("A=B".into())), "`A=B` is not a valid variable name");
        assert_eq!(bad(|spec| spec.command.push("a\0b".into())), "`a\\0b` has a zero byte in it");
        assert_eq!(bad(|spec| spec.image = Some("\0".into())), "`\\0` has a zero byte in it");
    }

    #[test]
    fn the_mark_cannot_be_overridden() {
        let mut spec = spec(&["true"]);
        spec.env.insert(MARK.into(), "another".into());
        let variables: Vec<_> = variables(&spec).collect();
        assert_eq!(variables, [("HSA_ENABLE_SDMA", "0"), (MARK, "roci-lab-0123456789abcdef")]);
    }

    #[test]
    fn variables_are_unset_in_the_container() {
        let mut spec = spec(&["llama-bench", "-ngl", "99"]);
        assert_eq!(without_unset(&spec), ["env", "-u", "HSA_OVERRIDE_GFX_VERSION", "llama-bench", "-ngl", "99"]);
        spec.unset.clear();
        assert_eq!(without_unset(&spec), ["llama-bench", "-ngl", "99"]);
    }

    #[test]
    fn mounts_need_absolute_paths() {
        assert_eq!(mount("/a:/b").ok(), Some(("/a", "/b", false)));
        assert_eq!(mount("/a:/b:ro").ok(), Some(("/a", "/b", true)));
        for bad in ["", "/a", "a:/b", "/a:b", "/a:/b:rw:x", "/a:/b:z", "::"] {
            assert!(mount(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(30))]

        #[test]
        fn a_shell_parses_quoted_words_as_one_word(word in "[^\0]{0,20}") {
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quote(&word))])
                .output()
                .expect("a shell");
            proptest::prop_assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
