//! Generates random kernels in C: expressions of all types, nested control flow, arrays, calls, LDS
//! with barriers.

use std::fmt::Write;

use crate::data::Random;

/// Input words of a work-item, and output words.
pub(crate) const WORDS_IN: usize = 4;
pub(crate) const WORDS_OUT: usize = 4;
/// Kernels per program: starting clang takes longer than compiling a few more kernels.
const KERNELS: u32 = 8;

const INTEGERS: [&str; 8] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"];

/// Name and type of a variable in scope.
type Variable = (String, &'static str);

/// State of the generator.
struct Writer {
    random: Random,
    text: String,
    indent: usize,
    variables: Vec<Variable>,
    /// Arrays of eight elements.
    arrays: Vec<Variable>,
    /// Functions of two parameters: name, result type, parameter types.
    functions: Vec<(String, &'static str, [&'static str; 2])>,
    names: u32,
}

/// Prepended to every program.
pub(crate) const PRELUDE: &str = concat!(include_str!("../c/prelude.h"), "\n", include_str!("../c/random.h"));

/// A program of several kernels, their names, and whether each one communicates within workgroups.
pub(crate) fn program(seed: u64) -> (String, Vec<(String, bool)>) {
    let mut writer = Writer {
        random: Random::new(seed ^ 0x00c0_ffee),
        text: String::new(),
        indent: 0,
        variables: Vec::new(),
        arrays: Vec::new(),
        functions: Vec::new(),
        names: 0,
    };
    for _ in 0..4 {
        writer.function();
    }
    let kernels: Vec<(String, bool)> = (0..KERNELS).map(|index| (format!("kernel{index}"), index % 4 == 3)).collect();
    for (name, grouped) in &kernels {
        if *grouped { writer.group(name) } else { writer.map(name) }
    }
    (writer.text, kernels)
}

