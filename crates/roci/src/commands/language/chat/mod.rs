//! `roci chat`: an interactive conversation.

mod command;
mod input;

use std::io::IsTerminal;
use std::time::Duration;

use roci_base::Hint as _;
use roci_engine::{Request, Settings};
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
        let question = message("user", text);
        let messages: Vec<Json> =
            system.into_iter().chain(self.messages.iter().cloned()).chain([question.clone()]).collect();
        let prompt = self.loaded.prompts.encode_conversation(messages).map_err(LanguageError::from)?;
        let request = Request { prompt, ..self.request.clone() };
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
        self.messages.extend([question, message("assistant", &answer.text)]);
        Ok(())
    }

    fn execute(&mut self, command: ChatCommand) -> Result<(), CliError> {
        let reply = match command {
            ChatCommand::Help => HELP.trim_end().to_owned(),
            ChatCommand::Reset => {
                self.messages.clear();
                "conversation cleared".to_owned()
            }
            ChatCommand::System(text) => {
                self.system = Some(text).filter(|text| !text.is_empty());
                self.messages.clear();
                "conversation cleared, new system prompt set".to_owned()
            }
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

    /// Writes the conversation as JSON messages of the OpenAI API.
    fn save(&self, path: &std::path::Path) -> std::io::Result<()> {
        let system = self.system.as_deref().map(|text| message("system", text));
        let messages: Vec<Json> = system.into_iter().chain(self.messages.iter().cloned()).collect();
        let text = serde_json::to_string_pretty(&messages).map_err(std::io::Error::from)?;
        std::fs::write(path, text + "\n")
    }
}
