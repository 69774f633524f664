//! Parser of llama.cpp's grammar notation, GBNF.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::class::{self, Class};
use super::error::GrammarError;
use super::rules::{Element, NO_LIMIT, Rules};

/// Limits of one grammar.
const MAX_TEXT_BYTES: usize = 1 << 20;
const MAX_RULES: usize = 1 << 16;
const MAX_ELEMENTS: usize = 1 << 18;
const MAX_RANGES: usize = 1 << 16;
const MAX_GROUP_DEPTH: usize = 64;
/// Larger counts are rejected.
const MAX_COUNT: u32 = 1 << 24;

/// Parses a grammar whose start rule is `root`.
pub(super) fn parse(text: &str) -> Result<Rules, GrammarError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(GrammarError::TooLarge { what: "bytes", limit: MAX_TEXT_BYTES });
    }
    let mut parser = Parser {
        text,
        at: 0,
        names: Vec::new(),
        numbers: HashMap::new(),
        rules: Vec::new(),
        classes: Classes::default(),
        elements: 0,
    };
    parser.grammar()?;
    let root =
        parser.numbers.get("root").copied().ok_or_else(|| GrammarError::Undefined { rule: "root".to_owned() })?;
    let undefined = parser.rules.iter().position(Option::is_none);
    if let Some(rule) = undefined {
        return Err(GrammarError::Undefined { rule: parser.names.swap_remove(rule) });
    }
    let rules: Vec<_> = parser.rules.into_iter().flatten().collect();
    Rules::new(&rules, parser.classes.list, root, &parser.names)
}

/// The character classes of a grammar, deduplicated.
#[derive(Default)]
struct Classes {
    list: Vec<Class>,
    numbers: HashMap<Vec<(char, char)>, u32>,
    ranges: usize,
}

impl Classes {
    fn number(&mut self, set: &ClassUnicode) -> Result<u32, GrammarError> {
        let key: Vec<(char, char)> = set.ranges().iter().map(|range| (range.start(), range.end())).collect();
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        self.ranges += key.len();
        if self.ranges > MAX_RANGES {
            return Err(GrammarError::TooLarge { what: "character ranges", limit: MAX_RANGES });
        }
        let number = self.list.len() as u32;
        self.list.push(Class::new(set));
        self.numbers.insert(key, number);
        Ok(number)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Rule names by number; a group has the name of the rule that contains it.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    rules: Vec<Option<Vec<Vec<Element>>>>,
    classes: Classes,
    elements: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn wrong<T>(&self, reason: impl Into<String>) -> Result<T, GrammarError> {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Err(GrammarError::Syntax { line, column, reason: reason.into() })
    }

    /// Skips spaces and comments, and newlines where they are not significant.
    fn space(&mut self, lines: bool) {
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => self.at += 1,
                '#' => self.at += self.text[self.at..].find(['\r', '\n']).unwrap_or(self.text.len() - self.at),
                '\r' | '\n' if lines => self.at += 1,
                _ => return,
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| rest[..end].to_owned())
    }

    /// The number of a named rule, defined or not.
    fn number(&mut self, name: String) -> Result<u32, GrammarError> {
        if let Some(&number) = self.numbers.get(&name) {
            return Ok(number);
        }
        let number = self.add(name.clone())?;
        self.numbers.insert(name, number);
        Ok(number)
    }

    fn add(&mut self, name: String) -> Result<u32, GrammarError> {
        if self.rules.len() == MAX_RULES {
            return Err(GrammarError::TooLarge { what: "rules", limit: MAX_RULES });
        }
        self.names.push(name);
        self.rules.push(None);
        Ok(self.rules.len() as u32 - 1)
    }

    fn grammar(&mut self) -> Result<(), GrammarError> {
        self.space(true);
        while self.peek().is_some() {
            let Some(name) = self.name() else { return self.wrong("expected a rule name") };
            self.space(false);
            if !self.take("::=") {
                return self.wrong(format!("expected `::=` after `{name}`"));
            }
            let rule = self.number(name.clone())?;
            if self.rules[rule as usize].is_some() {
                return self.wrong(format!("rule `{name}` is defined twice"));
            }
            self.space(true);
            let alternatives = self.alternatives(rule, 0)?;
            self.rules[rule as usize] = Some(alternatives);
            if let Some(other) = self.peek()
                && !matches!(other, '\r' | '\n')
            {
                return self.wrong(format!("unexpected `{other}`"));
            }
            self.space(true);
        }
        Ok(())
    }

    /// Parses `a b | c d`. Newlines are not significant in groups and after `|`.
    fn alternatives(&mut self, rule: u32, depth: usize) -> Result<Vec<Vec<Element>>, GrammarError> {
        let mut alternatives = vec![self.sequence(rule, depth)?];
        while self.take("|") {
            self.space(true);
            alternatives.push(self.sequence(rule, depth)?);
        }
        Ok(alternatives)
    }

