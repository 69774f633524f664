//! Specialized kernels: the constants block becomes a constant of the source.
//!
//! A recording that is replayed thousands of times has the same constants each time. As literals
//! they resolve branches, bound loops and let the compiler fold divisions, and no dispatch uploads
//! them.

use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};
use roci_hal::{CodeFormat, DeviceInfo, ExecutableSource};

use crate::{Compiled, Error, KernelSpec, Source, runs_native_kernels};

/// The declaration that is replaced by a constant.
const PARAMS_DECLARATION: &str = "var<immediate> params: Params;";

/// A kernel compiled for one value of its constants block.
#[derive(Debug)]
pub struct SpecializedKernel {
    /// The executable to load. It takes no constants.
    pub source: ExecutableSource,
    /// Indices of the generic kernel's bindings that are still used, in binding order. The
    /// constants make the others unreachable.
    pub bindings: Vec<usize>,
}

impl KernelSpec {
    /// Specializes the kernel for one value of its constants block. Returns `None` on a device that
    /// takes only prebuilt or native code, and for constants that WGSL cannot express as literals
    /// (infinities, NaN).
    pub fn specialized(&self, info: &DeviceInfo, constants: &[u8]) -> Result<Option<SpecializedKernel>, Error> {
        let compiles = info.formats.iter().any(|format| matches!(format, CodeFormat::Spirv | CodeFormat::OpenClC));
        if !compiles || runs_native_kernels(info) || !self.runs_on(info) {
            return Ok(None);
        }
        let Some((bindings, compiled)) = compile(self, constants)? else { return Ok(None) };
        let mut entry_point = self.entry_point();
        entry_point.constants = 0;
        entry_point.bindings = bindings.iter().map(|&at| entry_point.bindings[at]).collect();
        Ok(compiled.executable(vec![entry_point], info)?.map(|source| SpecializedKernel { source, bindings }))
    }
}

/// Compiles a kernel with constants as literals; also returns the indices of the bindings that are
/// still used.
fn compile(spec: &KernelSpec, constants: &[u8]) -> Result<Option<(Vec<usize>, Compiled)>, Error> {
    let Some(text) = with_constants(spec.source().text(), constants) else { return Ok(None) };
    let source = Source::new(spec.file(), text);
    let mut module = source.resolve(spec.overrides(), Some(spec.entry()))?;
    let bindings = compact_bindings(&mut module);
    Ok(Some((bindings, source.check(module)?)))
}

/// Renumbers the remaining bindings from zero and returns their former numbers.
fn compact_bindings(module: &mut Module) -> Vec<usize> {
    let mut remaining: Vec<_> =
        module.global_variables.iter_mut().filter_map(|(_, variable)| variable.binding.as_mut()).collect();
    remaining.sort_by_key(|binding| binding.binding);
    let renumbered = remaining.into_iter().enumerate().map(|(new, binding)| {
        let old = std::mem::replace(&mut binding.binding, new as u32);
        old as usize
    });
    renumbered.collect()
}

/// Replaces the constants block of a WGSL source with a `const`. Returns `None` if the source has
/// no such block or a value has no literal.
fn with_constants(text: &str, constants: &[u8]) -> Option<String> {
    let module = naga::front::wgsl::parse_str(text).ok()?;
    let mut variables = module.global_variables.iter();
    let (_, block) = variables.find(|(_, variable)| variable.space == naga::AddressSpace::Immediate)?;
    let value = literal(&module, block.ty, constants)?;
    text.contains(PARAMS_DECLARATION).then(|| text.replace(PARAMS_DECLARATION, &format!("const params = {value};")))
}

/// Writes bytes as a WGSL expression of a type.
fn literal(module: &Module, ty: Handle<Type>, bytes: &[u8]) -> Option<String> {
    let join = |values: Vec<String>| values.join(", ");
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) => scalar_literal(*scalar, bytes),
        TypeInner::Vector { size, scalar } => {
            let width = usize::from(scalar.width);
            let values =
                (0..*size as usize).map(|i| scalar_literal(*scalar, bytes.get(i * width..)?)).collect::<Option<_>>()?;
            Some(format!("vec{}({})", *size as usize, join(values)))
        }
        TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
            let element = |i: u32| literal(module, *base, bytes.get((i * stride) as usize..)?);
            Some(format!("array({})", join((0..count.get()).map(element).collect::<Option<_>>()?)))
        }
        TypeInner::Struct { members, .. } => {
            let member = |member: &naga::StructMember| literal(module, member.ty, bytes.get(member.offset as usize..)?);
            let values = members.iter().map(member).collect::<Option<_>>()?;
            Some(format!("{}({})", module.types[ty].name.as_deref()?, join(values)))
        }
        _ => None,
    }
}

fn scalar_literal(scalar: Scalar, bytes: &[u8]) -> Option<String> {
    let word = *bytes.first_chunk::<4>().filter(|_| scalar.width == 4)?;
    match scalar.kind {
        ScalarKind::Uint => Some(format!("{}u", u32::from_le_bytes(word))),
        ScalarKind::Sint => Some(format!("i32({})", i32::from_le_bytes(word))),
        // The shortest decimal that rounds to the same value.
        ScalarKind::Float => Some(f32::from_le_bytes(word)).filter(|v| v.is_finite()).map(|v| format!("{v:e}f")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_become_literals() {
        let text = "struct Inner { a: vec2<u32>, b: f32 }\nstruct Params { n: i32, list: array<u32, 2>, inner: Inner }\n\
                    var<immediate> params: Params;\n";
        let words = [-7_i32 as u32, 1, u32::MAX, 0, 3, 4, 0.1_f32.to_bits(), 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let written = with_constants(text, &bytes).expect("every value has a literal");
        assert!(
            written.ends_with("const params = Params(i32(-7), array(1u, 4294967295u), Inner(vec2(3u, 4u), 1e-1f));\n"),
            "{written}"
        );
        naga::front::wgsl::parse_str(&written).expect("the result is valid WGSL");
        assert!(with_constants(text, &bytes[..8]).is_none(), "too few bytes");
        let infinite: Vec<u8> =
            [0, 0, 0, 0, 0, 0, f32::INFINITY.to_bits(), 0].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert!(with_constants(text, &infinite).is_none(), "WGSL has no literal for infinity");
        assert!(with_constants("const one = 1u;", &bytes).is_none(), "the source has no constants block");
    }

    #[test]
    fn bindings_that_constants_make_unreachable_are_removed() {
        let spec = crate::find("lm_matvec_f16").expect("the table has it");
        let constants = crate::params::LmLinear { rows: 8, columns: 32, tokens: 1, sharing: 1, ..Default::default() };
        let (bindings, compiled) = compile(spec, bytemuck::bytes_of(&constants))
            .expect("the specialized source is valid")
            .expect("every value has a literal");
        // Codes, scales, x and y; no bias, experts or norm.
        assert_eq!(bindings, [0, 1, 2, 6]);
        let variables = || compiled.module.global_variables.iter();
        assert!(variables().all(|(_, variable)| variable.space != naga::AddressSpace::Immediate));
        assert_eq!(
            variables().filter_map(|(_, variable)| variable.binding).map(|binding| binding.binding).collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
    }
}
