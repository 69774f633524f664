//! Prints a program as WGSL.

use std::fmt::Write as _;

use super::ast::{Arg, BUILTINS, Expr, Function, Kind, Lvalue, Program, Root, Scalar, Step, Stmt, Type, Value};

pub(crate) fn program(program: &Program) -> String {
    let mut out = String::new();
    if program.uses_f16 {
        out.push_str("enable f16;\n");
    }
    for (number, members) in program.structs.iter().enumerate() {
        let members: Vec<String> =
            members.iter().enumerate().map(|(index, member)| format!("    m{index}: {},\n", ty(member))).collect();
        let _ = writeln!(out, "struct S{number} {{\n{}}}", members.concat());
    }
    let _ = writeln!(out, "var<immediate> params: S{};", program.params.0);
    for (index, buffer) in program.buffers.iter().enumerate() {
        let access = if buffer.writable { "read_write" } else { "read" };
        let element = ty(&buffer.element);
        let array =
            if buffer.runtime { format!("array<{element}>") } else { format!("array<{element}, {}>", buffer.length) };
        let _ = writeln!(out, "@group(0) @binding({index}) var<storage, {access}> b{index}: {array};");
    }
    for (index, variable) in program.workgroup.iter().enumerate() {
        let _ = writeln!(out, "var<workgroup> w{index}: {};", ty(variable));
    }
    for (index, (variable, init)) in program.privates.iter().enumerate() {
        let init = init.as_ref().map(|init| format!(" = {}", expr(init))).unwrap_or_default();
        let _ = writeln!(out, "var<private> p{index}: {}{init};", ty(variable));
    }
    for (index, one) in program.functions.iter().enumerate() {
        function(&mut out, index, one);
    }
    let [x, y, z] = program.workgroup_size;
    // naga rejects this builtin if workgroups have two dimensions.
    let lane_is_given = y * z == 1;
    let given = |name: &str| lane_is_given || name != "subgroup_invocation_id";
    let inputs: Vec<String> = BUILTINS
        .iter()
        .enumerate()
        .filter(|(_, (name, _))| given(name))
        .map(|(id, (name, input))| format!("@builtin({name}) v{id}: {}", ty(input)))
        .collect();
    let _ = writeln!(out, "@compute @workgroup_size({x}, {y}, {z})\nfn main({}) {{", inputs.join(", "));
    if !lane_is_given {
        out.push_str("    let v5 = v0 % v6;\n");
    }
    block(&mut out, &program.body, 1);
    out.push_str("}\n");
    out
}

fn function(out: &mut String, index: usize, function: &Function) {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| match param.pointer {
            true => format!("v{}: ptr<function, {}>", param.id, ty(&param.ty)),
            false => format!("v{}: {}", param.id, ty(&param.ty)),
        })
        .collect();
    let _ = writeln!(out, "fn f{index}({}) -> {} {{", params.join(", "), ty(&function.result));
    block(out, &function.body, 1);
    out.push_str("}\n");
}

pub(crate) fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I32 => "i32",
        Scalar::U32 => "u32",
        Scalar::F32 => "f32",
        Scalar::I64 => "i64",
        Scalar::U64 => "u64",
        Scalar::F16 => "f16",
    }
}

fn ty(of: &Type) -> String {
    match of {
        Type::Scalar(one) => scalar(*one).to_owned(),
        Type::Vector(one, size) => format!("vec{size}<{}>", scalar(*one)),
        Type::Array(element, length) => format!("array<{}, {length}>", ty(element)),
        Type::Struct(index) => format!("S{index}"),
        Type::Atomic(one) => format!("atomic<{}>", scalar(*one)),
    }
}

pub(crate) fn literal(value: Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I32(value) if value < 0 => format!("i32({value})"),
        Value::I32(value) => format!("{value}i"),
        Value::U32(value) => format!("{value}u"),
        Value::F32(value) if value.is_sign_negative() => format!("(-{:?}f)", -value),
        Value::F32(value) => format!("{value:?}f"),
        // The minimum has no literal, because its digits are out of range without the sign; naga 30
        // cannot subtract i64 constants.
        Value::I64(i64::MIN) => "i64(-9223372036854775807 - 1)".to_owned(),
        Value::I64(value) if value < 0 => format!("(-{}li)", -value),
        Value::I64(value) => format!("{value}li"),
        Value::U64(value) => format!("{value}lu"),
        Value::F16(value) => format!("f16({:?}f)", value.to_f32()),
    }
}

const LANES: [&str; 4] = ["x", "y", "z", "w"];

fn step(step: &Step) -> String {
    match step {
        Step::Field(index) => format!(".m{index}"),
        Step::Component(index) => format!(".{}", LANES[*index]),
        Step::Index(index) => format!("[{}]", expr(index)),
    }
}

fn place(place: &Lvalue) -> String {
    let root = match place.root {
        Root::Local(id) => format!("v{id}"),
        Root::Deref(id) => format!("(*v{id})"),
        Root::Private(index) => format!("p{index}"),
        Root::Workgroup(index) => format!("w{index}"),
        Root::Buffer(index) => format!("b{index}"),
        Root::Params => "params".to_owned(),
    };
    place.path.iter().fold(root, |text, one| text + &step(one))
}

