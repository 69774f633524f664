//! State of the module writer, and the order of the sections in the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use naga::proc::{Layouter, NameKey, Namer};
use naga::valid::ModuleInfo;
use naga::{Constant, FastHashMap, Handle, Module, Span, Type, VectorSize};

use super::analysis::Uses;
use super::error::{Error, OUTSIDE, line_of};
use super::prelude::Prelude;
use super::statements::bare;
use super::types::{LANES, lane_suffix};
use super::{Dialect, Options, Output, Subgroups, names};

/// Extensions that need a pragma. Newer ones need none, and compilers warn about an unknown pragma.
const PRAGMAS: &[&str] = &["cl_khr_subgroups", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"];

/// Writes one module as OpenCL C.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) module: &'a Module,
    pub(super) info: &'a ModuleInfo,
    source: Option<&'a str>,
    pub(super) options: &'a Options,
    pub(super) names: FastHashMap<NameKey, String>,
    pub(super) namer: Namer,
    pub(super) layouter: Layouter,
    /// Uses per function, in arena order.
    pub(super) uses: Vec<Uses>,
    /// Structs and arrays to define.
    pub(super) types: BTreeSet<Handle<Type>>,
    pub(super) array_names: BTreeMap<Handle<Type>, String>,
    /// Scalar types that need a packed three-component vector and a padded element.
    pub(super) packed: BTreeSet<&'static str>,
    pub(super) padded: BTreeSet<&'static str>,
    /// Definitions of matrix types, by name.
    pub(super) matrices: BTreeMap<String, String>,
    /// Constants that need a variable in constant memory.
    pub(super) constants: BTreeSet<Handle<Constant>>,
    /// Generated helper functions, callees first.
    generated: Vec<String>,
    generated_names: BTreeSet<String>,
    /// OpenCL extensions in use.
    pub(super) extensions: BTreeSet<&'static str>,
    /// Whether an emulated subgroup operation moves 64-bit values.
    pub(super) wide_subgroups: bool,
}

/// One parameter of a function that is called per lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// The scalar type, or the whole type if the argument is shared by all lanes.
    pub(super) c_type: &'static str,
    /// Whether each lane passes its own component.
    pub(super) by_lane: bool,
}

impl Parameter {
    pub(super) fn lanes(c_type: &'static str) -> Self {
        Parameter { c_type, by_lane: true }
    }

