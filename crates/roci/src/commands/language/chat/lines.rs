//! What people type: by an editor with a history on a terminal, line by line from anything else.

use std::io::{BufRead, Read};
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::super::LanguageError;
use crate::folders;
use crate::interrupt;
use crate::printer::Printer;

/// How many lines the history keeps.
const HISTORY: usize = 1000;
/// The longest line: what a pipe gives need not end.
const LONGEST: u64 = 16 << 20;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, or several that belong together.
    Text(String),
    /// Ctrl-C.
    Stopped,
    /// No more comes.
    End,
}

/// Where lines come from.
pub(super) struct Lines {
    /// The editor, on a terminal.
    editor: Option<Editor<(), FileHistory>>,
    /// The file with what was typed before.
    history: Option<PathBuf>,
}

impl Lines {
    /// An editor if people type, else standard input as it is.
    pub(super) fn new(talks: bool, printer: &Printer) -> Self {
        if !talks {
            return Self { editor: None, history: None };
        }
        let config = Config::builder().max_history_size(HISTORY).and_then(|config| config.history_ignore_dups(true));
        let config = config.map(|config| config.build()).unwrap_or_default();
        let editor = Editor::with_history(config, FileHistory::with_config(&config));
        let mut lines = Self { editor: editor.ok(), history: folders::data().map(|data| data.join("chat-history")) };
        if lines.editor.is_none() {
            printer.note("lines cannot be edited on this terminal");
        }
        if let (Some(editor), Some(path)) = (&mut lines.editor, &lines.history) {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        lines
    }

    /// Whether somebody types on a terminal.
    pub(super) fn talks(&self) -> bool {
        self.editor.is_some()
    }

    /// The next line; one that ends with a backslash goes on in the next.
    pub(super) fn next(&mut self) -> Result<Line, LanguageError> {
        let mut whole = String::new();
        loop {
            // While nothing is under way, a signal ends the process at once.
            let line = interrupt::at_once(|| match &mut self.editor {
                Some(editor) => typed(editor, if whole.is_empty() { "> " } else { "… " }),
                None => piped(std::io::stdin().lock()),
            })?;
            match line {
                Line::Text(line) => match line.strip_suffix('\\') {
                    Some(line) => {
                        whole.push_str(line);
                        whole.push('\n');
                    }
                    None => {
                        whole.push_str(&line);
                        break;
                    }
                },
                Line::End if !whole.is_empty() => break,
                other => return Ok(other),
            }
        }
        if let Some(editor) = &mut self.editor {
            // A history that cannot grow is no reason to stop.
            let _ = editor.add_history_entry(&whole);
        }
        Ok(Line::Text(whole))
    }

    /// Keeps what was typed for the next time.
    pub(super) fn keep(&mut self, printer: &Printer) {
        let (Some(editor), Some(path)) = (&mut self.editor, &self.history) else { return };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(ReadlineError::from);
        if let Err(error) = made.and_then(|()| editor.save_history(path)) {
            printer.note(&format!("the history is not kept: {}: {error}", path.display()));
        }
    }
}

fn typed(editor: &mut Editor<(), FileHistory>, prompt: &str) -> Result<Line, LanguageError> {
    match editor.readline(prompt) {
        Ok(line) => Ok(Line::Text(line)),
        Err(ReadlineError::Interrupted) => Ok(Line::Stopped),
        Err(ReadlineError::Eof) => Ok(Line::End),
        Err(error) => Err(LanguageError::Input(error.to_string())),
    }
}

fn piped(from: impl BufRead) -> Result<Line, LanguageError> {
    let mut line = Vec::new();
    from.take(LONGEST).read_until(b'\n', &mut line).map_err(|error| LanguageError::Input(error.to_string()))?;
    if line.len() as u64 == LONGEST {
        return Err(LanguageError::Input(format!("a line has more than {} MiB", LONGEST >> 20)));
    }
    if line.is_empty() {
        return Ok(Line::End);
    }
    let line = String::from_utf8(line).map_err(|_| LanguageError::Input("it is not UTF-8".to_owned()))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(Line::Text(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_pipe_end_with_it() {
        let mut from = &b"one\r\ntwo"[..];
        assert_eq!(piped(&mut from).expect("a line"), Line::Text("one".into()));
        assert_eq!(piped(&mut from).expect("a line"), Line::Text("two".into()));
        assert_eq!(piped(&mut from).expect("an end"), Line::End);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(piped(&b"\xff\n"[..]).is_err());
        let endless = std::io::BufReader::new(std::io::repeat(b'a'));
        assert!(matches!(piped(endless), Err(LanguageError::Input(reason)) if reason.contains("16 MiB")));
    }
}
