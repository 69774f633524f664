//! `roci env`: the environment variables that roci reads, with their values.

use roci_base::env::{VARIABLES, Variable};
use serde::Serialize;

use crate::cli::EnvArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, Printer};

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    variables: Vec<EnvRow>,
}

#[derive(Serialize)]
struct EnvRow {
    name: &'static str,
    /// Null when unset or empty.
    value: Option<String>,
    default: &'static str,
    help: &'static str,
    since: &'static str,
}

/// The value of a variable. API keys are masked, since this table is pasted into bug reports.
fn shown(variable: &Variable) -> Option<String> {
    let is_secret = variable.name == roci_base::env::API_KEY.name;
    variable.get().map(|value| if is_secret { "(set)".to_owned() } else { value })
}

/// Prints the table of variables.
pub(crate) fn run(arguments: &EnvArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let row = |variable: &&Variable| EnvRow {
        name: variable.name,
        value: shown(variable),
        default: variable.default,
        help: variable.help,
        since: variable.since,
    };
    let variables: Vec<_> = VARIABLES.iter().map(row).collect();
    if arguments.format.json {
        printer.json(&Report { schema: "roci.env", version: 1, variables })?;
        return Ok(ExitStatus::Success);
    }
    let columns = [Column::Text("VARIABLE"), Column::Text("VALUE"), Column::Text("DEFAULT"), Column::Text("MEANING")];
    let text = |row: EnvRow| {
        vec![row.name.into(), row.value.unwrap_or_else(|| "-".into()), row.default.into(), row.help.into()]
    };
    printer.table(&columns, variables.into_iter().map(text).collect())?;
    Ok(ExitStatus::Success)
}
