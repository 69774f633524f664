//! The command as a process: exit codes, output streams, and JSON.

mod doctor;
mod models;
mod quantize;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `roci` in an environment that only the test sets.
fn roci(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary was built for this test")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is UTF-8")
}

fn json(output: &Output, schema: &str) -> Value {
    let value: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    assert_eq!(value["schema"], schema);
    let first = ["roci.devices", "roci.doctor.fix", "roci.doctor.fix.undo", "roci.env", "roci.run"];
    let version = if first.contains(&schema) { 1 } else { 2 };
    assert_eq!(value["version"], version, "{schema}");
    value
}

#[track_caller]
fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", stdout(output), stderr(output));
}

/// Checks that standard error has exactly an error line and a hint line.
#[track_caller]
fn assert_error(output: &Output, code: i32, cause: &str, remedy: &str) {
    assert_code(output, code);
    assert_eq!(stdout(output), "");
    let message = stderr(output);
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(cause), "{message}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(remedy), "{message}");
}

#[test]
fn help_goes_to_stdout_and_documents_exit_codes() {
    let output = roci(&["--help"]);
    assert_code(&output, 0);
    assert_eq!(stderr(&output), "");
    for line in ["  0  success", "  1  problems found", "  3  a device is not available", "roci demo"] {
        assert!(stdout(&output).contains(line), "{line} is not in\n{}", stdout(&output));
    }
}

#[test]
fn no_verb_is_a_usage_error_that_shows_the_help() {
    let output = roci(&[]);
    assert_code(&output, 2);
    assert!(stdout(&output).is_empty() && stderr(&output).contains("Usage:"));
}

#[test]
fn an_unknown_option_is_a_usage_error() {
    let output = roci(&["devices", "--jsno"]);
    assert_code(&output, 2);
    assert!(stdout(&output).is_empty() && stderr(&output).contains("--json"), "{}", stderr(&output));
}

#[test]
fn devices_lists_the_cpu_with_a_uri_that_opens_it() {
    let output = roci(&["devices", "--json"]);
    assert_code(&output, 0);
    let value = json(&output, "roci.devices");
    let drivers = value["drivers"].as_array().expect("a list");
    let cpu = drivers.iter().find(|driver| driver["driver"] == "cpu").expect("the CPU is always there");
    assert_eq!(cpu["error"], Value::Null);
    let uri = cpu["devices"][0]["uri"].as_str().expect("a URI");
    assert!(cpu["devices"][0]["memory_bytes"].as_u64().expect("a number") > 0);
    assert_code(&roci(&["demo", "fill", "--quick", "--device", uri]), 0);
    assert!(stdout(&roci(&["devices"])).lines().any(|line| line.starts_with(&format!("{uri} "))));
}

#[test]
fn the_null_device_is_listed_only_on_request() {
    assert!(!stdout(&roci(&["devices"])).contains("null"));
    assert!(stdout(&roci(&["devices", "--all"])).contains("null://GPU-"));
}

#[test]
fn every_kernel_is_right_on_the_cpu() {
    let output = roci(&["demo", "--quick", "--json", "--device", "cpu"]);
    assert_code(&output, 0);
    let value = json(&output, "roci.demo");
    let results = value["results"].as_array().expect("a list");
    // Kernels of language models are tested by models.
    for kernel in roci_kernels::kernels().iter().filter(|kernel| !kernel.name().starts_with("lm_")) {
        assert!(results.iter().any(|result| result["kernel"] == kernel.name()), "{} was not run", kernel.name());
    }
    for result in results {
        assert_eq!(result["status"], "ok", "{result}");
        assert_eq!(result["device"], "cpu");
        assert!(result["seconds"].as_f64().expect("a number") > 0.0);
    }
}

#[test]
fn the_null_device_is_wrong_in_every_row() {
    let output = roci(&["demo", "--quick", "--json", "--device", "null"]);
    assert_code(&output, 1);
    for result in json(&output, "roci.demo")["results"].as_array().expect("a list") {
        assert_eq!(result["status"], "wrong", "{result}");
        // The output was never written: poison as a float or as a word.
        let got = &result["wrong"]["got"];
        assert!(got.is_null() || got.as_f64() == Some(u32::MAX.into()), "{result}");
    }
    let output = roci(&["demo", "--quick", "softmax", "--device", "null"]);
    assert_code(&output, 1);
    assert!(stdout(&output).contains("wrong 16027 of 16027, worst at 0: got NaN"), "{}", stdout(&output));
    assert_eq!(stderr(&output), "0 of 1 results are correct\n");
}

