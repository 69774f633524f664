//! Lowering of f16 for devices without it: 16-bit integers in memory, f32 in registers.

use naga::{Scalar, ScalarKind};

use super::types::Leaf;
use super::writer::{Parameter, Writer};

impl Writer<'_> {
    /// f32 from the bits of f16.
    pub(super) fn cast_f16_to_f32(&mut self, leaf: Leaf, text: String) -> String {
        let bits = Parameter::lanes("ushort");
        self.call_by_lane("roci_widen_f16", "float", leaf.size, &[bits], &[text])
    }

    /// The bits of f16 from f32, rounded to nearest even.
    pub(super) fn cast_f32_to_f16(&mut self, leaf: Leaf, text: String) -> String {
        let value = Parameter::lanes("float");
        self.call_by_lane("roci_narrow_f16", "ushort", leaf.size, &[value], &[text])
    }

    /// Rounds an f32 to f16 precision and range.
    pub(super) fn quantize_f16(&mut self, leaf: Leaf, text: String) -> String {
        let value = Parameter::lanes("float");
        self.call_by_lane("roci_quantize_f16", "float", leaf.size, &[value], &[text])
    }

    /// A bit cast from or to lowered f16.
    pub(super) fn bitcast_lowered_f16(&mut self, from: Leaf, to: ScalarKind, text: String) -> String {
        if from.scalar.kind == ScalarKind::Float {
            let bits = self.cast_f32_to_f16(from, text);
            let target = from.with(Scalar { kind: to, width: 2 });
            format!("as_{}({bits})", self.register(target))
        } else {
            let bits = format!("as_{}({text})", self.register(from.with(Scalar { kind: ScalarKind::Uint, width: 2 })));
            self.cast_f16_to_f32(from, bits)
        }
    }
}
