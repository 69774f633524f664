//! What is said about files, for people.

use super::report::{FunctionReport, KernelReport, ObjectReport};
use crate::error::CliError;
use crate::printer::{Column, FAINT, Printer};

/// One row a kernel, one for code without kernels.
pub(super) fn print_objects(objects: &[ObjectReport], printer: &Printer) -> Result<(), CliError> {
    let columns = [
        Column::Text("WHERE"),
        Column::Text("TARGET"),
        Column::Text("VERSION"),
        Column::Text("KERNEL"),
        Column::Number("VGPRS"),
        Column::Number("SGPRS"),
        Column::Number("LDS"),
        Column::Number("SCRATCH"),
        Column::Number("KERNARG"),
        Column::Number("WAVE"),
        Column::Number("WORKGROUP"),
    ];
    let mut rows = Vec::new();
    for object in objects {
        let version = object.code_object_version.map_or_else(|| "-".into(), |version| format!("v{version}"));
        let place = [object.place.clone(), shown(&object.target), version];
        let cells = |rest: [String; 8]| place.iter().cloned().chain(rest).collect();
        let mut lone = |what: &str| {
            let mut rest = ["-"; 8].map(str::to_owned);
            rest[0] = what.into();
            rows.push(cells(rest));
        };
        match object.code_object_version {
            None => lone(&format!("({})", object.content)),
            Some(_) if object.kernels.is_empty() => lone("-"),
            Some(_) => rows.extend(object.kernels.iter().map(|kernel| cells(describe(kernel)))),
        }
    }
    if !rows.is_empty() {
        printer.table(&columns, rows)?;
    }
    Ok(())
}

/// A name from a file, fit for a terminal: one that could move the cursor or change colours is escaped.
pub(super) fn shown(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

fn describe(kernel: &KernelReport) -> [String; 8] {
    let workgroup = match (kernel.required_workgroup_size, kernel.max_workgroup_size) {
        (Some([x, y, z]), _) => format!("{x}x{y}x{z}"),
        (None, Some(size)) => size.to_string(),
        (None, None) => "-".into(),
    };
    // What the stack takes at run time is not known before.
    let open = if kernel.dynamic_stack { "+" } else { "" };
    [
        shown(&kernel.name),
        kernel.vgprs.to_string(),
        kernel.sgprs.to_string(),
        kernel.lds_bytes.to_string(),
        format!("{}{open}", kernel.scratch_bytes),
        kernel.kernarg_bytes.to_string(),
        kernel.wave_size.to_string(),
        workgroup,
    ]
}

/// The code of each function, as `llvm-objdump` lays it out.
pub(super) fn print_code(
    object: &ObjectReport,
    functions: &[FunctionReport],
    printer: &Printer,
) -> Result<(), CliError> {
    let mut text = format!("\n{FAINT}{} {}{FAINT:#}\n", object.place, shown(&object.target));
    for function in functions {
        text.push_str(&format!("\n{:016x} <{}>:\n", function.address, shown(&function.name)));
        for line in &function.lines {
            let words: Vec<_> = line.words.iter().map(|word| format!("{word:08X}")).collect();
            let words = words.join(" ");
            let target = line.target.as_ref().map(|target| format!(" <{}>", shown(target))).unwrap_or_default();
            text.push_str(&format!("    {:<60} // {:012X}: {words}{target}\n", line.text, line.address));
        }
    }
    Ok(printer.data(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(shown("_Z5scalePf"), "_Z5scalePf");
        assert_eq!(shown("red\u{1b}[31m\nnext"), "red\\u{1b}[31m\\nnext");
    }
}
