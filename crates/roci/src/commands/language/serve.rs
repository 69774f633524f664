//! `roci serve`: a language model over HTTP.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::SystemTime;

use roci_engine::Settings;
use roci_hal::env;
use roci_llm::json::Json;
use roci_serve::{ServeSettings, Served, Server};

use super::LanguageError;
use super::load::{About, Loaded, Options, load};
use crate::cli::{DriverArgs, ServeArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

/// Serves until somebody stops it.
pub(crate) fn run(arguments: &ServeArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    // Before the model is loaded, which may take long.
    let address = address(&arguments.host, arguments.port)?;
    let api_key = arguments.api_key.clone().or_else(|| env::API_KEY.get());
    let open = api_key.is_none();
    let settings = ServeSettings {
        address,
        api_key,
        cors: arguments.cors.clone(),
        body_limit: (arguments.body_limit as usize) << 20,
        connections: arguments.connections,
        patience: arguments.patience,
        ..ServeSettings::default()
    };
    settings.check().map_err(LanguageError::from)?;
    let options = Options {
        devices: &arguments.devices,
        context: arguments.context,
        cache: arguments.cache,
        exact: arguments.exact,
        settings: Settings { together: arguments.parallel, waiting: arguments.queue },
    };
    let Loaded { engine, tokenizer, template, about, .. } = load(&arguments.model, &options, drivers, printer)?;
    if let Some(note) = template.note() {
        printer.note(note);
    }
    let served = Served {
        engine,
        tokenizer,
        template: Arc::new(template),
        model: arguments.alias.clone().unwrap_or_else(|| about.name.clone()),
        created: SystemTime::now(),
        details: details(&about),
    };
    let name = served.model.clone();
    let server = Server::bind(settings, served).map_err(LanguageError::from)?;
    let handle = server.handle();
    interrupt::listen_and(move || handle.shut_down());

    let bound = server.address();
    printer.data(&format!("http://{bound}\n"))?;
    let texts = if arguments.parallel == 1 { "text" } else { "texts" };
    printer.note(&format!(
        "{name} on {}, {} tokens of context, {} {texts} at once",
        about.devices.join(" + "),
        about.context,
        arguments.parallel
    ));
    printer.note(&format!("talk to it at http://{bound}/, or by OpenAI's clients with the base URL http://{bound}/v1"));
    if open && !bound.ip().is_loopback() {
        printer.note(
            "warning: whoever reaches this machine may ask it: give it a key (`ROCI_API_KEY`) or `--host 127.0.0.1`",
        );
    }
    let ended = server.run();
    match ended.cut {
        0 => {}
        cut => printer.note(&format!("{cut} connections were cut: they took longer than `--patience`")),
    }
    Ok(ExitStatus::Success)
}

fn address(host: &str, port: u16) -> Result<SocketAddr, LanguageError> {
    let wrong = |reason: String| LanguageError::Host { host: host.to_owned(), reason };
    let mut found = (host, port).to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("it has none".to_owned()))
}

/// What clients may read of the model.
fn details(about: &About) -> Vec<(String, Json)> {
    let number = |number: u64| Json::Number(number.into());
    vec![
        ("architecture".to_owned(), Json::from(about.architecture)),
        ("parameters".to_owned(), number(about.parameters)),
        ("file_bytes".to_owned(), number(about.file_bytes)),
        ("trained_context_length".to_owned(), number(about.trained_context.into())),
    ]
}
