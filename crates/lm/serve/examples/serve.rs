//! Serves a fake model, to try the server without a model file.
//!
//!     cargo run --release -p roci-serve --example serve -- [--port 8080] [--api-key KEY] [--talking] [--delay MILLISECONDS]
//!
//! It echoes the last message or, with `--talking`, generates text from a model with random
//! weights.
#![expect(clippy::print_stdout, reason = "an example prints its address")]

#[path = "../tests/serve/fake_model.rs"]
mod fake_model;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roci_engine::{Engine, Forward, KvCapacity, ReferenceForward, Settings};
use roci_lm::architecture::{Model, Pooling};
use roci_lm::reference::Reference;
use roci_lm::synthetic::talking;
use roci_lm::template::ChatTemplate;
use roci_serve::{ServeSettings, ServedModel, Server};

const CONTEXT: usize = 2048;
const TOGETHER: usize = 8;

fn random_model() -> Result<Box<dyn Forward>, Box<dyn Error>> {
    let file = talking().open()?;
    let model = Model::new(&file, Some(CONTEXT as u32))?;
    Ok(Box::new(ReferenceForward::new(Reference::new(&file, model)?, KvCapacity::for_sequences(CONTEXT, TOGETHER))))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let delay = Duration::from_millis(value("--delay").map_or(Ok(0), |delay| delay.parse())?);
    let (name, forward) = match arguments.iter().any(|argument| argument == "--talking") {
        true => ("talking", random_model()?),
        false => {
            ("fake", Box::new(fake_model::FakeModel::new(CONTEXT, TOGETHER, delay, Pooling::Mean)) as Box<dyn Forward>)
        }
    };
    let tokenizer = fake_model::tokenizer();
    let engine = Engine::start(forward, Arc::clone(&tokenizer), Settings { max_batch: TOGETHER, max_waiting: 64 });
    let port = value("--port").map_or(Ok(8080), |port| port.parse())?;
    let settings = ServeSettings {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        api_key: value("--api-key"),
        ..ServeSettings::default()
    };
    let served = ServedModel {
        engine,
        tokenizer,
        template: Arc::new(ChatTemplate::of_model(None, "<s>", "</s>")),
        images: None,
        pair_template: None,
        model: name.to_owned(),
        created: SystemTime::now(),
        details: Vec::new(),
    };
    let server = Server::bind(settings, served)?;
    println!("http://{} (process {})", server.address(), std::process::id());
    server.run();
    Ok(())
}
