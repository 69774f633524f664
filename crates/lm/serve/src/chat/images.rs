//! Images in the messages of a conversation.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::StatusCode;
use roci_engine::{Image, image_marker};
use roci_lm::json::Json;

use crate::app::App;
use crate::error::ApiError;
use crate::fields::{Fields, wrong};

/// Maximum number of images of a request.
const MAX_IMAGES: usize = 64;

/// The images of a conversation, in the order of their markers in its text.
pub(super) struct ChatImages {
    /// Placeholder for an image in the text.
    pub(super) marker: String,
    /// The bytes of each file, and the name of the request field that has it.
    files: Vec<(Vec<u8>, String)>,
}

impl ChatImages {
    /// Takes the images out of validated messages: parts become text with markers.
    pub(super) fn take(messages: &mut [Json], media: Option<&Path>) -> Result<Self, ApiError> {
        let mut images = Self { marker: image_marker(), files: Vec::new() };
        for (place, message) in messages.iter_mut().enumerate() {
            let Json::Object(entries) = message else { continue };
            let Some((_, content)) = entries.iter_mut().find(|(name, _)| name == "content") else { continue };
            let Json::Array(parts) = content else { continue };
            if parts.iter().any(is_image) {
                let text = images.text(parts, &format!("messages[{place}].content"), media)?;
                *content = Json::from(text.as_str());
            }
        }
        Ok(images)
    }

    /// The text of the parts. As in llama.cpp, there is no line break next to an image.
    fn text(&mut self, parts: &[Json], path: &str, media: Option<&Path>) -> Result<String, ApiError> {
        let mut text = String::new();
        let mut after_image = true;
        for (place, part) in parts.iter().enumerate() {
            let (is_image, part) = (is_image(part), Fields::of(part, format!("{path}[{place}]"))?);
            if is_image {
                let (url, name) = image_url(&part)?;
                if self.files.len() == MAX_IMAGES {
                    return Err(ApiError::field(
                        &name,
                        format!("is one image too many; at most {MAX_IMAGES} are allowed"),
                    ));
                }
                self.files.push((read(url, media).map_err(|what| ApiError::field(&name, what))?, name));
                text.push_str(&self.marker);
                after_image = true;
            } else {
                if !after_image {
                    text.push('\n');
                }
                text.push_str(part.text("text")?.unwrap_or_default());
                after_image = false;
            }
        }
        Ok(text)
    }

    /// Computes the rows of the images, or finds them from earlier requests.
    pub(super) fn encode(self, app: &App) -> Result<Vec<Arc<Image>>, ApiError> {
        let Some(encoder) = &app.served.images else {
            return match self.files.first() {
                None => Ok(Vec::new()),
                Some((_, name)) => Err(ApiError::field(
                    name,
                    "is an image, but the server has no vision: start it with `--mmproj FILE`",
                )),
            };
        };
        let encode = |(bytes, name): (Vec<u8>, String)| {
            // Before the work for an image, which takes seconds.
            app.served.engine.check_queue().map_err(|error| app.failure(error))?;
            let failed = |what: String| ApiError::field(&name, format!("cannot be used: {what}"));
            app.served.engine.images().get(&bytes, || encoder.encode(&bytes).map_err(Failed::Image)).map_err(|error| {
                match error {
                    Failed::Image(what) => failed(what),
                    Failed::Ids(error) => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
                }
            })
        };
        self.files.into_iter().map(encode).collect()
    }
}

/// The URL of a part of type `image_url`, with the name of its field: a field of the object
/// `image_url`, or `image_url` itself if it is a string, as in Mistral's API.
pub(super) fn image_url<'a>(part: &Fields<'a>) -> Result<(&'a str, String), ApiError> {
    let name = part.name("image_url");
    match part.get("image_url") {
        None => Err(ApiError::field(name, "is missing")),
        Some(Json::String(url)) => Ok((url, name)),
        Some(Json::Object(_)) => {
            let image = part.object("image_url")?.ok_or_else(|| ApiError::field(name, "is missing"))?;
            let name = image.name("url");
            let url = image.text("url")?.ok_or_else(|| ApiError::field(&name, "is missing"))?;
            Ok((url, name))
        }
        Some(other) => Err(wrong(name, "an object with `url`, or a string", other)),
    }
}

/// Whether a part is an image.
fn is_image(part: &Json) -> bool {
    part.get("type").and_then(Json::as_str) == Some("image_url")
}

