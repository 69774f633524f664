use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::error::LabError;

fn parse(toml: &str) -> Result<Experiment, LabError> {
    Experiment::parse("test.toml", toml, &BTreeMap::new())
}

fn good(toml: &str) -> Experiment {
    parse(toml).unwrap_or_else(|error| panic!("{error}: {toml}"))
}

/// The error and its hint.
fn bad(toml: &str) -> (String, String) {
    let error = parse(toml).map(|_| ()).expect_err(toml);
    let hint = roci_base::Hint::hint(&error).unwrap_or_default();
    (error.to_string(), hint)
}

#[test]
fn built_in_experiments_are_valid() {
    let given = |name: &str| match name {
        "gfx1010-pytorch" => BTreeMap::new(),
        _ => BTreeMap::from([("model".to_owned(), "/models/a.gguf".to_owned())]),
    };
    for file in builtin::EXPERIMENTS {
        let found =
            Experiment::parse(file.name, file.toml, &given(file.name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.name, file.name);
        assert!(!found.phases.is_empty() && !found.metrics.is_empty() && found.goal.is_some(), "{}", file.name);
        assert!(
            found.strategies.iter().all(|strategy| !strategy.changes.is_empty() || strategy.axes.len() > 1),
            "{}",
            file.name
        );
    }
    let matrix = Experiment::parse("m", builtin::EXPERIMENTS[1].toml, &BTreeMap::new())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(matrix.strategies.len(), 28 * 3);
    let conv = matrix.strategy("conv2d/as-gfx1030").expect("it is one of them");
    assert_eq!(conv.env["HSA_OVERRIDE_GFX_VERSION"], "10.3.0");
    assert_eq!(conv.command.last().map(String::as_str), Some("conv2d"));
    assert!(conv.command[3].contains("import torch"));
    for workload in builtin::WORKLOADS {
        good(&format!("name = 'x'\nworkload = '{}'\n[variables]\nmodel = 'm'\n", workload.name));
    }
    assert_eq!(good(builtin::TEMPLATE).strategies.len(), 2);
}

#[test]
fn built_in_experiments_declare_targets_and_apis() {
    for file in builtin::EXPERIMENTS {
        let given = if file.toml.contains("model = ") { vec![("model".to_owned(), "m".to_owned())] } else { vec![] };
        let found = Experiment::parse(file.name, file.toml, &given.into_iter().collect());
        let found = found.unwrap_or_else(|error| panic!("{error}"));
        assert!(!found.targets.is_empty(), "{} says no chip", file.name);
        for strategy in &found.strategies {
            let location = format!("{}, {}", file.name, strategy.name);
            let uses = strategy.uses.as_ref().unwrap_or_else(|| panic!("{location} does not declare what it uses"));
            // Variables, programs and images of ROCm that indicate its use.
            let texts = strategy.env.keys().chain(&strategy.unset).chain(&strategy.command).chain(&strategy.image);
            let words = ["HSA_", "HIP_", "ROCR_", "ROCBLAS_", "MIOPEN_", "rocm", "import torch"];
            let starts_rocm = texts.into_iter().any(|text| words.iter().any(|word| text.contains(word)));
            assert!(!starts_rocm || uses.contains(&Api::Rocm), "{location} uses ROCm");
        }
    }
}

#[test]
fn uses_applies_to_one_program() {
    let found = good(
        r#"
name = "x"
workload = "pytorch"
targets = ["gfx1010", "gfx90a"]
[[strategy]]
name = "same"
env = { A = 1 }
[[strategy]]
name = "other"
command = ["vkcube"]
[[strategy]]
name = "said"
command = ["vkcube"]
uses = ["vulkan"]
[[strategy]]
name = "more"
extends = "said"
env = { A = 1 }
[[strategy]]
name = "image"
extends = "said"
image = "rocm"
[[strategy]]
name = "none"
uses = []
"#,
    );
    assert_eq!(found.targets, ["gfx1010", "gfx90a"]);
    let uses = |name: &str| found.strategy(name).expect("it exists").uses.clone();
    let only = |api: Api| Some(BTreeSet::from([api]));
    assert_eq!((uses("same"), uses("other")), (only(Api::Rocm), None));
    assert_eq!((uses("said"), uses("more")), (only(Api::Vulkan), only(Api::Vulkan)));
    assert_eq!((uses("image"), uses("none")), (None, Some(BTreeSet::new())));
    assert_eq!(good("name = 'x'\ncommand = ['a']\n").strategies[0].uses, None);
    let own = good("name = 'x'\nworkload = 'pytorch'\ncommand = ['a']\n");
    assert_eq!(own.strategies[0].uses, None, "a workload's `uses` applies to its own command");
    let (error, hint) = bad("name = 'x'\ncommand = ['a']\nuses = ['rocn']\n");
    assert_eq!((error.as_str(), hint.as_str()), ("test.toml, line 3: unknown word `rocn`", "did you mean `rocm`?"));
    for wrong in ["gfx", "1010", "gfx10 10", "navi10"] {
        let (error, hint) = bad(&format!("name = 'x'\ncommand = ['a']\ntargets = ['{wrong}']\n"));
        assert_eq!(error, format!("test.toml, line 3: `{wrong}` is not a GPU target"));
        assert!(hint.contains("gfx1010"), "{hint}");
    }
}

#[test]
fn unknown_keys_are_reported_with_their_line() {
    let (error, hint) = bad("name = 'x'\ncomand = ['a']\n");
    assert_eq!(error, "test.toml, line 2: unknown key `comand`");
    assert_eq!(hint, "did you mean `command`?");
    let (error, hint) = bad("name = 'x'\ncommand = ['a']\n\n[[strategy]]\nname = 's'\nenvironment = { A = 1 }\n");
    assert_eq!(error, "test.toml, line 6: unknown key `environment`");
    assert!(hint.contains("env"), "{hint}");
    let (error, hint) = bad("name = 'x'\ncommand = ['a']\n[executor]\nkind = 'lokal'\n");
    assert_eq!((error.as_str(), hint.as_str()), ("test.toml, line 4: unknown word `lokal`", "did you mean `local`?"));
    let (error, _) = bad("name = 'x'\ncommand = 'a b'\n");
    assert!(error.starts_with("test.toml, line 2: "), "{error}");
    let (error, _) = bad("name = 'x'\n[[metric]]\n\n[");
    assert!(error.starts_with("test.toml, line "), "{error}");
}

#[test]
fn unknown_names_are_errors_with_a_suggestion() {
    let start = "name = 'x'\ncommand = ['a']\n[[phase]]\nname = 'loading'\npattern = 'l'\n[[metric]]\nname = 'speed'\npattern = '(s)'\n";
    for (more, reason, meant) in [
        ("[success]\nphase = 'loadin'\n", "there is no phase `loadin`", "did you mean `loading`?"),
        ("[success]\npartial = 'other'\n", "there is no phase `other`", "there are: loading"),
        ("[success]\nmetric = [{ name = 'sped' }]\n", "there is no metric `sped`", "did you mean `speed`?"),
        (
            "[success]\nmetric = [{ name = 'speed', ratio = 1.0 }]\n",
            "`speed` has a ratio, but there is no baseline",
            "add `[baseline]`",
        ),
        ("[baseline]\nstrategy = 'vulkan'\n", "there is no strategy `vulkan`", "there are: as-is"),
        ("[baseline]\nvalues = { sped = 1 }\n", "there is no metric `sped`", "did you mean"),
        ("[[strategy]]\nname = 'a'\nafter = [{ strategy = 'b' }]\n", "there is no strategy `b`", ""),
        ("[[strategy]]\nname = 'a'\nafter = [{ strategy = 'a', phase = 'x' }]\n", "there is no phase `x`", ""),
        ("[[strategy]]\nname = 'a'\nextends = 'b'\n", "there is no earlier strategy `b`", ""),
        ("[[strategy]]\nname = 'a'\n[[strategy]]\nname = 'a'\n", "the strategy `a` is defined twice", "rename one"),
        ("[[strategy]]\nname = ''\n", "a strategy has no name", ""),
        ("[[strategy]]\nname = 'a'\nrepeats = 0\n", "`repeats` must be from 1 to 1000", ""),
        ("[[strategy]]\nname = 'a'\nneeds = [{ file = '/a', kernel = '6' }]\n", "an entry of `needs` has one key", ""),
        ("[[strategy]]\nname = 'a'\nneeds = [{ kernel = 'new' }]\n", "`new` is not a version", ""),
        ("[[strategy]]\nname = 'a'\nneeds = [{ module-parameter = 'cwsr=0' }]\n", "is not a module parameter", ""),
        ("[limits]\ndeadline = 'soon'\n", "`soon` is not a time", ""),
        ("[limits]\nmemory = '8 GB'\n", "`8 GB` is not a size", ""),
    ] {
        let (error, hint) = bad(&format!("{start}{more}"));
        assert!(error.contains(reason) && hint.contains(meant), "{more}: {error}; {hint}");
    }
    let circle = "[[strategy]]\nname = 'a'\nafter = [{ strategy = 'b' }]\n[[strategy]]\nname = 'b'\nafter = [{ strategy = 'a' }]\n";
    let (error, _) = bad(&format!("{start}{circle}"));
    assert!(error.ends_with("these depend on each other: a, b"), "{error}");
    for (toml, reason) in [
        ("command = ['a']", "it has no `name`"),
        ("name = 'a b'\ncommand = ['a']", "`a b` cannot be the name"),
        ("name = '12'\ncommand = ['a']", "`12` cannot be the name"),
        ("name = 'x'", "there is no command"),
        ("name = 'x'\ncommand = []", "the command is empty"),
        ("name = 'x'\ncommand = ['a']\nshell = 'b'", "both a `command` and a `shell`"),
        ("name = 'x'\nworkload = 'lama-bench'", "there is no workload `lama-bench`"),
        ("name = 'x'\nworkload = 'llama-bench'", "the variable `model` has no value"),
        ("name = 'x'\ncommand = ['{{where}}']", "`{{where}}` is not a variable"),
        ("name = 'x'\ncommand = ['a']\n[[phase]]\nname = 'p'\npattern = '('", "the pattern `(` is invalid"),
        ("name = 'x'\ncommand = ['a']\n[[metric]]\nname = 'p'\npattern = 'a'", "has no group for the value"),
        ("name = 'x'\ncommand = ['a']\nenv = { 'A=B' = 1 }", "`A=B` is not a valid environment variable name"),
        ("name = 'x'\ncommand = ['a']\n[[matrix]]\n", "a matrix needs an axis"),
        ("name = 'x'\ncommand = ['a']\n[[matrix]]\n[[matrix.axis]]\nname = 'a'\n", "the axis `a` has no values"),
        (
            "name = 'x'\ncommand = ['a']\n[[matrix]]\nexclude = [{ b = 1 }]\n[[matrix.axis]]\nname = 'a'\nvalues = [1]\n",
            "names the axis `b`",
        ),
    ] {
        let (error, _) = bad(toml);
        assert!(error.contains(reason), "{toml}: {error}");
    }
}

#[test]
fn strategies_add_to_the_file_and_to_each_other() {
    let found = good(
        r#"
name = "x"
command = ["run", "{{model}}"]
arguments = ["-v"]
env = { A = 1, B = "two" }
repeats = 2
[variables]
model = "a.gguf"
[limits]
deadline = "1m"
stall = "never"
[baseline]
strategy = "third"
[[strategy]]
name = "first"
env = { B = 2, C = true }
arguments = ["-x"]
[[strategy]]
name = "second"
extends = "first"
env = { C = "" }
unset = ["HOME"]
image = "rocm:{{model}}"
arguments = ["-y"]
limits = { memory = "1GiB", deadline = 5 }
repeats = 1
[[strategy]]
name = "third"
shell = "echo $0"
after = [{ strategy = "fourth" }]
[[strategy]]
name = "fourth"
"#,
    );
    let first = found.strategy("first").expect("it exists");
    assert_eq!(first.command, ["run", "a.gguf", "-v", "-x"]);
    assert_eq!(first.env.iter().map(|(a, b)| format!("{a}={b}")).collect::<Vec<_>>(), ["A=1", "B=2", "C=true"]);
    assert_eq!((first.changes.as_str(), first.repeats), ("B=2, C=true, -x", 2));
    let second = found.strategy("second").expect("it exists");
    assert_eq!(second.command, ["run", "a.gguf", "-v", "-x", "-y"]);
    assert_eq!((second.env["B"].as_str(), second.env["C"].as_str()), ("2", ""));
    assert_eq!((second.image.as_deref(), second.repeats), (Some("rocm:a.gguf"), 1));
    assert_eq!(second.changes, "B=2, C=, without HOME, image rocm:a.gguf, -x -y");
    assert_eq!(
        (second.limits.deadline, second.limits.stall, second.limits.memory),
        (Duration::from_secs(5), None, Some(1 << 30))
    );
    assert_eq!(found.strategy("third").expect("it exists").command[..3], ["/bin/sh", "-c", "echo $0"]);
    let names: Vec<_> = found.order().into_iter().map(|at| found.strategies[at].name.as_str()).collect();
    assert_eq!(names, ["first", "second", "fourth", "third"], "each after those it depends on");
    let given = BTreeMap::from([("model".to_owned(), "b.gguf".to_owned())]);
    let other = Experiment::parse("x", &found.toml, &given).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(other.strategies[0].command[1], "b.gguf");
    let given = BTreeMap::from([("modle".to_owned(), "b".to_owned())]);
    let error = Experiment::parse("x", &found.toml, &given).map(|_| ()).expect_err("a slip");
    assert_eq!(roci_base::Hint::hint(&error).as_deref(), Some("did you mean `model`?"));
}

#[test]
fn a_matrix_is_every_combination_except_the_excluded() {
    let found = good(
        r#"
name = "x"
command = ["run", "{{op}}"]
[[matrix]]
prefix = "m"
exclude = [{ op = "conv", sdma = "on" }]
[matrix.strategy]
env = { ALL = 1 }
[[matrix.axis]]
name = "op"
values = ["conv", "gemm"]
[[matrix.axis]]
name = "sdma"
[[matrix.axis.value]]
name = "on"
[[matrix.axis.value]]
name = "off"
env = { HSA_ENABLE_SDMA = 0 }
arguments = ["--no-sdma"]
"#,
    );
    let names: Vec<_> = found.strategies.iter().map(|strategy| strategy.name.as_str()).collect();
    assert_eq!(names, ["m/conv/off", "m/gemm/on", "m/gemm/off"]);
    let off = &found.strategies[0];
    assert_eq!(off.command, ["run", "conv", "--no-sdma"]);
    assert_eq!((off.env["ALL"].as_str(), off.env["HSA_ENABLE_SDMA"].as_str()), ("1", "0"));
    assert_eq!(off.axes, BTreeMap::from([("op".into(), "conv".into()), ("sdma".into(), "off".into())]));
    let axes = "[[matrix.axis]]\nname = 'AXIS'\nvalues = [0,1,2,3,4,5,6,7,8,9]\n";
    let large: String = (0..5).map(|axis| axes.replace("AXIS", &format!("a{axis}"))).collect();
    let (error, _) = bad(&format!("name = 'x'\ncommand = ['a']\n[[matrix]]\n{large}"));
    assert!(error.contains("more than 10000 combinations"), "{error}");
}

#[test]
fn truncated_files_do_not_panic() {
    for file in builtin::EXPERIMENTS {
        for (end, _) in file.toml.char_indices() {
            let _ = parse(&file.toml[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_makes_it_panic(location in any::<prop::sample::Index>(), text in "[\\[\\]{}='\"a-z0-9\n.,]{0,12}") {
        let toml = include_str!("../../experiments/gfx1151-rocm.toml");
        let cuts: Vec<usize> = toml.char_indices().map(|(at, _)| at).collect();
        let at = cuts[location.index(cuts.len())];
        let _ = parse(&format!("{}{text}{}", &toml[..at], &toml[at..]));
        let _ = parse(&format!("{}{text}", &toml[..at]));
    }
}

#[test]
fn impossible_strategies_are_rejected_before_any_run() {
    let start = "name = 'x'\ncommand = ['a']\n";
    let here = |toml: &str| good(&format!("{start}{toml}")).check_here("x.toml");
    let fails = |toml: &str| here(toml).expect_err(toml).to_string();
    assert_eq!(here("").ok(), Some(vec![]));
    let warnings = here("[[strategy]]\nname = 'a'\nimage = 'rocm'\n").expect("it runs");
    assert!(
        warnings[0].starts_with("1 strategy names an image that the executor `local` does not use"),
        "{warnings:?}"
    );
    let slurm = "[executor]\nkind = 'slurm'\n";
    assert_eq!(here(slurm).ok(), Some(vec![]));
    assert!(fails(&format!("image = 'rocm'\n{slurm}")).ends_with("has an image, and Slurm cannot start images itself"));
    assert!(fails("[executor]\nkind = 'container'\n").contains("the strategy `as-is` has no image"));
    let cluster = here("image = 'rocm'\n[executor]\nkind = 'kubernetes'\n");
    match cfg!(feature = "kubernetes") {
        true => assert_eq!(cluster.ok(), Some(vec![])),
        false => assert!(cluster.expect_err("no client").to_string().ends_with("but roci was built without it")),
    }
    for zero in
        ["arguments = [\"a\\u0000b\"]", "image = \"\\u0000\"", "env = { A = \"\\u0000\" }", "unset = [\"A\\u0000\"]"]
    {
        let (error, hint) = bad(&format!("{start}{zero}\n"));
        assert!(error.ends_with("has a zero byte in it") && hint == "remove it", "{zero}: {error}; {hint}");
    }
    assert!(fails("directory = \"/a\\u0000b\"\n").ends_with("has a NUL byte in its `directory`"));
}

#[test]
fn errors_have_the_text_and_a_remedy() {
    let start = "name = 'x'\ncommand = ['a']\n";
    for (toml, reason, remedy) in [
        ("repeats = -1\n", "integer `-1` is not a non-negative integer", "without quotes"),
        ("repeats = 'two'\n", "string \"two\" is not a non-negative integer", "without quotes"),
        ("repeats = 1.5\n", "`1.5` is not a non-negative integer", "a fraction"),
        ("executor = 'kubernetes'\n", "string \"kubernetes\" is not a table", "executor = { kind ="),
        ("unset = 'A'\n", "string \"A\" is not a list", "write a list"),
        ("[limits]\nstall = '1 minute'\n", "`1 minute` is not a time", "or a number of seconds"),
        ("[[strategy]]\nname = 'a'\nenv = { '' = 1 }\n", "is not a valid environment variable name", "env = {"),
        ("[[phase]]\nname = ''\npattern = 'a'\n", "a phase has no name", "name ="),
    ] {
        let (error, hint) = bad(&format!("{start}{toml}"));
        assert!(error.contains(reason) && hint.contains(remedy), "{toml}: {error}; {hint}");
    }
    let (_, hint) = bad("name = 'x'\nworkload = 'llama-bench'");
    assert_eq!(hint, "set it: `--set model=VALUE`");
    let long = "n".repeat(5000);
    for toml in [
        format!("name = '{long}'\ncommand = ['a']\n"),
        format!("{start}[[strategy]]\nname = '{long}'\n"),
        format!("{start}[baseline]\nstrategy = '{long}'\n"),
        format!("{start}{long} = 1\n"),
        format!("{start}repeats = '{long}'\n"),
    ] {
        let (error, hint) = bad(&toml);
        assert!(error.len() < 250 && !hint.is_empty(), "{error}; {hint}");
    }
}

#[test]
fn needs_are_part_of_the_key_changes() {
    let found = good(
        "name = 'x'\ncommand = ['a']\n[[strategy]]\nname = 's'\nenv = { A = 1 }\nneeds = [{ kernel-parameter = 'amdgpu.cwsr_enable=0' }]\n",
    );
    assert_eq!(found.strategies[0].changes, "A=1, needs kernel parameter amdgpu.cwsr_enable=0");
}
