//! `roci convert`: converts llama2.c checkpoints to GGUF files.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use roci_lm::llama2c;

use super::LanguageError;
use crate::cli::ConvertArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use roci_probe::units;

pub(crate) fn run(arguments: &ConvertArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let ConvertArgs { checkpoint: path, out, .. } = arguments;
    let default_tokenizer = || path.with_file_name("tokenizer.bin");
    let tokenizer = read(&arguments.tokenizer.clone().unwrap_or_else(default_tokenizer))?;
    let checkpoint = read(path)?;
    let stem = || path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = arguments.name.clone().unwrap_or_else(stem);
    // Written to a temporary file and renamed when complete, so that an existing file stays intact
    // until then.
    let temporary = out.with_added_extension("part");
    let failed = |source| LanguageError::Write { path: out.clone(), source };
    let file = File::create(&temporary).map_err(failed)?;
    let written = llama2c::convert(&checkpoint, &tokenizer, &name, BufWriter::new(file))
        .map_err(|source| LanguageError::Convert { path: path.clone(), source })
        .and_then(|mut file| file.flush().map_err(failed))
        .and_then(|()| std::fs::rename(&temporary, out).map_err(failed));
    if let Err(error) = written {
        // An incomplete file is of no use.
        let _ = std::fs::remove_file(&temporary);
        return Err(error.into());
    }
    let size = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    printer.note(&format!("wrote {} ({})", out.display(), units::bytes(size)));
    Ok(ExitStatus::Success)
}

fn read(path: &Path) -> Result<Vec<u8>, LanguageError> {
    crate::input::read(path).map_err(|source| LanguageError::Read { path: path.to_owned(), source })
}
