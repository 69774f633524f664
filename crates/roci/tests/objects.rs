//! `roci objects` as a process, on the fixtures of `roci-codeobj`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use roci_testkit::require;
use roci_testkit::tools::Tool;
use serde_json::Value;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../amd/codeobj/fixtures");
    folder.join(name).to_str().expect("a plain name").to_owned()
}

fn objects(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.arg("objects").args(arguments).env_clear().stdin(Stdio::null());
    command.output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Checks the exit code and returns standard output and standard error.
#[track_caller]
fn ended(output: &Output, code: i32) -> (String, String) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{stdout}\nstderr:\n{stderr}");
    (stdout, stderr)
}

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    let value: Value = serde_json::from_str(&ended(output, code).0).expect("one JSON value");
    assert_eq!((&value["schema"], &value["version"]), (&"roci.objects".into(), &2.into()));
    value
}

/// A temporary folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("roci-objects-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary files can be written");
        Self(path)
    }

    fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain name").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_row_has_the_resource_usage_of_a_kernel() {
    let (stdout, stderr) = ended(&objects(&[&fixture("gfx1010-v6.co")]), 0);
    assert_eq!(stderr, "");
    let lines: Vec<Vec<_>> = stdout.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert!(stdout.lines().next().is_some_and(|line| line.ends_with("gfx1010-v6.co: code object, 1 code object")));
    let titles = "WHERE TARGET VERSION KERNEL VGPRS SGPRS LDS SCRATCH KERNARG WAVE WORKGROUP";
    assert_eq!(lines[0].join(" "), titles);
    assert_eq!(lines[1][..4], ["0x0", "gfx1010:xnack-", "v6", "scale"]);
    assert_eq!(lines[1][6..], ["256", "0", "280", "32", "64x1x1"]);
    assert_eq!((lines[2][3], lines[2][10]), ("gather", "256"));
    assert_eq!(lines.len(), 3);
}

#[test]
fn json_has_the_table_and_more() {
    let value = json(&objects(&["--json", &fixture("fat.so"), &fixture("gfx10-1-generic-v6.co")]), 0);
    let fat = &value["files"][0];
    assert_eq!(fat["kind"], "host ELF file");
    let objects = fat["objects"].as_array().expect("a list");
    assert!(objects.len() == 4 && objects.iter().all(|object| object["location"].is_string()), "{fat}");
    let object = &fat["objects"][1];
    assert_eq!(object["target"], "gfx90a:sramecc+:xnack-");
    assert_eq!(object["entry_id"], "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
    assert_eq!((&object["section"], &object["compression"]), (&".hip_fatbin".into(), &"zstd".into()));
    assert_eq!(
        (&object["bundle"], &object["entry"], &object["code_object_version"]),
        (&0.into(), &2.into(), &4.into())
    );
    let kernel = &object["kernels"][0];
    assert_eq!(
        (&kernel["name"], &kernel["lds_bytes"], &kernel["wave_size"]),
        (&"scale".into(), &256.into(), &64.into())
    );
    assert_eq!(kernel["arguments"][2]["value_kind"], "by_value");
    let generic = &value["files"][1]["objects"][0];
    assert_eq!((&generic["target"], &generic["generic_version"]), (&"gfx10-1-generic".into(), &1.into()));
    assert_eq!(generic["covers"][3], "gfx1013");
}

#[test]
fn a_host_file_without_gpu_code_is_not_an_error() {
    let (stdout, stderr) = ended(&objects(&[&fixture("host.so")]), 0);
    assert!(stdout.ends_with("host.so: host ELF file, no AMD GPU code\n"), "{stdout}");
    assert_eq!(stderr, "");
}

#[test]
fn damaged_files_are_errors_of_one_line_and_others_are_listed() {
    let folder = Folder::new("bad");
    let damaged = folder.join("damaged.co");
    let mut bytes = std::fs::read(fixture("gfx1010-v6.co")).expect("it is committed");
    bytes.truncate(3000);
    std::fs::write(&damaged, bytes).expect("the folder is ours");
    let files = [&folder.join("absent"), &fixture("kernels.cl"), &damaged, &fixture("zlib-v1.bundle")];
    let (stdout, stderr) = ended(&objects(&files.map(String::as_str)), 1);
    let errors: Vec<_> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 3, "{stderr}");
    assert!(errors[0].contains("absent") && errors[1].contains("this is not an ELF file"), "{stderr}");
    assert!(errors[2].contains("damaged.co` at 0x0: the ELF file is damaged"), "{stderr}");
    assert!(stderr.contains("hint: files may be code objects"), "{stderr}");
    assert!(stdout.contains("zlib-v1.bundle: offload bundle, 2 code objects"), "{stdout}");

    let value = json(&objects(&[&["--json"][..], &files.map(String::as_str)].concat()), 1);
    let problems: Vec<_> = value["files"].as_array().expect("a list").iter().map(|file| &file["problems"]).collect();
    let counts: Vec<_> = problems.iter().map(|problems| problems.as_array().expect("a list").len()).collect();
    assert_eq!(counts, [1, 1, 1, 0]);
}

