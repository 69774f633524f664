//! Real models with known results, if the folder of test data exists; `scripts/check-models` does
//! the same for any folder and any device.

use std::path::{Path, PathBuf};

use roci_testkit::tolerance::{NormTolerance, distance};
use serde_json::Value;

use super::{assert_code, json, roci};

/// The elements of an f32 array in a NumPy file.
fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("an array");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(bytes[..header].windows(3).any(|descr| descr == b"<f4"), "{}", path.display());
    bytes[header..].as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

#[test]
fn real_models_give_known_results_on_the_cpu() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/onnx");
    let Ok(entries) = std::fs::read_dir(shared) else {
        roci_testkit::absent("the real models (../shared/models/onnx)");
        return;
    };
    let folders = entries.flatten().map(|entry| entry.path()).filter(|folder| folder.join("case.json").exists());
    for folder in folders.collect::<Vec<PathBuf>>() {
        let about = std::fs::read_to_string(folder.join("case.json")).expect("a description");
        let about: Value = serde_json::from_str(&about).expect("JSON");
        let text = |value: &Value| folder.join(value.as_str().expect("a name")).display().to_string();
        // The first case of each; the others are copies of the same model.
        let case = &about["cases"][0];
        let out = tempfile::tempdir().expect("a folder");
        let (model, to) = (text(&about["model"]), out.path().display().to_string());
        let mut arguments =
            vec!["run".to_owned(), model, "--device=cpu".into(), "--json".into(), "--output".into(), to];
        for (name, file) in case["inputs"].as_object().expect("inputs") {
            arguments.extend(["--input".to_owned(), format!("{name}={}", text(file))]);
        }
        let output = roci(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_code(&output, 0);
        let report = json(&output, "roci.run");
        for (name, file) in case["outputs"].as_object().expect("outputs") {
            let output = report["outputs"].as_array().expect("rows").iter().find(|row| row["name"] == name.as_str());
            let output = floats(Path::new(output.expect("an output")["file"].as_str().expect("a file")));
            let off = distance(&output, &floats(Path::new(&text(file))));
            assert!(NormTolerance::Model.allows(off), "{}: {name} is off by {off:e}", folder.display());
        }
    }
}
