//! `/v1/chat/completions`: answers conversations.

mod answer;
mod calls;
mod grammar;
mod images;
mod json_scanner;
mod messages;
mod tools;
mod variables;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use roci_engine::{Image, encode_with_images};
use roci_lm::json::Json;
use roci_lm::template::Conversation;

use crate::app::App;
use crate::body;
use crate::error::ApiError;
use crate::generate::{self, Usage};
use crate::params::{GenerationParams, MAX_TOP_LOGPROBS};
use crate::routes::reply;
use crate::schema;
use answer::{Answers, Choice};
use calls::Calls;
use images::ChatImages;
pub(crate) use tools::ToolStyle;
use tools::Tools;

struct PreparedChat {
    params: GenerationParams,
    prompt: Vec<u32>,
    images: Vec<Arc<Image>>,
    calls: Calls,
}

pub(crate) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let PreparedChat { mut params, prompt, images, calls } = {
        let app = Arc::clone(&app);
        generate::prepare(move || prepare(&app, &body)).await?
    };
    params.request.images = images;
    let mut generations = generate::start(&app, params.requests(&prompt))?;
    let answers = Answers::new(&app, &params, calls);
    if params.stream {
        return Ok(generate::stream(app, generations, params.answers, answers));
    }
    let mut usage = Usage::default();
    let mut choices = Vec::new();
    for (place, generation) in generations.iter_mut().enumerate() {
        let mut choice: Choice = answers.choice();
        let end = generate::collect(&app, generation, |token| choice.take(&token)).await?;
        usage.add(&end, place == 0);
        choices.push(choice.whole(place, &end));
    }
    Ok(reply(&answers.whole(choices, &usage)))
}

fn prepare(app: &App, body: &Json) -> Result<PreparedChat, ApiError> {
    let fields = schema::CHAT.fields(body)?;
    let mut params = GenerationParams::of(&fields)?;
    let likeliest = fields.count("top_logprobs", 0, MAX_TOP_LOGPROBS)?;
    params.request.top_logprobs = match fields.flag("logprobs")?.unwrap_or(false) {
        true => Some(likeliest.unwrap_or(0)),
        false if likeliest.is_some_and(|count| count > 0) => {
            return Err(ApiError::field("top_logprobs", "requires `logprobs: true`"));
        }
        false => None,
    };
    let tools = Tools::of(&fields, app.tools, params.format.as_ref())?;
    if tools.grammar.is_some() {
        params.request.grammar = tools.grammar;
    }
    let mut messages = messages::of(&fields)?;
    let images = ChatImages::take(&mut messages, app.settings.media_path.as_deref())?;
    let marker = images.marker.clone();
    let images = images.encode(app)?;
    let mut conversation = Conversation::new(messages);
    match app.tools.in_template {
        true => conversation.tools = tools.definitions,
        false => conversation.messages = messages::as_text(conversation.messages, &tools.definitions),
    }
    conversation.variables = variables::of(&fields, app.served.template.variables())?;
    let text = app.served.template.render(&conversation).map_err(|error| ApiError {
        param: Some("messages".into()),
        ..ApiError::new(StatusCode::BAD_REQUEST, format!("{error}: {}", error.hint()))
    })?;
    let start = |text: &str| app.prompt(text);
    let prompt = encode_with_images(&app.served.tokenizer, &text, &marker, &images, start)
        .map_err(|error| ApiError::field("messages", format!("cannot be rendered: {error}")))?;
    Ok(PreparedChat { params, prompt, images, calls: tools.calls })
}