#[test]
fn no_file_is_a_usage_error() {
    let (stdout, stderr) = ended(&objects(&[]), 2);
    assert!(stdout.is_empty() && stderr.contains("<FILE>"), "{stderr}");
}

#[test]
fn code_is_extracted_and_nothing_is_overwritten() {
    let folder = Folder::new("extract");
    let out = folder.join("out");
    let (_, stderr) = ended(&objects(&["--extract", &out, &fixture("zstd-v3.bundle")]), 0);
    assert_eq!(stderr.lines().filter(|line| line.starts_with("wrote ")).count(), 2, "{stderr}");
    let read = |name: &str| std::fs::read(Path::new(&out).join(name)).expect(name);
    let original = std::fs::read(fixture("gfx1010-v6.co")).expect("it is committed");
    assert_eq!(read("zstd-v3.bundle-0-gfx1010_xnack-.co"), original);
    assert_eq!(read("zstd-v3.bundle-1-gfx90a_sramecc+_xnack-.co").len(), 5880);

    let (_, stderr) = ended(&objects(&["--extract", &out, &fixture("zstd-v3.bundle")]), 1);
    assert!(stderr.contains("error: cannot write") && stderr.contains("hint: nothing is overwritten"), "{stderr}");
    let blocked = folder.join("file");
    std::fs::write(&blocked, "").expect("the folder is ours");
    let (_, stderr) = ended(&objects(&["--extract", &blocked, &fixture("zstd-v3.bundle")]), 2);
    assert!(stderr.contains("cannot write") && stderr.contains("hint: "), "{stderr}");
}

#[test]
fn an_unknown_kernel_is_a_usage_error_that_lists_the_kernels() {
    let (_, stderr) = ended(&objects(&["--disassemble=nonsense", &fixture("fat.so")]), 2);
    assert!(stderr.ends_with("error: no file has a kernel `nonsense`\nhint: kernels are: gather, scale\n"), "{stderr}");
}

#[test]
fn code_for_unsupported_chips_is_an_error() {
    let (stdout, stderr) = ended(&objects(&["--disassemble", &fixture("gfx90a-v4.co")]), 1);
    assert!(stdout.contains("scale"), "the table is printed anyway");
    assert!(stderr.contains("code for gfx90a:sramecc+:xnack- cannot be disassembled"), "{stderr}");
    assert!(stderr.contains("hint: the disassembler supports gfx1010, "), "{stderr}");
}

#[test]
fn a_disassembly_has_labels_addresses_and_words() {
    let (stdout, _) = ended(&objects(&["--disassemble=gather", &fixture("gfx1010-v6.co")]), 0);
    let start = stdout.lines().position(|line| line.ends_with(" <gather>:")).expect("a label");
    let address =
        u64::from_str_radix(stdout.lines().nth(start).expect("it exists").split(' ').next().expect("a number"), 16);
    let address = address.expect("a number");
    let first = stdout.lines().nth(start + 1).expect("an instruction");
    assert!(first.contains(&format!(" // {address:012X}: ")), "{first}");
    assert!(!stdout.contains("<scale>:"), "only the requested kernel");

    let all = json(&objects(&["--disassemble", "--json", &fixture("gfx1010-v6.co")]), 0);
    let functions = all["files"][0]["objects"][0]["disassembly"].as_array().expect("a list");
    let names: Vec<_> = functions.iter().filter_map(|function| function["name"].as_str()).collect();
    assert!(names.contains(&"scale") && names.contains(&"blend"), "{names:?}");
    let first = &functions.iter().find(|function| function["name"] == "blend").expect("it exists")["lines"][0];
    assert_eq!(first["text"], "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)");
    for function in functions {
        let mut address = function["address"].as_u64().expect("a number");
        for line in function["lines"].as_array().expect("a list") {
            assert_eq!(line["address"], address, "no byte is omitted: {line}");
            address += 4 * line["words"].as_array().expect("a list").len() as u64;
        }
    }
}

