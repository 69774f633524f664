//! Whole reports, checked with third-party parsers.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use roci_testkit::tools::Tool;
use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use crate::experiment::{Baseline, ExecutorKind, Requirement, Strategy};
use crate::outcome::Outcome;

use super::diff::Diff;
use super::example::{HOSTILE, experiment, finished, hang, hostile, passed, report, story, strategy};
use super::{Report, Verdict, html, markdown, snippets, text};

/// The tables of a text, parsed as GitHub's Markdown.
fn tables(markdown: &str) -> Vec<Vec<Vec<String>>> {
    let (mut tables, mut cell) = (Vec::new(), None::<String>);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_)) => tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => tables.last_mut().expect("a table").push(Vec::new()),
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => {
                let row: &mut Vec<_> = tables.last_mut().expect("a table").last_mut().expect("a row");
                row.push(cell.take().expect("a cell"));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
            }
            _ => {}
        }
    }
    tables
}

#[test]
fn the_recorded_investigation_gives_its_table() {
    let report = story();
    let rows = &tables(&markdown::render(&report))[0];
    let expected = [
        ["Strategy", "Image", "Key changes", "Result"],
        ["vulkan", "amd-strix-halo-toolboxes:vulkan-radv", "", "PASS (3 of 3)"],
        [
            "stock",
            "amd-strix-halo-toolboxes:rocm-7.1.1",
            "",
            "HANG - hung at async uploads: no output and no CPU for 60 s",
        ],
        [
            "sdma-off",
            "amd-strix-halo-toolboxes:rocm-7.1.1",
            "HSA_ENABLE_SDMA=0",
            "PARTIAL - past async uploads, hung at graph_reserve",
        ],
        ["minimal", "llamacpp_rocm_minimal", "HSA_ENABLE_SDMA=0", "SAME as sdma-off - hung at graph_reserve"],
        [
            "gfx1100",
            "amd-strix-halo-toolboxes:rocm-7.1.1",
            "HSA_ENABLE_SDMA=0 HSA_OVERRIDE_GFX_VERSION=11.0.0",
            "SAME as sdma-off - hung at graph_reserve",
        ],
        [
            "flash-off",
            "amd-strix-halo-toolboxes:rocm-7.1.1",
            "HSA_ENABLE_SDMA=0",
            "SAME as sdma-off - hung at graph_reserve",
        ],
        [
            "cwsr-off",
            "amd-strix-halo-toolboxes:rocm-7.1.1",
            "HSA_ENABLE_SDMA=0",
            "PENDING - add `amdgpu.cwsr_enable=0` to the kernel's command line and restart",
        ],
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(expected) {
        assert_eq!(row, &expected);
    }
}

#[test]
fn the_recorded_investigation_gives_its_findings() {
    let report = story();
    let findings: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
    let expected = [
        "4 of 6 strategies failed in the same way, hung at graph_reserve: `sdma-off`, `minimal`, `gfx1100`, `flash-off`",
        "`kyuz0/amd-strix-halo-toolboxes:rocm-7.1.1` makes it worse: `vulkan` passed, `stock` hung at async uploads.",
        "`HSA_ENABLE_SDMA=0` gets further: `stock` hung at async uploads, `sdma-off` hung at graph_reserve.",
        "These settings make no difference: `introprose/llamacpp_rocm_minimal:latest`, `HSA_OVERRIDE_GFX_VERSION=11.0.0`, `-fa off`: still \
         hung at graph_reserve.",
        "Kernel log during `sdma-off`, `minimal`, `gfx1100`, `flash-off`: the firmware of the scheduler hangs",
    ];
    assert_eq!(findings, expected);
    assert_eq!(
        (report.status.state, report.status.why.as_str()),
        (
            "BLOCKED",
            "none of the 5 other strategies that ran passes; 1 needs a change of the machine; the baseline vulkan passes"
        )
    );
    let steps: Vec<_> = report.next.iter().map(|step| (step.what.to_string(), step.commands.join("\n"))).collect();
    assert_eq!(steps[0].0, "For `cwsr-off`: add `amdgpu.cwsr_enable=0` to the kernel's command line and restart");
    assert_eq!(steps[0].1, "roci lab resume 1");
    assert_eq!(steps.len(), 1);
    let recommended = report.recommendation.expect("Vulkan works");
    assert_eq!(
        recommended.why.to_string(),
        "`vulkan`: all 3 runs passed, prompt 721 t/s, the best of those that pass."
    );
    assert!(recommended.script.contains("kyuz0/amd-strix-halo-toolboxes:vulkan-radv llama-server -ngl 99 \"$@\""));
    let text = markdown::render(&story());
    for part in [
        "## Goal",
        "- Watch ROCm issue 5534.",
        "- Waiting: `llama-server (S): ioctl < hsaKmtWaitOnMultipleEvents`",
        "reserving a graph for ubatch",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn json_has_a_schema_and_the_same_content() {
    let value: Value = serde_json::from_str(&story().json()).expect("JSON");
    assert_eq!((&value["schema"], &value["version"]), (&"roci.lab.report".into(), &2.into()));
    assert_eq!(value["strategies"][2]["result"]["outcome"], "partial");
    assert_eq!(value["strategies"][3]["same_as"], "sdma-off");
    assert_eq!(value["strategies"][0]["metrics"]["prompt"]["median"], 721.0);
    assert!(value["findings"][2].as_str().expect("text").starts_with("`HSA_ENABLE_SDMA=0` gets further"));
    serde_json::from_str::<Value>(&hostile().json()).expect("JSON");
}

#[test]
fn renamed_keys_are_also_written_under_their_old_names() {
    let report: Value = serde_json::from_str(&story().json()).expect("JSON");
    let diff: Value = serde_json::from_str(&Diff::of(&noisy("a", &[1.0]), &noisy("b", &[2.0])).json()).expect("JSON");
    let (strategy, change) = (&report["strategies"][0], &diff["changes"][0]);
    for (object, current, old) in [
        (&report["status"], "state", "word"),
        (strategy, "timeline", "track"),
        (&strategy["metrics"]["prompt"], "min", "least"),
        (&strategy["metrics"]["prompt"], "max", "most"),
        (&change["before"], "min", "least"),
        (&change["after"], "max", "most"),
    ] {
        assert!(!object[current].is_null(), "{current} in {object}");
        assert_eq!(object[current], object[old], "{current} and {old}");
    }
}

fn noisy(name: &str, prompts: &[f64]) -> Report {
    let experiment = experiment(name, vec![strategy("a", "i", &[], &["x"]), strategy("b", "i", &[("B", "1")], &["x"])]);
    let calm = [100.0, 101.0, 99.0, 100.5, 99.5];
    let results = calm.iter().map(|&value| ("a", passed(value, 10.0)));
    let results = results.chain(prompts.iter().map(|&value| ("b", passed(value, 10.0))));
    let mut experiment = experiment;
    experiment.baseline =
        Some(crate::experiment::Baseline { label: "A".into(), strategy: Some("a".into()), values: BTreeMap::new() });
    report(&experiment, results.collect())
}

#[test]
fn only_what_is_above_the_noise_is_flagged() {
    let flagged = |report: &Report| report.changes.iter().filter(|change| change.counts()).count();
    let faster = noisy("e", &[120.0, 121.0, 119.0, 120.5, 119.5]);
    assert_eq!((faster.changes.len(), flagged(&faster)), (2, 1));
    assert_eq!(faster.findings[0].to_string(), "`b` is better than A in prompt: 120 against 100 t/s (+20 %).");
    assert_eq!(faster.findings[1].to_string(), "`B=1` changes prompt by +20 %, for the better: `b` against `a`.");
    let wild = noisy("e", &[120.0, 150.0, 80.0, 135.0, 95.0]);
    assert_eq!((flagged(&wild), wild.findings.len()), (0, 0));
    let once = noisy("e", &[200.0]);
    assert_eq!(once.changes[0].verdict, Verdict::Unknown);
    assert!(once.next[0].what.to_string().starts_with("Too few runs to measure the noise: `b`"));
    // The same speed with one more setting is not recommended.
    let same = noisy("e", &[100.6, 101.0, 99.0, 100.7, 99.5]);
    let recommended = same.recommendation.expect("both work");
    assert_eq!(recommended.strategy, "a");
    assert!(recommended.why.to_string().ends_with("; `b` is no better by more than noise, and needs more settings."));
}

#[test]
fn two_experiments_are_compared_strategy_by_strategy() {
    let (before, after) =
        (noisy("one", &[100.0, 101.0, 99.0, 100.5, 99.5]), noisy("two", &[50.0, 51.0, 49.0, 50.5, 49.5]));
    let diff = Diff::of(&before, &after);
    assert_eq!((diff.outcomes.len(), diff.unchanged, diff.changes.len()), (0, 2, 4));
    assert!(diff.is_worse() && !Diff::of(&after, &before).is_worse());
    assert!(diff.markdown().contains("| `b` | prompt (t/s) | 100 | 50.0 | -50 % | **worse** |"), "{}", diff.markdown());

    let experiment = experiment("three", vec![strategy("a", "i", &[], &["x"]), strategy("c", "i", &[], &["y"])]);
    let broken = report(&experiment, vec![("a", finished(hang("load"), 60, vec![])), ("c", passed(1.0, 1.0))]);
    let diff = Diff::of(&before, &broken);
    assert_eq!((diff.only_before, diff.only_after), (vec!["b".to_owned()], vec!["c".to_owned()]));
    let change = &diff.outcomes[0];
    assert_eq!(
        (change.before.as_str(), change.after.as_str(), change.verdict),
        ("PASS - passed", "HANG - hung at load", Verdict::Worse)
    );
    assert_eq!(Diff::of(&broken, &before).outcomes[0].verdict, Verdict::Better);
    let value: Value = serde_json::from_str(&Diff::of(&before, &broken).json()).expect("JSON");
    assert_eq!((&value["schema"], &value["version"]), (&"roci.lab.diff".into(), &2.into()));
}

#[test]
fn hostile_text_does_not_change_the_structure_of_markdown() {
    let report = hostile();
    let page = markdown::render(&report);
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}') && !page.contains('\0'));
    let mut codes = 0;
    for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => panic!("a link to {dest_url}"),
            Event::Html(markup) => panic!("markup {markup}"),
            Event::InlineHtml(markup) => assert!(["<code>", "</code>"].contains(&&*markup), "markup {markup}"),
            Event::Start(Tag::CodeBlock(_)) => codes += 1,
            Event::Rule => panic!("a rule"),
            _ => {}
        }
    }
    let headings =
        |page: &str| Parser::new(page).filter(|event| matches!(event, Event::Start(Tag::Heading { .. }))).count();
    // The title, ten sections, and one per strategy.
    assert_eq!(headings(&page), 11 + report.strategies.len(), "{page}");
    // Script, Job and service; one block of settings per strategy, and two ends of outputs.
    assert_eq!(codes, 3 + 3 + 2, "{page}");
    for table in tables(&page) {
        assert!(table.iter().all(|row| row.len() == table[0].len()));
    }
    assert_eq!(tables(&page)[0].len(), 1 + report.strategies.len());
    assert_eq!(tables(&page)[0][1][0], text::line(HOSTILE));
    let diff = Diff::of(&report, &hostile()).markdown();
    assert!(tables(&diff).iter().flatten().all(|row| row.len() == 6), "{diff}");
}