#[test]
fn a_wrong_device_does_not_affect_others() {
    let output = roci(&["demo", "--quick", "copy", "--json", "-d", "null", "-d", "cpu"]);
    assert_code(&output, 1);
    let value = json(&output, "roci.demo");
    assert_eq!((&value["results"][0]["status"], &value["results"][1]["status"]), (&"wrong".into(), &"ok".into()));
}

#[test]
fn a_device_that_times_out_is_lost_and_not_used_again() {
    let output = roci(&["demo", "matmul", "--timeout", "0.000001", "--json", "--device", "cpu"]);
    assert_code(&output, 4);
    let value = json(&output, "roci.demo");
    assert_eq!((&value["results"][0]["status"], &value["results"][1]["status"]), (&"failed".into(), &"not-run".into()));
    let error = value["results"][0]["error"].as_str().expect("text");
    assert!(error.contains("cpu is lost: a submission did not end within 0.000 s"), "{error}");
}

#[test]
fn a_profile_shows_runs_and_their_times() {
    let output = roci(&["demo", "--quick", "--profile", "fill", "copy", "-d", "cpu", "-d", "null"]);
    assert_code(&output, 1);
    let text = stdout(&output);
    let busy = text.lines().find(|line| line.starts_with("cpu: busy for ")).expect("a line for the device");
    assert!(busy.ends_with(" %)"), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name) && line.contains(" dispatch "));
    assert!(row("fill").is_some() && row("copy").is_some(), "{text}");
    assert!(stderr(&output).contains("null is not profiled: it has no timestamps"), "{}", stderr(&output));
    // Without `--profile`.
    assert!(!stdout(&roci(&["demo", "--quick", "fill", "-d", "cpu"])).contains("busy for"));
}

#[test]
fn a_search_path_without_a_library_is_reported_with_the_reason() {
    let paths = "/nowhere/at/all:/dev/null";
    for arguments in [
        ["--amdgpu-libhsa-search-path", paths, "devices", "--json"],
        ["devices", "--json", "--amdgpu-libhsa-search-path", paths],
    ] {
        let output = roci(&arguments);
        assert_code(&output, 0);
        let value = json(&output, "roci.devices");
        let drivers = value["drivers"].as_array().expect("a list");
        let amdgpu = drivers.iter().find(|driver| driver["driver"] == "amdgpu").expect("it is always there");
        // A machine with an AMD GPU has a library elsewhere.
        let Some(error) = amdgpu["error"].as_str() else {
            roci_testkit::absent("a machine without libhsa, for the error of its search");
            return;
        };
        assert!(error.contains("/nowhere/at/all (given search path): does not exist"), "{error}");
        assert!(error.contains("/dev/null (given search path): "), "{error}");
    }
}