/// Address, text and branch target of every instruction in the output of `llvm-objdump`.
fn objdump(path: &str) -> Vec<(u64, String, Option<String>)> {
    let output = Command::new("llvm-objdump-22").args(["-d", path]).output().expect("it was found");
    let listing = text(&output.stdout);
    let instructions = listing.lines().filter_map(|line| line.strip_prefix('\t')?.split_once("//"));
    let parse = |(code, comment): (&str, &str)| {
        let (address, words) = comment.trim().split_once(": ").expect("an address and words");
        let target = words.split_once('<').map(|(_, target)| target.trim_end_matches('>').to_owned());
        (u64::from_str_radix(address, 16).expect("a number"), code.trim().to_owned(), target)
    };
    instructions.map(parse).collect()
}

#[test]
fn disassemblies_match_objdump() {
    let Some(_) = require("llvm-22", Tool::find(&["llvm-objdump-22"])) else { return };
    for name in ["gfx1010-v6.co", "gfx1100-v5.co", "gfx10-1-generic-v6.co"] {
        let theirs = objdump(&fixture(name));
        let value = json(&objects(&["--disassemble", "--json", &fixture(name)]), 0);
        let functions = value["files"][0]["objects"][0]["disassembly"].as_array().expect("a list").iter();
        let lines: Vec<_> = functions.flat_map(|function| function["lines"].as_array().expect("a list")).collect();
        assert!(lines.len() > 100, "{name}: only {} instructions", lines.len());
        for line in lines {
            let address = line["address"].as_u64().expect("a number");
            let (_, code, target) = theirs.iter().find(|theirs| theirs.0 == address).expect("objdump has it too");
            assert_eq!(line["text"], *code, "{name} at {address:x}");
            assert_eq!(line["target"].as_str(), target.as_deref(), "{name} at {address:x}");
        }
    }
}

#[test]
fn the_library_is_listed_and_extracted_like_a_file() {
    let folder = Folder::new("library");
    let output = json(&objects(&["--library", "--json", "--extract", &folder.join("out")]), 0);
    let files = output["files"].as_array().expect("a list");
    assert!(files.len() >= 11, "the project's targets: {output}");
    for file in files {
        let object = &file["objects"][0];
        let names: Vec<_> =
            object["kernels"].as_array().expect("a list").iter().map(|kernel| &kernel["name"]).collect();
        assert!(names.contains(&&Value::from("softmax")), "{names:?}");
        let extracted = Path::new(object["extracted"].as_str().expect("a path"));
        assert!(extracted.is_file(), "{}", extracted.display());
    }
    ended(&objects(&[]), 2);
}

/// The JSON of `--for` for these paths.
#[track_caller]
fn covers(chip: &str, paths: &[&str], code: i32) -> Value {
    let output = objects(&[&["--json", "--for", chip][..], paths].concat());
    let value: Value = serde_json::from_str(&ended(&output, code).0).expect("one JSON value");
    assert_eq!((&value["schema"], &value["version"]), (&"roci.objects.for".into(), &2.into()));
    value
}

/// An installation of libraries, made of the fixtures.
fn installed(folder: &Folder) -> String {
    let place = |path: &str, file: Option<&str>| {
        let path = folder.0.join("opt").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is ours");
        match file {
            Some(name) => std::fs::copy(fixture(name), path).map(drop),
            None => std::fs::write(path, "data"),
        }
        .expect("the folder is ours");
    };
    place("lib/librocblas.so.4.1", Some("fat.so"));
    place("lib/rocblas/library/Kernels.so-000-gfx1010.hsaco", Some("gfx1010-v6.co"));
    place("lib/rocblas/library/TensileLibrary_lazy_gfx1010.dat", None);
    place("lib/libmine.so", Some("gfx10-1-generic-v6.co"));
    place("share/miopen/db/gfx1030_36.kdb", None);
    place("share/miopen/db/gfx1030_36.HIP.fdb.txt", None);
    place("share/notes.txt", None);
    std::os::unix::fs::symlink("librocblas.so.4.1", folder.0.join("opt/lib/librocblas.so")).expect("links can be made");
    std::os::unix::fs::symlink("..", folder.0.join("opt/lib/loop")).expect("links can be made");
    folder.join("opt")
}

