//! Incremental parser for tool calls in generated text.
//!
//! Two forms are recognized: `<tool_call>{"name": …, "arguments": {…}}</tool_call>` anywhere, as
//! Hermes and Qwen write it; and, as the whole answer, an untagged object (or with `parameters`, as
//! Llama 3 writes it) or a list of them. Arguments are streamed as they are generated. Anything
//! that turns out not to be a call is text.

use roci_lm::json::Json;

use super::json_scanner::JsonScanner;

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// Which calls are recognized.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// Tool names; if empty, everything is text.
    pub(super) names: Vec<String>,
    /// Whether an object without tags is a call.
    pub(super) untagged: bool,
    /// Whether calls after the first are dropped (`parallel_tool_calls: false`).
    pub(super) single: bool,
}

/// An event of the parser.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallEvent {
    /// Text for the user.
    Text(String),
    /// The start of a call, with the tool's name.
    Call(String),
    /// Part of the current call's arguments.
    Arguments(String),
}

#[derive(Clone, Debug)]
enum State {
    /// Text that is only whitespace so far: an object that starts here would be a call.
    Start,
    Text,
    /// In an object that may be a call and is still completely buffered.
    Head {
        tagged: bool,
        lead: String,
    },
    /// In the arguments of a call.
    Arguments {
        tagged: bool,
        scan: JsonScanner,
    },
    /// Between the arguments and the end of the object.
    Tail {
        tagged: bool,
    },
    /// After a call.
    After,
}

/// Separates calls from text.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    accepted: Calls,
    state: State,
    /// Received text that has not been emitted.
    held: String,
    pub(super) calls: usize,
    /// Whether the current call is dropped.
    skipping: bool,
}

impl Reader {
    pub(super) fn new(accepted: Calls) -> Self {
        let state = if accepted.names.is_empty() || !accepted.untagged { State::Text } else { State::Start };
        Self { accepted, state, held: String::new(), calls: 0, skipping: false }
    }

    /// Feeds generated text.
    pub(super) fn push(&mut self, text: &str) -> Vec<CallEvent> {
        if self.accepted.names.is_empty() {
            return if text.is_empty() { Vec::new() } else { vec![CallEvent::Text(text.to_owned())] };
        }
        self.held.push_str(text);
        let mut events = Vec::new();
        while self.step(&mut events) {}
        self.count(events)
    }

    /// Emits the remainder at the end of the answer.
    pub(super) fn finish(&mut self) -> Vec<CallEvent> {
        let events = self.rest();
        self.count(events)
    }

    /// Counts calls, and drops those after the first if only one is allowed.
    fn count(&mut self, mut events: Vec<CallEvent>) -> Vec<CallEvent> {
        events.retain(|event| match event {
            CallEvent::Text(_) => true,
            CallEvent::Arguments(_) => !self.skipping,
            CallEvent::Call(_) => {
                self.skipping = self.accepted.single && self.calls > 0;
                self.calls += usize::from(!self.skipping);
                !self.skipping
            }
        });
        events
    }

    fn rest(&mut self) -> Vec<CallEvent> {
        let held = std::mem::take(&mut self.held);
        let text = match &self.state {
            State::Start | State::Text => held,
            State::Head { tagged, lead } => format!("{lead}{}{held}", if *tagged { OPEN } else { "" }),
            State::Arguments { .. } => {
                let event = CallEvent::Arguments(held.clone());
                return if held.is_empty() { Vec::new() } else { vec![event] };
            }
            State::Tail { .. } | State::After => String::new(),
        };
        if text.is_empty() { Vec::new() } else { vec![CallEvent::Text(text)] }
    }

    /// Advances by one state. Returns whether to call it again.
    fn step(&mut self, events: &mut Vec<CallEvent>) -> bool {
        match self.state.clone() {
            State::Start => {
                let trimmed = self.held.trim_start();
                let Some(first) = trimmed.chars().next() else { return false };
                let object = trimmed.trim_start_matches(['[', ' ', '\t', '\r', '\n']);
                match (first, object.chars().next()) {
                    ('{' | '[', Some('{')) => {
                        let lead = self.held.len() - object.len();
                        let lead = self.held.drain(..lead).collect();
                        self.state = State::Head { tagged: false, lead };
                    }
                    ('[', None) => return false,
                    _ => self.state = State::Text,
                }
                true
            }
            State::Text => self.text(events),
            State::Head { tagged, lead } => self.head(tagged, lead, events),
            State::Arguments { tagged, mut scan } => {
                let end = scan.push(&self.held);
                let text: String = self.held.drain(..end.unwrap_or(self.held.len())).collect();
                if !text.is_empty() {
                    events.push(CallEvent::Arguments(text));
                }
                self.state = if end.is_some() { State::Tail { tagged } } else { State::Arguments { tagged, scan } };
                end.is_some()
            }
            State::Tail { tagged } => {
                let end = if tagged { CLOSE } else { "}" };
                match self.held.find(end) {
                    Some(place) => {
                        self.held.drain(..place + end.len());
                        self.state = State::After;
                        true
                    }
                    None => false,
                }
            }
            State::After => {
                let rest = self.held.trim_start_matches([' ', '\t', '\r', '\n', ',', ';', ']']);
                self.held = rest.to_owned();
                self.state = match self.held.chars().next() {
                    None => return false,
                    Some('{') if self.accepted.untagged => State::Head { tagged: false, lead: String::new() },
                    Some(_) => State::Text,
                };
                true
            }
        }
    }

