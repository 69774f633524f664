//! Definitions of structs and arrays with WGSL's layout.
//!
//! In memory form, the C alignment of a member never exceeds its WGSL alignment, so padding bytes
//! are sufficient.

use std::fmt::Write as _;

use naga::proc::NameKey;
use naga::valid::TypeFlags;
use naga::{ArraySize, Handle, Span, StructMember, Type, TypeInner, VectorSize};

use super::error::Error;
use super::types::Leaf;
use super::writer::Writer;

/// Size and alignment of a type in C, in bytes.
#[derive(Debug, Clone, Copy)]
struct Extent {
    size: u32,
    align: u32,
}

impl Extent {
    fn vector(width: u32, lanes: u32) -> Self {
        // Three-component vectors are packed structs; two and four components are C vectors.
        let align = if lanes == 3 { width } else { width * lanes };
        Extent { size: width * lanes, align }
    }
}

impl Writer<'_> {
    /// Definitions of all types in use, in arena order: components before composites.
    pub(super) fn type_definitions(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        let used: Vec<_> = self.types.iter().copied().collect();
        for handle in used {
            match self.module.types[handle].inner {
                TypeInner::Struct { ref members, span } => {
                    text.push_str(&self.struct_definition(handle, members, span)?);
                }
                TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
                    self.check_stride(handle, base, stride)?;
                    let element = self.element_type(base);
                    let name = self.memory_type(handle);
                    let _ = writeln!(text, "typedef struct {{ {element} e[{count}]; }} {name};");
                }
                _ => {}
            }
        }
        Ok(text)
    }

    fn struct_definition(
        &mut self,
        handle: Handle<Type>,
        members: &[StructMember],
        span: u32,
    ) -> Result<String, Error> {
        let shared = self.info[handle].contains(TypeFlags::HOST_SHAREABLE);
        let mut text = String::from("typedef struct {\n");
        let mut end = 0;
        let mut runtime = false;
        for (index, member) in (0u32..).zip(members) {
            if self.is_runtime_array(member.ty) {
                // The array is accessed by its offset, because OpenCL C has no flexible array
                // members.
                runtime = true;
                continue;
            }
            if shared {
                let extent = self.extent(member.ty);
                pad(&mut text, index.to_string().as_str(), member.offset - end.min(member.offset));
                if end > member.offset || member.offset % extent.align != 0 {
                    // naga rejects such a struct in a buffer.
                    return Err(Error::Invalid("members of a struct overlap or are not aligned".to_owned()));
                }
                end = member.offset + extent.size;
            }
            let name = self.names[&NameKey::StructMember(handle, index)].clone();
            let ty = self.memory_type(member.ty);
            let _ = writeln!(text, "    {ty} {name};");
        }
        if runtime && members.len() == 1 {
            text.push_str("    uchar _none;\n");
        } else if shared && !runtime {
            pad(&mut text, "end", span - end);
        }
        let _ = writeln!(text, "}} {};", self.names[&NameKey::Type(handle)]);
        Ok(text)
    }

    pub(super) fn check_stride(&self, handle: Handle<Type>, base: Handle<Type>, stride: u32) -> Result<(), Error> {
        let shared = self.info[handle].contains(TypeFlags::HOST_SHAREABLE);
        let extent = self.element_extent(base);
        if !shared || extent.size == stride {
            return Ok(());
        }
        Err(self.unsupported("array", "has a stride that C cannot express", self.type_span(handle)))
    }

    /// The source span of a type. naga keeps spans only for structs; any other type gets the span
    /// of the first global variable of that type, or of the first type that contains it.
    fn type_span(&self, expected: Handle<Type>) -> Span {
        let own = self.module.types.get_span(expected);
        if own.is_defined() {
            return own;
        }
        let globals = &self.module.global_variables;
        if let Some((handle, _)) = globals.iter().find(|(_, global)| global.ty == expected) {
            return globals.get_span(handle);
        }
        // Terminates because the arena stores components before composites.
        let whole = self.module.types.iter().find(|(_, ty)| match ty.inner {
            TypeInner::Struct { ref members, .. } => members.iter().any(|member| member.ty == expected),
            TypeInner::Array { base, .. } => base == expected,
            _ => false,
        });
        whole.map_or(own, |(handle, _)| self.type_span(handle))
    }

    fn extent(&self, handle: Handle<Type>) -> Extent {
        let inner = &self.module.types[handle].inner;
        if let Some(leaf) = Leaf::of(inner) {
            return Extent::vector(u32::from(leaf.scalar.width), leaf.lanes() as u32);
        }
        match *inner {
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = Extent::vector(u32::from(scalar.width), rows as u32);
                let stride = if rows == VectorSize::Tri { 4 * u32::from(scalar.width) } else { column.size };
                Extent { size: stride * columns as u32, align: column.align }
            }
            TypeInner::Array { base, size, .. } => {
                let element = self.element_extent(base);
                let count = match size {
                    ArraySize::Constant(count) => count.get(),
                    ArraySize::Pending(_) | ArraySize::Dynamic => 0,
                };
                Extent { size: element.size.saturating_mul(count), ..element }
            }
            TypeInner::Struct { ref members, span } => {
                let align = members.iter().map(|member| self.extent(member.ty).align).max().unwrap_or(1);
                Extent { size: span, align }
            }
            _ => Extent { size: 0, align: 1 },
        }
    }

    fn element_extent(&self, base: Handle<Type>) -> Extent {
        let extent = self.extent(base);
        match Leaf::of(&self.module.types[base].inner) {
            Some(leaf) if leaf.lanes() == 3 => Extent { size: extent.size / 3 * 4, ..extent },
            _ => extent,
        }
    }

    /// Definitions of packed three-component vectors (12 bytes) and of the padded array elements
    /// that hold them.
    pub(super) fn packed_definitions(&self) -> String {
        let mut text = String::new();
        for scalar in &self.packed {
            let _ = writeln!(text, "typedef struct {{ {scalar} x, y, z; }} roci_{scalar}3;");
        }
        for scalar in &self.padded {
            let _ = writeln!(text, "typedef struct {{ roci_{scalar}3 v; {scalar} pad; }} roci_{scalar}3_padded;");
        }
        text
    }
}

fn pad(text: &mut String, name: &str, bytes: u32) {
    if bytes > 0 {
        let _ = writeln!(text, "    uchar _pad_{name}[{bytes}];");
    }
}
