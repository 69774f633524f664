//! Images as input of language models: `run`, `chat` and `serve`, and errors.
//!
//! Model and towers are synthetic. The generated text is random, but equal for equal images.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use roci_lm::synthetic::{talking, talking_gemma};
use roci_vision::synthetic::{Case, image, towers};
use serde_json::Value;
use tempfile::TempDir;

/// A PNG file without compression.
fn png(width: usize, height: usize) -> Vec<u8> {
    let pixels = image(width, height).concat();
    let lines = pixels.chunks_exact(3 * width);
    let raw: Vec<u8> = lines.flat_map(|line| std::iter::once(&0).chain(line)).copied().collect();
    // One stored block of at most 64 KiB.
    let length = u16::try_from(raw.len()).expect("the image is small");
    let (a, b) = raw.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let mut data = vec![0x78, 0x01, 1];
    data.extend(length.to_le_bytes());
    data.extend((!length).to_le_bytes());
    data.extend(&raw);
    data.extend((b << 16 | a).to_be_bytes());
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
        })
    };
    let chunk = |kind: &[u8], data: &[u8]| {
        let body = [kind, data].concat();
        [&(data.len() as u32).to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
    };
    let sizes = [width, height].map(|size| (size as u32).to_be_bytes()).concat();
    let header = [&sizes[..], &[8, 2, 0, 0, 0]].concat();
    [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &chunk(b"IDAT", &data), &chunk(b"IEND", &[])].concat()
}

fn tower(name: &str) -> Case {
    towers().into_iter().find(|case| case.name == name).expect("it exists")
}

/// A folder with a model, towers and images.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("there is room");
    write("model.gguf", &talking().bytes().expect("it can be made"));
    write("gemma4.gguf", &talking_gemma().bytes().expect("it can be made"));
    for name in ["pixtral", "gemma3", "qwen2vl", "smolvlm", "qwen3vl-deepstack", "gemma4v"] {
        write(&format!("{name}.gguf"), &tower(name).bytes().expect("it can be made"));
    }
    write("cat.png", &png(48, 32));
    write("dog.png", &png(32, 48));
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.args(arguments).arg("--device=cpu").current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, more: &[&str]) -> Output {
    run_model(folder, "model.gguf", more)
}

fn run_model(folder: &Path, model: &str, more: &[&str]) -> Output {
    let arguments = [&["run", model, "-p", "Once", "-n", "8", "--seed", "1", "--json"], more].concat();
    command(folder, &arguments).output().expect("the binary was built for this test")
}

#[track_caller]
fn answer(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("valid JSON")
}

#[track_caller]
fn fail(output: &Output, cause: &str, remedy: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{stderr}");
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(cause), "{stderr}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(remedy), "{stderr}");
}

#[test]
fn the_answer_depends_on_the_image() {
    let folder = folder();
    let folder = folder.path();
    for (model, tower, rows) in [
        ("model.gguf", "pixtral.gguf", 27),
        ("model.gguf", "gemma3.gguf", 16),
        ("model.gguf", "smolvlm.gguf", 28),
        ("gemma4.gguf", "gemma4v.gguf", 70),
    ] {
        let run = |folder: &Path, more: &[&str]| run_model(folder, model, more);
        let text = answer(&run(folder, &[]));
        let cat = answer(&run(folder, &["--mmproj", tower, "--image", "cat.png"]));
        let dog = answer(&run(folder, &["--mmproj", tower, "--image", "dog.png"]));
        let both = answer(&run(folder, &["--mmproj", tower, "--image", "cat.png", "--image", "dog.png"]));
        let tokens = |answer: &Value| answer["prompt_tokens"].as_u64().expect("a number");
        assert!(tokens(&cat) >= tokens(&text) + rows, "{tower}: {cat} {text}");
        assert!(tokens(&both) > tokens(&cat) + rows / 2, "{tower}");
        assert_ne!(cat["text"], text["text"], "{tower}");
        assert_ne!(cat["text"], dog["text"], "{tower}");
        assert_eq!(answer(&run(folder, &["--mmproj", tower, "--image", "cat.png"]))["text"], cat["text"], "{tower}");
    }
}

