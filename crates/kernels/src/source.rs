//! From WGSL text to a module that every writer takes: parsed, validated, overrides resolved, house rules held.

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::compact::{KeepUnused, compact};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};

use crate::{Error, SpirvOptions, clc, prune, rules, spirv, subgroups, uniform};

/// A module ready to be written in a device's language.
#[derive(Debug)]
pub struct Compiled {
    /// The file the text came from, for messages.
    pub file: String,
    /// The text, for messages.
    pub text: String,
    /// The module: no overrides, no branches that the overrides decided, nothing unused.
    pub module: naga::Module,
    /// What validation found out about it.
    pub info: ModuleInfo,
}

impl Compiled {
    /// All entry points as one SPIR-V module.
    pub fn spirv(&self, options: &SpirvOptions) -> Result<Vec<u32>, Error> {
        spirv::write(self, options)
    }

    /// The same without sub-groups: those of `size` invocations are made of workgroup memory. For devices that have
    /// none, or not the operations; OpenCL C has a lowering of its own.
    pub fn without_subgroups(&self, size: u32) -> Result<Self, Error> {
        let names: Vec<_> = self.module.entry_points.iter().map(|entry_point| entry_point.name.as_str()).collect();
        let mut module = subgroups::lower(&self.module, size).map_err(|reason| Error::Subgroups {
            file: self.file.clone(),
            kernel: names.join("`, `"),
            reason,
        })?;
        compact(&mut module, KeepUnused::No);
        // Without the capabilities, so that nothing of sub-groups is left in it.
        let without = capabilities() - (Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER);
        Source::new(&self.file, &self.text).hold(module, without)
    }

    /// All entry points as one OpenCL C source.
    pub fn opencl_c(&self, options: &clc::Options) -> Result<clc::Output, Error> {
        clc::write(&self.module, &self.info, Some(&self.text), options)
            .map_err(|source| Error::OpenClC { file: self.file.clone(), source: Box::new(source) })
    }
}

/// WGSL text with a name.
#[derive(Clone, Debug)]
pub struct Source {
    file: String,
    text: String,
}

impl Source {
    /// Names a text; nothing is checked yet.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Parses and checks a text of any number of entry points, all with the given override constants.
    pub fn parse(file: &str, text: &str, overrides: &[(&str, f64)]) -> Result<Compiled, Error> {
        Self::new(file, text).compile(overrides, None)
    }

    /// Parses and checks the text; with `entry`, keeps the entry point of the first name and gives it the second.
    pub fn compile(&self, overrides: &[(&str, f64)], entry: Option<(&str, &str)>) -> Result<Compiled, Error> {
        self.check(self.settle(overrides, entry)?)
    }

    /// The module of [`compile`](Self::compile), not yet held to the rules about modules.
    pub(crate) fn settle(&self, overrides: &[(&str, f64)], entry: Option<(&str, &str)>) -> Result<naga::Module, Error> {
        let fail = |broken| self.broken(broken);
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

    /// Holds a module that [`settle`](Self::settle) gave to naga's rules and the house's.
    pub(crate) fn check(&self, module: naga::Module) -> Result<Compiled, Error> {
        self.hold(module, capabilities())
    }

    /// Holds a module without overrides to naga's rules and the house's.
    fn hold(&self, module: naga::Module, capabilities: Capabilities) -> Result<Compiled, Error> {
        let info = self.validate(&module, capabilities)?;
        rules::check_module(&module, &info).map_err(|broken| self.broken(broken))?;
        uniform::check(&module).map_err(|broken| self.broken(broken))?;
        Ok(Compiled { file: self.file.clone(), text: self.text.clone(), module, info })
    }

    fn broken(&self, (rule, span, message): rules::Broken) -> Error {
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

/// What a kernel may use; f64 is left out, since consumer GPUs run it at a sixteenth of the speed and OpenCL may lack it.
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
