//! Models in several files.

use std::path::{Path, PathBuf};

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};

/// Writes a part with one tensor, named after its number, and these additional keys.
fn part(folder: &Path, number: u16, extra: &[(&str, Value)]) -> PathBuf {
    let mut metadata: Metadata =
        [("split.no", Value::U16(number - 1)), ("split.count", Value::U16(3)), ("split.tensors.count", Value::I32(3))]
            .into_iter()
            .collect();
    if number == 1 {
        metadata.insert("general.architecture", "llama");
    }
    for (key, value) in extra {
        metadata.insert(*key, value.clone());
    }
    let name = match metadata.value("name") {
        Some(Value::String(name)) => name.clone(),
        _ => format!("tensor.{number}"),
    };
    let tensors = [TensorInfo::new(&name, &[2], Type::F32).expect("a tensor")];
    let mut writer = Writer::start(Vec::new(), &metadata, &tensors).expect("tables");
    writer.write(&name, &[number as u8; 8]).expect("its turn");
    let path = folder.join(format!("model-{number:05}-of-00003.gguf"));
    std::fs::write(&path, writer.finish().expect("complete")).expect("the write succeeds");
    path
}

fn model(change: impl Fn(u16) -> Vec<(&'static str, Value)>) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = (1..=3).map(|number| part(folder.path(), number, &change(number))).collect();
    (folder, paths)
}

#[test]
fn any_part_opens_the_whole_model() {
    let (_folder, paths) = model(|_| Vec::new());
    for path in &paths {
        let file = Gguf::open(path).expect("three parts");
        assert_eq!(file.metadata().expect_str("general.architecture").expect("of the first"), "llama");
        let tensors: Vec<_> =
            file.tensors().map(|tensor| (tensor.info().name().to_owned(), tensor.bytes()[0])).collect();
        assert_eq!(tensors, [("tensor.1".to_owned(), 1), ("tensor.2".to_owned(), 2), ("tensor.3".to_owned(), 3)]);
        assert_eq!(file.file_bytes(), paths.iter().map(|path| path.metadata().expect("a file").len()).sum::<u64>());
    }
}

#[test]
fn inconsistent_parts_are_named() {
    let error = |paths: &[PathBuf]| {
        let error = Gguf::open(&paths[0]).expect_err("the parts are inconsistent");
        assert!(error.hint().is_some());
        error.to_string()
    };
    let (_folder, paths) = model(|_| Vec::new());
    std::fs::remove_file(&paths[1]).expect("the part exists");
    let text = error(&paths);
    assert!(text.contains("model-00002-of-00003.gguf") && text.starts_with("cannot use"), "{text}");

    let (_folder, paths) = model(|number| if number == 2 { vec![("split.no", Value::U16(2))] } else { Vec::new() });
    let text = error(&paths);
    assert!(text.ends_with("00002-of-00003.gguf`: part 2 of the split model declares that it is part 3"), "{text}");

    let (_folder, paths) = model(|number| if number == 3 { vec![("split.count", Value::U16(4))] } else { Vec::new() });
    assert!(error(&paths).contains("part 3 of the split model declares 4 parts"));

    let (_folder, paths) = model(|_| vec![("split.tensors.count", Value::I32(5))]);
    assert!(error(&paths).contains("declares 5 tensors, but the 3 parts have 3"));

    let (_folder, paths) = model(|_| vec![("name", "same".into())]);
    assert!(error(&paths).contains("part 2 of the split model repeats the tensor `same` of an earlier part"));

    let (folder, paths) = model(|_| Vec::new());
    let moved = folder.path().join("first.gguf");
    std::fs::rename(&paths[0], &moved).expect("the rename succeeds");
    assert!(error(&[moved]).contains("is not named `…-00001-of-00003.gguf`"));
}

#[test]
fn folders_and_empty_files_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path().to_owned(), folder.path().join("nothing.gguf"), PathBuf::from("/dev/null")] {
        let error = Gguf::open(&path).expect_err("a folder is rejected");
        assert!(error.to_string().starts_with(&format!("cannot use `{}`", path.display())), "{error}");
    }
    let empty = folder.path().join("empty.gguf");
    std::fs::write(&empty, "").expect("the write succeeds");
    let error = Gguf::open(&empty).expect_err("an empty file is rejected").to_string();
    assert!(error.ends_with("the header needs 4 bytes at offset 0, but the file has 0 left"), "{error}");
}
