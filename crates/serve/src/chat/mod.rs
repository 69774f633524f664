//! `/v1/chat/completions`: conversations that are answered.

mod answer;
mod calls;
mod grammar;
mod messages;
mod scan;
mod tools;
mod variables;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use roci_llm::json::Json;
use roci_llm::template::Conversation;

use crate::app::App;
use crate::asking::{Asking, MOST_LIKELIEST};
use crate::body;
use crate::error::ApiError;
use crate::generate::{self, Usage};
use crate::routes::reply;
use crate::schema;
use answer::{Answers, Choice};
use calls::Calls;
pub(crate) use tools::ToolStyle;
use tools::Tools;

struct Prepared {
    asking: Asking,
    prompt: Vec<u32>,
    calls: Calls,
}

pub(crate) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let Prepared { asking, prompt, calls } = {
        let app = Arc::clone(&app);
        generate::prepare(move || prepare(&app, &body)).await?
    };
    let mut generations = generate::start(&app, asking.requests(&prompt))?;
    let answers = Answers::new(&app, &asking, calls);
    if asking.stream {
        return Ok(generate::stream(app, generations, asking.answers, answers));
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

fn prepare(app: &App, body: &Json) -> Result<Prepared, ApiError> {
    let fields = schema::CHAT.fields(body)?;
    let mut asking = Asking::of(&fields)?;
    let likeliest = fields.count("top_logprobs", 0, MOST_LIKELIEST)?;
    asking.request.likeliest = match fields.flag("logprobs")?.unwrap_or(false) {
        true => Some(likeliest.unwrap_or(0)),
        false if likeliest.is_some_and(|count| count > 0) => {
            return Err(ApiError::field("top_logprobs", "needs `logprobs: true` beside it"));
        }
        false => None,
    };
    let tools = Tools::of(&fields, app.tools, asking.format.as_ref())?;
    if tools.grammar.is_some() {
        asking.request.grammar = tools.grammar;
    }
    let messages = messages::of(&fields)?;
    let mut conversation = Conversation::new(messages);
    match app.tools.in_template {
        true => conversation.tools = tools.definitions,
        false => conversation.messages = messages::in_words(conversation.messages, &tools.definitions),
    }
    conversation.variables = variables::of(&fields, app.served.template.variables())?;
    let text = app.served.template.render(&conversation).map_err(|error| ApiError {
        param: Some("messages".into()),
        ..ApiError::new(StatusCode::BAD_REQUEST, format!("{error}: {}", error.hint()))
    })?;
    Ok(Prepared { asking, prompt: app.prompt(&text), calls: tools.calls })
}
