//! Tests of grammars with texts, tokens and hostile inputs.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::sample::Constraint;

fn grammar(text: &str) -> Grammar {
    Grammar::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// A grammar with texts that it accepts and texts that it rejects.
fn check(text: &str, good: &[&str], bad: &[&str]) {
    let grammar = grammar(text);
    for good in good {
        assert_eq!(grammar.matches(good.as_bytes()), Ok(true), "{text}\n{good:?}");
    }
    for bad in bad {
        assert_eq!(grammar.matches(bad.as_bytes()), Ok(false), "{text}\n{bad:?}");
    }
}

#[test]
fn grammars_accept_and_reject_texts() {
    check("root ::= \"ab\"", &["ab"], &["", "a", "abc", "ba"]);
    check("root ::= \"a\" | \"b\" \"c\"", &["a", "bc"], &["b", "ac"]);
    check("root ::= \"ab\"*", &["", "ab", "abab"], &["a", "aba"]);
    check("root ::= \"a\"+ \"b\"?", &["a", "aab"], &["", "b", "abb"]);
    check("root ::= \"a\"{2}", &["aa"], &["a", "aaa"]);
    check("root ::= \"a\"{2,}", &["aa", "aaaa"], &["a"]);
    check("root ::= \"a\"{1,3}", &["a", "aa", "aaa"], &["", "aaaa"]);
    check("root ::= \"a\"{ 0 , 0 } \"b\"", &["b"], &["ab"]);
    check("root ::= (\"a\" | \"b\"){2} \"c\"", &["abc", "bbc"], &["ac", "abbc"]);
    check("root ::= [a-c^\\]-]+", &["abc^]-"], &["d", "\\"]);
    check("root ::= [^a-c]", &["d", "é", "😀", "\n"], &["a", "dd"]);
    check("root ::= .", &["x", "\n", "€"], &["", "xy"]);
    check("root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\r\\\\\\\"\\[\"", &["Aé😀\n\t\r\\\"["], &["A"]);
    check("root ::= \"\" \"a\"", &["a"], &[""]);
    check("# a comment\nroot ::= a | # another\n  b\na ::= \"x\"\nb ::= (\n\"y\"\n)\n", &["x", "y"], &["xy"]);
    check("root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" e \")\"", &["1+2", "(1+(2))+3"], &["1+", "(1", "()"]);
    // Right recursion is a loop of constant stack depth.
    let list = "root ::= \"x\" root | \"y\"";
    check(list, &[&format!("{}y", "x".repeat(5000))], &["x"]);
}

#[test]
fn repetition_of_an_empty_match_terminates() {
    check("root ::= (\"a\"?)* \"b\"", &["b", "aaab"], &["a"]);
    check("root ::= (\"a\"*){3} \"b\"", &["b", "aaaaaab"], &["a"]);
    check("root ::= ((\"a\"? \"c\"?)+)+ \"b\"", &["b", "accab"], &["d"]);
}

#[test]
fn large_counts_are_not_expanded() {
    let text = "root ::= (\"a\"{1000000}){2,1000000} | [b-c]{3,16777216}";
    check(text, &["bbb", &"c".repeat(9000)], &["a", "bb"]);
}

#[test]
fn syntax_errors_have_a_location() {
    let place = |text: &str| match Grammar::parse(text) {
        Err(GrammarError::Syntax { line, column, reason }) => (line, column, reason),
        other => panic!("{text:?}: {other:?}"),
    };
    assert_eq!(place("root = \"a\""), (1, 6, "expected `::=` after `root`".to_owned()));
    assert_eq!(place("root ::= \"a\"\n  é ::= b"), (2, 3, "expected a rule name".to_owned()));
    assert_eq!(place("root ::= (\"a\""), (1, 14, "expected `)`".to_owned()));
    assert_eq!(place("root ::= *"), (1, 10, "nothing to repeat".to_owned()));
    assert_eq!(place("root ::= a\nroot ::= b").2, "rule `root` is defined twice");
    for text in [
        "root ::= \"a",
        "root ::= [a",
        "root ::= [b-a]",
        "root ::= \"\\q\"",
        "root ::= \"\\x4\"",
        "root ::= \"\\uD800\"",
        "root ::= \"\\x\u{e9}\u{e9}\"",
        "root ::= \"a\"{}",
        "root ::= \"a\"{2,1}",
        "root ::= \"a\"{99999999999}",
        "root ::= \"a\" )",
        "root ::= <think>",
        "::= \"a\"",
        "root",
    ] {
        place(text);
    }
    assert_eq!(Grammar::parse("").unwrap_err(), GrammarError::Undefined { rule: "root".to_owned() });
    assert_eq!(Grammar::parse("root ::= a").unwrap_err(), GrammarError::Undefined { rule: "a".to_owned() });
}

#[test]
fn rules_that_never_terminate_are_rejected() {
    let left = |text| match Grammar::parse(text) {
        Err(GrammarError::LeftRecursion { rule }) => rule,
        other => panic!("{text:?}: {other:?}"),
    };
    assert_eq!(left("root ::= root \"a\" | \"b\""), "root");
    assert_eq!(left("root ::= a | \"x\"\na ::= b\nb ::= a | \"y\""), "a");
    // Left recursion after elements that may be empty.
    assert_eq!(left("root ::= e root \"a\" | \"b\"\ne ::= \"c\"?"), "root");
    assert_eq!(left("root ::= \"c\"* (root)* \"b\""), "root");
    assert_eq!(left("root ::= \"c\"{0,0} root | \"b\""), "root");
    let endless = Grammar::parse("root ::= \"a\" root").unwrap_err();
    assert_eq!(endless, GrammarError::Endless { rule: "root".to_owned() });
    check("root ::= \"a\" never | \"b\"\nnever ::= \"c\" never", &["b"], &["a", "ac"]);
}

#[test]
fn large_grammars_are_rejected_and_long_chains_are_not() {
    let too_large = |text: String| assert!(matches!(Grammar::parse(&text), Err(GrammarError::TooLarge { .. })));
    too_large(format!("root ::= {}\"a\"{}", "(".repeat(1000), ")".repeat(1000)));
    too_large(format!("root ::= \"{}\"", "a".repeat(300_000)));
    too_large(format!("root ::= {}", "(\"\")".repeat(70_000)));
    too_large(" ".repeat(2 << 20));
    // A long chain of rules: checks visit each rule once, and the stack does not grow.
    let chain: String = (0..10_000).map(|n| format!("r{n} ::= r{}\n", n + 1)).collect();
    check(&format!("root ::= r0\n{chain}r10000 ::= \"a\"\n"), &["a"], &["b"]);
    // Exceeds the step limit of one byte.
    let chain: String = (0..40_000).map(|n| format!("r{n} ::= r{}\n", n + 1)).collect();
    let error = Grammar::parse(&format!("root ::= r0\n{chain}r40000 ::= \"a\"\n")).unwrap_err();
    assert_eq!(error, GrammarError::TooManyStacks);
}

#[test]
fn ambiguity_is_bounded() {
    // Each byte doubles the number of parses.
    let grammar = grammar("root ::= s\ns ::= \"a\" s \"b\" | \"a\" s \"c\" | \"a\" s | \"a\"");
    assert_eq!(grammar.matches("a".repeat(4000).as_bytes()), Err(GrammarError::TooManyStacks));
    let nested = self::grammar("root ::= \"[\" root \"]\" | \"\"");
    assert_eq!(nested.matches(format!("{}{}", "[".repeat(500), "]".repeat(500)).as_bytes()), Ok(true));
    assert_eq!(nested.matches("[".repeat(5000).as_bytes()), Err(GrammarError::TooManyStacks));
}

/// Single-byte tokens, some longer ones, partial characters, and an end token.
fn vocabulary() -> Arc<Vocabulary> {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let more: [&[u8]; 12] = [
        b"<end>",
        b"",
        b"ab",
        b"abc",
        b"{\"",
        b"\":",
        b"\xc3",
        b"\xa9b",
        b"\xe2\x82",
        b"\xac",
        "é€".as_bytes(),
        b"true",
    ];
    tokens.extend(more.iter().map(|bytes| bytes.to_vec()));
    Arc::new(Vocabulary::new(tokens.iter().map(Vec::as_slice), [256]))
}

const STOP: u32 = 256;

fn mask(matcher: &mut Matcher) -> Vec<u32> {
    let mut mask = vec![true; 268];
    matcher.mask(&mut mask);
    let tokens: Vec<u32> = (0..268).filter(|&token| mask[token as usize]).collect();
    for token in 0..300 {
        assert_eq!(matcher.allows(token), tokens.contains(&token), "token {token}");
    }
    tokens
}

#[test]
fn tokens_may_end_within_a_character() {
    let mut matcher = Matcher::new(&grammar("root ::= [éa] \"b\" \"€\"?"), vocabulary());
    assert_eq!(mask(&mut matcher), [97, 0xc3, 258, 262]);
    assert_eq!(matcher.advance(262), Ok(()));
    assert_eq!(mask(&mut matcher), [0xa9, 263]);
    assert_eq!(matcher.advance(263), Ok(()));
    assert!(matcher.may_end() && !matcher.must_end());
    assert_eq!(mask(&mut matcher), [0xe2, STOP, 264]);
    assert_eq!(matcher.advance(264), Ok(()));
    assert_eq!(mask(&mut matcher), [0xac, 265]);
    assert_eq!(matcher.advance(265), Ok(()));
    assert!(matcher.must_end());
    assert_eq!(mask(&mut matcher), [STOP]);
    assert_eq!(matcher.advance(STOP), Ok(()));
    assert_eq!(mask(&mut matcher), [0u32; 0]);
    assert_eq!(matcher.advance(97), Err(GrammarError::Refused { token: 97 }));
}

#[test]
fn after_a_disallowed_token_nothing_is_allowed() {
    let mut matcher = Matcher::new(&grammar("root ::= \"ab\""), vocabulary());
    for token in [STOP, 257, 259, 300] {
        let mut matcher = Matcher::new(&grammar("root ::= \"ab\""), vocabulary());
        assert_eq!(matcher.advance(token), Err(GrammarError::Refused { token }));
        assert_eq!(mask(&mut matcher), [0u32; 0]);
    }
    assert_eq!(matcher.advance(258), Ok(()));
    assert_eq!(mask(&mut matcher), [STOP]);
}

#[test]
fn memory_is_bounded_for_long_texts() {
    // A counter makes every state new, so garbage collection runs many times.
    let mut matcher = Matcher::new(&grammar("root ::= [ab]{0,100000} \"c\""), vocabulary());
    for at in 0..30_000u32 {
        assert_eq!(matcher.advance(97 + at % 2), Ok(()));
        if at % 5000 == 0 {
            assert_eq!(mask(&mut matcher), [97, 98, 99, 258, 259]);
        }
    }
    assert_eq!(matcher.advance(99), Ok(()));
    assert!(matcher.must_end());
}

#[test]
fn the_work_per_mask_is_bounded() {
    // Every byte has many parses, and every token of the vocabulary continues all of them.
    let empty = Grammar::parse("root ::= ((.{0,1000} .{0,1000}){0,1000} \"b\"?){0,1000}");
    assert_eq!(empty.unwrap_err(), GrammarError::TooManyStacks);
    let mut matcher = Matcher::new(&grammar("root ::= ((.{1,99} .{1,99}){1,99} .{1,99}){1,99}"), vocabulary());
    let mut lost = false;
    for _ in 0..30 {
        lost |= matcher.advance(97).is_err();
    }
    mask(&mut matcher);
    assert!(lost, "the number of parse stacks exceeds the limit");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Parsing never panics, and every accepted grammar can be matched.
    #[test]
    fn any_text_is_parsed_or_rejected(parts in prop::collection::vec(
        prop::sample::select(vec![
            "root ::= ", "a ::= ", "a", "root", " ", "\n", "|", "(", ")", "*", "+", "?", "{2}", "{0,3}", "\"x\"", "\"xy\"", "[a-z]", "[^x]", ".", "#", "\"", "[", "\\", "{",
        ]), 0..24), text in "[abxy]{0,8}")
    {
        let mut source = "root ::= ".to_owned();
        source.extend(parts);
        if let Ok(grammar) = Grammar::parse(&source) {
            let _ = grammar.matches(text.as_bytes());
        } else if let Err(error) = Grammar::parse(&source) {
            prop_assert!(!error.to_string().contains('\n') && !error.hint().is_empty());
        }
    }

    /// An escaped literal and class match the text they were made of.
    #[test]
    fn literals_match_themselves(text in "\\PC{0,12}", other in "\\PC{0,12}") {
        let escaped: String = text.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
        let literal = grammar(&format!("root ::= \"{escaped}\""));
        prop_assert_eq!(literal.matches(text.as_bytes()), Ok(true));
        prop_assert_eq!(literal.matches(other.as_bytes()), Ok(other == text));
        let class = grammar(&format!("root ::= [{escaped}]*"));
        prop_assert_eq!(class.matches(text.as_bytes()), Ok(true));
        prop_assert_eq!(class.matches(other.as_bytes()), Ok(other.chars().all(|c| text.contains(c))));
    }
}
