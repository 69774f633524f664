//! Prompts as tokens.

use std::sync::Arc;

use roci_gguf::Metadata;
use roci_lm::json::Json;
use roci_lm::template::{ChatTemplate, Conversation, TemplateError};
use roci_tokenizer::{Encode, Tokenizer};

/// Encodes text and conversations as a model expects them: with its tokenizer and its chat
/// template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptEncoder {
    /// The model's tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The model's chat template, or ChatML if it has none that can be used.
    pub template: Arc<ChatTemplate>,
    /// Template for a query and a document, for some rerankers: `{query}` and `{document}` are
    /// replaced.
    pub pair_template: Option<Arc<str>>,
}

impl PromptEncoder {
    /// Reads the chat template from a model's metadata.
    ///
    /// # Errors
    /// If `tokenizer.chat_template` is not a string.
    pub fn new(tokenizer: Arc<Tokenizer>, metadata: &Metadata) -> Result<Self, roci_gguf::Error> {
        let source = metadata.get::<&str>("tokenizer.chat_template")?;
        let text = |token: Option<u32>| token.and_then(|token| tokenizer.text(token)).unwrap_or_default();
        let special = tokenizer.special();
        let template = Arc::new(ChatTemplate::of_model(source, text(special.bos), text(special.eos)));
        let pair_template = metadata.get::<&str>("tokenizer.chat_template.rerank")?.map(Arc::from);
        Ok(Self { tokenizer, template, pair_template })
    }

    /// Whether the file has a chat template that can be used. Base models have none.
    pub fn has_own_template(&self) -> bool {
        self.template.note().is_none()
    }

    /// Encodes a prompt. With `parse_special`, the spelling of a control token becomes that token,
    /// as the output of a chat template requires.
    pub fn encode(&self, text: &str, parse_special: bool) -> Vec<u32> {
        let special = self.tokenizer.special();
        let bos = special.bos.and_then(|bos| self.tokenizer.text(bos)).filter(|bos| !bos.is_empty());
        // Many templates write BOS themselves. It must not appear twice.
        let has_bos = parse_special && bos.is_some_and(|bos| text.starts_with(bos));
        let mut tokens = self.tokenizer.encode(text, Encode { add_special: !has_bos, parse_special });
        // The model continues the prompt, so EOS must not close it.
        if !has_bos && special.add_eos && special.eos.is_some() && tokens.last() == special.eos.as_ref() {
            tokens.pop();
        }
        tokens
    }

    /// Encodes a text for an embedding, with the special tokens that the model expects.
    pub fn encode_text(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, Encode { add_special: true, parse_special: false })
    }

    /// Encodes a query and a document for a reranker: see [`encode_pair`].
    pub fn encode_pair(&self, query: &str, document: &str) -> Vec<u32> {
        encode_pair(&self.tokenizer, self.pair_template.as_deref(), query, document)
    }

    /// Encodes a conversation, followed by the start of the assistant's turn.
    ///
    /// # Errors
    /// If the template rejects the conversation.
    pub fn encode_conversation(&self, messages: Vec<Json>) -> Result<Vec<u32>, TemplateError> {
        Ok(self.encode(&self.render(messages)?, true))
    }

    /// The text of a conversation, followed by the start of the assistant's turn.
    ///
    /// # Errors
    /// If the template rejects the conversation.
    pub fn render(&self, messages: Vec<Json>) -> Result<String, TemplateError> {
        self.template.render(&Conversation::new(messages))
    }
}

/// Encodes a query and a document for a reranker, with its template if it has one. `{query}` and
/// `{document}` in the template are replaced. As in llama.cpp, control tokens are only parsed with
/// a template.
pub fn encode_pair(tokenizer: &Tokenizer, template: Option<&str>, query: &str, document: &str) -> Vec<u32> {
    let Some(template) = template else { return tokenizer.encode_pair(query, document) };
    // Placeholders are replaced only in the template, not in the query or document.
    let parts: Vec<String> = template.split("{query}").map(|part| part.replace("{document}", document)).collect();
    tokenizer.encode(&parts.join(query), Encode { add_special: false, parse_special: true })
}