fn list(all: &[Expr]) -> String {
    all.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn call(function: usize, arguments: &[Arg]) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| match argument {
            Arg::Value(value) => expr(value),
            Arg::Pointer(Root::Deref(id)) => format!("v{id}"),
            Arg::Pointer(root) => format!("&{}", place(&Lvalue { root: *root, path: Vec::new() })),
        })
        .collect();
    format!("f{function}({})", arguments.join(", "))
}

fn expr(of: &Expr) -> String {
    match &of.kind {
        Kind::Literal(value) => literal(*value),
        Kind::Load(from) => place(from),
        Kind::AtomicLoad(from) => format!("atomicLoad(&{})", place(from)),
        Kind::Unary(op, a) => format!("({op}{})", expr(a)),
        Kind::Binary(op, a, b) => format!("({} {op} {})", expr(a), expr(b)),
        Kind::Builtin(name, arguments) => format!("{name}({})", list(arguments)),
        Kind::Member(name, member, a) => format!("{name}({}).{member}", expr(a)),
        Kind::Construct(parts) => format!("{}({})", ty(&of.ty), list(parts)),
        Kind::Splat(a) | Kind::Convert(a) => format!("{}({})", ty(&of.ty), expr(a)),
        Kind::Bitcast(a) => format!("bitcast<{}>({})", ty(&of.ty), expr(a)),
        Kind::Swizzle(a, lanes) => {
            format!("{}.{}", expr(a), lanes.iter().map(|&lane| LANES[lane]).collect::<String>())
        }
        Kind::Part(a, part) => expr(a) + &step(part),
        Kind::Call(function, arguments) => call(*function, arguments),
    }
}

fn block(out: &mut String, statements: &[Stmt], depth: usize) {
    statements.iter().for_each(|statement| stmt(out, statement, depth));
}

fn stmt(out: &mut String, statement: &Stmt, depth: usize) {
    let pad = "    ".repeat(depth);
    let mut line = |text: String| {
        let _ = writeln!(out, "{pad}{text}");
    };
    match statement {
        Stmt::Let(id, value) => line(format!("let v{id} = {};", expr(value))),
        Stmt::Var(id, of, Some(init)) => line(format!("var v{id}: {} = {};", ty(of), expr(init))),
        Stmt::Var(id, of, None) => line(format!("var v{id}: {};", ty(of))),
        Stmt::Assign(to, value) => line(format!("{} = {};", place(to), expr(value))),
        Stmt::Compound(to, op, value) => line(format!("{} {op}= {};", place(to), expr(value))),
        Stmt::Step(to, op) => line(format!("{}{op};", place(to))),
        Stmt::Break => line("break;".to_owned()),
        Stmt::Continue => line("continue;".to_owned()),
        Stmt::Return(Some(value)) => line(format!("return {};", expr(value))),
        Stmt::Return(None) => line("return;".to_owned()),
        Stmt::Call(function, arguments) => line(format!("_ = {};", call(*function, arguments))),
        Stmt::Atomic(name, to, value) => line(format!("{name}(&{}, {});", place(to), expr(value))),
        Stmt::Barrier(name) => line(format!("{name}();")),
        Stmt::Subgroup(id, name, arguments) => line(format!("let v{id} = {name}({});", list(arguments))),
        Stmt::If(condition, accept, reject) => {
            line(format!("if {} {{", expr(condition)));
            block(out, accept, depth + 1);
            if !reject.is_empty() {
                let _ = writeln!(out, "{pad}}} else {{");
                block(out, reject, depth + 1);
            }
            let _ = writeln!(out, "{pad}}}");
        }
        Stmt::Switch(selector, cases) => {
            line(format!("switch {} {{", expr(selector)));
            for (selectors, body) in cases {
                let selectors: Vec<String> =
                    selectors.iter().map(|one| one.map_or("default".to_owned(), literal)).collect();
                let _ = writeln!(out, "{pad}    case {}: {{", selectors.join(", "));
                block(out, body, depth + 2);
                let _ = writeln!(out, "{pad}    }}");
            }
            let _ = writeln!(out, "{pad}}}");
        }
        Stmt::For(id, limit, body) => {
            line(format!("for (var v{id} = 0u; v{id} < {}; v{id}++) {{", expr(limit)));
            block(out, body, depth + 1);
            let _ = writeln!(out, "{pad}}}");
        }
        Stmt::While(condition, body) => {
            line(format!("while {} {{", expr(condition)));
            block(out, body, depth + 1);
            let _ = writeln!(out, "{pad}}}");
        }
        Stmt::Loop(body, continuing, break_if) => {
            line("loop {".to_owned());
            block(out, body, depth + 1);
            let _ = writeln!(out, "{pad}    continuing {{");
            block(out, continuing, depth + 2);
            let _ = writeln!(out, "{pad}        break if {};\n{pad}    }}\n{pad}}}", expr(break_if));
        }
        Stmt::Block(body) => {
            line("{".to_owned());
            block(out, body, depth + 1);
            let _ = writeln!(out, "{pad}}}");
        }
    }
}