    /// Emits text up to a possible start of a call.
    fn text(&mut self, events: &mut Vec<CallEvent>) -> bool {
        let open = self.held.find(OPEN);
        let keep = (1..OPEN.len()).rev().find(|&length| self.held.ends_with(&OPEN[..length])).unwrap_or(0);
        let text: String = self.held.drain(..open.unwrap_or(self.held.len() - keep)).collect();
        // Whitespace between calls is dropped.
        let after_call = self.calls > 0 || events.iter().any(|event| matches!(event, CallEvent::Call(_)));
        let blank = if after_call { text.trim().is_empty() } else { text.is_empty() };
        if !blank {
            events.push(CallEvent::Text(text));
        }
        if open.is_some() {
            self.held.drain(..OPEN.len());
            self.state = State::Head { tagged: true, lead: String::new() };
        }
        open.is_some()
    }

    /// Tries to parse an object that may be a call.
    fn head(&mut self, tagged: bool, lead: String, events: &mut Vec<CallEvent>) -> bool {
        if let Some((name, start)) = head(&self.held)
            && (tagged || self.accepted.names.contains(&name))
        {
            self.held.drain(..start);
            events.push(CallEvent::Call(name));
            self.state = State::Arguments { tagged, scan: JsonScanner::default() };
            return true;
        }
        let Some(end) = JsonScanner::default().push(&self.held) else { return false };
        match call(&self.held[..end]).filter(|(name, _)| tagged || self.accepted.names.contains(name)) {
            Some((name, arguments)) => {
                events.extend([CallEvent::Call(name), CallEvent::Arguments(arguments)]);
                self.held.drain(..end);
                self.state = if tagged { State::Tail { tagged } } else { State::After };
            }
            None => {
                let text: String = self.held.drain(..end).collect();
                events.push(CallEvent::Text(format!("{lead}{}{text}", if tagged { OPEN } else { "" })));
                self.state = State::Text;
            }
        }
        true
    }
}

/// The tool's name and the offset of the arguments, if both are present in the usual order.
fn head(text: &str) -> Option<(String, usize)> {
    let after = |text: &'_ str, prefix: &str| text.trim_start().strip_prefix(prefix).map(str::len);
    let rest = |length: usize| &text[text.len() - length..];
    let mut remaining = after(text, "{")?;
    remaining = after(rest(remaining), "\"name\"")?;
    remaining = after(rest(remaining), ":")?;
    remaining = after(rest(remaining), "\"")?;
    let (name, _) = rest(remaining).split_once('"')?;
    // A name with escapes is parsed with the complete object.
    if name.contains('\\') {
        return None;
    }
    let name = name.to_owned();
    remaining -= name.len() + 1;
    remaining = after(rest(remaining), ",")?;
    remaining = after(rest(remaining), "\"arguments\"").or_else(|| after(rest(remaining), "\"parameters\""))?;
    remaining = after(rest(remaining), ":")?;
    let arguments = rest(remaining).trim_start();
    arguments.starts_with('{').then(|| (name, text.len() - arguments.len()))
}

