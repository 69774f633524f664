//! Chat templates: conversations as the text format that a model was trained on.
//!
//! Model files contain a Jinja template, written for Python's Jinja 2 as Hugging Face's
//! `transformers` configures it: `trim_blocks` and `lstrip_blocks`, `break` and `continue`, and
//! Python's methods of lists and strings. [`ChatTemplate`] configures minijinja the same way.
//! Templates are untrusted: their steps and output are bounded.

mod conversation;
mod error;
mod functions;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, Value};

pub use conversation::{Conversation, TemplateCapabilities, message};
pub use error::TemplateError;

use crate::json::Json;

/// Default template for models without one.
pub const CHATML: &str = "\
{% for message in messages %}{{ '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// Limits of the template and of its output, in bytes.
const MAX_TEMPLATE_BYTES: usize = 1 << 20;
const MAX_TEXT_BYTES: usize = 1 << 24;
/// Step limit of every template, and the additional steps per message and tool.
const STEPS: u64 = 200_000;
const STEPS_EACH: u64 = 20_000;

const NAME: &str = "chat";
/// Reserved variables; [`Conversation::variables`] cannot override them.
const RESERVED: [&str; 6] = ["messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"];

/// A parsed chat template with its capabilities.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    capabilities: TemplateCapabilities,
    variables: BTreeSet<String>,
    note: Option<String>,
}

impl ChatTemplate {
    /// Parses a template. `bos` and `eos` are the texts of the start and end tokens, which it may
    /// print.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, TemplateError> {
        let all = TemplateCapabilities { system: true, typed_content: false, tools: true };
        let mut template = Self {
            environment: environment(source)?,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
            capabilities: all,
            variables: BTreeSet::new(),
            note: None,
        };
        template.capabilities = template.try_out();
        template.variables = template.find_variables();
        Ok(template)
    }

    /// The template of a model file, or [`CHATML`] with a [`note`](Self::note) if the file has none
    /// that can be parsed.
    pub fn of_model(source: Option<&str>, bos: &str, eos: &str) -> Self {
        let note = match source {
            None => "the model has no chat template: using `chatml`".to_owned(),
            Some(source) => match Self::new(source, bos, eos) {
                Ok(template) => return template,
                Err(error) => format!("{error}: using `chatml`"),
            },
        };
        match Self::new(CHATML, bos, eos) {
            Ok(template) => Self { note: Some(note), ..template },
            Err(error) => unreachable!("the built-in template is valid: {error}"),
        }
    }

    /// Why the model's own template is not used.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Capabilities of the template.
    pub fn capabilities(&self) -> TemplateCapabilities {
        self.capabilities
    }

    /// Variables that the template reads in addition to the reserved ones, such as
    /// `enable_thinking`. All others of [`Conversation::variables`] have no effect.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// Renders a conversation.
    pub fn render(&self, conversation: &Conversation) -> Result<String, TemplateError> {
        self.render_as(conversation, self.capabilities)
    }

    fn render_as(
        &self,
        conversation: &Conversation,
        capabilities: TemplateCapabilities,
    ) -> Result<String, TemplateError> {
        let Conversation { messages, tools, add_generation_prompt, variables, now } = conversation;
        let messages = conversation::prepare(messages, capabilities);
        let mut environment = self.environment.clone();
        let steps = STEPS + STEPS_EACH * (messages.len() + tools.len()) as u64;
        environment.set_fuel(Some(steps));
        let now = *now;
        environment.add_function("strftime_now", move |format: &str| functions::strftime(format, now));
        for (name, value) in variables {
            environment.add_global(name.clone(), Value::from(Serde(value)));
        }
        // Templates test these with `is defined` or for truth; `none` serves both, as in
        // `transformers`.
        let list = |items: &[Json]| if items.is_empty() { Value::from(()) } else { Value::from(Serde(items)) };
        let context = Value::from_pairs([
            ("messages", Value::from(Serde(&messages))),
            ("tools", list(tools)),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(*add_generation_prompt)),
            ("bos_token", Value::from(self.bos.as_str())),
            ("eos_token", Value::from(self.eos.as_str())),
        ]);
        let mut output = Bounded { text: Vec::new(), full: false };
        let template = environment.get_template(NAME).map_err(|error| explain(&error, steps))?;
        match template.render_captured_to(context, &mut output) {
            _ if output.full => Err(TemplateError::TooLong { limit: MAX_TEXT_BYTES }),
            Err(error) => Err(explain(&error, steps)),
            Ok(_) => Ok(String::from_utf8_lossy(&output.text).into_owned()),
        }
    }

    fn find_variables(&self) -> BTreeSet<String> {
        let Ok(template) = self.environment.get_template(NAME) else { return BTreeSet::new() };
        let functions: BTreeSet<&str> = self.environment.globals().map(|(name, _)| name).collect();
        let mut read: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        // `{% set x = x | default(1) %}` reads the variable that it sets, which minijinja does not
        // report.
        let tags = template.source().split("{%").skip(1).filter_map(|rest| rest.split_once("%}"));
        let mut set = BTreeSet::new();
        for tag in tags.map(|(tag, _)| tag.trim_matches(['-', '+']).trim()) {
            let Some((name, value)) = tag.strip_prefix("set ").and_then(|tag| tag.split_once('=')) else { continue };
            let reads = |name: &str| {
                let value = self.environment.compile_expression(value.trim());
                value.is_ok_and(|value| value.undeclared_variables(false).contains(name))
            };
            if set.insert(name.trim()) && reads(name.trim()) {
                read.insert(name.trim().to_owned());
            }
        }
        read.retain(|name| !RESERVED.contains(&name.as_str()) && !functions.contains(name.as_str()));
        read
    }

    /// Detects the capabilities of the template by trial rendering.
    fn try_out(&self) -> TemplateCapabilities {
        const NEEDLE: &str = "roci-needle";
        let plain = TemplateCapabilities { system: true, typed_content: false, tools: true };
        let shows = |conversation: &Conversation, capabilities| {
            // A list that is printed verbatim was not iterated over.
            self.render_as(conversation, capabilities)
                .is_ok_and(|text| text.contains(NEEDLE) && !text.contains("'type': 'text'"))
        };
        let user = Conversation::new(vec![message("user", NEEDLE)]);
        let typed = TemplateCapabilities { typed_content: true, ..plain };
        let typed_content = !shows(&user, plain) && shows(&user, typed);
        let found = TemplateCapabilities { typed_content, ..plain };
        let system = Conversation::new(vec![message("system", NEEDLE), message("user", "hello")]);
        let mut tools = Conversation::new(vec![message("user", "hello")]);
        tools.tools = Json::parse(
            r#"[{"type":"function","function":{"name":"roci-needle","description":"","parameters":{"type":"object","properties":{}}}}]"#,
        )
        .ok()
        .and_then(|tools| tools.as_array().map(<[Json]>::to_vec))
        .unwrap_or_default();
        TemplateCapabilities { system: shows(&system, found), typed_content, tools: shows(&tools, found) }
    }
}

