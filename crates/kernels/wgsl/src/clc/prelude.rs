//! The prelude: small C functions called by generated code. Only those in use are emitted.
//!
//! A prelude file is a list of snippets. A line `//: NAME` starts a snippet. `//: NAME for i32 u32`
//! starts a template that is instantiated per scalar type: `$S` is the type's WGSL name, `$T` its C
//! name, `$U` the unsigned C type of the same width, and `$W` the width in bits.
//!
//! A header may end in `over add=0 mul=1`: the template is then also instantiated per word, where
//! `$O` is the word and `$V` the text after its `=`. `$N` is the name of the snippet itself.
//! Consecutive headers share the body below the last one. The snippets that a snippet depends on
//! are found in its body.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dialect, Options, Subgroups};

const COMMON: &[&str] = &[
    include_str!("prelude/integers.cl"),
    include_str!("prelude/floats.cl"),
    include_str!("prelude/packing.cl"),
    include_str!("prelude/combine.cl"),
];
const OPENCL: &[&str] = &[include_str!("prelude/opencl.cl")];
const AMDGCN: &[&str] = &[
    include_str!("prelude/amdgcn.cl"),
    include_str!("prelude/amdgcn_math.cl"),
    include_str!("prelude/amdgcn_wmma.cl"),
];
const EMULATED_SUBGROUPS: &str = include_str!("prelude/subgroups_emulated.cl");
const OPENCL_SUBGROUPS: &str = include_str!("prelude/subgroups_opencl.cl");
const AMDGCN_SUBGROUPS: &str = include_str!("prelude/subgroups_amdgcn.cl");

/// All snippets for one set of options, by name.
#[derive(Debug)]
pub(super) struct Prelude {
    pieces: BTreeMap<String, String>,
}

impl Prelude {
    pub(super) fn new(options: &Options) -> Self {
        let dialect = match options.dialect {
            Dialect::OpenCl => OPENCL,
            Dialect::AmdGcn => AMDGCN,
        };
        let subgroups = match (options.subgroups, options.dialect) {
            (Subgroups::Emulated { .. }, _) => EMULATED_SUBGROUPS,
            (Subgroups::Native { .. }, Dialect::OpenCl) => OPENCL_SUBGROUPS,
            (Subgroups::Native { .. }, Dialect::AmdGcn) => AMDGCN_SUBGROUPS,
        };
        let mut pieces = BTreeMap::new();
        for file in COMMON.iter().chain(dialect).chain([&subgroups]) {
            parse(file, &mut pieces);
        }
        Prelude { pieces }
    }

    /// The source of every snippet that `code` calls, dependencies first.
    pub(super) fn used_by(&self, code: &str) -> String {
        let mut emitted = BTreeSet::new();
        let mut text = String::new();
        self.emit_needs(code, &mut emitted, &mut text);
        text
    }

    fn emit_needs<'a>(&'a self, code: &'a str, emitted: &mut BTreeSet<&'a str>, text: &mut String) {
        for name in identifiers(code) {
            if let Some((name, piece)) = self.pieces.get_key_value(name)
                && emitted.insert(name)
            {
                self.emit_needs(piece, emitted, text);
                text.push_str(piece);
            }
        }
    }
}

/// Identifiers in code that could name a snippet.
fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("roci_") || word.starts_with("ROCI_"))
}

fn parse(file: &str, pieces: &mut BTreeMap<String, String>) {
    let mut heads = Vec::new();
    for part in file.split("//: ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        heads.push(head);
        if body.trim().is_empty() {
            continue;
        }
        let body = format!("{}\n", body.trim_end());
        for head in heads.drain(..) {
            let (head, words) = head.split_once(" over ").unwrap_or((head, ""));
            let (name, scalars) = head.split_once(" for ").unwrap_or((head, ""));
            for word in words_or_one(words) {
                let (word, value) = word.split_once('=').unwrap_or((word, ""));
                for scalar in words_or_one(scalars) {
                    let fill = |text: &str| instantiate(&text.replace("$O", word).replace("$V", value), scalar);
                    let name = fill(name.trim());
                    let text = fill(&body).replace("$N", &name);
                    pieces.insert(name, text);
                }
            }
        }
    }
}

/// The words of a list. An empty list gives one empty word, for templates without that dimension.
fn words_or_one(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace().chain(list.trim().is_empty().then_some(""))
}

fn instantiate(text: &str, scalar: &str) -> String {
    let (c_type, unsigned, width) = match scalar {
        "i16" => ("short", "ushort", "16"),
        "u16" => ("ushort", "ushort", "16"),
        "i32" => ("int", "uint", "32"),
        "u32" => ("uint", "uint", "32"),
        "i64" => ("long", "ulong", "64"),
        "u64" => ("ulong", "ulong", "64"),
        "f16" => ("half", "ushort", "16"),
        _ => ("float", "uint", "32"),
    };
    text.replace("$S", scalar).replace("$T", c_type).replace("$U", unsigned).replace("$W", width)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Prelude, identifiers, parse};
    use crate::clc::{Options, Subgroups};

    #[test]
    fn every_prelude_function_defines_its_name_and_calls_only_prelude_functions() {
        for base in [Options::opencl(), Options::amdgcn()] {
            for subgroups in [Subgroups::Native { size: 32 }, Subgroups::Emulated { size: 32 }] {
                let prelude = Prelude::new(&Options { subgroups, ..base.clone() });
                for (name, piece) in &prelude.pieces {
                    assert!(identifiers(piece).any(|word| word == name), "`{name}` does not define itself");
                    for word in identifiers(piece) {
                        let known = prelude.pieces.contains_key(word) || HEAD.contains(&word);
                        assert!(known, "`{name}` calls the unknown `{word}`");
                    }
                }
            }
        }
    }

    #[test]
    fn templates_are_instantiated_for_every_type() {
        let mut pieces = BTreeMap::new();
        let file = "Words before the first piece are a comment.
//: plain
one
//: fold_$O_$S for i32 f32 over add=0 mul=1
//: other_$O over and
$T $N = $V;
";
        parse(file, &mut pieces);
        let pieces: Vec<_> = pieces.iter().map(|(name, text)| format!("{name}: {}", text.trim_end())).collect();
        let expected = [
            "fold_add_f32: float fold_add_f32 = 0;",
            "fold_add_i32: int fold_add_i32 = 0;",
            "fold_mul_f32: float fold_mul_f32 = 1;",
            "fold_mul_i32: int fold_mul_i32 = 1;",
            "other_and: float other_and = ;",
            "plain: one",
        ];
        assert_eq!(pieces, expected);
    }

    /// Identifiers that the fixed header of every source defines.
    const HEAD: &[&str] = &["ROCI_FN", "ROCI_SUBGROUP_SIZE"];
}