#[test]
fn hostile_text_is_escaped_on_the_page() {
    let (plain, odd) = (html::render(&story()), html::render(&hostile()));
    for page in [&plain, &odd] {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        let document = roxmltree::Document::parse_with_options(page, options).expect("every tag is closed");
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            assert!(!["script", "img", "a", "iframe", "object", "link"].contains(&name), "{name}");
            assert!(
                node.attributes().all(|attribute| !attribute.name().starts_with("on") && attribute.name() != "src")
            );
        }
    }
    assert!(
        odd.contains("&lt;/pre&gt;&lt;/td&gt;&lt;script&gt;alert(1)")
            && !odd.contains('\u{1b}')
            && !odd.contains('\u{202e}')
    );
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!plain.contains(word), "{word}");
    }
    assert!(plain.contains("prefers-color-scheme: dark") && plain.contains("width=device-width"));
    assert!(plain.contains("<h2>prompt by strategy</h2>") && plain.contains("<h2>Phases over time</h2>"));
    assert!(plain.contains("<span class=\"tag bad\">PARTIAL</span> past async uploads, hung at graph_reserve"));
}

/// A strategy with everything that snippets must include.
fn full() -> Strategy {
    let env = [("HSA_ENABLE_SDMA", "0"), ("ODD", "a $(B) ${C} $D 'e' \"f\" \\ #g: - *h\ni"), ("YES", "yes")];
    let mut strategy =
        strategy("full", "rocm/dev:7.1", &env, &["llama-bench", "-m", "/models/a b.gguf", "-p", "$X", "it's"]);
    strategy.unset = vec!["HIP_VISIBLE_DEVICES".into()];
    strategy.executor.container.mounts = vec!["/srv/models:/models:ro".into()];
    strategy.executor.kubernetes.devices = vec!["/dev/kfd".into(), "/dev/dri".into()];
    strategy.executor.kubernetes.groups = vec![44, 109];
    strategy.executor.kubernetes.node_selector = BTreeMap::from([("gpu".into(), "gfx1151".into())]);
    strategy
}