#[test]
fn coverage_of_libraries_for_a_chip() {
    let folder = Folder::new("for");
    let opt = installed(&folder);
    let value = covers("gfx1010", &[&opt], 1);
    assert_eq!(value["verdict"], "2 of 3 libraries have kernels that run on gfx1010; none in MIOpen");
    let library = |name: &str| {
        let libraries = value["libraries"].as_array().expect("a list");
        libraries.iter().find(|library| library["name"] == name).cloned().expect(name)
    };
    let rocblas = library("rocBLAS");
    assert_eq!(
        (&rocblas["runs"], rocblas["components"].as_array().map(Vec::len)),
        (&true.into(), Some(2)),
        "{rocblas}"
    );
    assert_eq!(rocblas["components"][1]["kind"], "Tensile folder");
    assert_eq!(library("mine")["components"][0]["compatibility"], "generic");
    let miopen = library("MIOpen");
    assert_eq!((&miopen["runs"], &miopen["components"][0]["targets"][0]["target"]), (&false.into(), &"gfx1030".into()));
    assert_eq!(value["files"], 7, "each once, whatever links there are");

    // A sibling: only the generic code runs, and one file is named after another chip than its
    // code.
    let tensile = Path::new(&opt).join("lib/rocblas/library");
    std::fs::copy(fixture("gfx1010-v6.co"), tensile.join("Kernels.so-000-gfx1013.hsaco")).expect("the folder is ours");
    let (stdout, _) = ended(&objects(&["--for", "gfx1013", &opt]), 1);
    assert!(
        stdout.starts_with("1 of 3 libraries have kernels that run on gfx1013; none in MIOpen, rocBLAS\n"),
        "{stdout}"
    );
    assert!(stdout.contains("gfx1010:xnack- is for sibling chips; it does not run on gfx1013"), "{stdout}");
    assert!(stdout.contains("`Kernels.so-000-gfx1013.hsaco` named for gfx1013, but"), "{stdout}");
    let good = covers("gfx1013", &[&format!("{opt}/lib/libmine.so")], 0);
    assert_eq!(good["verdict"], "mine has kernels that run on gfx1013");
}

#[test]
fn unknown_chips_are_errors_with_similar_names() {
    for (chip, message, hint) in [
        ("gfx1014", "error: unknown AMD GPU processor `gfx1014`", "hint: chips with similar names: gfx10"),
        (
            "gfx10-1-generic",
            "error: gfx10-1-generic is a generic target",
            "covers these chips: gfx1010, gfx1011, gfx1012, gfx1013",
        ),
        ("gfx1030:xnack+", "error: gfx1030 has no `xnack`", "hint: give only the chip"),
    ] {
        let (stdout, stderr) = ended(&objects(&["--for", chip, &fixture("fat.so")]), 2);
        assert!(stdout.is_empty() && stderr.contains(message) && stderr.contains(hint), "{stderr}");
    }
}

#[test]
fn unreadable_paths_are_errors_of_one_line() {
    let folder = Folder::new("for-bad");
    let damaged = folder.join("damaged.so");
    let mut bytes = std::fs::read(fixture("fat.so")).expect("it is committed");
    bytes.truncate(5000);
    std::fs::write(&damaged, bytes).expect("the folder is ours");
    let (circle, pipe, empty) = (folder.join("circle"), folder.join("pipe"), folder.join("empty"));
    std::os::unix::fs::symlink("circle", &circle).expect("links can be made");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it is part of every system").success());
    std::fs::create_dir(&empty).expect("the folder is ours");
    for (path, words) in [
        (damaged.as_str(), "damaged.so`: the ELF file is damaged: a table is outside the file"),
        (&circle, "circle`: Too many levels of symbolic links"),
        (&pipe, "pipe`: it is a pipe, not a file or folder"),
        ("/dev/zero", "cannot read `/dev/zero`: it is a device, not a file or folder"),
        ("/nowhere", "cannot read `/nowhere`: No such file"),
        (&fixture("kernels.cl"), "kernels.cl`: this is not an ELF file"),
    ] {
        let (stdout, stderr) = ended(&objects(&["--for", "gfx1013", "-q", path]), 1);
        assert_eq!(stdout, "no AMD GPU code was found: nothing runs on gfx1013\n");
        assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    let (stdout, stderr) = ended(&objects(&["--for", "gfx1013", "-q", &empty]), 1);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("no AMD GPU code was found: nothing runs on gfx1013\n", ""));
    // In a folder, pipes and files without code are skipped; damaged files are errors.
    let value = covers("gfx1013", &[&folder.join(".")], 1);
    assert_eq!(value["problems"].as_array().map(Vec::len), Some(2), "{value}");
}

/// Debian's library: more than a gigabyte, of which only the tables are read.
#[test]
fn coverage_of_a_distribution_library() {
    let path = "/usr/lib/x86_64-linux-gnu/librocsparse.so.0";
    let present = if Path::new(path).exists() { Ok(()) } else { Err(format!("{path} is not there")) };
    let Some(()) = require("rocsparse", present) else { return };
    let value = covers("gfx1030", &[path], 0);
    assert_eq!(
        (&value["libraries"][0]["name"], &value["libraries"][0]["folder"]),
        (&"rocSPARSE".into(), &"/usr".into())
    );
    let part = &value["libraries"][0]["components"][0];
    assert!(part["targets"].as_array().expect("a list").len() > 3, "{part}");
    covers("gfx1013", &[path], 1);
}
