//! From WGSL source to the module that the writers take: parsed, validated, overrides resolved,
//! kernel rules checked.

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::compact::{KeepUnused, compact};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};

use crate::{Error, SpirvOptions, clc, prune, rules, spirv, subgroups, uniform};

/// A validated module, ready to be written for a device.
#[derive(Debug)]
pub struct Compiled {
    /// File name of the source, for messages.
    pub file: String,
    /// The source, for messages.
    pub text: String,
    /// The module, without overrides, branches decided by overrides, or unused items.
    pub module: naga::Module,
    /// naga's validation result.
    pub info: ModuleInfo,
}

impl Compiled {
    /// Writes all entry points as one SPIR-V module.
    pub fn spirv(&self, options: &SpirvOptions) -> Result<Vec<u32>, Error> {
        spirv::write(self, options)
    }

    /// The same module with subgroups of `size` invocations emulated in workgroup memory, for
    /// devices without subgroup operations. OpenCL C has its own lowering.
    pub fn without_subgroups(&self, size: u32) -> Result<Self, Error> {
        let names: Vec<_> = self.module.entry_points.iter().map(|entry_point| entry_point.name.as_str()).collect();
        let mut module = subgroups::lower(&self.module, size).map_err(|reason| Error::Subgroups {
            file: self.file.clone(),
            kernel: names.join("`, `"),
            reason,
        })?;
        compact(&mut module, KeepUnused::No);
        // Validating without these capabilities proves that no subgroup operation is left.
        let without = capabilities() - (Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER);
        Source::new(&self.file, &self.text).validated(module, without)
    }

    /// Writes all entry points as one OpenCL C source.
    pub fn opencl_c(&self, options: &clc::Options) -> Result<clc::Output, Error> {
        clc::write(&self.module, &self.info, Some(&self.text), options)
            .map_err(|source| Error::OpenClC { file: self.file.clone(), source: Box::new(source) })
    }
}

/// Named WGSL source.
#[derive(Clone, Debug)]
pub struct Source {
    file: String,
    text: String,
}

impl Source {
    /// Creates a source; nothing is checked yet.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// The WGSL source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses and checks a source with any number of entry points; the overrides apply to all of
    /// them.
    pub fn parse(file: &str, text: &str, overrides: &[(&str, f64)]) -> Result<Compiled, Error> {
        Self::new(file, text).compile(overrides, None)
    }

    /// Parses and checks the source. `entry` is (old name, new name): keeps only that entry point
    /// and renames it.
    pub fn compile(&self, overrides: &[(&str, f64)], entry: Option<(&str, &str)>) -> Result<Compiled, Error> {
        self.check(self.resolve(overrides, entry)?)
    }

    /// Parses the source, resolves the overrides and removes dead code. [`check`](Self::check) does
    /// the rest of [`compile`](Self::compile).
    pub fn resolve(&self, overrides: &[(&str, f64)], entry: Option<(&str, &str)>) -> Result<naga::Module, Error> {
        let fail = |violation| self.rule_error(violation);
        rules::check_text(&self.text).map_err(fail)?;
        let parsed = naga::front::wgsl::parse_str(&self.text).map_err(|error| Error::Parse {
            file: self.file.clone(),
            line: error.location(&self.text).map_or(1, |at| at.line_number),
            diagnostic: error.emit_to_string_with_path(&self.text, &self.file),
        })?;
        rules::check_functions(&parsed).map_err(fail)?;
        let info = self.validate(&parsed, capabilities())?;

        let constants: PipelineConstants = overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let keep = entry.map(|(name, _)| (naga::ShaderStage::Compute, name));
        let (module, _) = process_overrides(&parsed, &info, keep, &constants)
            .map_err(|source| Error::Overrides { file: self.file.clone(), source: Box::new(source) })?;
        let mut module = module.into_owned();
        if let (Some((_, name)), [only]) = (entry, &mut module.entry_points[..]) {
            only.name = name.to_owned();
        }
        prune::run(&mut module);
        compact(&mut module, KeepUnused::No);
        Ok(module)
    }

    /// Validates a module from [`resolve`](Self::resolve) and checks it against the kernel rules.
    pub fn check(&self, module: naga::Module) -> Result<Compiled, Error> {
        self.validated(module, capabilities())
    }

    /// Validates a module without overrides and checks it against the kernel rules.
    fn validated(&self, module: naga::Module, capabilities: Capabilities) -> Result<Compiled, Error> {
        let info = self.validate(&module, capabilities)?;
        rules::check_module(&module, &info).map_err(|violation| self.rule_error(violation))?;
        uniform::check(&module).map_err(|violation| self.rule_error(violation))?;
        Ok(Compiled { file: self.file.clone(), text: self.text.clone(), module, info })
    }

    fn rule_error(&self, (rule, span, message): rules::Violation) -> Error {
        let line = span.map_or(1, |span| span.location(&self.text).line_number);
        Error::Rule { rule, file: self.file.clone(), line, message }
    }

    fn validate(&self, module: &naga::Module, capabilities: Capabilities) -> Result<ModuleInfo, Error> {
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        validator
            .subgroup_stages(ShaderStages::COMPUTE)
            .subgroup_operations(SubgroupOperationSet::all())
            .validate(module)
            .map_err(|error| Error::Validate {
                file: self.file.clone(),
                line: error.location(&self.text).map_or(1, |at| at.line_number),
                diagnostic: error.emit_to_string_with_path(&self.text, &self.file),
            })
    }
}

/// Capabilities that kernels may use. Without f64: consumer GPUs run it at 1/16 of the f32 rate or
/// less, and OpenCL devices may lack it.
fn capabilities() -> Capabilities {
    Capabilities::IMMEDIATES
        | Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER
        | Capabilities::SHADER_FLOAT16
        | Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | Capabilities::SHADER_INT16
        | Capabilities::SHADER_INT64
        | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
        | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
        | Capabilities::SHADER_FLOAT32_ATOMIC
        | Capabilities::COOPERATIVE_MATRIX
}
