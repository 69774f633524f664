//! Chat templates, which model files carry.

use roci_lm::template::{ChatTemplate, Conversation, message};

/// Compiles a template and renders a short conversation with it.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(template) = ChatTemplate::new(text, "<s>", "</s>") else { return };
    let _ = template.capabilities();
    let _ = template.render(&Conversation::new(vec![message("system", "Be brief."), message("user", "Hello")]));
}
