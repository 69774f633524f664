//! `roci serve`: a language model over HTTP.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::SystemTime;

use roci_base::env;
use roci_engine::Settings;
use roci_lm::json::Json;
use roci_serve::{ImageEncoder, Listener, ServeSettings, ServedModel};

use super::LanguageError;
use super::load::{LoadOptions, LoadedModel, ModelSummary, load};
use crate::cli::{DriverArgs, ServeArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

/// Serves until Ctrl-C or SIGTERM.
pub(crate) fn run(arguments: &ServeArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let address = address(&arguments.host, arguments.port)?;
    let api_key = arguments.api_key.clone().or_else(|| env::API_KEY.get());
    let is_public = api_key.is_none();
    let settings = ServeSettings {
        address,
        api_key,
        cors: arguments.cors.clone(),
        media_path: arguments.media_path.clone(),
        body_limit: (arguments.body_limit as usize) << 20,
        connections: arguments.max_connections,
        shutdown_timeout: arguments.timeout,
        ..ServeSettings::default()
    };
    // Bound before the model is loaded, which may take long.
    let listener = Listener::bind(settings).map_err(LanguageError::from)?;
    let options = LoadOptions {
        devices: &arguments.devices,
        context: arguments.context,
        cache: arguments.cache_type,
        exact: arguments.exact,
        speculation: &arguments.speculation,
        mmproj: arguments.mmproj.as_deref(),
        adapters: &arguments.adapters,
        experts: arguments.experts.layers(),
        settings: Settings { max_batch: arguments.parallel, max_waiting: arguments.queue },
    };
    let LoadedModel { engine, prompts, vision, summary } = load(&arguments.model, &options, drivers, printer)?;
    if let Some(note) = prompts.template.note() {
        printer.note(note);
    }
    let served = ServedModel {
        engine,
        tokenizer: prompts.tokenizer,
        template: prompts.template,
        images: vision.map(|vision| vision as Arc<dyn ImageEncoder>),
        pair_template: prompts.pair_template,
        model: arguments.alias.clone().unwrap_or_else(|| summary.name.clone()),
        created: SystemTime::now(),
        details: details(&summary),
    };
    let name = served.model.clone();
    let server = listener.into_server(served).map_err(LanguageError::from)?;
    let handle = server.handle();
    interrupt::listen_and(move || handle.shut_down());

    let bound = server.address();
    printer.data(&format!("http://{bound}\n"))?;
    let sequences = if arguments.parallel == 1 { "sequence" } else { "sequences" };
    printer.note(&format!(
        "{name} on {}, context of {} tokens, {} {sequences} in parallel",
        summary.devices.join(" + "),
        summary.context,
        arguments.parallel
    ));
    printer.note(&format!("chat at http://{bound}/; the base URL for OpenAI clients is http://{bound}/v1"));
    if is_public && !bound.ip().is_loopback() {
        printer.note(
            "warning: no API key is set, so every machine on the network can send requests: set ROCI_API_KEY, or use `--host 127.0.0.1`",
        );
    }
    let summary = server.run();
    match summary.aborted_connections {
        0 => {}
        count => printer.note(&format!("closed {count} connections with requests in flight when `--timeout` expired")),
    }
    Ok(ExitStatus::Success)
}

fn address(host: &str, port: u16) -> Result<SocketAddr, LanguageError> {
    let failed = |reason: String| LanguageError::Host { host: host.to_owned(), reason };
    let mut found = (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    found.next().ok_or_else(|| failed("the name has no address".to_owned()))
}

/// Details of the model for `/v1/models`.
fn details(summary: &ModelSummary) -> Vec<(String, Json)> {
    let number = |number: u64| Json::Number(number.into());
    vec![
        ("architecture".to_owned(), Json::from(summary.architecture)),
        ("parameters".to_owned(), number(summary.parameters)),
        ("file_bytes".to_owned(), number(summary.file_bytes)),
        ("trained_context_length".to_owned(), number(summary.trained_context.into())),
    ]
}