/// Name and arguments of a complete call.
fn call(text: &str) -> Option<(String, String)> {
    let value = Json::parse(text).ok()?;
    let value = value.get("function").filter(|inner| inner.as_object().is_some()).unwrap_or(&value);
    let name = value.get("name")?.as_str()?.to_owned();
    let arguments = match value.get("arguments").or_else(|| value.get("parameters")) {
        None | Some(Json::Null) => "{}".to_owned(),
        Some(arguments @ Json::Object(_)) => arguments.to_string(),
        Some(Json::String(text)) if Json::parse(text).is_ok_and(|value| value.as_object().is_some()) => text.clone(),
        Some(_) => return None,
    };
    Some((name, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a text at once and character by character; adjacent events are joined.
    fn read(text: &str) -> Vec<CallEvent> {
        read_as(text, &Calls { untagged: true, ..accepted() })
    }

    fn accepted() -> Calls {
        Calls { names: vec!["weather".to_owned(), "time".to_owned()], ..Calls::default() }
    }

    fn read_as(text: &str, accepted: &Calls) -> Vec<CallEvent> {
        let join = |events: Vec<CallEvent>| {
            let mut joined: Vec<CallEvent> = Vec::new();
            for event in events {
                match (joined.last_mut(), event) {
                    (Some(CallEvent::Text(before)), CallEvent::Text(text)) => before.push_str(&text),
                    (Some(CallEvent::Arguments(before)), CallEvent::Arguments(text)) => before.push_str(&text),
                    (_, event) => joined.push(event),
                }
            }
            joined
        };
        let mut reader = Reader::new(accepted.clone());
        let mut whole = reader.push(text);
        whole.extend(reader.finish());
        let mut reader = Reader::new(accepted.clone());
        let mut parts: Vec<CallEvent> =
            text.chars().flat_map(|character| reader.push(&character.to_string())).collect();
        parts.extend(reader.finish());
        assert_eq!(join(whole.clone()), join(parts), "{text}");
        join(whole)
    }

    fn text(text: &str) -> CallEvent {
        CallEvent::Text(text.to_owned())
    }

    fn calls(list: &[(&str, &str)]) -> Vec<CallEvent> {
        let event = |(name, arguments): &(&str, &str)| {
            [CallEvent::Call((*name).to_owned()), CallEvent::Arguments((*arguments).to_owned())]
        };
        list.iter().flat_map(event).collect()
    }

    #[test]
    fn tagged_calls_are_found_within_text() {
        let one = r#"<tool_call>
{"name": "weather", "arguments": {"city": "Paris}"}}
</tool_call>"#;
        assert_eq!(read(one), calls(&[("weather", r#"{"city": "Paris}"}"#)]));
        let two = format!("Let me see.\n{one}\n{}", one.replace("weather", "other"));
        let mut expected = vec![text("Let me see.\n")];
        expected.extend(calls(&[("weather", r#"{"city": "Paris}"}"#), ("other", r#"{"city": "Paris}"}"#)]));
        assert_eq!(read(&two), expected);
    }

    #[test]
    fn untagged_objects_are_calls_if_their_tool_is_known() {
        assert_eq!(read(r#" {"name":"time","parameters":{}}"#), calls(&[("time", "{}")]));
        assert_eq!(read(r#"{"arguments":{"a":[1]},"name":"time"}"#), calls(&[("time", r#"{"a":[1]}"#)]));
        assert_eq!(read(r#"{"type":"function","name":"time"}"#), calls(&[("time", "{}")]));
        assert_eq!(read(r#"{"name":"time","arguments":"{\"a\":1}"}"#), calls(&[("time", r#"{"a":1}"#)]));
        let list = r#"[{"name":"time","arguments":{}}, {"name":"weather","arguments":{"x":1}}]"#;
        assert_eq!(read(list), calls(&[("time", "{}"), ("weather", r#"{"x":1}"#)]));
    }

    #[test]
    fn everything_else_is_verbatim_text() {
        for plain in [
            "Hello, world",
            "  leading space",
            r#"{"name":"unknown","arguments":{}}"#,
            r#"{"answer":42} and more"#,
            "[1, 2, 3]",
            "[{\"a\":1}]",
            "{ not json",
            "a < b and <tool",
            "<tool_call>never ends",
            r#"<tool_call>{"no":"name"}"#,
            "",
        ] {
            let expected = if plain.is_empty() { Vec::new() } else { vec![text(plain)] };
            assert_eq!(read(plain), expected, "{plain}");
        }
    }

    #[test]
    fn untagged_objects_are_text_if_calls_have_tags() {
        let tagged = r#"<tool_call>{"name":"time","arguments":{}}</tool_call>"#;
        let plain = r#"{"name":"time","arguments":{}}"#;
        assert_eq!(read_as(plain, &accepted()), [text(plain)]);
        let mut expected = calls(&[("time", "{}")]);
        expected.push(text(plain));
        assert_eq!(read_as(&format!("{tagged}\n{plain}"), &accepted()), expected);
    }

    #[test]
    fn only_the_first_call_counts_if_single() {
        let call =
            |city: &str| format!(r#"<tool_call>{{"name":"weather","arguments":{{"city":"{city}"}}}}</tool_call>"#);
        let input = format!("one {}\n{} two", call("Rome"), call("Oslo"));
        let single = Calls { single: true, untagged: true, ..accepted() };
        let mut expected = vec![text("one ")];
        expected.extend(calls(&[("weather", r#"{"city":"Rome"}"#)]));
        expected.push(text("two"));
        assert_eq!(read_as(&input, &single), expected);
        let list = r#"[{"name":"time","arguments":{}}, {"arguments":{"x":1},"name":"weather"}]"#;
        assert_eq!(read_as(list, &single), calls(&[("time", "{}")]));
    }

    #[test]
    fn a_truncated_call_keeps_its_partial_arguments() {
        assert_eq!(read(r#"<tool_call>{"name": "time", "arguments": {"a": "b"#), calls(&[("time", r#"{"a": "b"#)]));
    }

    #[test]
    fn without_tools_everything_is_text() {
        let mut reader = Reader::new(Calls::default());
        let call = r#"<tool_call>{"name":"time","arguments":{}}</tool_call>"#;
        assert_eq!(reader.push(call), [text(call)]);
        assert_eq!(reader.finish(), []);
    }
}
