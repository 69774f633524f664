//! The report on files as tables.

use roci_objects::{Function, KernelReport, ObjectReport, escaped};

use crate::error::CliError;
use crate::printer::{Column, FAINT, Printer};

/// One row per kernel, and one for code without kernels.
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
        let location = [object.location.clone(), escaped(&object.target), version];
        let cells = |rest: [String; 8]| location.iter().cloned().chain(rest).collect();
        let mut single = |what: &str| {
            let mut rest = ["-"; 8].map(str::to_owned);
            rest[0] = what.into();
            rows.push(cells(rest));
        };
        match object.code_object_version {
            None => single(&format!("({})", object.content)),
            Some(_) if object.kernels.is_empty() => single("-"),
            Some(_) => rows.extend(object.kernels.iter().map(|kernel| cells(describe(kernel)))),
        }
    }
    if !rows.is_empty() {
        printer.table(&columns, rows)?;
    }
    Ok(())
}

fn describe(kernel: &KernelReport) -> [String; 8] {
    let workgroup = match (kernel.required_workgroup_size, kernel.max_workgroup_size) {
        (Some([x, y, z]), _) => format!("{x}x{y}x{z}"),
        (None, Some(size)) => size.to_string(),
        (None, None) => "-".into(),
    };
    // The size of a dynamic stack is unknown.
    let open = if kernel.dynamic_stack { "+" } else { "" };
    [
        escaped(&kernel.name),
        kernel.vgprs.to_string(),
        kernel.sgprs.to_string(),
        kernel.lds_bytes.to_string(),
        format!("{}{open}", kernel.scratch_bytes),
        kernel.kernarg_bytes.to_string(),
        kernel.wave_size.to_string(),
        workgroup,
    ]
}

/// The disassembly of each function, in the layout of `llvm-objdump`.
pub(super) fn print_code(object: &ObjectReport, functions: &[Function], printer: &Printer) -> Result<(), CliError> {
    let mut text = format!("\n{FAINT}{} {}{FAINT:#}\n", object.location, escaped(&object.target));
    for function in functions {
        text.push_str(&format!("\n{:016x} <{}>:\n", function.address, escaped(&function.name)));
        for line in &function.lines {
            let words: Vec<_> = line.words.iter().map(|word| format!("{word:08X}")).collect();
            let words = words.join(" ");
            let target = line.target.as_ref().map(|target| format!(" <{}>", escaped(target))).unwrap_or_default();
            text.push_str(&format!("    {:<60} // {:012X}: {words}{target}\n", line.text, line.address));
        }
    }
    Ok(printer.data(&text)?)
}
