//! Generates Rust from the tables: the `Op` enumeration, the rows, and an opcode index per family
//! and format.

#![expect(clippy::disallowed_methods, reason = "a build script reads its tables and writes where cargo says")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The formats in the order of `rows::Format`: file name, number of opcodes, operand columns.
const FORMATS: [(&str, usize, &[Column]); 18] = {
    use Column::{Dst, Imm, Mods, Src};
    [
        ("sop1", 256, &[Dst, Src]),
        ("sop2", 128, &[Dst, Src]),
        ("sopc", 128, &[Src]),
        ("sopk", 32, &[Dst, Src, Imm]),
        ("sopp", 128, &[Imm]),
        ("smem", 256, &[Dst, Src, Src]),
        ("vop1", 256, &[Dst, Src]),
        ("vop2", 64, &[Dst, Src]),
        ("vopc", 256, &[Dst, Src]),
        ("vop3", 1024, &[Dst, Src, Mods]),
        ("vop3p", 128, &[Dst, Src, Mods]),
        ("vopdx", 16, &[Dst, Src]),
        ("vopdy", 32, &[Dst, Src]),
        ("ds", 256, &[Dst, Src, Src, Src]),
        ("flat", 128, &[Dst, Src]),
        ("scratch", 128, &[Dst, Src]),
        ("global", 128, &[Dst, Src]),
        ("mubuf", 256, &[Dst]),
    ]
};

const FAMILIES: [(&str, &[&str]); 2] = [("gfx10", &["1010", "1012", "1013", "1030"]), ("gfx11", &["1100", "1151"])];

#[derive(Clone, Copy)]
enum Column {
    Dst,
    Src,
    Imm,
    Mods,
}

