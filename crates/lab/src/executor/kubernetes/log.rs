//! A pod's log: lines with times, so that one that is asked for again after a lost connection gives no line twice.

/// How long a line may get before it is passed on in parts.
const LINE: usize = 64 << 10;

/// Where a reader is in a log.
#[derive(Debug, Default)]
pub struct Cursor {
    /// The time of the last line, as [`order`] makes it comparable.
    last: String,
    /// The same as the cluster wrote it.
    since: Option<String>,
    /// How many lines of that time were passed on.
    passed: usize,
    /// How many lines of that time came since the log was asked for again.
    again: usize,
    /// A line of which the rest has not come.
    part: Vec<u8>,
    /// What becomes of the rest of a line that is passed on in parts.
    rest: Rest,
}

/// What becomes of the rest of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rest {
    /// It begins with a time.
    #[default]
    New,
    /// It is passed on.
    Pass,
    /// It was passed on before.
    Drop,
}

impl Cursor {
    /// The path of the log from where the reader is.
    pub fn path(&mut self, namespace: &str, pod: &str, container: &str) -> String {
        self.again = 0;
        self.part.clear();
        self.rest = Rest::New;
        // Times are of digits, `T`, `:`, `.`, `Z`; one with an offset has a `+`, which means a space in a query.
        let since = self.since.as_ref().map(|time| format!("&sinceTime={}", time.replace('+', "%2B")));
        format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&follow=true&timestamps=true{}",
            since.unwrap_or_default()
        )
    }

    /// Takes bytes as they come and adds what is new, without times, to `output`.
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

    /// Passes on what is left when the log has ended, a last line without its end.
    pub fn finish(&mut self, output: &mut Vec<u8>) {
        let part = std::mem::take(&mut self.part);
        if !part.is_empty() {
            self.line(&part, true, output);
        }
    }

    /// A line or a large part of one.
    fn line(&mut self, line: &[u8], whole: bool, output: &mut Vec<u8>) {
        let (time, text) = match self.rest {
            Rest::New => split(line),
            Rest::Pass | Rest::Drop => (None, line),
        };
        let pass = match (self.rest, time) {
            (Rest::Drop, _) => false,
            // Without a time it is not the container's: the cluster tells why there is no log.
            (Rest::Pass, _) | (Rest::New, None) => true,
            (Rest::New, Some(time)) => self.is_new(time),
        };
        if pass {
            output.extend_from_slice(text);
        }
        self.rest = match (whole, pass) {
            (true, _) => Rest::New,
            (false, true) => Rest::Pass,
            (false, false) => Rest::Drop,
        };
    }

    /// Whether a line of that time was not passed on before.
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

/// A line's time and its text.
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

/// A time such that later ones are greater as text: fractions have as many digits as they need.
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

    fn taken(cursor: &mut Cursor, bytes: &[u8]) -> String {
        let mut output = Vec::new();
        cursor.take(bytes, &mut output);
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn times_are_taken_off() {
        assert_eq!(taken(&mut Cursor::default(), LOG.as_bytes()), "one\ntwo\ntwo\nthree\n");
        let unasked = "container is waiting to start\n2026-11-17T11:40:20.5Z\n";
        assert_eq!(taken(&mut Cursor::default(), unasked.as_bytes()), unasked, "no line with a time");
    }

    #[test]
    fn a_connection_lost_at_any_byte_loses_and_doubles_nothing() {
        for cut in 0..=LOG.len() {
            let mut cursor = Cursor::default();
            assert!(!cursor.path("lab", "pod", "run").contains("sinceTime"));
            let mut output = taken(&mut cursor, &LOG.as_bytes()[..cut]);
            // The cluster begins again at the whole second.
            let path = cursor.path("lab", "pod", "run");
            assert_eq!(path.contains("sinceTime=2026-11-17T11:40:2"), !output.is_empty(), "{path}");
            output += &taken(&mut cursor, LOG.as_bytes());
            assert_eq!(output, "one\ntwo\ntwo\nthree\n", "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_comes_in_parts() {
        let long = "x".repeat(3 * LINE);
        let line = format!("2026-11-17T11:40:20.5Z {long}\n2026-11-17T11:40:21Z next\n");
        let mut cursor = Cursor::default();
        assert_eq!(taken(&mut cursor, line.as_bytes()), format!("{long}\nnext\n"));
        cursor.path("lab", "pod", "run");
        assert_eq!(taken(&mut cursor, line.as_bytes()), "", "all of it was passed on");
    }

    #[test]
    fn a_last_line_without_its_end_is_output() {
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
