//! `/v1/embeddings` for each pooling type.

use roci_lm::architecture::Pooling;
use roci_testkit::Tolerance;
use serde_json::{Value, json};

use crate::fake_model::{EMBEDDING, hidden};
use crate::http::Answer;
use crate::test_server::{TestServer, TestServerOptions};

fn serve(pooling: Pooling) -> TestServer {
    TestServerOptions { pooling, ..TestServerOptions::default() }.start()
}

fn embed(server: &TestServer, input: &Value) -> Answer {
    server.post("/v1/embeddings", &json!({ "input": input }))
}

/// The normalized mean of the model's hidden states.
fn mean(tokens: &[u32]) -> Vec<f64> {
    let sum = |at: usize| tokens.iter().map(|token| f64::from(hidden(*token)[at])).sum::<f64>();
    let sums: Vec<f64> = (0..EMBEDDING).map(sum).collect();
    let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
    sums.into_iter().map(|sum| sum / length).collect()
}

#[test]
fn the_pooling_type_selects_the_tokens() {
    // Longer than one model call, so that the first and last token are in different calls.
    let long: Vec<u32> = (0..600).map(|at| 5 + at * 7 % 200).collect();
    let (first, last) = (long[0], long[long.len() - 1]);
    let expected = [(Pooling::Mean, mean(&long)), (Pooling::Cls, mean(&[first])), (Pooling::Last, mean(&[last]))];
    for (pooling, expected) in expected {
        let server = serve(pooling);
        // The second run uses the KV cache of the first.
        for time in 0..2 {
            let answer = embed(&server, &json!(long));
            assert_eq!(answer.status, 200, "{}", answer.body);
            let answer = answer.json();
            assert_eq!(answer["usage"]["prompt_tokens"], 600);
            let found = answer["data"][0]["embedding"].as_array().expect("a list").clone();
            assert_eq!(found.len(), EMBEDDING);
            for (found, expected) in found.iter().zip(&expected) {
                let is_close = Tolerance::Close.error_ratio(found.as_f64().expect("a number"), *expected) <= 1.0;
                assert!(is_close, "{pooling}, time {time}: {found} for {expected}");
            }
        }
    }
}

/// llama.cpp's server also returns 400 for a model without the key, which it treats as `none`.
#[test]
fn models_whose_pooling_type_gives_no_embedding_are_rejected() {
    for pooling in [Pooling::Unspecified, Pooling::None, Pooling::Rank] {
        let server = serve(pooling);
        let answer = embed(&server, &json!(["abc", "other"]));
        assert_eq!(answer.status, 400, "{}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!((&error["type"], &error["code"]), (&json!("invalid_request_error"), &json!("unsupported_pooling")));
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains(&format!("`{pooling}`")) && message.contains("`mean`"), "{message}");
        // Generation does not need pooling.
        assert_eq!(server.chat("abc", json!({}))["choices"][0]["message"]["content"], "abc");
    }
}
