//! Answers in the chat completion format, complete or as stream chunks.

use std::time::SystemTime;

use roci_engine::{Summary, Token};
use serde_json::{Value, json};

use super::calls::{CallEvent, Calls, Reader};
use crate::app::{App, id, seconds};
use crate::completions::finish_reason;
use crate::generate::{Usage, Writer};
use crate::logprobs;
use crate::params::GenerationParams;

/// All answers to a request.
pub(super) struct Answers {
    id: String,
    created: u64,
    model: String,
    calls: Calls,
    probabilities: bool,
    usage: bool,
    /// Streaming state per answer.
    readers: Vec<Reader>,
}

impl Answers {
    pub(super) fn new(app: &App, params: &GenerationParams, calls: Calls) -> Self {
        Self {
            id: id("chatcmpl-"),
            created: seconds(SystemTime::now()),
            model: app.served.model.clone(),
            readers: vec![Reader::new(calls.clone()); params.answers],
            calls,
            probabilities: params.request.top_logprobs.is_some(),
            usage: params.usage,
        }
    }

    /// An empty answer that collects a complete response.
    pub(super) fn choice(&self) -> Choice {
        Choice {
            reader: Reader::new(self.calls.clone()),
            events: Vec::new(),
            probabilities: self.probabilities.then(Vec::new),
        }
    }

    fn envelope(&self, object: &str, choices: Vec<Value>) -> Value {
        json!({"id": self.id, "object": object, "created": self.created, "model": self.model, "choices": choices})
    }

    /// The complete response.
    pub(super) fn whole(&self, choices: Vec<Value>, usage: &Usage) -> Value {
        let mut value = self.envelope("chat.completion", choices);
        value["usage"] = usage.value();
        value["timings"] = usage.timings();
        value
    }

    fn chunk(&self, answer: usize, delta: Value, probabilities: Value, reason: Option<&str>) -> Value {
        let choice = json!({"index": answer, "delta": delta, "logprobs": probabilities, "finish_reason": reason});
        self.envelope("chat.completion.chunk", vec![choice])
    }

    /// Stream chunks for parts of an answer.
    fn deltas(&self, answer: usize, events: Vec<CallEvent>) -> Vec<Value> {
        let mut call =
            self.readers[answer].calls - events.iter().filter(|event| matches!(event, CallEvent::Call(_))).count();
        let mut deltas = Vec::new();
        for event in events {
            deltas.push(match event {
                CallEvent::Text(text) => json!({"content": text}),
                CallEvent::Call(name) => {
                    call += 1;
                    let function = json!({"name": name, "arguments": ""});
                    json!({"tool_calls": [{"index": call - 1, "id": id("call_"), "type": "function", "function": function}]})
                }
                CallEvent::Arguments(text) => {
                    json!({"tool_calls": [{"index": call.saturating_sub(1), "function": {"arguments": text}}]})
                }
            });
        }
        deltas
    }
}

impl Writer for Answers {
    fn begin(&mut self) -> Vec<Value> {
        let first = json!({"role": "assistant", "content": ""});
        (0..self.readers.len()).map(|answer| self.chunk(answer, first.clone(), Value::Null, None)).collect()
    }

    fn token(&mut self, answer: usize, token: Token) -> Vec<Value> {
        let events = self.readers[answer].push(&token.text);
        let mut deltas = self.deltas(answer, events);
        let mut probabilities = match self.probabilities {
            true => json!({"content": [logprobs::chat(&token)]}),
            false => Value::Null,
        };
        if deltas.is_empty() && self.probabilities {
            deltas.push(json!({}));
        }
        deltas.into_iter().map(|delta| self.chunk(answer, delta, probabilities.take(), None)).collect()
    }

    fn end(&mut self, answer: usize, end: &Summary) -> Vec<Value> {
        let mut events = self.readers[answer].push(&end.text);
        events.extend(self.readers[answer].finish());
        let deltas = self.deltas(answer, events);
        let mut chunks: Vec<Value> =
            deltas.into_iter().map(|delta| self.chunk(answer, delta, Value::Null, None)).collect();
        let reason = reason(end, self.readers[answer].calls);
        chunks.push(self.chunk(answer, json!({}), Value::Null, Some(reason)));
        chunks
    }

    fn finish(&mut self, usage: &Usage) -> Vec<Value> {
        if !self.usage {
            return Vec::new();
        }
        let mut value = self.envelope("chat.completion.chunk", Vec::new());
        value["usage"] = usage.value();
        value["timings"] = usage.timings();
        vec![value]
    }
}

/// The `finish_reason`. An answer cut off inside a call is reported as `length`, not `tool_calls`.
fn reason(end: &Summary, calls: usize) -> &'static str {
    match finish_reason(end.reason) {
        "stop" if calls > 0 => "tool_calls",
        reason => reason,
    }
}

/// Collects one answer of a complete response.
pub(super) struct Choice {
    reader: Reader,
    events: Vec<CallEvent>,
    probabilities: Option<Vec<Value>>,
}

impl Choice {
    pub(super) fn take(&mut self, token: &Token) {
        self.events.extend(self.reader.push(&token.text));
        if let Some(list) = &mut self.probabilities {
            list.push(logprobs::chat(token));
        }
    }

    /// The complete answer.
    pub(super) fn whole(mut self, answer: usize, end: &Summary) -> Value {
        self.events.extend(self.reader.push(&end.text));
        self.events.extend(self.reader.finish());
        let mut content = String::new();
        let mut calls: Vec<(String, String)> = Vec::new();
        for event in self.events {
            match event {
                CallEvent::Text(text) => content.push_str(&text),
                CallEvent::Call(name) => calls.push((name, String::new())),
                CallEvent::Arguments(text) => {
                    if let Some((_, arguments)) = calls.last_mut() {
                        arguments.push_str(&text);
                    }
                }
            }
        }
        let mut message = json!({"role": "assistant", "content": content});
        if !calls.is_empty() {
            if content.trim().is_empty() {
                message["content"] = Value::Null;
            }
            let call = |(name, arguments): &(String, String)| json!({"id": id("call_"), "type": "function", "function": {"name": name, "arguments": arguments}});
            message["tool_calls"] = calls.iter().map(call).collect();
        }
        let probabilities = self.probabilities.map_or(Value::Null, |list| json!({"content": list}));
        json!({
            "index": answer,
            "message": message,
            "logprobs": probabilities,
            "finish_reason": reason(end, calls.len()),
        })
    }
}
