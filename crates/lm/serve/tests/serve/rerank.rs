//! `/v1/rerank` with a fake reranker, whose score is the mean of the first values of the tokens'
//! hidden states.

use roci_lm::architecture::Pooling;
use serde_json::{Value, json};

use crate::fake_model::{hidden, tokenizer};
use crate::test_server::{TestServer, TestServerOptions};

fn serve(pooling: Pooling) -> TestServer {
    TestServerOptions { pooling, ..TestServerOptions::default() }.start()
}

fn ask(server: &TestServer, body: &Value) -> Value {
    let answer = server.post("/v1/rerank", body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// The indices of the documents, the best first.
fn order(answer: &Value) -> Vec<u64> {
    let results = answer["results"].as_array().expect("a list");
    results.iter().map(|result| result["index"].as_u64().expect("an index")).collect()
}

#[test]
fn documents_are_sorted_by_their_scores() {
    let server = serve(Pooling::Rank);
    let documents = ["a", "b c", "ddd", "e e e e", "fox"];
    let score = |document: &str| {
        let pair = tokenizer().encode_pair("query", document);
        pair.iter().map(|token| f64::from(hidden(*token)[0])).sum::<f64>() / pair.len() as f64
    };
    let answer = ask(&server, &json!({"query": "query", "documents": documents}));
    let results = answer["results"].as_array().expect("a list");
    assert_eq!(results.len(), documents.len());
    let mut last = f64::INFINITY;
    for result in results {
        let index = result["index"].as_u64().expect("an index") as usize;
        let found = result["relevance_score"].as_f64().expect("a number");
        assert!((found - score(documents[index])).abs() < 1e-6, "{result}");
        assert!(found <= last && result["document"].is_null(), "{answer}");
        last = found;
    }
    let tokens: usize = documents.iter().map(|document| tokenizer().encode_pair("query", document).len()).sum();
    assert_eq!((&answer["object"], &answer["usage"]["total_tokens"]), (&json!("list"), &json!(tokens)));

    let best = ask(&server, &json!({"query": "query", "documents": documents, "top_n": 2, "return_documents": true}));
    assert_eq!(order(&best), order(&answer)[..2]);
    assert_eq!(best["results"][0]["document"]["text"], documents[order(&answer)[0] as usize]);
}

#[test]
fn the_paths_of_llama_cpp_answer_too() {
    let server = serve(Pooling::Rank);
    let body = json!({"query": "a", "documents": ["b"]});
    let expected = ask(&server, &body);
    for path in ["/rerank", "/reranking", "/v1/reranking"] {
        assert_eq!(server.post(path, &body).json(), expected, "{path}");
    }
}

#[test]
fn wrong_requests_and_other_models_are_refused() {
    let server = serve(Pooling::Rank);
    for (body, param) in [
        (json!({"documents": ["a"]}), "query"),
        (json!({"query": 5, "documents": ["a"]}), "query"),
        (json!({"query": "a"}), "documents"),
        (json!({"query": "a", "documents": []}), "documents"),
        (json!({"query": "a", "documents": ["b", 5]}), "documents[1]"),
        (json!({"query": "a", "documents": ["b"], "top_n": 0}), "top_n"),
        (json!({"query": "a", "texts": ["b"]}), "texts"),
    ] {
        let answer = server.post("/v1/rerank", &body);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{body}");
    }
    let answer = serve(Pooling::Mean).post("/v1/rerank", &json!({"query": "a", "documents": ["b"]}));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!("unsupported_pooling")));
}