fn main() {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build.rs");
    let tables = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("tables");
    let mut operations = BTreeSet::new();
    let mut rows = String::new();
    let mut count = 0usize;
    let mut index = String::new();
    for (number, (family, chips)) in FAMILIES.iter().enumerate() {
        let first_chip = if number == 0 { 0 } else { FAMILIES[0].1.len() };
        writeln!(index, "    [").expect("to a string");
        for (format, opcodes, columns) in FORMATS {
            let file = tables.join(family).join(format!("{format}.tbl"));
            let mut by_opcode = BTreeMap::new();
            let text = if !file.exists() { String::new() } else { read(&file) };
            for (line, content) in text.lines().enumerate() {
                if content.starts_with('#') || content.trim().is_empty() {
                    continue;
                }
                let at = format!("{}:{}", file.display(), line + 1);
                let row = parse(content, columns, chips, first_chip, &at);
                assert!(usize::from(row.opcode) < opcodes, "{at}: no such opcode");
                operations.insert(row.operation.clone());
                by_opcode.entry(row.opcode).or_insert(count);
                rows.push_str(&row.rust());
                count += 1;
            }
            let entries: Vec<String> = (0..if by_opcode.is_empty() { 0 } else { opcodes })
                .map(|opcode| by_opcode.get(&(opcode as u16)).map_or("NO_ROW".to_owned(), ToString::to_string))
                .collect();
            writeln!(index, "        &[{}],", entries.join(",")).expect("to a string");
        }
        writeln!(index, "    ],").expect("to a string");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("op.rs"), op(&operations)).expect("the output folder is writable");
    let rows = format!(
        "pub(crate) static ROWS: [Row; {count}] = [\n{rows}];\n\
         pub(crate) static INDEX: [[&[u16]; {}]; 2] = [\n{index}];\n",
        FORMATS.len()
    );
    fs::write(out.join("rows.rs"), rows).expect("the output folder is writable");
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// `v_add_f32` to `VAddF32`.
fn variant(name: &str) -> String {
    name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

fn op(operations: &BTreeSet<String>) -> String {
    let mut text = String::from(
        "/// An operation, independent of chip and encoding. Named as on gfx11 if the families differ.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(u16)]\npub enum Op {\n",
    );
    for name in operations {
        writeln!(text, "    /// `{name}`\n    {},", variant(name)).expect("to a string");
    }
    text.push_str(
        "}\n\nimpl Op {\n    /// All operations, ordered by name.\n    pub const ALL: &'static [Self] = &[\n",
    );
    for name in operations {
        writeln!(text, "        Self::{},", variant(name)).expect("to a string");
    }
    text.push_str("    ];\n}\n\nconst NAMES: &[&str] = &[\n");
    for name in operations {
        writeln!(text, "    {name:?},").expect("to a string");
    }
    text.push_str("];\n");
    text
}

/// A parsed row. Its strings are names of variants of `rows::OperandType` and related types.
struct Row {
    opcode: u16,
    name: String,
    operation: String,
    chips: u8,
    dst: Vec<String>,
    src: Vec<String>,
    imm: String,
    mods: String,
    dpp16: String,
    sdwa: String,
    flags: Vec<String>,
    reads: Vec<String>,
    writes: Vec<String>,
}

fn parse(line: &str, columns: &[Column], chips: &[&str], first_chip: usize, at: &str) -> Row {
    let mut fields = line.split_whitespace();
    let mut next = || fields.next().unwrap_or_else(|| panic!("{at}: too few columns"));
    let opcode = next().parse().unwrap_or_else(|_| panic!("{at}: the opcode is not a number"));
    let (name, operation) = {
        let field = next();
        field.split_once('=').unwrap_or((field, field))
    };
    let mut row = Row {
        opcode,
        name: name.to_owned(),
        operation: operation.to_owned(),
        chips: (0..chips.len()).fold(0, |mask, chip| mask | 1 << (first_chip + chip)),
        dst: Vec::new(),
        src: Vec::new(),
        imm: "None".to_owned(),
        mods: String::new(),
        dpp16: String::new(),
        sdwa: String::new(),
        flags: Vec::new(),
        reads: Vec::new(),
        writes: Vec::new(),
    };
    for column in columns {
        let field = next();
        match column {
            Column::Dst => row.dst.extend(field.split(',').map(spec)),
            Column::Src => row.src.extend(field.split(',').map(spec)),
            Column::Imm => row.imm = if field == "-" { "None".to_owned() } else { variant(field) },
            Column::Mods => row.mods = field.to_owned(),
        }
    }
    for flag in fields {
        match flag.split_once(['=', ':']) {
            Some(("chips", list)) => {
                row.chips = list.split(',').fold(0, |mask, chip| {
                    let index = chips.iter().position(|known| *known == chip);
                    mask | 1 << (first_chip + index.unwrap_or_else(|| panic!("{at}: no chip {chip}")))
                });
            }
            Some(("dpp16", pattern)) => {
                row.dpp16 = pattern.to_owned();
                row.flags.push("DPP16".to_owned());
            }
            Some(("sdwa", pattern)) => {
                row.sdwa = pattern.to_owned();
                row.flags.push("SDWA".to_owned());
            }
            Some(("r", what)) => row.reads.push(what.to_uppercase()),
            Some(("w", what)) => row.writes.push(what.to_uppercase()),
            Some(_) => panic!("{at}: unknown flag {flag}"),
            None => row.flags.push(flag.to_uppercase()),
        }
    }
    row
}

/// `+v32` becomes `OperandSpec { operand_type: OperandType::V32, both: true }`. Types in upper case
/// differ from those in lower case and become `Only…`.
fn spec(code: &str) -> String {
    let (both, code) = code.strip_prefix('+').map_or((false, code), |code| (true, code));
    let name = match code {
        "-" => "None".to_owned(),
        _ if code.starts_with(|first: char| first.is_ascii_uppercase()) => {
            format!("Only{}", variant(&code.to_lowercase()))
        }
        _ => variant(code),
    };
    format!("OperandSpec {{ operand_type: OperandType::{name}, both: {both} }}")
}

impl Row {
    fn rust(&self) -> String {
        let specs = |list: &[String], length: usize| {
            let mut list = list.to_vec();
            list.resize(length, "OperandSpec { operand_type: OperandType::None, both: false }".to_owned());
            list.join(", ")
        };
        let flags = |prefix: &str, list: &[String]| {
            let list: Vec<String> = list.iter().map(|flag| format!("{prefix}::{flag}")).collect();
            if list.is_empty() { "0".to_owned() } else { list.join(" | ") }
        };
        format!(
            "    Row {{ opcode: {}, op: Op::{}, name: {:?}, chips: {:#x}, dst: [{}], src: [{}], imm: Imm::{}, mods: {:?}, \
             dpp16: {:?}, sdwa: {:?}, flags: {}, reads: {}, writes: {} }},\n",
            self.opcode,
            variant(&self.operation),
            self.name,
            self.chips,
            specs(&self.dst, 2),
            specs(&self.src, 3),
            self.imm,
            self.mods,
            self.dpp16,
            self.sdwa,
            flags("flag", &self.flags),
            flags("special", &self.reads),
            flags("special", &self.writes),
        )
    }
}