    pub(super) fn whole(c_type: &'static str) -> Self {
        Parameter { c_type, by_lane: false }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        module: &'a Module,
        info: &'a ModuleInfo,
        source: Option<&'a str>,
        options: &'a Options,
    ) -> Result<Self, Error> {
        let (names, namer) = names::assign(module);
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Writer {
            module,
            info,
            source,
            options,
            names,
            namer,
            layouter,
            uses: Vec::new(),
            types: BTreeSet::new(),
            array_names: BTreeMap::new(),
            packed: BTreeSet::new(),
            padded: BTreeSet::new(),
            matrices: BTreeMap::new(),
            constants: BTreeSet::new(),
            generated: Vec::new(),
            generated_names: BTreeSet::new(),
            extensions: BTreeSet::new(),
            wide_subgroups: false,
        })
    }

    pub(super) fn write(mut self) -> Result<Output, Error> {
        self.check()?;
        self.analyze();
        let mut functions = BTreeSet::new();
        for entry_point in &self.module.entry_points {
            functions.extend(self.uses_of(&entry_point.function).functions);
        }
        let mut code = String::new();
        for handle in functions {
            code.push_str(&self.function(handle)?);
        }
        let mut entry_points = Vec::new();
        for index in 0..self.module.entry_points.len() {
            let (text, info) = self.entry_point(index)?;
            code.push_str(&text);
            entry_points.push(info);
        }
        let source = self.assemble(&code)?;
        let mut extensions: Vec<&'static str> = self.extensions.iter().copied().collect();
        if source.contains("cl_khr_fp16") && !self.is_amdgcn() {
            extensions.push("cl_khr_fp16");
        }
        Ok(Output { source, entry_points, extensions })
    }

    fn assemble(&mut self, code: &str) -> Result<String, Error> {
        let constants = self.constant_definitions()?;
        let types = self.type_definitions()?;
        let packed = self.packed_definitions();
        let mut matrices = String::new();
        for definition in self.matrices.values() {
            matrices.push_str(definition);
        }
        let generated = self.generated.concat();
        let prelude = Prelude::new(self.options).used_by(&[&packed, &generated, code].concat());

        let mut body = String::new();
        for part in [packed, matrices, types, constants, prelude, generated] {
            if !part.is_empty() {
                body.push('\n');
                body.push_str(&part);
            }
        }
        body.push_str(code);
        Ok(self.head(&body) + &body)
    }

    fn head(&self, body: &str) -> String {
        let mut text = String::from("// Written from WGSL; do not edit.\n");
        if !self.options.lowers_f16() && body.contains("half") {
            text.push_str("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
        }
        for extension in self.extensions.iter().filter(|extension| PRAGMAS.contains(extension)) {
            let _ = writeln!(text, "#pragma OPENCL EXTENSION {extension} : enable");
        }
        if !self.options.fp_contract {
            text.push_str("#pragma OPENCL FP_CONTRACT OFF\n");
        }
        if body.contains("ROCI_FN") {
            text.push_str("#define ROCI_FN static inline __attribute__((always_inline))\n");
        }
        if body.contains("ROCI_SUBGROUP_SIZE") {
            let _ = writeln!(text, "#define ROCI_SUBGROUP_SIZE {}u", self.options.subgroups.size());
        }
        text
    }

    /// Calls the prelude's scalar function `name` with `arguments`, per lane if `size` is given.
    ///
    /// For vectors, a function with the size appended to its name is generated once.
    pub(super) fn call_by_lane(
        &mut self,
        name: &str,
        result: &str,
        size: Option<VectorSize>,
        parameters: &[Parameter],
        arguments: &[String],
    ) -> String {
        let arguments: Vec<&str> = arguments.iter().map(|argument| bare(argument)).collect();
        let arguments = arguments.join(", ");
        let Some(lanes) = size else { return format!("{name}({arguments})") };
        let suffix = lane_suffix(size);
        let vector_name = format!("{name}x{suffix}");
        let letters = ["a", "b", "c", "d"];
        let declared: Vec<String> = parameters
            .iter()
            .zip(letters)
            .map(|(parameter, letter)| {
                let suffix = if parameter.by_lane { suffix } else { "" };
                format!("{}{suffix} {letter}", parameter.c_type)
            })
            .collect();
        let calls: Vec<String> = LANES[..lanes as usize]
            .iter()
            .map(|lane| {
                let passed: Vec<String> = parameters
                    .iter()
                    .zip(letters)
                    .map(|(parameter, letter)| match parameter.by_lane {
                        true => format!("{letter}.{lane}"),
                        false => letter.to_owned(),
                    })
                    .collect();
                format!("{name}({})", passed.join(", "))
            })
            .collect();
        let text = format!(
            "ROCI_FN {result}{suffix} {vector_name}({}) {{\n    return ({result}{suffix})({});\n}}\n",
            declared.join(", "),
            calls.join(", "),
        );
        self.generate(&vector_name, text);
        format!("{vector_name}({arguments})")
    }

    /// Adds a function to the source unless one of that name exists.
    pub(super) fn generate(&mut self, name: &str, text: String) {
        if self.generated_names.insert(name.to_owned()) {
            self.generated.push(text);
        }
    }

    pub(super) fn line(&self, span: Span) -> Option<u32> {
        line_of(self.source, span)
    }

    pub(super) fn unsupported(&self, construct: &str, reason: &str, span: Span) -> Error {
        Error::Unsupported { construct: construct.to_owned(), reason: reason.to_owned(), line: self.line(span) }
    }

    /// Like [`Self::unsupported`], for items without a span: `find` locates the line in the
    /// source.
    pub(super) fn unsupported_by_text(&self, construct: &str, find: impl FnOnce(&str) -> Option<u32>) -> Error {
        let line = self.source.and_then(find);
        Error::Unsupported { construct: construct.to_owned(), reason: OUTSIDE.to_owned(), line }
    }

    pub(super) fn is_amdgcn(&self) -> bool {
        self.options.dialect == Dialect::AmdGcn
    }

    pub(super) fn emulates_subgroups(&self) -> bool {
        matches!(self.options.subgroups, Subgroups::Emulated { .. })
    }
}
