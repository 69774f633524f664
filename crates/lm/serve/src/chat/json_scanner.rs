//! Finds the end of a JSON value incrementally.

/// Scans an object or array to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonScanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonScanner {
    /// Feeds text. Returns how many bytes belong to the value, if it ends within them.
    pub(super) fn push(&mut self, text: &str) -> Option<usize> {
        for (place, byte) in text.bytes().enumerate() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                match byte {
                    b'"' => self.in_string = false,
                    b'\\' => self.escaped = true,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(place + 1);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found() {
        for (text, end) in [
            (r#"{}"#, Some(2)),
            (r#"{"a":"}"}x"#, Some(9)),
            (r#"{"a":"\"}"}"#, Some(11)),
            (r#"[{"a":[1]},2] "#, Some(13)),
            (r#"{"a":"#, None),
            (r#"{"a":"}\"#, None),
        ] {
            assert_eq!(JsonScanner::default().push(text), end, "{text}");
            // Feeding byte by byte gives the same result.
            let mut scan = JsonScanner::default();
            let place = text.char_indices().find_map(|(place, _)| scan.push(&text[place..=place]).map(|_| place + 1));
            assert_eq!(place, end, "{text}");
        }
    }
}