fn yaml(text: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

#[test]
fn yaml_snippets_describe_the_strategy() {
    let strategy = full();
    let job = yaml(&snippets::kubernetes(&strategy, "lab full"));
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<_> =
        container["command"].as_vec().expect("a list").iter().map(|word| word.as_str().expect("a string")).collect();
    assert_eq!(
        words,
        ["env", "-u", "HIP_VISIBLE_DEVICES", "llama-bench", "-m", "/models/a b.gguf", "-p", "$X", "it's"]
    );
    assert_eq!(container["env"][1]["value"].as_str(), Some("a $$(B) ${C} $D 'e' \"f\" \\ #g: - *h\ni"));
    assert_eq!(container["env"][2]["value"].as_str(), Some("yes"));
    assert_eq!(container["volumeMounts"][2]["readOnly"].as_bool(), Some(true));
    let compose = yaml(&snippets::compose(&strategy, "lab full"));
    let service = &compose["services"]["lab-full"];
    assert_eq!(service["environment"]["ODD"].as_str(), Some("a $$(B) $${C} $$D 'e' \"f\" \\ #g: - *h\ni"));
    assert_eq!(service["devices"][0].as_str(), Some("/dev/kfd:/dev/kfd"));
    assert_eq!(service["entrypoint"][7].as_str(), Some("$$X"));
    let recommended = hostile().recommendation.expect("one passes");
    let job = yaml(&recommended.kubernetes);
    assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["image"].as_str(), Some(HOSTILE));
    yaml(&recommended.compose);
}

