//! `roci embed` and `roci rerank`: embeddings and scores of texts.

use std::time::Duration;

use roci_engine::{Engine, EngineError, Settings};
use serde::Serialize;

use super::LanguageError;
use super::load::{LoadOptions, LoadedModel, ModelSummary, load};
use crate::cli::{DriverArgs, EmbedArgs, RerankArgs, SpeculationArgs, TextModelArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

/// Maximum number of texts in the engine at a time, so that they share batches.
const IN_FLIGHT: usize = 8;

#[derive(Serialize)]
struct EmbeddingReport {
    schema: &'static str,
    version: u32,
    model: ModelSummary,
    /// In the order of the texts.
    embeddings: Vec<Embedding>,
}

#[derive(Serialize)]
struct Embedding {
    tokens: usize,
    embedding: Vec<f32>,
}

#[derive(Serialize)]
struct RerankReport {
    schema: &'static str,
    version: u32,
    model: ModelSummary,
    /// Best document first.
    results: Vec<Ranked>,
}

#[derive(Serialize)]
struct Ranked {
    /// Index of the document.
    index: usize,
    tokens: usize,
    score: f32,
    document: String,
}

/// Prints the embedding of each text as a line of numbers.
pub(crate) fn embed(arguments: &EmbedArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let texts = texts(&arguments.texts, &arguments.model)?;
    interrupt::listen();
    let LoadedModel { engine, prompts, summary, .. } = open(&arguments.model, drivers, printer)?;
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| prompts.encode_text(text)).collect();
    let vectors = each(&tokens, |tokens| engine.embed(tokens))?;
    if arguments.model.format.json {
        let embeddings = tokens.iter().zip(vectors);
        let embeddings = embeddings.map(|(tokens, embedding)| Embedding { tokens: tokens.len(), embedding }).collect();
        printer.json(&EmbeddingReport { schema: "roci.embeddings", version: 1, model: summary, embeddings })?;
    } else {
        for vector in vectors {
            let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
            printer.data(&format!("{}\n", numbers.join(" ")))?;
        }
    }
    Ok(end(&engine))
}

/// Prints documents and scores, best first.
pub(crate) fn rerank(arguments: &RerankArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let documents = texts(&arguments.documents, &arguments.model)?;
    interrupt::listen();
    let LoadedModel { engine, prompts, summary, .. } = open(&arguments.model, drivers, printer)?;
    let pairs: Vec<Vec<u32>> =
        documents.iter().map(|document| prompts.encode_pair(&arguments.query, document)).collect();
    let scores = each(&pairs, |pair| engine.score(pair))?;
    let results = documents.into_iter().zip(&pairs).zip(scores).enumerate();
    let mut results: Vec<Ranked> = results
        .map(|(index, ((document, pair), score))| Ranked { index, tokens: pair.len(), score, document })
        .collect();
    results.sort_by(|a, b| b.score.total_cmp(&a.score));
    results.truncate(arguments.top.unwrap_or(usize::MAX));
    if arguments.model.format.json {
        printer.json(&RerankReport { schema: "roci.ranking", version: 1, model: summary, results })?;
    } else {
        for Ranked { score, document, .. } in results {
            printer.data(&format!("{score:9.4}  {document}\n"))?;
        }
    }
    Ok(end(&engine))
}

fn open(arguments: &TextModelArgs, drivers: &DriverArgs, printer: &Printer) -> Result<LoadedModel, LanguageError> {
    let options = LoadOptions {
        speculation: &SpeculationArgs::default(),
        devices: &arguments.devices,
        context: arguments.context,
        cache: None,
        exact: arguments.exact,
        adapters: &arguments.adapters,
        experts: None,
        mmproj: None,
        settings: Settings { max_batch: IN_FLIGHT, max_waiting: IN_FLIGHT },
    };
    load(&arguments.model, &options, drivers, printer)
}

/// The texts of the command line and of the file.
fn texts(given: &[String], arguments: &TextModelArgs) -> Result<Vec<String>, LanguageError> {
    let mut texts = given.to_vec();
    if let Some(path) = &arguments.file {
        let bytes = match path.as_os_str() == "-" {
            true => crate::input::read_stdin().map_err(|error| LanguageError::Input(error.to_string()))?,
            false => std::fs::read(path).map_err(|source| LanguageError::Read { path: path.clone(), source })?,
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
            LanguageError::Read { path: path.clone(), source }
        })?;
        texts.extend(text.lines().map(str::to_owned));
    }
    if texts.is_empty() { Err(LanguageError::NoTexts) } else { Ok(texts) }
}

/// Computes something for each text, several at once.
fn each<T: Send>(
    texts: &[Vec<u32>],
    compute: impl Fn(&[u32]) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, LanguageError> {
    let mut results = Vec::with_capacity(texts.len());
    for texts in texts.chunks(IN_FLIGHT) {
        let found: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = texts.iter().map(|text| scope.spawn(|| compute(text))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(Err(EngineError::Closed))).collect()
        });
        for result in found {
            results.push(result?);
        }
        if interrupt::requested() {
            return Err(EngineError::Closed.into());
        }
    }
    Ok(results)
}

fn end(engine: &Engine) -> ExitStatus {
    engine.shut_down(Duration::ZERO);
    if interrupt::requested() { ExitStatus::Interrupted } else { ExitStatus::Success }
}
