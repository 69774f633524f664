//! Reads user input: with a line editor and history on a terminal, else line by line from standard
//! input.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, Config, Editor};

use super::super::LanguageError;
use crate::folders;
use crate::interrupt;
use crate::printer::Printer;

/// Maximum number of lines in the history.
const MAX_HISTORY: usize = 1000;
/// Maximum length of a line in bytes, because a pipe may never end.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// The result of reading input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// One line, or several joined by trailing backslashes.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    End,
}

/// The source of input lines.
pub(super) struct InputReader {
    /// The line editor, if input is a terminal.
    editor: Option<Editor<(), FileHistory>>,
    /// Path of the history file.
    history: Option<PathBuf>,
}

impl InputReader {
    /// Creates a line editor if `is_interactive`, else reads standard input.
    pub(super) fn new(is_interactive: bool, printer: &Printer) -> Self {
        if !is_interactive {
            return Self { editor: None, history: None };
        }
        let config =
            Config::builder().max_history_size(MAX_HISTORY).and_then(|config| config.history_ignore_dups(true));
        // Prompts are not results: if standard output is not a terminal, they are written to the
        // terminal device instead.
        let results = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = config.map(|config| config.behavior(results).build()).unwrap_or_default();
        let history = FileHistory::with_config(&config);
        let editor = Editor::with_history(config, history);
        let mut reader = Self { editor: editor.ok(), history: folders::data().map(|data| data.join("chat-history")) };
        if reader.editor.is_none() {
            printer.note("lines cannot be edited on this terminal");
        }
        if let (Some(editor), Some(path)) = (&mut reader.editor, &reader.history) {
            // The file does not exist on first use.
            let _ = editor.load_history(path);
        }
        reader
    }

    /// Whether input is an interactive terminal.
    pub(super) fn is_interactive(&self) -> bool {
        self.editor.is_some()
    }

    /// Reads the next line; a trailing backslash continues it on the next one.
    pub(super) fn next(&mut self) -> Result<Input, LanguageError> {
        let mut text = String::new();
        loop {
            // Nothing runs while waiting for input, so a signal ends the process at once.
            let line = interrupt::exit_on_signal_during(|| match &mut self.editor {
                Some(editor) => read_terminal(editor, if text.is_empty() { "> " } else { "… " }),
                None => read_pipe(std::io::stdin().lock()),
            })?;
            match line {
                Input::Text(line) => match line.strip_suffix('\\') {
                    Some(line) => {
                        text.push_str(line);
                        text.push('\n');
                    }
                    None => {
                        text.push_str(&line);
                        break;
                    }
                },
                Input::End if !text.is_empty() => break,
                other => return Ok(other),
            }
        }
        if let Some(editor) = &mut self.editor {
            // A failure to extend the history is not fatal.
            let _ = editor.add_history_entry(&text);
        }
        Ok(Input::Text(text))
    }

    pub(super) fn save_history(&mut self, printer: &Printer) {
        let (Some(editor), Some(path)) = (&mut self.editor, &self.history) else { return };
        let created = path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(ReadlineError::from);
        if let Err(error) = created.and_then(|()| editor.save_history(path)) {
            printer.note(&format!("cannot save the history to `{}`: {error}", path.display()));
        }
    }
}

fn read_terminal(editor: &mut Editor<(), FileHistory>, prompt: &str) -> Result<Input, LanguageError> {
    match editor.readline(prompt) {
        Ok(line) => Ok(Input::Text(line)),
        Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
        Err(ReadlineError::Eof) => Ok(Input::End),
        Err(error) => Err(LanguageError::Input(error.to_string())),
    }
}

fn read_pipe(from: impl BufRead) -> Result<Input, LanguageError> {
    let mut line = Vec::new();
    from.take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(|error| LanguageError::Input(error.to_string()))?;
    if line.len() as u64 == MAX_LINE_BYTES {
        return Err(LanguageError::Input(format!("a line has more than {} MiB", MAX_LINE_BYTES >> 20)));
    }
    if line.is_empty() {
        return Ok(Input::End);
    }
    let line = String::from_utf8(line).map_err(|_| LanguageError::Input("it is not UTF-8".to_owned()))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(Input::Text(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_read_line_by_line() {
        let mut from = &b"one\r\ntwo"[..];
        assert_eq!(read_pipe(&mut from).expect("a line"), Input::Text("one".into()));
        assert_eq!(read_pipe(&mut from).expect("a line"), Input::Text("two".into()));
        assert_eq!(read_pipe(&mut from).expect("an end"), Input::End);
    }

    #[test]
    fn invalid_utf8_and_endless_lines_are_errors() {
        assert!(read_pipe(&b"\xff\n"[..]).is_err());
        let endless = std::io::BufReader::new(std::io::repeat(b'a'));
        assert!(matches!(read_pipe(endless), Err(LanguageError::Input(reason)) if reason.contains("16 MiB")));
    }
}