/// Fields of a document that are missing from kubectl's output: it drops unknown fields when it
/// parses a typed object.
fn lost(sent: &Yaml, read: &Value, location: &str) -> Vec<String> {
    match sent {
        Yaml::Hash(fields) => {
            let named = fields.iter().map(|(name, value)| (name.as_str().expect("a name"), value));
            named.flat_map(|(name, value)| lost(value, &read[name], &format!("{location}/{name}"))).collect()
        }
        Yaml::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.flat_map(|(number, value)| lost(value, &read[number], &format!("{location}/{number}"))).collect()
        }
        Yaml::String(text) if read == text => Vec::new(),
        Yaml::Integer(number) if *read == *number => Vec::new(),
        Yaml::Boolean(is) if *read == *is => Vec::new(),
        _ => vec![location.to_owned()],
    }
}

#[test]
fn kubectl_parses_the_whole_job() {
    let Some(kubectl) = roci_testkit::require("kubectl", Tool::find(&["kubectl"])) else { return };
    let recommended = hostile().recommendation.expect("one passes");
    let mut plain = full();
    plain.executor.kubernetes = Default::default();
    let folder = tempfile::tempdir().expect("a folder");
    for job in [snippets::kubernetes(&full(), "full"), snippets::kubernetes(&plain, "plain"), recommended.kubernetes] {
        let file = folder.path().join("job.yaml");
        std::fs::write(&file, &job).expect("written");
        // Without a cluster, few kubectl commands parse typed objects; this one adds a variable.
        let mut command = std::process::Command::new(kubectl.path());
        command.args(["set", "env", "--local", "--output=json", "ROCI_READ=1", "--filename"]).arg(&file);
        command.env("KUBECONFIG", folder.path().join("none")).env("HOME", folder.path());
        let done = command.stdin(std::process::Stdio::null()).output().expect("it can be started");
        assert!(done.status.success(), "{}\n{job}", String::from_utf8_lossy(&done.stderr));
        let read: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(lost(&yaml(&job), &read, ""), [""; 0], "{job}");
    }
    let odd = yaml("{kind: Job, spec: {police: Never, n: 1}}");
    assert_eq!(lost(&odd, &serde_json::json!({"kind": "Job", "spec": {"n": 2}}), ""), ["/spec/police", "/spec/n"]);
}

