//! `roci chat`: a conversation, line by line.

mod command;
mod lines;

use std::io::IsTerminal;
use std::time::Duration;

use roci_engine::{Request, Settings};
use roci_hal::Hint as _;
use roci_llm::json::Json;
use roci_llm::template::message;

use super::load::{Loaded, Options, load};
use super::{LanguageError, ask};
use crate::cli::{ChatArgs, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use command::{Command, HELP};
use lines::{Line, Lines};

/// Talks until somebody leaves.
pub(crate) fn run(arguments: &ChatArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let request = ask::request(&arguments.language, printer)?;
    let options = Options {
        devices: &arguments.devices,
        context: arguments.language.context,
        cache: arguments.language.cache,
        exact: arguments.language.exact,
        settings: Settings { together: 1, waiting: 0 },
    };
    interrupt::listen();
    let loaded = load(&arguments.model, &options, drivers, printer)?;
    let talks = std::io::stdin().is_terminal();
    let mut lines = Lines::new(talks, printer);
    if talks {
        let about = &loaded.about;
        printer.note(&format!(
            "{} on {}, {} tokens of context; /help",
            about.name,
            about.devices.join(" + "),
            about.context
        ));
    }
    if let Some(note) = loaded.template.note() {
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
    let status = chat.talk(&mut lines);
    lines.keep(printer);
    chat.loaded.engine.shut_down(Duration::ZERO);
    status
}

struct Chat<'a> {
    loaded: Loaded,
    system: Option<String>,
    /// What was said so far, without what the system says.
    messages: Vec<Json>,
    request: Request,
    stats: bool,
    printer: &'a Printer,
}

impl Chat<'_> {
    fn talk(&mut self, lines: &mut Lines) -> Result<ExitStatus, CliError> {
        // Ctrl-C leaves if it comes twice, with nothing said in between.
        let mut stopped = false;
        loop {
            let text = match lines.next()? {
                Line::End => return Ok(ExitStatus::Success),
                Line::Stopped if stopped => return Ok(ExitStatus::Interrupted),
                Line::Stopped => {
                    stopped = true;
                    self.printer.note("Ctrl-C once more leaves, as Ctrl-D does");
                    continue;
                }
                Line::Text(text) => text,
            };
            stopped = false;
            if text.trim().is_empty() {
                continue;
            }
            match Command::parse(&text) {
                Some(Ok(Command::Quit)) => return Ok(ExitStatus::Success),
                Some(Ok(command)) => self.obey(command)?,
                Some(Err(reason)) => self.printer.note(&reason),
                None => match self.answer(&text) {
                    Ok(()) => {}
                    // The conversation is as it was before, and something else may be asked.
                    Err(CliError::Language(error)) if !error.is_final() && lines.talks() => {
                        self.printer.error(&error);
                    }
                    Err(error) => return Err(error),
                },
            }
            if interrupt::taken() {
                if !lines.talks() {
                    return Ok(ExitStatus::Interrupted);
                }
                stopped = true;
            }
        }
    }

    /// Answers what was said, and remembers both.
    fn answer(&mut self, text: &str) -> Result<(), CliError> {
        let system = self.system.as_deref().map(|text| message("system", text));
        let said = message("user", text);
        let messages: Vec<Json> =
            system.into_iter().chain(self.messages.iter().cloned()).chain([said.clone()]).collect();
        let prompt = self.loaded.conversation(messages)?;
        let request = Request { prompt, ..self.request.clone() };
        let generation = self.loaded.engine.generate(request).map_err(LanguageError::from)?;
        let terminal = std::io::stdout().is_terminal();
        let answer =
            ask::read::<CliError>(generation, |text| Ok(self.printer.data(&ask::harmless(text, terminal))?))?;
        if !answer.text.ends_with('\n') {
            self.printer.data("\n")?;
        }
        if let Some(end) = &answer.end {
            if self.stats {
                self.printer.note(&ask::statistics(end, self.request.sampling.seed));
            }
            if end.reason == roci_engine::Reason::Context {
                self.printer.note("the context is full: /reset begins anew, `--context` makes it larger");
            }
        }
        self.messages.extend([said, message("assistant", &answer.text)]);
        Ok(())
    }

    fn obey(&mut self, command: Command) -> Result<(), CliError> {
        let said = match command {
            Command::Help => HELP.trim_end().to_owned(),
            Command::Reset => {
                self.messages.clear();
                "what was said is forgotten".to_owned()
            }
            Command::System(text) => {
                self.system = Some(text).filter(|text| !text.is_empty());
                self.messages.clear();
                "what was said is forgotten, and the system's text is another".to_owned()
            }
            Command::Seed(seed) => {
                self.request.sampling.seed = seed;
                format!("the seed is {seed}")
            }
            Command::Temperature(temperature) => {
                let sampling = roci_llm::sample::Settings { temperature, ..self.request.sampling.clone() };
                match sampling.check(self.loaded.engine.limits().vocabulary) {
                    Ok(()) => {
                        self.request.sampling = sampling;
                        format!("the temperature is {temperature}")
                    }
                    Err(error) => error.to_string(),
                }
            }
            Command::Save(path) => match self.save(&path) {
                Ok(()) => format!("wrote {}", path.display()),
                Err(source) => {
                    let error = LanguageError::Write { path, source };
                    format!("{error}: {}", error.hint().unwrap_or_default())
                }
            },
            Command::Quit => return Ok(()),
        };
        self.printer.note(&said);
        Ok(())
    }

    /// Writes the conversation as messages of OpenAI's interface.
    fn save(&self, path: &std::path::Path) -> std::io::Result<()> {
        let system = self.system.as_deref().map(|text| message("system", text));
        let messages: Vec<Json> = system.into_iter().chain(self.messages.iter().cloned()).collect();
        let text = serde_json::to_string_pretty(&messages).map_err(std::io::Error::from)?;
        std::fs::write(path, text + "\n")
    }
}
