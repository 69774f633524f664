//! `roci quantize`: quantizes the matrices of model files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use roci_gguf::{Gguf, Type};
use roci_lm::quantize::{FileType, ImportanceMatrix, Options, Plan, QuantizeError};
use roci_probe::units;
use serde::Serialize;

use super::LanguageError;
use crate::cli::QuantizeArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Column, Printer};

/// The JSON.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    input: String,
    output: String,
    #[serde(rename = "type")]
    file_type: &'static str,
    dry_run: bool,
    /// Bytes of the source.
    source_bytes: u64,
    /// Bytes of the new file.
    bytes: u64,
    bits_per_weight: f64,
    /// Null for a dry run.
    seconds: Option<f64>,
    tensors: Vec<TensorReport>,
}

#[derive(Serialize)]
struct TensorReport {
    name: String,
    shape: Vec<u64>,
    from: &'static str,
    to: &'static str,
    /// The mixture's type, if its blocks do not fit the rows.
    instead_of: Option<&'static str>,
    /// Whether the importance matrix was used.
    importance: bool,
    source_bytes: u64,
    bytes: u64,
}

pub(crate) fn run(arguments: &QuantizeArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let QuantizeArgs { input, output, .. } = arguments;
    interrupt::listen();
    let file = super::load::open(input)?;
    if is_same(input, output) {
        return Err(LanguageError::SameFile { path: output.clone() }.into());
    }
    let matrix = arguments.imatrix.as_deref().map(importance_matrix).transpose()?;
    let matrix_name = arguments.imatrix.as_deref().unwrap_or(Path::new("")).to_string_lossy();
    let overrides = |name: &str| {
        let mut types = arguments.tensor_types.iter();
        types.find(|given| given.pattern.is_match(name)).map(|given| given.kind)
    };
    let options = Options {
        file_type: arguments.file_type,
        output: arguments.output_tensor_type,
        embedding: arguments.token_embedding_type,
        overrides: &overrides,
        pure: arguments.pure,
        allow_requantize: arguments.allow_requantize,
        importance: matrix.as_ref().map(|matrix| (matrix, matrix_name.as_ref())),
    };
    let failed = |source| quantize_error(input, output, source);
    let plan = Plan::new(&file, &options).map_err(failed)?;
    let bytes = plan.bytes().map_err(|error| failed(error.into()))?;
    announce(&plan, arguments, &file, bytes, printer);
    let mut seconds = None;
    if !arguments.dry_run {
        let started = Instant::now();
        match write(&plan, arguments, printer) {
            Err(QuantizeError::Stopped) => return Ok(ExitStatus::Interrupted),
            written => written.map_err(failed)?,
        }
        let taken = started.elapsed().as_secs_f64();
        seconds = Some(taken);
        printer.note(&format!("wrote {} ({}) in {}", output.display(), units::bytes(bytes), units::seconds(taken)));
    }
    if arguments.format.json {
        printer.json(&report(&plan, arguments, &file, bytes, seconds))?;
    } else {
        table(&plan, printer)?;
    }
    Ok(ExitStatus::Success)
}

/// Whether two paths are the same file, so that writing one would destroy the other.
fn is_same(input: &Path, output: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(input).is_some_and(|input| Some(input) == real(output))
}

fn importance_matrix(path: &Path) -> Result<ImportanceMatrix, LanguageError> {
    let bytes = crate::input::read(path).map_err(|source| LanguageError::Read { path: path.to_owned(), source })?;
    ImportanceMatrix::parse(bytes).map_err(|source| LanguageError::Importance { path: path.to_owned(), source })
}

fn quantize_error(input: &Path, output: &Path, source: QuantizeError) -> LanguageError {
    match source {
        QuantizeError::Gguf(roci_gguf::Error::Output(source)) => {
            LanguageError::Write { path: output.to_owned(), source }
        }
        source => LanguageError::Quantize { path: input.to_owned(), source },
    }
}

