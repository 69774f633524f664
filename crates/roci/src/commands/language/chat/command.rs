//! What can be said to `roci chat` rather than to the model.

use std::path::PathBuf;

/// Lines that begin with a slash.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Reset,
    System(String),
    Save(PathBuf),
    Seed(u64),
    Temperature(f32),
    Quit,
}

/// All of them, for people.
pub(super) const HELP: &str = "\
/reset          forget what was said
/system TEXT    tell the model what it is, and forget what was said; without TEXT, nothing
/save FILE      write the conversation as JSON
/seed N         draw other random numbers, or the same again
/temperature X  how freely tokens are chosen; 0 takes the likeliest
/quit           leave, as Ctrl-D does
A line that ends with a backslash goes on in the next. Ctrl-C stops an answer.";

impl Command {
    /// The command that a line is; `None` for what is said to the model. The error is one line for people.
    pub(super) fn parse(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim().strip_prefix('/')?;
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        // A path, such as `/etc/fstab`, is something to talk about.
        if !word.chars().all(|letter| letter.is_ascii_lowercase()) {
            return None;
        }
        let missing = |what: &str| format!("/{word} needs {what}");
        Some(match word {
            "help" | "" => Ok(Self::Help),
            "reset" => Ok(Self::Reset),
            "system" => Ok(Self::System(rest.to_owned())),
            "save" if rest.is_empty() => Err(missing("a file's name")),
            "save" => Ok(Self::Save(PathBuf::from(rest))),
            "seed" => rest.parse().map(Self::Seed).map_err(|_| missing("a whole number of at least 0")),
            "temperature" => rest.parse().map(Self::Temperature).map_err(|_| missing("a number")),
            "quit" | "exit" | "bye" => Ok(Self::Quit),
            _ => Err(format!("there is no /{word}; /help says what there is")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(Command::parse("what is /reset?"), None);
        assert_eq!(Command::parse("/etc/fstab is what?"), None);
        assert_eq!(Command::parse(" /reset "), Some(Ok(Command::Reset)));
        assert_eq!(Command::parse("/system  be kind "), Some(Ok(Command::System("be kind".into()))));
        assert_eq!(Command::parse("/save a b.json"), Some(Ok(Command::Save("a b.json".into()))));
        assert_eq!(Command::parse("/seed 7"), Some(Ok(Command::Seed(7))));
        assert_eq!(Command::parse("/temperature 0.5"), Some(Ok(Command::Temperature(0.5))));
        assert_eq!(Command::parse("/quit"), Some(Ok(Command::Quit)));
    }

    #[test]
    fn what_is_no_command_says_so() {
        for (line, part) in
            [("/sed 1", "no /sed"), ("/seed -1", "whole number"), ("/save", "file"), ("/temperature x", "number")]
        {
            let said = Command::parse(line).expect("it is meant for us").expect_err(line);
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn help_names_every_command() {
        for word in ["reset", "system", "save", "seed", "temperature", "quit"] {
            assert!(HELP.contains(&format!("/{word}")), "{word}");
        }
    }
}