/// Jinja as `transformers` configures it.
fn environment(source: &str) -> Result<Environment<'static>, TemplateError> {
    if source.len() > MAX_TEMPLATE_BYTES {
        let reason = format!("the template is longer than {MAX_TEMPLATE_BYTES} bytes");
        return Err(TemplateError::Syntax { line: None, reason });
    }
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let syntax = syntax.map_err(|error| TemplateError::Syntax { line: None, reason: error.to_string() })?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_recursion_limit(100);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", functions::raise_exception);
    environment.add_function("strftime_now", |format: &str| functions::strftime(format, std::time::UNIX_EPOCH));
    environment.add_filter("tojson", |value: &Value, options| functions::to_json(value, options));
    environment.add_filter("string", |value: &Value| functions::python_text(value));
    // In Python `none` is not iterable, and templates test for that before they iterate.
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    environment.set_formatter(|output, _, value| output.write_str(&functions::python_text(value)).map_err(Into::into));
    environment.add_template_owned(NAME, without_generation(source)).map_err(|error| explain(&error, 0))?;
    Ok(environment)
}

/// Makes the `generation` block, which marks the assistant's text for training, a no-op.
fn without_generation(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let (before, tag) = (&rest[..start], &rest[start..start + length + 2]);
        text.push_str(before);
        let word = tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']).trim();
        match word {
            "generation" => text.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => text.push_str(&tag.replace("endgeneration", "endif")),
            _ => text.push_str(tag),
        }
        rest = &rest[start + tag.len()..];
    }
    text + rest
}

/// Converts an error of minijinja.
fn explain(error: &minijinja::Error, steps: u64) -> TemplateError {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(functions::TemplateException(reason)) = cause.downcast_ref() {
            return TemplateError::Raised { reason: reason.lines().collect::<Vec<_>>().join(" ") };
        }
        source = cause.source();
    }
    let line = error.line();
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let reason = reason.lines().collect::<Vec<_>>().join(" ");
    match error.kind() {
        ErrorKind::OutOfFuel => TemplateError::Endless { limit: steps },
        ErrorKind::SyntaxError => TemplateError::Syntax { line, reason },
        _ => TemplateError::Render { line, reason },
    }
}

/// Output buffer with a size limit.
struct Bounded {
    text: Vec<u8>,
    full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > MAX_TEXT_BYTES {
            self.full = true;
            return Err(io::Error::other("output limit exceeded"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod harmony_tests;
#[cfg(test)]
mod tests;
