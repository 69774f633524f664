//! Messages of caught panics.

use std::any::Any;

/// The message of a panic; `None` if the payload is not a string.
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn message_reads_literals_and_formatted_text_only() {
        let caught = |body: fn()| catch_unwind(body).err().and_then(|panic| message(&*panic).map(str::to_owned));
        assert_eq!(caught(|| panic!("plain")).as_deref(), Some("plain"));
        assert_eq!(caught(|| panic!("index {}", 7)).as_deref(), Some("index 7"));
        assert_eq!(caught(|| std::panic::panic_any(7)), None);
        assert_eq!(caught(|| {}), None);
    }
}