/// Prints the size of the new file, and notes about unexpected types.
fn announce(plan: &Plan<'_>, arguments: &QuantizeArgs, file: &Gguf, bytes: u64, printer: &Printer) {
    let (from, to) = (units::bytes(file.file_bytes()), units::bytes(bytes));
    printer.note(&format!("{}: {from} -> {to}, {:.2} bits per weight", arguments.file_type, plan.bits_per_weight()));
    let mut other = plan.tensors().iter().filter_map(|tensor| Some((tensor, tensor.instead_of?)));
    if let Some((tensor, kind)) = other.next() {
        printer.note(&format!(
            "the rows of {} are not whole blocks, for example `{}`: {} instead of {kind}",
            count(1 + other.count(), "tensor"),
            tensor.source.name(),
            tensor.target.kind(),
        ));
    }
    let mut without = plan.tensors().iter().filter(|tensor| tensor.lacks_importance());
    if let Some(tensor) = without.next().filter(|_| arguments.imatrix.is_some()) {
        printer.note(&format!(
            "the importance matrix has no entry for {}, for example `{}`",
            count(1 + without.count(), "tensor"),
            tensor.source.name(),
        ));
    }
    let has_experts = plan.tensors().iter().any(|tensor| tensor.target.kind() == Type::MXFP4);
    if arguments.file_type == FileType::MXFP4_MOE && !has_experts {
        printer.note("the model has no experts, so no matrix becomes MXFP4; with `--pure`, all do");
    }
}

/// A number with a noun in singular or plural.
fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("{number} {thing}") } else { format!("{number} {thing}s") }
}

/// Writes the new file to a temporary file next to it and renames it when it is complete, so that
/// an existing file stays intact until then.
fn write(plan: &Plan<'_>, arguments: &QuantizeArgs, printer: &Printer) -> Result<(), QuantizeError> {
    let failed = |error| QuantizeError::Gguf(roci_gguf::Error::Output(error));
    let temporary = arguments.output.with_added_extension("part");
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let bar = printer.progress(1);
    bar.set_message(format!("MiB of {}", arguments.input.display()));
    let proceed = |done: u64, total: u64| {
        bar.set_length(total.div_ceil(1 << 20));
        bar.set_position(done >> 20);
        !interrupt::requested()
    };
    let file = BufWriter::new(File::create(&temporary).map_err(failed)?);
    let written = plan
        .write(file, threads, proceed)
        .and_then(|mut file| file.flush().map_err(failed))
        .and_then(|()| std::fs::rename(&temporary, &arguments.output).map_err(failed));
    bar.finish_and_clear();
    if written.is_err() {
        // An incomplete file is useless.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Prints how many tensors change from which type to which.
fn table(plan: &Plan<'_>, printer: &Printer) -> std::io::Result<()> {
    let mut rows: BTreeMap<_, (u64, u64, u64)> = BTreeMap::new();
    for tensor in plan.tensors() {
        let row = rows.entry((tensor.source.kind().name(), tensor.target.kind().name())).or_default();
        *row = (row.0 + 1, row.1 + tensor.source.byte_len(), row.2 + tensor.target.byte_len());
    }
    let columns = [
        Column::Text("from"),
        Column::Text("to"),
        Column::Number("tensors"),
        Column::Number("size"),
        Column::Number("new size"),
    ];
    let row = |((from, to), (tensors, before, after)): ((&str, &str), (u64, u64, u64))| {
        vec![from.to_owned(), to.to_owned(), tensors.to_string(), units::bytes(before), units::bytes(after)]
    };
    printer.table(&columns, rows.into_iter().map(row).collect())
}

fn report(plan: &Plan<'_>, arguments: &QuantizeArgs, file: &Gguf, bytes: u64, seconds: Option<f64>) -> Report {
    let tensors = plan.tensors().iter().map(|tensor| TensorReport {
        name: tensor.source.name().to_owned(),
        shape: tensor.source.shape().to_vec(),
        from: tensor.source.kind().name(),
        to: tensor.target.kind().name(),
        instead_of: tensor.instead_of.map(Type::name),
        importance: tensor.importance.is_some(),
        source_bytes: tensor.source.byte_len(),
        bytes: tensor.target.byte_len(),
    });
    Report {
        schema: "roci.quantize",
        version: 1,
        input: arguments.input.display().to_string(),
        output: arguments.output.display().to_string(),
        file_type: arguments.file_type.name(),
        dry_run: arguments.dry_run,
        source_bytes: file.file_bytes(),
        bytes,
        bits_per_weight: plan.bits_per_weight(),
        seconds,
        tensors: tensors.collect(),
    }
}