fn is_float(kind: &str) -> bool {
    kind.starts_with('f')
}

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 4 * self.indent);
    }

    fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn any_type(&mut self) -> &'static str {
        match self.random.below(8) {
            0 => "f16",
            1 | 2 => "f32",
            3 => "f64",
            4 => "u32",
            _ => self.random.pick(&INTEGERS),
        }
    }

    fn function(&mut self) {
        let (result, a, b) = (self.any_type(), self.any_type(), self.any_type());
        let name = format!("function{}", self.functions.len());
        let inline = if self.random.below(3) == 0 { "" } else { "NOINLINE " };
        self.open(&format!("static {inline}{result} {name}({a} a, {b} b)"));
        self.variables = vec![("a".to_owned(), a), ("b".to_owned(), b)];
        self.body(2);
        let value = self.expression(result, 3);
        self.line(&format!("return {value};"));
        self.close();
        self.arrays.clear();
        self.functions.push((name, result, [a, b]));
    }

    /// Declares the inputs of a work-item as variables.
    fn inputs(&mut self, start: &str) {
        for index in 0..WORDS_IN {
            let (name, kind) = (self.name(), if index % 2 == 0 { "u32" } else { self.any_type() });
            let word = format!("in[{start}{index}]");
            let value = match kind {
                "f32" => format!("AS(f32, (u32){word})"),
                "f16" => format!("AS(f16, (u16){word})"),
                "f64" => format!("(f64)AS(f32, (u32){word})"),
                _ => format!("({kind}){word}"),
            };
            self.line(&format!("{kind} {name} = {value};"));
            self.variables.push((name, kind));
        }
    }

    fn outputs(&mut self, start: &str) {
        for index in 0..WORDS_OUT {
            let value = self.word(3);
            self.line(&format!("out[{start}{index}] = {value};"));
        }
    }

    /// An expression of any type, converted to a word.
    fn word(&mut self, depth: u32) -> String {
        let kind = self.any_type();
        let value = self.expression(kind, depth);
        match kind {
            "i64" | "u64" => format!("(u32)({value} ^ {value} >> 32)"),
            kind if is_float(kind) => format!("bits_{kind}({value})"),
            _ => format!("(u32){value}"),
        }
    }

    fn map(&mut self, name: &str) {
        self.open(&format!("MAP({name}, {WORDS_IN}, {WORDS_OUT}, BITS)"));
        self.variables.clear();
        self.arrays.clear();
        self.inputs("");
        self.body(3);
        self.outputs("");
        self.close();
    }

    /// Phases between barriers that exchange words through LDS.
    fn group(&mut self, name: &str) {
        self.open(&format!("GROUP({name}, {WORDS_IN}, {WORDS_OUT}, BITS)"));
        self.line(&format!("ENTER({WORDS_IN}, {WORDS_OUT});"));
        self.line("LDS(u32, shared, GROUP_SIZE);");
        self.line("PRIVATE(u32, own);");
        self.line("LANES { OWN(own) = lid; }");
        self.phase(|writer| {
            let value = writer.word(2);
            writer.line(&format!("OWN(own) = {value};"));
            writer.line("shared[lid] = OWN(own);");
        });
        self.line("BARRIER;");
        let looped = self.random.below(2) == 0;
        if looped {
            let rounds = 2 + self.random.below(4);
            self.open(&format!("for (u32 round = 1; round <= {rounds}; round++)"));
        }
        let stride = 1 + self.random.below(127);
        let round = if looped { "round" } else { "1" };
        self.phase(|writer| {
            let (peer, kind) = (writer.name(), "u32");
            writer.line(&format!("u32 {peer} = shared[(lid * {} + {stride} * {round}) % GROUP_SIZE];", stride | 1));
            writer.variables.push((peer, kind));
            writer.body(2);
            let value = writer.word(2);
            writer.line(&format!("OWN(own) = OWN(own) * 3 + {value};"));
        });
        self.line("BARRIER;");
        self.line("LANES { shared[lid] += OWN(own); }");
        self.line("BARRIER;");
        if looped {
            self.close();
        }
        self.phase(|writer| {
            writer.variables.push(("shared[lid ^ 5]".to_owned(), "u32"));
            writer.outputs(&format!("lid * {WORDS_OUT} + "));
        });
        self.close();
    }

    /// The code of each work-item between two barriers.
    fn phase(&mut self, inside: impl FnOnce(&mut Self)) {
        self.open("LANES");
        self.variables.clear();
        self.arrays.clear();
        self.inputs(&format!("lid * {WORDS_IN} + "));
        self.variables.push(("OWN(own)".to_owned(), "u32"));
        inside(self);
        self.close();
    }

    /// A few statements.
    fn body(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    /// A variable that may be assigned.
    fn target(&mut self) -> Option<Variable> {
        let candidates: Vec<Variable> = self.variables.iter().filter(|one| one.0.starts_with('v')).cloned().collect();
        (!candidates.is_empty()).then(|| candidates[self.random.below(candidates.len() as u32) as usize].clone())
    }

    /// A block with its own scope.
    fn scope(&mut self, head: &str, depth: u32) {
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        self.open(head);
        self.body(depth - 1);
        self.close();
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
    }

    fn statement(&mut self, depth: u32) {
        let nested = if depth > 0 { 10 } else { 5 };
        match self.random.below(nested) {
            0 => {
                let kind = self.any_type();
                let value = self.expression(kind, 3);
                let name = self.name();
                self.line(&format!("{kind} {name} = {value};"));
                self.variables.push((name, kind));
            }
            1 => {
                let kind = self.any_type();
                let (name, first) = (self.name(), self.expression(kind, 1));
                self.line(&format!("{kind} {name}[8];"));
                self.line(&format!("for (u32 i = 0; i < 8; i++) {name}[i] = ({kind})({first} + ({kind})i);"));
                self.arrays.push((name, kind));
            }
            2 if !self.arrays.is_empty() => {
                let (name, kind) = self.arrays[self.random.below(self.arrays.len() as u32) as usize].clone();
                let (index, value) = (self.expression("u32", 2), self.expression(kind, 2));
                self.line(&format!("{name}[{index} & 7] = {value};"));
            }
            5 | 6 => {
                let condition = self.condition(2);
                self.scope(&format!("if ({condition})"), depth);
                if self.random.below(2) == 0 {
                    self.scope("else", depth);
                }
            }
            7 => {
                let (name, count) = (self.name(), self.expression("u32", 1));
                let counter = name.replace('v', "n");
                self.scope(
                    &format!("for (u32 {counter} = 0, {counter}e = {count} % 6; {counter} < {counter}e; {counter}++)"),
                    depth,
                );
            }
            8 => {
                let selector = self.expression("u32", 2);
                self.open(&format!("switch ({selector} % 5)"));
                for case in 0..4 {
                    self.scope(&format!("case {case}:"), depth);
                    if self.random.below(4) != 0 {
                        self.line("break;");
                    }
                }
                self.line("default: break;");
                self.close();
            }
            _ => {
                if let Some((name, kind)) = self.target() {
                    let value = self.expression(kind, 3);
                    self.line(&format!("{name} = {value};"));
                }
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let kind = self.any_type();
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        let operator = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        format!("({a} {operator} {b})")
    }

    fn leaf(&mut self, kind: &'static str) -> String {
        let same: Vec<String> = self.variables.iter().filter(|one| one.1 == kind).map(|one| one.0.clone()).collect();
        if !same.is_empty() && self.random.below(4) != 0 {
            return same[self.random.below(same.len() as u32) as usize].clone();
        }
        if !self.variables.is_empty() && self.random.below(3) != 0 {
            let (name, from) = self.variables[self.random.below(self.variables.len() as u32) as usize].clone();
            return convert(kind, from, &name);
        }
        if is_float(kind) {
            // Never zero: for AMD GPUs clang turns `(0.0 - x) * y` into `-x * y`, which gives zeros
            // the wrong sign.
            let value = f64::from(self.random.below(64)) / 4.0 - 4.0625;
            return format!("({kind}){value:?}");
        }
        let value = self.random.input() as i32 >> self.random.below(32);
        format!("({kind})({value}{})", if kind.ends_with("64") { "L" } else { "" })
    }

    fn expression(&mut self, kind: &'static str, depth: u32) -> String {
        if depth == 0 || self.random.below(6) == 0 {
            return self.leaf(kind);
        }
        let depth = depth - 1;
        match self.random.below(12) {
            0 => {
                let condition = self.condition(depth.min(1));
                let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
                format!("({condition} ? {a} : {b})")
            }
            1 => {
                let from = self.any_type();
                let value = self.expression(from, depth);
                convert(kind, from, &value)
            }
            2 if !self.functions.is_empty() => {
                let index = self.random.below(self.functions.len() as u32) as usize;
                let (name, result, [a, b]) = self.functions[index].clone();
                let (first, second) = (self.expression(a, depth.min(1)), self.expression(b, depth.min(1)));
                convert(kind, result, &format!("{name}({first}, {second})"))
            }
            3 if !self.arrays.is_empty() => {
                let (name, from) = self.arrays[self.random.below(self.arrays.len() as u32) as usize].clone();
                let index = self.expression("u32", depth.min(1));
                convert(kind, from, &format!("{name}[{index} & 7]"))
            }
            _ if is_float(kind) => self.float(kind, depth),
            _ => self.integer(kind, depth),
        }
    }

    fn integer(&mut self, kind: &'static str, depth: u32) -> String {
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.random.below(16) {
            0 => format!("div_{kind}({a}, {b})"),
            1 => format!("rem_{kind}({a}, {b})"),
            2 => format!("shl_{kind}({a}, (u32){b})"),
            3 => format!("shr_{kind}({a}, (u32){b})"),
            4 => format!("min_{kind}({a}, {b})"),
            5 => format!("max_{kind}({a}, {b})"),
            6 => format!("({kind})~{a}"),
            7 => format!("({kind})count_bits((u32){a})"),
            8 => format!("({kind})rotate((u32){a}, (u32){b})"),
            9 => format!("({kind})({a} < {b})"),
            _ => {
                let operator = self.random.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({kind})({a} {operator} {b})")
            }
        }
    }

    fn float(&mut self, kind: &'static str, depth: u32) -> String {
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.random.below(10) {
            0 if kind != "f16" => format!("fma_{kind}({a}, {b}, {a})"),
            1 if kind != "f16" => format!("root_{kind}({a})"),
            2 => format!("(-{a})"),
            3 => format!("({a} / {b})"),
            _ => {
                let operator = self.random.pick(&["+", "-", "*"]);
                format!("({a} {operator} {b})")
            }
        }
    }
}

/// Converts a value to another type.
fn convert(to: &str, from: &str, value: &str) -> String {
    match (is_float(from), is_float(to)) {
        (true, false) => format!("{to}_of_{from}({value})"),
        _ if to == from => value.to_owned(),
        (true, true) if (to, from) == ("f16", "f32") => format!("f16_of_f32({value})"),
        // f16 can hold only the low bits of wide integers.
        (false, true) if to == "f16" => format!("(f16)(i16){value}"),
        _ => format!("({to}){value}"),
    }
}
