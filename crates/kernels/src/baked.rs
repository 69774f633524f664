//! Kernels whose constants are part of their code.
//!
//! A step that is replayed thousands of times has the same constants each time. In the code they decide branches and the ends of loops, and divisions by
//! them are none; nor need they be brought along with each dispatch.

use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};
use roci_hal::{CodeFormat, DeviceInfo, ExecutableSource};

use crate::{Compiled, Error, KernelSpec, Source, takes_native};

/// The text that makes way for the constants.
const BLOCK: &str = "var<immediate> params: Params;";

/// A kernel that has its constants for good.
#[derive(Debug)]
pub struct Baked {
    /// What to load. Its dispatches bring no constants.
    pub source: ExecutableSource,
    /// The kernel's bindings that are left, in order: others are for what the constants have ruled out.
    pub bindings: Vec<usize>,
}

impl KernelSpec {
    /// The kernel with these constants for good. `None` on a device that takes prebuilt or native code alone, and for constants that cannot be
    /// written down.
    pub fn baked(&self, info: &DeviceInfo, constants: &[u8]) -> Result<Option<Baked>, Error> {
        let compiles = info.formats.iter().any(|format| matches!(format, CodeFormat::Spirv | CodeFormat::OpenClC));
        if !compiles || takes_native(info) || !self.runs_on(info) {
            return Ok(None);
        }
        let Some((bindings, compiled)) = compile(self, constants)? else { return Ok(None) };
        let mut entry_point = self.entry_point();
        entry_point.constants = 0;
        entry_point.bindings = bindings.iter().map(|&at| entry_point.bindings[at]).collect();
        Ok(compiled.executable(vec![entry_point], info)?.map(|source| Baked { source, bindings }))
    }
}

/// The module of a kernel with its constants, and which bindings are left.
fn compile(spec: &KernelSpec, constants: &[u8]) -> Result<Option<(Vec<usize>, Compiled)>, Error> {
    let Some(text) = with_constants(spec.source().text(), constants) else { return Ok(None) };
    let source = Source::new(spec.file(), text);
    let mut module = source.settle(spec.overrides(), Some(spec.entry()))?;
    let bindings = number_anew(&mut module);
    Ok(Some((bindings, source.check(module)?)))
}

/// Numbers the bindings that are left from zero on; gives the numbers that they had.
fn number_anew(module: &mut Module) -> Vec<usize> {
    let mut left: Vec<_> = module.global_variables.iter_mut().filter_map(|(_, one)| one.binding.as_mut()).collect();
    left.sort_by_key(|binding| binding.binding);
    let renamed = left.into_iter().enumerate().map(|(now, binding)| {
        let was = std::mem::replace(&mut binding.binding, now as u32);
        was as usize
    });
    renamed.collect()
}

/// A text with its block of constants as a constant; `None` if it has none, or one that cannot be written down.
fn with_constants(text: &str, constants: &[u8]) -> Option<String> {
    let module = naga::front::wgsl::parse_str(text).ok()?;
    let (_, block) = module.global_variables.iter().find(|(_, one)| one.space == naga::AddressSpace::Immediate)?;
    let value = value(&module, block.ty, constants)?;
    text.contains(BLOCK).then(|| text.replace(BLOCK, &format!("const params = {value};")))
}

/// The bytes of a value of a type as WGSL writes it.
fn value(module: &Module, kind: Handle<Type>, bytes: &[u8]) -> Option<String> {
    let several = |values: Vec<String>| values.join(", ");
    match &module.types[kind].inner {
        TypeInner::Scalar(scalar) => number(*scalar, bytes),
        TypeInner::Vector { size, scalar } => {
            let wide = usize::from(scalar.width);
            let all = (0..*size as usize).map(|i| number(*scalar, bytes.get(i * wide..)?)).collect::<Option<_>>()?;
            Some(format!("vec{}({})", *size as usize, several(all)))
        }
        TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
            let at = |i: u32| value(module, *base, bytes.get((i * stride) as usize..)?);
            Some(format!("array({})", several((0..count.get()).map(at).collect::<Option<_>>()?)))
        }
        TypeInner::Struct { members, .. } => {
            let member = |one: &naga::StructMember| value(module, one.ty, bytes.get(one.offset as usize..)?);
            let all = members.iter().map(member).collect::<Option<_>>()?;
            Some(format!("{}({})", module.types[kind].name.as_deref()?, several(all)))
        }
        _ => None,
    }
}

fn number(scalar: Scalar, bytes: &[u8]) -> Option<String> {
    let word = *bytes.first_chunk::<4>().filter(|_| scalar.width == 4)?;
    match scalar.kind {
        ScalarKind::Uint => Some(format!("{}u", u32::from_le_bytes(word))),
        ScalarKind::Sint => Some(format!("i32({})", i32::from_le_bytes(word))),
        // Enough digits to be read as the very same number.
        ScalarKind::Float => Some(f32::from_le_bytes(word)).filter(|v| v.is_finite()).map(|v| format!("{v:e}f")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_as_they_are() {
        let text = "struct Inner { a: vec2<u32>, b: f32 }\nstruct Params { n: i32, list: array<u32, 2>, inner: Inner }\n\
                    var<immediate> params: Params;\n";
        let words = [-7_i32 as u32, 1, u32::MAX, 0, 3, 4, 0.1_f32.to_bits(), 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let written = with_constants(text, &bytes).expect("it can be written");
        assert!(
            written.ends_with("const params = Params(i32(-7), array(1u, 4294967295u), Inner(vec2(3u, 4u), 1e-1f));\n"),
            "{written}"
        );
        naga::front::wgsl::parse_str(&written).expect("it is WGSL");
        assert!(with_constants(text, &bytes[..8]).is_none(), "too few bytes");
        let endless: Vec<u8> =
            [0, 0, 0, 0, 0, 0, f32::INFINITY.to_bits(), 0].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert!(with_constants(text, &endless).is_none(), "WGSL has no way to write it");
        assert!(with_constants("const one = 1u;", &bytes).is_none(), "nothing is to be written");
    }

    #[test]
    fn what_constants_rule_out_is_gone() {
        let spec = crate::find("lm_matvec_f16").expect("it is in the table");
        let constants = crate::params::LmLinear { rows: 8, columns: 32, tokens: 1, sharing: 1, ..Default::default() };
        let (bindings, compiled) =
            compile(spec, bytemuck::bytes_of(&constants)).expect("it is valid").expect("it can be written");
        // Codes, scales, x and y; no bias, no experts, no norm.
        assert_eq!(bindings, [0, 1, 2, 6]);
        let variables = || compiled.module.global_variables.iter();
        assert!(variables().all(|(_, one)| one.space != naga::AddressSpace::Immediate));
        assert_eq!(
            variables().filter_map(|(_, one)| one.binding).map(|at| at.binding).collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
    }
}
