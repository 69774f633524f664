//! `roci chat`: an interactive conversation.

mod command;
mod input;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use roci_base::Hint as _;
use roci_engine::{Image, Request, Settings, image_marker};
use roci_lm::json::Json;
use roci_lm::template::message;

use super::load::{LoadOptions, LoadedModel, load};
use super::{LanguageError, generate};
use crate::cli::{ChatArgs, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use command::{ChatCommand, HELP};
use input::{Input, InputReader};

/// Runs the conversation until the user quits.
pub(crate) fn run(arguments: &ChatArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let request = generate::request(&arguments.language, printer)?;
    let options = LoadOptions {
        devices: &arguments.devices,
        context: arguments.language.context,
        cache: arguments.language.cache_type,
        exact: arguments.language.exact,
        speculation: &arguments.language.speculation,
        mmproj: arguments.language.mmproj.as_deref(),
        adapters: &arguments.language.adapters,
        experts: arguments.language.experts.layers(),
        settings: Settings { max_batch: 1, max_waiting: 0 },
    };
    interrupt::listen();
    let loaded = load(&arguments.model, &options, drivers, printer)?;
    let is_interactive = std::io::stdin().is_terminal();
    let mut input = InputReader::new(is_interactive, printer);
    if is_interactive {
        let summary = &loaded.summary;
        printer.note(&format!(
            "{} on {}, context of {} tokens; /help lists commands",
            summary.name,
            summary.devices.join(" + "),
            summary.context
        ));
    }
    if let Some(note) = loaded.prompts.template.note() {
        printer.note(note);
    }
    let mut chat = Chat {
        system: arguments.language.system.clone(),
        messages: Vec::new(),
        marker: image_marker(),
        images: Vec::new(),
        pending: 0,
        request,
        stats: arguments.stats,
        loaded,
        printer,
    };
    let status = chat.run(&mut input);
    input.save_history(printer);
    chat.loaded.engine.shut_down(Duration::ZERO);
    status
}

struct Chat<'a> {
    loaded: LoadedModel,
    system: Option<String>,
    /// The messages so far, without the system prompt.
    messages: Vec<Json>,
    /// Marker of an image in messages.
    marker: String,
    /// Images of all messages, including the next one, with their files.
    images: Vec<(Arc<Image>, PathBuf)>,
    /// Number of images that belong to the next message.
    pending: usize,
    request: Request,
    stats: bool,
    printer: &'a Printer,
}

