//! `roci serve` as a process, with a synthetic model, over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use roci_lm::synthetic::talking;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let bytes = talking().bytes().expect("it can be made");
    std::fs::write(folder.path().join("model.gguf"), bytes).expect("there is room");
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.arg("serve").args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server that runs; it is killed when dropped.
struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the binary was built for this test");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is a pipe")).read_line(&mut line).expect("it is read");
        let address = line.trim_end().strip_prefix("http://").unwrap_or_default().to_owned();
        let mut serving = Self { child, address };
        if serving.address.is_empty() {
            panic!("no address in `{line}`: {}", serving.stderr());
        }
        serving
    }

    /// Its standard error until it exits.
    fn stderr(&mut self) -> String {
        let mut output = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut output).expect("it is read");
        }
        output
    }

    /// Sends a request and returns status and body of the response.
    fn request(&self, method: &str, path: &str, body: &str, more: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("there is an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        let process = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        kill_process(process, signal).expect("it runs");
        let stderr = self.stderr();
        (self.child.wait().expect("it ends").code(), stderr)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_model_is_served_until_a_signal() {
    let folder = folder();
    for signal in [Signal::TERM, Signal::INT] {
        let serving = ServerProcess::start(&mut command(
            folder.path(),
            &["model.gguf", "--port", "0", "--alias", "mine", "--context", "256", "--parallel", "2"],
        ));
        assert_eq!(serving.request("GET", "/health", "", "").0, 200);
        let (_, models) = serving.request("GET", "/v1/models", "", "");
        let model = &json(&models)["data"][0];
        assert_eq!((&model["id"], &model["context_length"]), (&"mine".into(), &256.into()));
        assert_eq!(model["architecture"], "llama");
        let question = r#"{"messages":[{"role":"user","content":"Hello"}],"max_tokens":5,"seed":1}"#;
        let (status, answer) = serving.request("POST", "/v1/chat/completions", question, "");
        assert_eq!(status, 200, "{answer}");
        assert!(json(&answer)["usage"]["completion_tokens"].as_u64() > Some(0), "{answer}");
        assert_eq!(serving.request("POST", "/v1/chat/completions", "{", "").0, 400);
        let address = serving.address.clone();
        let (code, stderr) = serving.end(signal);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(
            stderr.contains("mine on ") && stderr.contains("context of 256 tokens, 2 sequences in parallel"),
            "{stderr}"
        );
        assert!(stderr.contains(&format!("http://{address}/v1")), "{stderr}");
        assert!(!stderr.contains("warning"), "{stderr}");
    }
}

#[test]
fn an_api_key_is_required_and_public_servers_without_one_print_a_warning() {
    let folder = folder();
    let arguments = ["model.gguf", "--port", "0", "--host", "0.0.0.0"];
    let serving = ServerProcess::start(command(folder.path(), &arguments).env("ROCI_API_KEY", "from-environment"));
    let key = |key: &str| serving.request("GET", "/v1/models", "", &format!("Authorization: Bearer {key}\r\n")).0;
    assert_eq!((key("from-environment"), key("other")), (200, 401));
    let (_, stderr) = serving.end(Signal::TERM);
    assert!(!stderr.contains("warning") && !stderr.contains("from-environment"), "{stderr}");
    let open = ServerProcess::start(&mut command(folder.path(), &arguments));
    let (_, stderr) = open.end(Signal::TERM);
    assert!(stderr.contains("warning: no API key is set"), "{stderr}");
}

#[track_caller]
fn fail(output: &Output, cause: &str, remedy: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(cause), "{stderr}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(remedy), "{stderr}");
}

#[test]
fn invalid_settings_are_errors_with_a_remedy() {
    let folder = folder();
    let roci =
        |arguments: &[&str]| command(folder.path(), arguments).output().expect("the binary was built for this test");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it has an address").port().to_string();
    fail(&roci(&["model.gguf", "--port", &port]), "cannot listen on 127.0.0.1", "--port");
    // The address is checked before the model is loaded.
    fail(&roci(&["absent.gguf", "--port", &port]), "cannot listen on 127.0.0.1", "--port");
    fail(&roci(&["model.gguf", "--host", "no such host"]), "`no such host`", "--host");
    fail(&roci(&["model.gguf", "--port", "0", "--cors", "here"]), "`here` is not a valid origin", "https://");
    fail(&roci(&["model.gguf", "--port", "0", "--api-key", "a b"]), "the API key", "without spaces");
    fail(&roci(&["absent.gguf", "--port", "0"]), "absent.gguf", "");
}

#[test]
fn env_masks_the_api_key() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
        let output = command.args(arguments).env_clear().env("ROCI_API_KEY", "hunter2").output();
        String::from_utf8(output.expect("the binary was built for this test").stdout).expect("output is UTF-8")
    };
    for arguments in [&["env"][..], &["env", "--json"]] {
        let table = run(arguments);
        assert!(table.contains("ROCI_API_KEY") && table.contains("(set)") && !table.contains("hunter2"), "{table}");
    }
}
