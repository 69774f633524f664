//! `roci objects`: the AMD GPU code in files.

mod coverage;
mod table;

use std::path::Path;

use roci_codeobj::{CodeObject, DeviceImage, File, ImageKind};
use roci_device_library::DeviceLibrary;
use roci_objects::{FileReport, Function, ObjectError, ObjectReport, ProblemReport, disassemble, extract};
use serde::Serialize;

use crate::cli::ObjectsArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    files: Vec<FileReport>,
}

/// Analyzes all files.
pub(crate) fn run(arguments: &ObjectsArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if let Some(chip) = &arguments.chip {
        return coverage::run(&chip.to_ascii_lowercase(), arguments, printer);
    }
    if let Some(folder) = &arguments.extract {
        std::fs::create_dir_all(folder).map_err(|source| CliError::File { path: folder.clone(), source })?;
    }
    let mut analysis =
        Analysis { arguments, printer, status: ExitStatus::Success, kernel_found: false, kernels: Vec::new() };
    let mut files = Vec::new();
    for path in &arguments.files {
        files.push(analysis.file(path)?);
    }
    if arguments.library {
        for object in &DeviceLibrary::embedded()?.archive().objects {
            let name = format!("library-{}", object.target.processor);
            files.push(analysis.bytes(Path::new(&name), &object.bytes)?);
        }
    }
    if arguments.format.json {
        printer.json(&Report { schema: "roci.objects", version: 2, files })?;
    }
    let requested = arguments.disassemble.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = requested.filter(|_| !analysis.kernel_found) {
        analysis.kernels.sort();
        analysis.kernels.dedup();
        printer.error(&ObjectError::NoKernel { name: name.into(), known: analysis.kernels });
        return Ok(ExitStatus::Error);
    }
    Ok(analysis.status)
}

/// One run of the command.
struct Analysis<'a> {
    arguments: &'a ObjectsArgs,
    printer: &'a Printer,
    status: ExitStatus,
    /// Whether a file contained the kernel to disassemble.
    kernel_found: bool,
    /// Names of all kernels, for the hint if none matches.
    kernels: Vec<String>,
}

impl Analysis<'_> {
    /// Analyzes one file, and prints the result unless JSON is requested, which is printed at the
    /// end.
    fn file(&mut self, path: &Path) -> Result<FileReport, CliError> {
        let mut report = FileReport::new(path);
        let bytes = match crate::input::read(path) {
            Ok(bytes) => bytes,
            Err(source) => {
                self.problem(&mut report, &ObjectError::Read { path: path.into(), source });
                return Ok(report);
            }
        };
        self.bytes(path, &bytes)
    }

    /// Analyzes the content of a file.
    fn bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<FileReport, CliError> {
        let mut report = FileReport::new(path);
        let file = match File::open(bytes) {
            Ok(file) => file,
            Err(source) => {
                self.problem(&mut report, &ObjectError::File { path: path.into(), source });
                return Ok(report);
            }
        };
        report.kind = Some(file.kind.describe());
        for (index, image) in file.images.iter().enumerate() {
            let object = self.object(path, index, image, &mut report);
            report.objects.push(object);
        }
        for problem in &file.problems {
            let (location, source) = (problem.location.to_string(), problem.error.clone());
            self.problem(&mut report, &ObjectError::Part { path: path.into(), location, source });
        }
        if !self.arguments.format.json {
            self.print(&report, &file)?;
        }
        Ok(report)
    }

    /// Analyzes one code object.
    fn object(&mut self, path: &Path, index: usize, image: &DeviceImage, report: &mut FileReport) -> ObjectReport {
        let parsed = (image.kind == ImageKind::CodeObject).then(|| image.code_object());
        let object = match parsed {
            Some(Ok(object)) => Some(object),
            Some(Err(source)) => {
                let location = image.location.to_string();
                self.problem(report, &ObjectError::Object { path: path.into(), location, source });
                None
            }
            None => None,
        };
        let mut described = ObjectReport::new(image, object.as_ref());
        if let Some(folder) = &self.arguments.extract {
            match extract(image, index, path, folder) {
                Ok(written) => described.extracted = Some(written.display().to_string()),
                Err(error) => self.problem(report, &error),
            }
        }
        if let (Some(kernel), Some(object)) = (&self.arguments.disassemble, &object) {
            match self.disassemble(object, kernel) {
                Ok(functions) => described.disassembly = Some(functions),
                Err(target) => {
                    let location = image.location.to_string();
                    self.problem(report, &ObjectError::Disassemble { path: path.into(), location, target });
                }
            }
        }
        described
    }

    /// The disassembly of one kernel, or of all functions if the name is empty. The error is the
    /// name of an unsupported target.
    fn disassemble(&mut self, object: &CodeObject, kernel: &str) -> Result<Vec<Function>, String> {
        if !kernel.is_empty() {
            self.kernels.extend(object.kernels().iter().map(|kernel| kernel.name.clone()));
            if object.kernel(kernel).is_none() {
                return Ok(Vec::new());
            }
        }
        self.kernel_found = true;
        let functions = disassemble(object, Some(kernel).filter(|name| !name.is_empty()));
        functions.ok_or_else(|| object.target().to_string())
    }

    fn print(&self, report: &FileReport, file: &File) -> Result<(), CliError> {
        self.printer.data(&format!("{}\n", report.headline(file)))?;
        table::print_objects(&report.objects, self.printer)?;
        for object in &report.objects {
            if let Some(functions) = object.disassembly.as_ref().filter(|functions| !functions.is_empty()) {
                table::print_code(object, functions, self.printer)?;
            }
            if let Some(path) = &object.extracted {
                self.printer.note(&format!("wrote {path}"));
            }
        }
        Ok(())
    }

    /// Reports a non-fatal error.
    fn problem(&mut self, report: &mut FileReport, error: &ObjectError) {
        self.printer.error(error);
        report.problems.push(ProblemReport::new(error));
        self.status = self.status.and(ExitStatus::Problems);
    }
}