    fn sequence(&mut self, rule: u32, depth: usize) -> Result<Vec<Element>, GrammarError> {
        let mut elements = Vec::new();
        // Start of the last symbol, which a repetition operator applies to.
        let mut symbol = None;
        loop {
            let length = elements.len();
            match self.peek() {
                Some('"') => {
                    self.literal(&mut elements)?;
                    symbol = Some(length);
                }
                Some('[') => {
                    let class = self.class()?;
                    elements.push(Element::Class(class));
                    symbol = Some(length);
                }
                Some('.') => {
                    self.at += 1;
                    elements.push(Element::Class(self.classes.number(&class::set(&[], true))?));
                    symbol = Some(length);
                }
                Some('(') => {
                    elements.push(Element::Rule(self.group(rule, depth)?));
                    symbol = Some(length);
                }
                Some('*' | '+' | '?' | '{') => {
                    let Some(start) = symbol else { return self.wrong("nothing to repeat") };
                    let (min, max) = self.count()?;
                    let repeated = self.repeated(rule, elements.split_off(start))?;
                    elements.push(Element::Repeat { rule: repeated, min, max });
                }
                Some('<' | '!') => return self.wrong("tokens are not supported"),
                _ => match self.name() {
                    Some(name) => {
                        elements.push(Element::Rule(self.number(name)?));
                        symbol = Some(length);
                    }
                    None => break,
                },
            }
            self.space(depth > 0);
        }
        self.elements += elements.len() + 1;
        if self.elements > MAX_ELEMENTS {
            return Err(GrammarError::TooLarge { what: "elements", limit: MAX_ELEMENTS });
        }
        Ok(elements)
    }

    /// The rule that consists of these elements.
    fn repeated(&mut self, within: u32, elements: Vec<Element>) -> Result<u32, GrammarError> {
        if let [Element::Rule(rule)] = elements[..] {
            return Ok(rule);
        }
        let rule = self.add(self.names[within as usize].clone())?;
        self.elements += elements.len() + 1;
        self.rules[rule as usize] = Some(vec![elements]);
        Ok(rule)
    }

    fn group(&mut self, within: u32, depth: usize) -> Result<u32, GrammarError> {
        if depth == MAX_GROUP_DEPTH {
            return Err(GrammarError::TooLarge { what: "nested groups", limit: MAX_GROUP_DEPTH });
        }
        self.at += 1;
        self.space(true);
        let rule = self.add(self.names[within as usize].clone())?;
        let alternatives = self.alternatives(rule, depth + 1)?;
        self.rules[rule as usize] = Some(alternatives);
        if !self.take(")") {
            return self.wrong("expected `)`");
        }
        Ok(rule)
    }

    /// Parses `*`, `+`, `?`, `{m}`, `{m,}` or `{m,n}`.
    fn count(&mut self) -> Result<(u32, u32), GrammarError> {
        match self.next() {
            Some('*') => return Ok((0, NO_LIMIT)),
            Some('+') => return Ok((1, NO_LIMIT)),
            Some('?') => return Ok((0, 1)),
            _ => self.space(true),
        }
        let Some(min) = self.decimal()? else { return self.wrong("expected a number") };
        let max = if self.take(",") {
            self.space(true);
            self.decimal()?.unwrap_or(NO_LIMIT)
        } else {
            min
        };
        if !self.take("}") {
            return self.wrong("expected `}`");
        }
        if min > max {
            return self.wrong(format!("the maximum of {{{min},{max}}} is below its minimum"));
        }
        Ok((min, max))
    }

    fn decimal(&mut self) -> Result<Option<u32>, GrammarError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if end == 0 {
            return Ok(None);
        }
        let Some(number) = rest[..end].parse().ok().filter(|&number: &u32| number <= MAX_COUNT) else {
            return self.wrong(format!("expected a count of at most {MAX_COUNT}"));
        };
        self.at += end;
        self.space(true);
        Ok(Some(number))
    }

    fn literal(&mut self, elements: &mut Vec<Element>) -> Result<(), GrammarError> {
        self.at += 1;
        while !self.take("\"") {
            let character = self.character()?;
            elements.extend(character.encode_utf8(&mut [0; 4]).bytes().map(Element::Byte));
        }
        Ok(())
    }

    fn class(&mut self) -> Result<u32, GrammarError> {
        self.at += 1;
        let negated = self.take("^");
        let mut ranges = Vec::new();
        while !self.take("]") {
            let first = self.character()?;
            let range = self.text[self.at..].starts_with('-') && !self.text[self.at..].starts_with("-]");
            let last = if range {
                self.at += 1;
                self.character()?
            } else {
                first
            };
            if first > last {
                return self.wrong(format!(
                    "the range `{}-{}` is empty",
                    first.escape_default(),
                    last.escape_default()
                ));
            }
            ranges.push((first, last));
        }
        self.classes.number(&class::set(&ranges, negated))
    }

    /// Parses a character of a literal or a class, which may be escaped.
    fn character(&mut self) -> Result<char, GrammarError> {
        match self.next() {
            None => self.wrong("the grammar ends within a literal or a class"),
            Some('\\') => match self.next() {
                Some('x') => self.code(2),
                Some('u') => self.code(4),
                Some('U') => self.code(8),
                Some('t') => Ok('\t'),
                Some('r') => Ok('\r'),
                Some('n') => Ok('\n'),
                Some(plain @ ('\\' | '"' | '[' | ']')) => Ok(plain),
                _ => self.wrong("unknown escape; known are \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\]"),
            },
            Some(plain) => Ok(plain),
        }
    }

    fn code(&mut self, digits: usize) -> Result<char, GrammarError> {
        let code = self.text.get(self.at..self.at + digits).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
        let character = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match character {
            Some(character) => {
                self.at += digits;
                Ok(character)
            }
            None => self.wrong(format!("expected {digits} hexadecimal digits of a character")),
        }
    }
}