#[test]
fn a_chat_keeps_its_images() {
    let folder = folder();
    let chat = |input: &str| {
        let arguments = ["chat", "model.gguf", "--mmproj", "pixtral.gguf", "-n", "6", "--seed", "1", "--stats"];
        let mut command = command(folder.path(), &arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary was built for this test");
        child.stdin.take().expect("it is a pipe").write_all(input.as_bytes()).expect("it is read");
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        (String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    };
    let (with, notes) = chat("/image cat.png\nOnce\nMore\n/save chat.json\n/image none.png\n");
    assert!(notes.contains("the next message includes this image (27 tokens)"), "{notes}");
    assert!(notes.contains("none.png"), "{notes}");
    let (without, _) = chat("Once\nMore\n");
    assert_ne!(with, without);
    let saved = std::fs::read_to_string(folder.path().join("chat.json")).expect("it was written");
    let saved: Value = serde_json::from_str(&saved).expect("valid JSON");
    let parts = &saved[0]["content"];
    assert_eq!(parts[0]["image_url"]["url"], "file://cat.png", "{saved}");
    assert_eq!((&parts[1]["text"], &saved[2]["content"]), (&"Once".into(), &"More".into()), "{saved}");
}

#[test]
fn damaged_and_wrong_files_are_one_line() {
    let folder = folder();
    let folder = folder.path();
    let image = |file: &str| run(folder, &["--mmproj", "pixtral.gguf", "--image", file]);
    let whole = std::fs::read(folder.join("cat.png")).expect("it is there");
    std::fs::write(folder.join("half.png"), &whole[..200]).expect("there is room");
    std::fs::write(folder.join("text.png"), "no image").expect("there is room");
    fail(&image("half.png"), "half.png: this PNG cannot be read", "PNG or JPEG");
    fail(&image("text.png"), "not a PNG or JPEG file", "PNG or JPEG");
    fail(&image("none.png"), "none.png", "path");
    let tower = |file: &str| run(folder, &["--mmproj", file, "--image", "cat.png"]);
    let whole = std::fs::read(folder.join("pixtral.gguf")).expect("it is there");
    std::fs::write(folder.join("half.gguf"), &whole[..whole.len() / 2]).expect("there is room");
    let write = |name: &str, case: Case| {
        std::fs::write(folder.join(name), case.bytes().expect("it can be made")).expect("there is room");
    };
    write("other.gguf", self::tower("pixtral").with("clip.projector_type", "resampler".into()));
    write("lacking.gguf", self::tower("pixtral").without("mm.1.weight"));
    write("huge.gguf", self::tower("pixtral").with("clip.vision.patch_size", u32::MAX.into()));
    fail(&tower("half.gguf"), "half.gguf", "");
    fail(&tower("other.gguf"), "projector type `resampler` is not supported", "supported are gemma3");
    fail(&tower("lacking.gguf"), "mm.1.weight", "");
    fail(&tower("huge.gguf"), "clip.vision.patch_size", "download");
    fail(&tower("model.gguf"), "architecture `llama`", "mmproj");
    fail(&tower("qwen2vl.gguf"), "three rotary positions", "mmproj");
    fail(&tower("qwen3vl-deepstack.gguf"), "192", "mmproj");
}

struct ServerProcess(Child, String);

impl ServerProcess {
    fn start(folder: &Path, more: &[&str]) -> Self {
        let arguments = [&["serve", "model.gguf", "--port", "0"], more].concat();
        let mut child = command(folder, &arguments).spawn().expect("the binary was built for this test");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is a pipe")).read_line(&mut line).expect("it is read");
        let address = line.trim_end().strip_prefix("http://").expect("an address").to_owned();
        Self(child, address)
    }

    /// Asks about an image. Returns status and answer, or the error.
    fn ask(&self, url: &str) -> (u16, String) {
        let image = format!(r#"{{"type":"image_url","image_url":{{"url":"{url}","detail":"low"}}}}"#);
        let (status, body) = self.send(&[r#"{"type":"text","text":"Look:"}"#, &image]);
        let text = body["choices"][0]["message"]["content"].as_str().or(body["error"]["message"].as_str());
        (status, text.unwrap_or_default().to_owned())
    }

    /// Sends a message of these parts. Returns the status and the body of the answer.
    fn send(&self, parts: &[&str]) -> (u16, Value) {
        let parts = format!("[{}]", parts.join(","));
        let body =
            format!(r#"{{"messages":[{{"role":"user","content":{parts}}}],"max_tokens":12,"seed":1,"temperature":1}}"#);
        let mut stream = TcpStream::connect(&self.1).expect("it listens");
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("there is an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).expect("valid JSON"))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let word = (0..3).fold(0u32, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        let letter = |at: usize| if at <= three.len() { LETTERS[(word >> (18 - 6 * at)) as usize & 63] } else { b'=' };
        [0, 1, 2, 3].map(|at| char::from(letter(at)))
    };
    bytes.chunks(3).flat_map(group).collect()
}

#[test]
fn the_server_takes_data_urls_and_files_below_its_folder() {
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &["--mmproj", "gemma3.gguf", "--media-path", "."]);
    let [cat, dog] = ["cat.png", "dog.png"].map(|name| {
        let bytes = std::fs::read(folder.path().join(name)).expect("it is there");
        server.ask(&format!("data:image/png;base64,{}", base64(&bytes)))
    });
    assert_eq!((cat.0, dog.0), (200, 200), "{cat:?} {dog:?}");
    assert_ne!(cat.1, dog.1);
    assert_eq!(server.ask("file://cat.png"), cat);
    // The URL itself instead of an object, and an image in a part of type `text`.
    let text = r#"{"type":"text","text":"Look:"}"#;
    let (status, body) = server.send(&[text, r#"{"type":"image_url","image_url":"file://cat.png"}"#]);
    assert_eq!((status, body["choices"][0]["message"]["content"].as_str()), (200, Some(cat.1.as_str())), "{body}");
    let (status, body) = server.send(&[r#"{"type":"text","text":"Look:","image_url":{"url":"file://cat.png"}}"#]);
    let message = body["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 400 && message.contains("image_url` is in a part of type `text`"), "{body}");
    for (url, part) in [
        ("https://example.org/cat.png", "an https URL"),
        ("file://../cat.png", "no file below"),
        ("data:image/png;base64,Y2F0", "not a PNG or JPEG file"),
    ] {
        let (status, message) = server.ask(url);
        assert_eq!(status, 400, "{url}");
        assert!(message.contains(part) && message.contains("image_url.url"), "{url}: {message}");
    }
}

#[test]
fn texts_before_and_after_an_image_stay_in_their_order() {
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &["--mmproj", "gemma3.gguf", "--media-path", "."]);
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let (cat, dog) = (r#"{"type":"image_url","image_url":{"url":"file://cat.png"}}"#, "file://dog.png");
    let dog = format!(r#"{{"type":"image_url","image_url":{{"url":"{dog}"}}}}"#);
    let [first, second] = ["abc", "defgh"].map(text);
    let ask = |parts: &[&str]| {
        let (status, body) = server.send(parts);
        assert_eq!(status, 200, "{body}");
        let tokens = body["usage"]["prompt_tokens"].as_u64().expect("a number");
        (tokens, body["choices"][0]["message"]["content"].clone())
    };
    let alone = ask(&[cat]).0;
    let between = ask(&[&first, cat, &second]);
    // The texts have 3 and 5 letters, each a token at least.
    assert!(between.0 >= alone + 8, "{between:?} {alone}");
    let others = [ask(&[&second, cat, &first]), ask(&[cat, &first, &second]), ask(&[&first, &second, cat])];
    for other in &others {
        assert!(other.0 >= alone + 8 && other.1 != between.1, "{other:?} {between:?}");
    }
    let both = ask(&[&first, cat, &second, &dog, &first]).0;
    assert!(both > between.0 + 3 + 16, "{both}");
}

#[test]
fn a_server_without_vision_refuses_images() {
    let folder = folder();
    let server = ServerProcess::start(folder.path(), &[]);
    let (status, message) = server.ask("data:image/png;base64,Y2F0");
    assert_eq!(status, 400);
    assert!(message.contains("--mmproj"), "{message}");
}
