//! `roci objects`: the AMD GPU code in files.

mod coverage;
mod disassemble;
mod error;
mod extract;
mod report;
mod table;

use std::path::Path;

use roci_codeobj::{CodeObject, Content, File, Found};
use roci_device_library::DeviceLibrary;

use crate::cli::ObjectsArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use error::ObjectsError;
use report::{FileReport, FunctionReport, ObjectReport, ProblemReport, Report};

/// Goes through the files.
pub(crate) fn run(arguments: &ObjectsArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if let Some(chip) = &arguments.chip {
        return coverage::run(&chip.to_ascii_lowercase(), arguments, printer);
    }
    if let Some(folder) = &arguments.extract {
        std::fs::create_dir_all(folder).map_err(|source| CliError::File { path: folder.clone(), source })?;
    }
    let mut session =
        Session { arguments, printer, status: ExitStatus::Success, kernel_seen: false, kernels: Vec::new() };
    let mut files = Vec::new();
    for path in &arguments.files {
        files.push(session.file(path)?);
    }
    if arguments.library {
        for object in &DeviceLibrary::embedded()?.archive().objects {
            let name = format!("library-{}", object.target.processor);
            files.push(session.bytes(Path::new(&name), &object.bytes)?);
        }
    }
    if arguments.format.json {
        printer.json(&Report { schema: "roci.objects", version: 1, files })?;
    }
    let wanted = arguments.disassemble.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = wanted.filter(|_| !session.kernel_seen) {
        session.kernels.sort();
        session.kernels.dedup();
        printer.error(&ObjectsError::NoKernel { name: name.into(), known: session.kernels });
        return Ok(ExitStatus::Error);
    }
    Ok(session.status)
}

/// One run of the command.
struct Session<'a> {
    arguments: &'a ObjectsArgs,
    printer: &'a Printer,
    status: ExitStatus,
    /// The kernel to disassemble was in some file.
    kernel_seen: bool,
    /// All kernels, for the hint when it was in none.
    kernels: Vec<String>,
}

impl Session<'_> {
    /// Reports on one file, and prints it unless JSON is wanted, which comes as a whole.
    fn file(&mut self, path: &Path) -> Result<FileReport, CliError> {
        let mut report = FileReport::new(path, None);
        let bytes = match crate::input::read(path) {
            Ok(bytes) => bytes,
            Err(source) => {
                self.problem(&mut report, &ObjectsError::Read { path: path.into(), source });
                return Ok(report);
            }
        };
        self.bytes(path, &bytes)
    }

    /// Reports on the content of a file.
    fn bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<FileReport, CliError> {
        let mut report = FileReport::new(path, None);
        let file = match File::open(bytes) {
            Ok(file) => file,
            Err(source) => {
                self.problem(&mut report, &ObjectsError::File { path: path.into(), source });
                return Ok(report);
            }
        };
        report.kind = Some(file.kind.describe());
        for (index, found) in file.found.iter().enumerate() {
            let object = self.object(path, index, found, &mut report);
            report.objects.push(object);
        }
        for problem in &file.problems {
            let (place, source) = (problem.place.to_string(), problem.error.clone());
            self.problem(&mut report, &ObjectsError::Part { path: path.into(), place, source });
        }
        if !self.arguments.format.json {
            self.print(&report, &file)?;
        }
        Ok(report)
    }

    /// Reports on one piece of code.
    fn object(&mut self, path: &Path, index: usize, found: &Found, report: &mut FileReport) -> ObjectReport {
        let parsed = (found.content == Content::CodeObject).then(|| found.code_object());
        let object = match parsed {
            Some(Ok(object)) => Some(object),
            Some(Err(source)) => {
                let place = found.place.to_string();
                self.problem(report, &ObjectsError::Object { path: path.into(), place, source });
                None
            }
            None => None,
        };
        let mut described = ObjectReport::new(found, object.as_ref());
        if let Some(folder) = &self.arguments.extract {
            match extract::extract(found, index, path, folder) {
                Ok(written) => described.extracted = Some(written.display().to_string()),
                Err(error) => self.problem(report, &error),
            }
        }
        if let (Some(kernel), Some(object)) = (&self.arguments.disassemble, &object) {
            match self.disassemble(object, kernel) {
                Ok(functions) => described.disassembly = Some(functions),
                Err(target) => {
                    let place = found.place.to_string();
                    self.problem(report, &ObjectsError::Disassemble { path: path.into(), place, target });
                }
            }
        }
        described
    }

    /// The code of one kernel or, if that is empty, of all functions. The error is a target that is not understood.
    fn disassemble(&mut self, object: &CodeObject, kernel: &str) -> Result<Vec<FunctionReport>, String> {
        if !kernel.is_empty() {
            self.kernels.extend(object.kernels().iter().map(|kernel| kernel.name.clone()));
            if object.kernel(kernel).is_none() {
                return Ok(Vec::new());
            }
        }
        self.kernel_seen = true;
        let functions = disassemble::disassemble(object, Some(kernel).filter(|name| !name.is_empty()));
        let functions = functions.ok_or_else(|| object.target().to_string())?;
        Ok(functions.into_iter().map(FunctionReport::from).collect())
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

    /// Says what is wrong, and goes on.
    fn problem(&mut self, report: &mut FileReport, error: &ObjectsError) {
        self.printer.error(error);
        report.problems.push(ProblemReport::new(error));
        self.status = self.status.and(ExitStatus::Problems);
    }
}