impl Chat<'_> {
    fn run(&mut self, input: &mut InputReader) -> Result<ExitStatus, CliError> {
        // Ctrl-C twice in a row quits.
        let mut interrupted = false;
        loop {
            let text = match input.next()? {
                Input::End => return Ok(ExitStatus::Success),
                Input::Interrupted if interrupted => return Ok(ExitStatus::Interrupted),
                Input::Interrupted => {
                    interrupted = true;
                    self.printer.note("press Ctrl-C again or Ctrl-D to quit");
                    continue;
                }
                Input::Text(text) => text,
            };
            interrupted = false;
            if text.trim().is_empty() {
                continue;
            }
            match ChatCommand::parse(&text) {
                Some(Ok(ChatCommand::Quit)) => return Ok(ExitStatus::Success),
                Some(Ok(command)) => self.execute(command)?,
                Some(Err(reason)) => self.printer.note(&reason),
                None => match self.answer(&text) {
                    Ok(()) => {}
                    // The conversation is unchanged, so the user can go on.
                    Err(CliError::Language(error)) if !error.is_final() && input.is_interactive() => {
                        self.printer.error(&error);
                    }
                    Err(error) => return Err(error),
                },
            }
            if interrupt::take() {
                if !input.is_interactive() {
                    return Ok(ExitStatus::Interrupted);
                }
                interrupted = true;
            }
        }
    }

    /// Generates an answer and appends both messages to the conversation.
    fn answer(&mut self, text: &str) -> Result<(), CliError> {
        let system = self.system.as_deref().map(|text| message("system", text));
        let question = message("user", &format!("{}{text}", self.marker.repeat(self.pending)));
        let messages: Vec<Json> =
            system.into_iter().chain(self.messages.iter().cloned()).chain([question.clone()]).collect();
        let images: Vec<Arc<Image>> = self.images.iter().map(|(image, _)| Arc::clone(image)).collect();
        let prompt = match &images[..] {
            [] => self.loaded.prompts.encode_conversation(messages).map_err(LanguageError::from)?,
            images => {
                let text = self.loaded.prompts.render(messages).map_err(LanguageError::from)?;
                self.loaded.with_images(&text, &self.marker, images, true)?
            }
        };
        let request = Request { prompt, images, ..self.request.clone() };
        let generation = self.loaded.engine.generate(request).map_err(LanguageError::from)?;
        let terminal = std::io::stdout().is_terminal();
        let answer = generate::read_answer::<CliError>(generation, |text| {
            Ok(self.printer.data(&generate::sanitized(text, terminal))?)
        })?;
        if !answer.text.ends_with('\n') {
            self.printer.data("\n")?;
        }
        if let Some(end) = &answer.end {
            if self.stats {
                self.printer.note(&generate::statistics(end, self.request.sampling.seed));
            }
            if end.reason == roci_engine::FinishReason::Context {
                self.printer.note("the context is full: /reset clears the conversation, `--context` sets a larger one");
            }
        }
        self.pending = 0;
        self.messages.extend([question, message("assistant", &answer.text)]);
        Ok(())
    }

    fn execute(&mut self, command: ChatCommand) -> Result<(), CliError> {
        let reply = match command {
            ChatCommand::Help => HELP.trim_end().to_owned(),
            ChatCommand::Reset => {
                self.clear();
                "conversation cleared".to_owned()
            }
            ChatCommand::System(text) => {
                self.system = Some(text).filter(|text| !text.is_empty());
                self.clear();
                "conversation cleared, new system prompt set".to_owned()
            }
            ChatCommand::Image(path) => match self.add_image(path) {
                Ok(rows) => format!("the next message includes this image ({rows} tokens)"),
                Err(error) => match error.hint() {
                    Some(hint) => format!("{error}: {hint}"),
                    None => error.to_string(),
                },
            },
            ChatCommand::Seed(seed) => {
                self.request.sampling.seed = seed;
                format!("the seed is {seed}")
            }
            ChatCommand::Temperature(temperature) => {
                let sampling = roci_lm::sample::Settings { temperature, ..self.request.sampling.clone() };
                match sampling.check(self.loaded.engine.limits().vocabulary) {
                    Ok(()) => {
                        self.request.sampling = sampling;
                        format!("the temperature is {temperature}")
                    }
                    Err(error) => error.to_string(),
                }
            }
            ChatCommand::Save(path) => match self.save(&path) {
                Ok(()) => format!("wrote {}", path.display()),
                Err(source) => {
                    let error = LanguageError::Write { path, source };
                    format!("{error}: {}", error.hint().unwrap_or_default())
                }
            },
            ChatCommand::Quit => return Ok(()),
        };
        self.printer.note(&reply);
        Ok(())
    }

    /// Clears the conversation.
    fn clear(&mut self) {
        self.messages.clear();
        self.images.clear();
        self.pending = 0;
    }

    /// Adds an image to the next message. Returns its number of tokens.
    fn add_image(&mut self, path: PathBuf) -> Result<usize, LanguageError> {
        let vision = self.loaded.vision.as_ref().ok_or(LanguageError::NoVision)?;
        let image = vision.image(&path, &self.loaded.engine)?;
        let rows = image.count();
        self.images.push((image, path));
        self.pending += 1;
        Ok(rows)
    }

    /// A message with images, as content parts of OpenAI's API.
    fn with_parts(&self, message: &Json, paths: &mut impl Iterator<Item = PathBuf>) -> Json {
        let mut entries = message.as_object().unwrap_or_default().to_vec();
        for (_, content) in entries.iter_mut().filter(|(name, _)| name == "content") {
            let Some(text) = content.as_str().filter(|text| text.contains(&self.marker)) else { continue };
            let entry = |name: &str, value: Json| (name.to_owned(), value);
            let image = |path: PathBuf| {
                let url = Json::from(format!("file://{}", path.display()).as_str());
                let url = Json::Object(vec![entry("url", url)]);
                Json::Object(vec![entry("type", Json::from("image_url")), entry("image_url", url)])
            };
            let count = text.matches(&self.marker).count();
            let words = Json::from(text.replace(&self.marker, "").as_str());
            let words = Json::Object(vec![entry("type", Json::from("text")), entry("text", words)]);
            *content = Json::Array(paths.take(count).map(image).chain([words]).collect());
        }
        Json::Object(entries)
    }

    /// Writes the conversation as JSON messages of the OpenAI API.
    fn save(&self, path: &std::path::Path) -> std::io::Result<()> {
        let system = self.system.as_deref().map(|text| message("system", text));
        let mut paths = self.images.iter().map(|(_, path)| path.clone());
        let messages: Vec<Json> = self.messages.iter().map(|message| self.with_parts(message, &mut paths)).collect();
        let messages: Vec<Json> = system.into_iter().chain(messages).collect();
        let text = serde_json::to_string_pretty(&messages).map_err(std::io::Error::from)?;
        std::fs::write(path, text + "\n")
    }
}