/// A shell runs the script, and the program gets the strategy's arguments.
#[test]
fn the_script_runs_the_program_as_the_strategy_does() {
    let mut strategy = full();
    strategy.executor.kind = ExecutorKind::Local;
    strategy.env.insert("NOT-A-NAME".into(), "x y".into());
    let run = |strategy: &Strategy, more: &[&str]| {
        let script = snippets::script(strategy, "two\nlines");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, "sh"]).args(more).env("HIP_VISIBLE_DEVICES", "1");
        String::from_utf8_lossy(&command.output().expect("there is a shell").stdout).into_owned()
    };
    // Read from the script, since shells drop variables with invalid names.
    strategy.command = vec!["env".to_owned()];
    let script = run(&strategy, &[]);
    assert!(
        script.contains("ODD=a $(B) ${C} $D 'e' \"f\" \\ #g: - *h\ni\n") && script.contains("HSA_ENABLE_SDMA=0"),
        "{script}"
    );
    assert!(script.contains("NOT-A-NAME=x y") && !script.contains("HIP_VISIBLE"), "{script}");
    strategy.command = ["printf", "<%s>", "it's", "a b", "$X"].map(str::to_owned).into();
    assert_eq!(run(&strategy, &["more"]), "<it's><a b><$X><more>");
}

#[test]
fn an_experiment_without_results_reports_that() {
    let experiment = experiment("e", vec![strategy("a", "i", &[], &["x"])]);
    let rendered = report(&experiment, vec![]);
    assert!(markdown::render(&rendered).contains("| `a` | `i` |  | not run yet |"));
    assert!(html::render(&rendered).contains("None: no strategy passed every run."));
    assert_eq!(
        report(&experiment, vec![("a", finished(Outcome::blocked("no podman"), 0, vec![]))]).status.state,
        "BLOCKED"
    );
}

