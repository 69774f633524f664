//! `roci man`: man pages, generated from the definition of the command line.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use roci_base::env;

use crate::cli::Cli;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Prints the page of roci, or writes the pages of roci and of its verbs to a folder.
pub(crate) fn run(folder: Option<&Path>, printer: &Printer) -> Result<ExitStatus, CliError> {
    // `help` gets no page.
    let mut root = Cli::command().disable_help_subcommand(true);
    // Adds full names of verbs (`roci-demo`) and global options.
    root.build();
    let Some(folder) = folder else {
        printer.data(&page(root)?)?;
        return Ok(ExitStatus::Success);
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::File { path, source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    let verbs = verbs(&root);
    for command in [root].into_iter().chain(verbs) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = folder.join(format!("{name}.1"));
        std::fs::write(&path, page(command)?).map_err(failed(&path))?;
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(ExitStatus::Success)
}

/// All verbs, each followed by its own verbs.
fn verbs(command: &clap::Command) -> Vec<clap::Command> {
    let own = command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set());
    own.flat_map(|verb| std::iter::once(verb.clone()).chain(verbs(verb))).collect()
}

/// One page: the sections of the parser, then exit status and environment.
fn page(command: clap::Command) -> io::Result<String> {
    let has_verbs = command.has_subcommands();
    // Exit codes and examples get their own sections below.
    let command = if has_verbs { command.after_help("").after_long_help("") } else { command };
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.after_help("")).manual("Rocinante");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_verbs {
        man.render_subcommands_section(&mut text)?;
    }
    let mut more = Roff::new();
    more.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in ExitStatus::MEANINGS {
        more.control("TP", []);
        more.text([bold(status.code().to_string())]);
        more.text([roman(meaning)]);
    }
    more.control("SH", ["ENVIRONMENT"]);
    for variable in env::VARIABLES {
        more.control("TP", []);
        more.text([bold(variable.name)]);
        more.text([roman(format!("{} (default: {})", variable.help, variable.default))]);
    }
    if let Some((_, lines)) = examples.split_once('\n') {
        more.control("SH", ["EXAMPLES"]);
        more.control("nf", []);
        for line in lines.lines() {
            more.text([roman(line.trim_start())]);
        }
        more.control("fi", []);
    }
    more.to_writer(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
