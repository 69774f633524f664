//! What a caught panic says.

use std::any::Any;

/// The message of a panic, if it has one: panics of the standard macros do.
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn literals_formatted_text_and_other_values_are_told_apart() {
        let said = |body: fn()| catch_unwind(body).err().and_then(|panic| message(&*panic).map(str::to_owned));
        assert_eq!(said(|| panic!("plain")).as_deref(), Some("plain"));
        assert_eq!(said(|| panic!("index {}", 7)).as_deref(), Some("index 7"));
        assert_eq!(said(|| std::panic::panic_any(7)), None);
        assert_eq!(said(|| {}), None);
    }
}