#[test]
fn auto_prints_its_choice() {
    let output = roci(&["demo", "--quick", "fill", "--device", "auto"]);
    assert_code(&output, 0);
    assert!(stderr(&output).starts_with("auto: cpu, "), "{}", stderr(&output));
    let output = command(&["demo", "--quick", "fill"]).env("ROCI_DEVICE", "auto").output().expect("it runs");
    assert!(stderr(&output).starts_with("auto: cpu, "), "{}", stderr(&output));
    let output = roci(&["demo", "--quick", "fill", "--quiet", "--device", "auto"]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn invalid_devices_have_a_cause_a_remedy_and_an_exit_code() {
    let demo = |uri: &str| roci(&["demo", "fill", "--quick", "--device", uri]);
    assert_error(&demo("cpu:0,"), 2, "ends with a comma", "one comma between two devices; devices are: cpu");
    assert_error(&demo("cpu:7"), 3, "there is no device 7", "devices are: cpu");
    assert_error(&demo("cpu:99999999999"), 3, "out of range", "devices are: cpu");
    assert_error(
        &demo("toaster"),
        3,
        "there is no driver `toaster`",
        "vulkan, opencl, cpu, emu, null, auto; devices are: ",
    );
    assert_error(&demo("cpu?speed=11"), 2, "no parameter `speed`", "parameters are: threads; devices are: cpu");
    assert_error(&demo("cpu?threads=0"), 2, "`threads` is `0`", "set `threads` to a number from 1 to");
    assert_error(&demo("auto:0"), 2, "takes no device and no parameters", "write `auto` alone");
}

#[test]
fn an_invalid_device_of_the_environment_names_the_variable() {
    let demo = |uri: &str| {
        command(&["demo", "fill", "--quick"]).env("ROCI_DEVICE", uri).output().expect("the binary was built")
    };
    for (uri, code, cause, remedy) in [
        ("cpu:0,", 2, "the device list ends with a comma", "devices are: cpu; set or unset ROCI_DEVICE"),
        ("cpu:7", 3, "there is no device 7", "devices are: cpu; set or unset ROCI_DEVICE"),
        ("auto:0", 2, "takes no device and no parameters", "set or unset ROCI_DEVICE"),
    ] {
        assert_error(&demo(uri), code, "error: ROCI_DEVICE: device `", remedy);
        assert_error(&demo(uri), code, cause, remedy);
    }
    // The command line overrides the variable.
    let output = command(&["demo", "--device", "cpu:8"]).env("ROCI_DEVICE", "cpu:7").output().expect("it runs");
    assert_error(&output, 3, "error: device `cpu://8`", "devices are: cpu");
    assert!(!stderr(&output).contains("ROCI_DEVICE"));
}

#[test]
fn an_unknown_kernel_is_a_usage_error_that_lists_the_kernels() {
    assert_error(&roci(&["demo", "fft"]), 2, "`fft`", "matmul_f32");
}

#[test]
fn env_lists_variables_and_values() {
    let output = command(&["env", "--json"]).env("ROCI_TIMEOUT", "5").output().expect("it runs");
    assert_code(&output, 0);
    let value = json(&output, "roci.env");
    let variables = value["variables"].as_array().expect("a list");
    let value_of = |name: &str| {
        let variable = variables.iter().find(|variable| variable["name"] == name);
        variable.expect("it is declared")["value"].clone()
    };
    assert_eq!((value_of("ROCI_TIMEOUT"), value_of("ROCI_DEVICE")), ("5".into(), Value::Null));
}

#[test]
fn an_invalid_timeout_has_a_cause_and_a_remedy() {
    let output = command(&["devices"]).env("ROCI_COMPILE_TIMEOUT", "long").output().expect("it runs");
    assert_error(
        &output,
        2,
        "ROCI_COMPILE_TIMEOUT is `long`, which is not a positive number",
        "or unset it (default: 600)",
    );
    for wrong in ["soon", "0", "-5", "inf", "NaN", "30s"] {
        for verb in [&["devices"][..], &["demo", "fill", "--quick", "--timeout", "5"]] {
            let output = command(verb).env("ROCI_TIMEOUT", wrong).output().expect("it runs");
            let cause = format!("ROCI_TIMEOUT is `{wrong}`, which is not a positive number of seconds");
            assert_error(&output, 2, &cause, "set ROCI_TIMEOUT to a positive number of seconds, or unset it");
        }
        assert_code(&command(&["env"]).env("ROCI_TIMEOUT", wrong).output().expect("it runs"), 0);
    }
    for fine in ["", "0.5", "1e9"] {
        assert_code(&command(&["devices"]).env("ROCI_TIMEOUT", fine).output().expect("it runs"), 0);
    }
    use std::os::unix::ffi::OsStrExt;
    let broken = std::ffi::OsStr::from_bytes(b"3\xff0");
    let output = command(&["devices"]).env("ROCI_TIMEOUT", broken).output().expect("it runs");
    assert_error(&output, 2, "ROCI_TIMEOUT is `3\u{fffd}0`", "unset it");
}

#[test]
fn color_is_off_in_pipes_and_on_by_request() {
    let escapes = |arguments: &[&str], variable: Option<&str>| {
        let mut command = command(arguments);
        command.envs(variable.map(|name| (name, "1")));
        let output = command.output().expect("it runs");
        (stdout(&output) + &stderr(&output)).contains('\u{1b}')
    };
    let demo = ["demo", "fill", "--quick"];
    assert!(!escapes(&demo, None));
    assert!(escapes(&demo, Some("FORCE_COLOR")));
    assert!(escapes(&["demo", "fill", "--quick", "--color", "always"], Some("NO_COLOR")));
    assert!(!escapes(&["demo", "fill", "--quick", "--color", "never"], Some("FORCE_COLOR")));
    assert!(!escapes(&["--help"], None));
    assert!(escapes(&["--help"], Some("FORCE_COLOR")));
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = roci(&["completions", shell]);
        assert_code(&output, 0);
        assert!(stdout(&output).contains("devices"), "{shell}");
    }
}

#[test]
fn man_pages_document_exit_status_and_environment() {
    let output = roci(&["man"]);
    assert_code(&output, 0);
    for part in [".SH \"EXIT STATUS\"", "ROCI_TIMEOUT", "roci\\-demo(1)"] {
        assert!(stdout(&output).contains(part), "{part} is not in\n{}", stdout(&output));
    }
    let folder = std::env::temp_dir().join(format!("roci-man-{}", std::process::id()));
    let output = roci(&["man", folder.to_str().expect("a plain name")]);
    let written = std::fs::read_to_string(folder.join("roci-demo.1"));
    std::fs::remove_dir_all(&folder).expect("it was made");
    assert_code(&output, 0);
    let page = written.expect("each verb has a page");
    for part in ["roci demo matmul softmax", ".SH EXAMPLES", "\\-\\-device"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child =
        command(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 0);
    assert_eq!(stderr(&output), "");
}

/// Verifies routes in child processes and returns their reports.
fn verified(arguments: &[&str], code: i32) -> Vec<Value> {
    let output = roci(&[&["verify-route", "--in-children", "--json"], arguments].concat());
    assert_code(&output, code);
    json(&output, "roci.verify")["routes"].as_array().expect("a list").clone()
}

#[test]
fn routes_are_verified_in_child_processes() {
    let routes = verified(&["cpu", "emu://gfx1013", "cpu:7"], 1);
    for route in &routes[..2] {
        assert_eq!(route["status"], "right", "{route}");
        let checks = route["checks"].as_array().expect("a list");
        assert!(checks.len() > 8 && checks.iter().all(|check| check["status"] != "fail"), "{route}");
    }
    assert_eq!((&routes[1]["kind"], &routes[2]["status"]), (&"emulated GPU".into(), &"not-opened".into()));
    assert!(routes[2]["error"].as_str().is_some_and(|error| error.contains("no device 7")), "{}", routes[2]);
}

#[test]
fn a_vulkan_route_is_verified() {
    let drivers = json(&roci(&["devices", "--json"]), "roci.devices");
    let vulkan = drivers["drivers"].as_array().expect("a list").iter().find(|one| one["driver"] == "vulkan").cloned();
    let uri = vulkan.and_then(|vulkan| vulkan["devices"][0]["uri"].as_str().map(str::to_owned));
    let Some(uri) = roci_testkit::require("vulkan", uri.ok_or("no device")) else { return };
    let routes = verified(&[&uri], 0);
    assert_eq!(routes[0]["status"], "right", "{}", routes[0]);
    let dot = routes[0]["checks"].as_array().expect("a list").iter().find(|check| check["name"] == "dot").cloned();
    assert_eq!(dot.expect("it is made")["status"], "pass", "the device compiles its kernels");
}

#[test]
fn crashes_and_hangs_of_routes_are_reported() {
    let crashed = &verified(&["--fault", "crash", "cpu"], 1)[0];
    assert_eq!((&crashed["status"], &crashed["signal"]), (&"died".into(), &6.into()), "{crashed}");
    assert!(crashed["check"].as_str().is_some_and(|check| check.starts_with("matmul_f16")), "{crashed}");
    assert_eq!(crashed["checks"][0]["status"], "pass", "earlier successes are reported too");
    let hung = &verified(&["--fault", "hang", "--timeout", "2", "cpu"], 1)[0];
    assert_eq!((&hung["status"], &hung["killed"]), (&"hangs".into(), &true.into()), "{hung}");
}

fn matrix(arguments: &[&str], code: i32) -> Value {
    let output = roci(&[&["matrix", "--json", "--device", "cpu"], arguments].concat());
    assert_code(&output, code);
    json(&output, "roci.matrix")
}

#[test]
fn the_matrix_runs_selected_probes_and_reports_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("matrix.sqlite");
    let file = file.to_str().expect("a plain path");
    let value = matrix(&["--only", "add", "--database", file], 0);
    let results = value["results"].as_array().expect("a list");
    assert!(results.len() >= 3 && results.iter().all(|one| one["outcome"] == "works"), "{value}");
    assert!(results.iter().any(|one| one["probe"] == "add, broadcast"), "{value}");
    assert_eq!(value["changes"], serde_json::json!([]));
    // Another outcome in the last run.
    let page = folder.path().join("matrix.html");
    let arguments = ["--only", "add", "--database", file, "--html", page.to_str().expect("a plain path")];
    let again = matrix(&arguments, 0);
    assert_eq!(again["changes"], serde_json::json!([]), "nothing has changed");
    assert!(std::fs::read_to_string(&page).is_ok_and(|page| page.trim_end().ends_with("</html>")));

    std::fs::write(file, "no database".repeat(500)).expect("it can be written");
    let refused = roci(&["matrix", "--device", "cpu", "--only", "add", "--database", file]);
    assert_error(&refused, 2, "it is damaged, or not an SQLite file", "--database");
    assert_error(&roci(&["matrix", "--only", "nonsense"]), 2, "no probe has `nonsense`", "roci matrix --list");
    let file = folder.path().join("other.sqlite");
    let file = file.to_str().expect("a plain path");
    for (device, reason) in [("nope", "no driver `nope`"), ("cpu:7", "no device 7")] {
        let absent = roci(&["matrix", "--device", device, "--only", "add, broadcast", "--database", file]);
        assert_error(&absent, 3, reason, "devices are: ");
    }
}

#[test]
fn a_probe_that_crashes_or_hangs_does_not_affect_others() {
    let value = matrix(&["--faults", "--only", "on purpose", "--only", "mm, larger", "--timeout", "4"], 1);
    let outcome = |name: &str| {
        let results = value["results"].as_array().expect("a list");
        results.iter().find(|one| one["probe"] == name).cloned().unwrap_or_else(|| panic!("{name} of {value}"))
    };
    let crash = outcome("crash on purpose");
    assert_eq!(crash["outcome"], "crashes");
    assert!(crash["detail"].as_str().is_some_and(|detail| detail.contains("signal 6")), "{crash}");
    let panic = outcome("panic on purpose");
    assert!(panic["detail"].as_str().is_some_and(|detail| detail.ends_with("on purpose")), "{panic}");
    assert_eq!(
        (&outcome("hang on purpose")["outcome"], &outcome("mm, larger")["outcome"]),
        (&"hangs".into(), &"works".into())
    );
}

/// A model of three nodes with symbolic batch and width: a convolution, `Relu`, and `NonZero`.
fn small_model() -> String {
    format!("{}/tests/models/small.onnx", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn inspect_shows_a_model_without_running_it() {
    let model = small_model();
    let output = roci(&["inspect", &model]);
    assert_code(&output, 0);
    let text = stdout(&output);
    for part in ["[batch, 1, 8, width]", "[batch, 2, 4, ceil(width/2)]", "with batch=1 width=1", "depends on data"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let value = json(&roci(&["inspect", &model, "--json", "--dim", "batch=3", "--dim", "width=10"]), "roci.inspect");
    assert_eq!(value["outputs"][0]["shape"], "[3, 2, 4, 5]");
    assert_eq!(value["multiply_adds"], 3 * 2 * 4 * 5 * 9);
    assert_eq!(value["graph"][0]["runs"]["vulkan"]["location"], "kernels");
    assert_eq!(value["graph"][2]["runs"]["amdgpu"]["location"], "host");
    // A run takes the planned memory.
    let run = json(&roci(&["run", &model, "--json", "-d", "cpu", "--dim", "batch=3", "--dim", "width=10"]), "roci.run");
    assert_eq!(run["outputs"][0]["shape"], serde_json::json!([3, 2, 4, 5]));
    assert_eq!(run["constant_bytes"], value["devices"][0]["constant_bytes"]);
    assert_eq!(run["arena_bytes"], value["devices"][0]["arena_bytes"]);
}

/// CPU-only kernels pad images and reorder weights, which takes more memory than on other devices.
#[test]
fn the_planned_memory_is_that_of_a_run_on_the_cpu() {
    let model = format!("{}/tests/models/blocks.onnx", env!("CARGO_MANIFEST_DIR"));
    for batch in ["batch=1", "batch=4"] {
        let report = json(&roci(&["inspect", &model, "--json", "--dim", batch]), "roci.inspect");
        let run = json(&roci(&["run", &model, "--json", "-d", "cpu", "--dim", batch]), "roci.run");
        let cpu = &report["devices"][0];
        assert_eq!(cpu["device"], "cpu");
        for key in ["constant_bytes", "arena_bytes"] {
            assert_eq!(cpu[key], run[key], "{key} of {batch}");
        }
        let total = cpu["constant_bytes"].as_u64().zip(cpu["arena_bytes"].as_u64()).map(|(a, b)| a + b);
        assert_eq!(cpu["total_bytes"].as_u64(), total);
    }
}

#[test]
fn invalid_models_and_inputs_are_errors_of_one_line() {
    let (folder, model) = (tempfile::tempdir().expect("a folder"), small_model());
    let whole = std::fs::read(&model).expect("the model is there");
    let file = folder.path().join("file");
    let path = file.to_str().expect("a plain path");
    let refused = |bytes: &[u8], cause: &str| {
        std::fs::write(&file, bytes).expect("it can be written");
        assert_error(&roci(&["inspect", path]), 2, cause, "");
        assert_error(&roci(&["run", path, "--device", "cpu"]), 2, cause, "");
    };
    refused(b"", "not an ONNX model");
    refused(b"\x89PNG no model", "not an ONNX model");
    refused(&whole[..whole.len() / 2], "");
    let unknown: Vec<u8> = whole.iter().map(|&byte| if byte == b'R' { b'Q' } else { byte }).collect();
    refused(&unknown, "node `relu` (Qelu, opset 17): this operation is not supported");
    assert_error(&roci(&["inspect", "/dev/zero"]), 2, "exceeds the limit of 256 MiB", "");
    assert_error(&roci(&["inspect", "/nowhere.onnx"]), 2, "cannot read /nowhere.onnx", "path");

    let run = |arguments: &[&str]| roci(&[&["run", &model, "--device", "cpu"], arguments].concat());
    let npy = |kind: &str, shape: &str, size: usize| {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{header:<117}\n");
        let length = u16::try_from(header.len()).expect("it is short").to_le_bytes();
        let bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &vec![0; size]].concat();
        std::fs::write(&file, bytes).expect("it can be written");
        format!("x={path}")
    };
    assert_error(&run(&["--input", "z=random"]), 2, "no input of that name", "its inputs are: x");
    let bitmap = folder.path().join("x.bmp");
    std::fs::write(&bitmap, b"BM and more").expect("it can be written");
    let given = format!("x={}", bitmap.display());
    assert_error(&run(&["--input", &given]), 2, "is a BMP, neither a NumPy array (.npy) nor a PNG or JPEG", "PNG");
    assert_error(&run(&["--dim", "depth=2"]), 2, "`depth`", "batch, width");
    assert_error(&run(&["--dim", "batch=many"]), 2, "NAME=SIZE", "");
    let absurd = ["--dim", "batch=4000000", "--dim", "width=4000000"];
    assert_error(&run(&absurd), 2, "[4000000, 1, 8, 4000000]", "");
    assert_code(&roci(&[&["inspect", &model][..], &absurd].concat()), 0);
    let given = npy("<f8", "(1, 1, 8, 8)", 512);
    assert_error(&run(&["--input", &given]), 2, "has elements of type f64, and the model requires f32", "astype");
    let given = npy("<f4", "(1, 3, 8, 8)", 768);
    assert_error(&run(&["--input", &given]), 2, "[1, 3, 8, 8], and the model requires [batch, 1, 8, width]", "reshape");
    let none = npy("<f4", "(0, 1, 8, 8)", 0);
    let value = json(&run(&["--json", "--input", &none]), "roci.run");
    assert_eq!(value["outputs"][0]["shape"], serde_json::json!([0, 2, 4, 4]));
}