#[test]
fn strategies_pending_for_one_change_share_a_row_and_a_step() {
    let names: Vec<String> = (0..84).map(|number| format!("op{number}")).collect();
    let strategies = names.iter().map(|name| strategy(name, "i", &[], &["x"])).collect();
    let mut experiment = experiment("e", strategies);
    experiment.strategies[83].needs = vec![Requirement::Manual { change: "plug it in".into() }];
    let pending = || Outcome::Pending { changes: vec!["load amdgpu".into()] };
    let blocked = |number: usize| Outcome::blocked(format!("no image in container {number}a"));
    let result = |number: usize| match number {
        0..50 => blocked(number),
        50..83 => pending(),
        _ => Outcome::Pending { changes: vec!["plug it in".into()] },
    };
    let results = names.iter().enumerate().map(|(at, name)| (name.as_str(), finished(result(at), 0, vec![]))).collect();
    let rendered = report(&experiment, results);
    assert_eq!(
        (rendered.status.state, rendered.status.why.as_str()),
        ("BLOCKED", "no strategy could be run; 50 could not be started; 34 need a change of the machine")
    );
    let steps: Vec<_> = rendered.next.iter().map(|step| (step.what.to_string(), step.commands.join(" "))).collect();
    assert_eq!(steps.len(), 3, "{steps:?}");
    assert!(steps[0].0.ends_with(" and 25 more: load amdgpu") && steps[0].1 == "roci lab resume 1", "{steps:?}");
    assert_eq!(steps[1], ("For `op83`: plug it in".to_owned(), "roci lab resume 1 --done op83".to_owned()));
    assert!(steps[2].0.ends_with(" and 42 more could not be started: no image in container 0a"), "{steps:?}");
    let rows = &tables(&markdown::render(&rendered))[0];
    assert_eq!(rows.len(), 1 + 50 + 2, "strategies with one reason share a row");
    assert!(rows[51][0].starts_with("op50, op51, ") && rows[51][0].ends_with(" and 25 more"), "{:?}", rows[51]);
    assert_eq!(
        html::render(&rendered).matches("PENDING</span> load amdgpu").count(),
        2,
        "in the table and in a section"
    );
}

#[test]
fn the_status_counts_the_baseline_separately() {
    let mut experiment = experiment("e", ["base", "a", "b"].map(|name| strategy(name, "i", &[], &["x", name])).into());
    let baseline = Baseline { label: "base".into(), strategy: Some("base".into()), values: BTreeMap::new() };
    experiment.baseline = Some(baseline);
    let status = |results: Vec<(&str, Outcome)>| {
        let results = results.into_iter().map(|(name, outcome)| (name, finished(outcome, 1, vec![]))).collect();
        let status = report(&experiment, results).status;
        format!("{} - {}", status.state, status.why)
    };
    let all = status(vec![("base", hang("load")), ("a", Outcome::Pass), ("b", hang("load"))]);
    assert_eq!(all, "WORKS - 1 of 2 other strategies passes; the baseline base is HANG");
    let one = status(vec![("base", Outcome::Pass), ("a", hang("load"))]);
    assert_eq!(one, "BLOCKED - the one other strategy that ran does not pass; the baseline base passes");
    let none = status(vec![("base", Outcome::Pass)]);
    assert_eq!(none, "UNFINISHED - no other strategy has run yet; the baseline base passes");
}

/// A change of the machine counts as a setting.
#[test]
fn a_needed_change_counts_as_a_setting() {
    let mut experiment = experiment("e", ["plain", "cwsr-off"].map(|name| strategy(name, "i", &[], &["x"])).into());
    experiment.strategies[1].needs =
        vec![Requirement::KernelParameter { name: "amdgpu.cwsr_enable".into(), value: Some("0".into()) }];
    let rendered = report(
        &experiment,
        vec![("plain", finished(hang("load"), 1, vec![])), ("cwsr-off", finished(Outcome::Pass, 1, vec![]))],
    );
    assert_eq!(
        rendered.findings[0].to_string(),
        "`kernel parameter amdgpu.cwsr_enable=0` makes it work: `plain` hung at load, `cwsr-off` passed."
    );
}
