//! Parses a pod's log with timestamps, so that no line is repeated after a reconnect.

/// Maximum length of a line in bytes; a longer one is passed on in chunks.
const LINE: usize = 64 << 10;

/// Position in a log.
#[derive(Debug, Default)]
pub struct Cursor {
    /// Timestamp of the last line, in the form of [`order`].
    last: String,
    /// The same, as the cluster wrote it.
    since: Option<String>,
    /// Lines with that timestamp that were passed on.
    passed: usize,
    /// Lines with that timestamp received since the reconnect.
    again: usize,
    /// An incomplete line.
    part: Vec<u8>,
    /// How to treat the rest of a line passed on in chunks.
    rest: LineState,
}

/// How to treat the rest of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    /// It starts with a timestamp.
    #[default]
    New,
    Pass,
    /// Drop it: it was passed on before.
    Drop,
}

impl Cursor {
    /// The request path of the log from the current position.
    pub fn path(&mut self, namespace: &str, pod: &str, container: &str) -> String {
        self.again = 0;
        self.part.clear();
        self.rest = LineState::New;
        // Timestamps have digits, `T`, `:`, `.`, `Z`. One with an offset has a `+`, which means a
        // space in a query.
        let since = self.since.as_ref().map(|time| format!("&sinceTime={}", time.replace('+', "%2B")));
        format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&follow=true&timestamps=true{}",
            since.unwrap_or_default()
        )
    }

    /// Parses received bytes and appends new text, without timestamps, to `output`.
    pub fn take(&mut self, mut bytes: &[u8], output: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
            let (head, tail) = bytes.split_at(end.min(LINE));
            bytes = tail;
            self.part.extend_from_slice(head);
            let whole = self.part.last() == Some(&b'\n');
            if whole || self.part.len() >= LINE {
                let part = std::mem::take(&mut self.part);
                self.line(&part, whole, output);
            }
        }
    }

    /// Passes on an unterminated last line when the log has ended.
    pub fn finish(&mut self, output: &mut Vec<u8>) {
        let part = std::mem::take(&mut self.part);
        if !part.is_empty() {
            self.line(&part, true, output);
        }
    }

    /// Handles a line or a chunk of one.
    fn line(&mut self, line: &[u8], whole: bool, output: &mut Vec<u8>) {
        let (time, text) = match self.rest {
            LineState::New => split(line),
            LineState::Pass | LineState::Drop => (None, line),
        };
        let pass = match (self.rest, time) {
            (LineState::Drop, _) => false,
            // Without a timestamp it is a message of the cluster about a missing log.
            (LineState::Pass, _) | (LineState::New, None) => true,
            (LineState::New, Some(time)) => self.is_new(time),
        };
        if pass {
            output.extend_from_slice(text);
        }
        self.rest = match (whole, pass) {
            (true, _) => LineState::New,
            (false, true) => LineState::Pass,
            (false, false) => LineState::Drop,
        };
    }

    /// Whether a line with this timestamp was not passed on before.
    fn is_new(&mut self, time: &str) -> bool {
        let order = order(time);
        if order < self.last {
            return false;
        }
        if order > self.last {
            (self.last, self.since, self.passed, self.again) = (order, Some(time.to_owned()), 1, 1);
            return true;
        }
        self.again += 1;
        let new = self.again > self.passed;
        self.passed = self.passed.max(self.again);
        new
    }
}

/// Splits a line into timestamp and text.
fn split(line: &[u8]) -> (Option<&str>, &[u8]) {
    let space = line.iter().take(40).position(|byte| *byte == b' ');
    let time = space.and_then(|at| std::str::from_utf8(&line[..at]).ok());
    let is_time = |time: &&str| {
        let shape = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            0..=18 => byte.is_ascii_digit(),
            _ => byte.is_ascii_digit() || b".Z+-:".contains(&byte),
        };
        time.len() >= 20 && time.bytes().enumerate().all(shape)
    };
    match time.filter(is_time) {
        Some(time) => (Some(time), &line[time.len() + 1..]),
        None => (None, line),
    }
}

/// A timestamp that sorts as text: the number of fraction digits varies.
fn order(time: &str) -> String {
    let (seconds, rest) = time.split_at(19);
    let digits: String = rest.trim_start_matches('.').chars().take_while(char::is_ascii_digit).collect();
    format!("{seconds}.{digits:0<9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "2026-11-17T11:40:20.5Z one\n2026-11-17T11:40:20.51Z two\n2026-11-17T11:40:20.51Z two\n\
        2026-11-17T11:40:21.000000001Z three\n";

    fn read_log(cursor: &mut Cursor, bytes: &[u8]) -> String {
        let mut output = Vec::new();
        cursor.take(bytes, &mut output);
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn timestamps_are_removed() {
        assert_eq!(read_log(&mut Cursor::default(), LOG.as_bytes()), "one\ntwo\ntwo\nthree\n");
        let status = "container is waiting to start\n2026-11-17T11:40:20.5Z\n";
        assert_eq!(read_log(&mut Cursor::default(), status.as_bytes()), status, "no line with a time");
    }

    #[test]
    fn a_connection_lost_at_any_byte_loses_and_repeats_nothing() {
        for cut in 0..=LOG.len() {
            let mut cursor = Cursor::default();
            assert!(!cursor.path("lab", "pod", "run").contains("sinceTime"));
            let mut output = read_log(&mut cursor, &LOG.as_bytes()[..cut]);
            // The cluster restarts at the whole second.
            let path = cursor.path("lab", "pod", "run");
            assert_eq!(path.contains("sinceTime=2026-11-17T11:40:2"), !output.is_empty(), "{path}");
            output += &read_log(&mut cursor, LOG.as_bytes());
            assert_eq!(output, "one\ntwo\ntwo\nthree\n", "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_arrives_in_chunks() {
        let long = "x".repeat(3 * LINE);
        let line = format!("2026-11-17T11:40:20.5Z {long}\n2026-11-17T11:40:21Z next\n");
        let mut cursor = Cursor::default();
        assert_eq!(read_log(&mut cursor, line.as_bytes()), format!("{long}\nnext\n"));
        cursor.path("lab", "pod", "run");
        assert_eq!(read_log(&mut cursor, line.as_bytes()), "", "all of it was passed on");
    }

    #[test]
    fn an_unterminated_last_line_is_output() {
        let mut cursor = Cursor::default();
        let mut output = Vec::new();
        cursor.take(b"2026-11-17T11:40:20.5Z no end", &mut output);
        assert!(output.is_empty());
        cursor.finish(&mut output);
        assert_eq!(output, b"no end");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_in_any_portions(bytes: Vec<u8>, size in 1usize..9) {
            let (mut cursor, mut output) = (Cursor::default(), Vec::new());
            bytes.chunks(size).for_each(|part| cursor.take(part, &mut output));
            cursor.finish(&mut output);
            proptest::prop_assert!(output.len() <= bytes.len());
        }
    }
}
