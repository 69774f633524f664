//! Generates the text of an experiment with imported results.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Group, UNIT};

/// Options of llama-bench by result field.
const OPTIONS: &[(&str, &str)] = &[
    ("devices", "-dev"),
    ("flash_attn", "-fa"),
    ("main_gpu", "-mg"),
    ("n_batch", "-b"),
    ("n_cpu_moe", "-ncmoe"),
    ("n_gpu_layers", "-ngl"),
    ("n_threads", "-t"),
    ("n_ubatch", "-ub"),
    ("no_kv_offload", "-nkvo"),
    ("split_mode", "-sm"),
    ("tensor_split", "-ts"),
    ("type_k", "-ctk"),
    ("type_v", "-ctv"),
    ("use_mmap", "-mmp"),
    // As table columns are named.
    ("fa", "-fa"),
    ("ngl", "-ngl"),
    ("threads", "-t"),
];

/// Fields of `roci bench`, which prints llama-bench's fields and identifies itself there.
const OWN_OPTIONS: &[(&str, &str)] =
    &[("devices", "--device"), ("type_k", "--cache-type"), ("n_ubatch", "--ubatch-size")];

/// Placeholder for an unknown model file.
const MODEL: &str = "MODEL.gguf";

/// The whole text; the first group is the baseline.
pub(super) fn experiment(name: &str, source: &str, common: &BTreeMap<String, String>, groups: &[Group]) -> String {
    let mut toml = format!("name = {}\ntitle = {}\n", quoted(name), quoted(&format!("llama-bench: {name}")));
    let notes: Vec<_> =
        common.iter().filter(|(key, _)| *key != "file").map(|(key, value)| format!("{key}: {value}")).collect();
    let goal = format!("Results of llama-bench ({source}). {}", notes.join(", "));
    let _ = writeln!(toml, "goal = {}", quoted(goal.trim_end()));
    // A table has the model's name, not its path.
    let nameless = groups.iter().any(|group| !group.settings.contains_key("model_filename"));
    if nameless {
        let note = format!("The model file is unknown; `{MODEL}` is a placeholder: `--set model=FILE`");
        let _ = writeln!(toml, "notes = [{}]", quoted(&note));
    }
    if let [first, _, ..] = groups {
        let _ = writeln!(toml, "\n[baseline]\nstrategy = {}", quoted(&first.name));
    }
    // Escapes double braces, which are placeholders in an experiment.
    toml.push_str("\n[variables]\nopen = \"{{\"\n");
    if nameless {
        let _ = writeln!(toml, "model = {}", quoted(MODEL));
    }
    let mut metrics: Vec<&str> = Vec::new();
    for (metric, _) in groups.iter().flat_map(|group| &group.samples) {
        if !metrics.contains(&metric.as_str()) {
            metrics.push(metric);
            let pattern = format!(r"\|\s*{}\s*\|\s*([\d.]+)", regex::escape(metric));
            let _ = writeln!(
                toml,
                "\n[[metric]]\nname = {}\npattern = {}\nunit = {}",
                quoted(metric),
                quoted(&pattern),
                quoted(UNIT)
            );
        }
    }
    for group in groups {
        let mut command: Vec<_> =
            command(&group.settings).iter().map(|word| quoted(&word.replace("{{", "{{open}}"))).collect();
        if !group.settings.contains_key("model_filename") {
            command.splice(1..1, ["\"-m\"".to_owned(), "\"{{model}}\"".to_owned()]);
        }
        let changes = group.settings.iter().filter(|(key, value)| common.get(*key) != Some(value));
        let changes: Vec<_> = changes.map(|(key, value)| format!("{key}={value}")).collect();
        let _ = writeln!(
            toml,
            "\n[[strategy]]\nname = {}\nchanges = {}\ncommand = [{}]",
            quoted(&group.name),
            quoted(&changes.join(", ")),
            command.join(", ")
        );
    }
    toml
}

fn command(settings: &BTreeMap<String, String>) -> Vec<String> {
    let model = settings.get("model_filename");
    let own = settings.get("build_commit").is_some_and(|build| build.starts_with("roci "));
    let (mut words, options) = match model {
        Some(model) if own => (vec!["roci", "bench", model, "-o", "md"], OWN_OPTIONS),
        Some(model) => (vec!["llama-bench", "-m", model], OPTIONS),
        None => (vec!["llama-bench"], OPTIONS),
    };
    for (field, option) in options {
        // An empty list or a split across no devices is not an option.
        if let Some(value) = settings.get(*field).filter(|value| !["0.00", "auto", "none"].contains(&value.as_str())) {
            words.extend([*option, value]);
        }
    }
    words.into_iter().map(str::to_owned).collect()
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut escaped = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            _ if letter.is_control() => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped.push('"');
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_experiments_rerun_the_original_program() {
        let mut settings: BTreeMap<String, String> =
            [("build_commit", "0a1b2c3"), ("devices", "vulkan:0"), ("n_threads", "2"), ("model_filename", "a.gguf")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into();
        assert_eq!(command(&settings), ["llama-bench", "-m", "a.gguf", "-dev", "vulkan:0", "-t", "2"]);
        settings.insert("build_commit".to_owned(), "roci 0.1.0".to_owned());
        assert_eq!(command(&settings), ["roci", "bench", "a.gguf", "-o", "md", "--device", "vulkan:0"]);
    }

    #[test]
    fn any_string_survives_a_round_trip() {
        for text in ["", "a\"b\\", "\u{0}\u{7f}\u{85}\n\r\t", "'''\"\"\"", "ü\u{1f600}"] {
            let read: toml::Table = toml::from_str(&format!("x = {}", quoted(text))).expect("TOML");
            assert_eq!(read["x"].as_str(), Some(text));
        }
    }
}
