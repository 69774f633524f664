//! Slash commands of `roci chat`.

use std::path::PathBuf;

/// A line that begins with a slash.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ChatCommand {
    Help,
    Reset,
    System(String),
    Save(PathBuf),
    Image(PathBuf),
    Seed(u64),
    Temperature(f32),
    Quit,
}

/// Help text of all commands.
pub(super) const HELP: &str = "\
/reset          clear the conversation
/system TEXT    set the system prompt and clear the conversation; without TEXT, remove it
/image FILE     add a PNG or JPEG image to the next message
/save FILE      write the conversation as JSON messages
/seed N         set the seed of sampling; the same seed gives the same answer
/temperature X  set the temperature; 0 is greedy sampling
/quit           quit, as Ctrl-D does
A backslash at the end of a line continues it. Ctrl-C stops an answer.";

impl ChatCommand {
    /// Parses a line as a command; `None` for a message to the model. The error is a one-line
    /// message.
    pub(super) fn parse(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim().strip_prefix('/')?;
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        // A path such as `/etc/fstab` is part of a message.
        if !word.chars().all(|letter| letter.is_ascii_lowercase()) {
            return None;
        }
        let missing = |what: &str| format!("/{word} needs {what}");
        Some(match word {
            "help" | "" => Ok(Self::Help),
            "reset" => Ok(Self::Reset),
            "system" => Ok(Self::System(rest.to_owned())),
            "image" if rest.is_empty() => Err(missing("a file name")),
            "image" => Ok(Self::Image(PathBuf::from(rest))),
            "save" if rest.is_empty() => Err(missing("a file name")),
            "save" => Ok(Self::Save(PathBuf::from(rest))),
            "seed" => rest.parse().map(Self::Seed).map_err(|_| missing("a whole number of at least 0")),
            "temperature" => rest.parse().map(Self::Temperature).map_err(|_| missing("a number")),
            "quit" | "exit" | "bye" => Ok(Self::Quit),
            _ => Err(format!("unknown command /{word}; /help lists the commands")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_messages() {
        assert_eq!(ChatCommand::parse("what is /reset?"), None);
        assert_eq!(ChatCommand::parse("/etc/fstab is what?"), None);
        assert_eq!(ChatCommand::parse(" /reset "), Some(Ok(ChatCommand::Reset)));
        assert_eq!(ChatCommand::parse("/system  be kind "), Some(Ok(ChatCommand::System("be kind".into()))));
        assert_eq!(ChatCommand::parse("/save a b.json"), Some(Ok(ChatCommand::Save("a b.json".into()))));
        assert_eq!(ChatCommand::parse("/image cat.jpg"), Some(Ok(ChatCommand::Image("cat.jpg".into()))));
        assert_eq!(ChatCommand::parse("/seed 7"), Some(Ok(ChatCommand::Seed(7))));
        assert_eq!(ChatCommand::parse("/temperature 0.5"), Some(Ok(ChatCommand::Temperature(0.5))));
        assert_eq!(ChatCommand::parse("/quit"), Some(Ok(ChatCommand::Quit)));
    }

    #[test]
    fn invalid_commands_are_explained() {
        for (line, part) in [
            ("/sed 1", "unknown command /sed"),
            ("/seed -1", "whole number"),
            ("/save", "file"),
            ("/image", "file"),
            ("/temperature x", "number"),
        ] {
            let message = ChatCommand::parse(line).expect("it starts with a slash").expect_err(line);
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn help_names_every_command() {
        for word in ["reset", "system", "image", "save", "seed", "temperature", "quit"] {
            assert!(HELP.contains(&format!("/{word}")), "{word}");
        }
    }
}