/// Why an image cannot be used.
enum Failed {
    Image(String),
    Ids(roci_engine::OutOfImageTokens),
}

impl From<roci_engine::OutOfImageTokens> for Failed {
    fn from(error: roci_engine::OutOfImageTokens) -> Self {
        Self::Ids(error)
    }
}

/// The bytes that a URL refers to. The error completes a sentence about the field.
fn read(url: &str, media: Option<&Path>) -> Result<Vec<u8>, String> {
    if let Some(data) = url.strip_prefix("data:") {
        let encoded = data.split_once(";base64,").map(|(_, encoded)| encoded);
        let encoded = encoded.ok_or("is a data URL without base64: write `data:image/png;base64,…`")?;
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        // Some tools wrap base64 into lines.
        let encoded: Vec<u8> = encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        return GeneralPurpose::new(&STANDARD, config)
            .decode(encoded)
            .map_err(|error| format!("is not valid base64: {error}"));
    }
    if let Some(path) = url.strip_prefix("file://") {
        let media = media.ok_or("is a file, and the server was started without `--media-path DIR`")?;
        return read_below(media, path);
    }
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    Err(match scheme {
        "http" | "https" => {
            format!("is an {scheme} URL, which this server does not load: send the image as a data URL")
        }
        _ => "is neither a data URL (`data:image/png;base64,…`) nor a file (`file://…`)".to_owned(),
    })
}

/// A file below a folder. Paths are relative to the folder. Links that lead out of it are rejected
/// with the same message as missing files.
fn read_below(media: &Path, path: &str) -> Result<Vec<u8>, String> {
    let missing = || "is no file below the server's `--media-path`".to_owned();
    let folder = media.canonicalize().map_err(|_| missing())?;
    let path = folder.join(path.trim_start_matches('/')).canonicalize().map_err(|_| missing())?;
    if !path.starts_with(&folder) || !path.is_file() {
        return Err(missing());
    }
    std::fs::read(path).map_err(|_| missing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_data_or_files_below_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let media = folder.path().join("media");
        std::fs::create_dir(&media).expect("a folder");
        std::fs::write(media.join("cat.png"), b"cat").expect("a file");
        std::fs::write(folder.path().join("secret.png"), b"secret").expect("a file");
        std::os::unix::fs::symlink(folder.path().join("secret.png"), media.join("link.png")).expect("a link");
        let read = |url: &str| read(url, Some(&media));
        assert_eq!(read("data:image/png;base64,Y2F0").expect("valid"), b"cat");
        assert_eq!(read("data:image/png;base64,Y2F0cw").expect("no padding"), b"cats");
        assert_eq!(read("data:image/png;base64,Y2\nF0\r\ncw==\n").expect("lines"), b"cats");
        assert_eq!(read("file://cat.png").expect("it exists"), b"cat");
        assert_eq!(read("file:///cat.png").expect("relative to the folder"), b"cat");
        for (url, what) in [
            ("file://../secret.png", "no file below"),
            ("file:///../secret.png", "no file below"),
            ("file://link.png", "no file below"),
            ("file://dog.png", "no file below"),
            ("file://.", "no file below"),
            ("http://example.org/cat.png", "an http URL"),
            ("https://example.org/cat.png", "an https URL"),
            ("cat.png", "neither a data URL"),
            ("data:image/png,cat", "without base64"),
            ("data:image/png;base64,!!", "not valid base64"),
        ] {
            let error = read(url).expect_err(url);
            assert!(error.contains(what), "{url}: {error}");
        }
        assert!(super::read("file://cat.png", None).expect_err("no folder").contains("--media-path"));
    }

    #[test]
    fn parts_become_text_with_markers() {
        let part = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,Y2F0"}}"#.to_owned();
        let other = r#"{"type":"image_url","image_url":"data:image/png;base64,Y2F0cw=="}"#.to_owned();
        let content = [part("a"), part("b"), image, part("c"), part("d"), other].join(",");
        let messages = Json::parse(&format!(r#"[{{"role":"user","content":[{content}]}}]"#)).expect("valid JSON");
        let mut messages = messages.as_array().expect("a list").to_vec();
        let images = ChatImages::take(&mut messages, None).expect("valid");
        let text = messages[0].get("content").and_then(Json::as_str).expect("text").replace(&images.marker, "#");
        assert_eq!((text.as_str(), images.files.len()), ("a\nb#c\nd#", 2));
        assert_eq!(images.files[1], (b"cats".to_vec(), "messages[0].content[5].image_url".to_owned()));
    }
}
