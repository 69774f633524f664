//! Logs that users pass to `roci doctor --log`.

use std::sync::LazyLock;

use roci_doctor::{Book, Conclusion, Identity, Reader, mask};

static DOCTOR: LazyLock<Result<(Reader, Book), String>> =
    LazyLock::new(|| Ok((Reader::new()?, Book::builtin().map_err(|error| error.to_string())?)));

/// Decodes a log, draws conclusions from it and masks the text as for a report.
pub fn target(data: &[u8]) {
    let (reader, book) = DOCTOR.as_ref().expect("the built-in rules are valid");
    let log = Reader::decode(data);
    let _ = Conclusion::of(reader, book, &log);
    let _ = mask(&log.into_owned(), &Identity::default());
}
