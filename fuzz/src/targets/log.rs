//! Logs that users pass to `roci doctor --log`.

use std::sync::LazyLock;

use roci_doctor::{Book, Conclusion, Reader};

static DOCTOR: LazyLock<Result<(Reader, Book), String>> =
    LazyLock::new(|| Ok((Reader::new()?, Book::builtin().map_err(|error| error.to_string())?)));

/// Decodes a log and draws conclusions from it.
pub fn target(data: &[u8]) {
    let (reader, book) = DOCTOR.as_ref().expect("the built-in rules are valid");
    let _ = Conclusion::of(reader, book, &Reader::decode(data));
}
