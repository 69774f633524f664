//! Products with packed weights, fused with bias, residual and activation.

use roci_kernels::native::{Level, pack_columns};
use roci_kernels::params::{Matmul, MatmulPacked};

use super::{WeightLayout, WeightPacker};
use crate::Error;
use crate::fuse::editor::SegmentEditor;
use crate::fuse::linear::{self, Activation, Epilogue};
use crate::segment::{Dispatch, Segment};

/// With fewer rows, the time to read the weights dominates in any layout.
const MIN_ROWS: u32 = 4;

/// Replaces products by `matmul_packed`.
pub(super) fn pack(segment: &mut Segment, packer: &mut WeightPacker<'_>) -> Result<(), Error> {
    let mut editor = SegmentEditor::new(segment);
    for index in 0..editor.dispatches.len() {
        let Some(params) = plain(&editor.dispatches[index]) else { continue };
        let [(x, _), (weights, _), (output, _)] = editor.dispatches[index].bindings[..] else { continue };
        if editor.constant(weights).is_none() {
            continue;
        }
        let (epilogue, function) = epilogue(&editor, index, params.n).unzip();
        let (bias, into) = epilogue.as_ref().map_or((None, None), |epilogue| (epilogue.bias, epilogue.into));
        let (k, n) = (params.k as usize, params.n as usize);
        let columns = |weights: &[f32], bias: Option<&[f32]>| pack_columns(Level::best(), weights, bias, [k, n]);
        let elements = n.next_multiple_of(Level::best().lanes()) * (k + 1);
        let packed = packer.pack(editor.tensors(), WeightLayout::Columns, (weights, bias), elements, columns)?;
        let Some(packed) = packed else { continue };
        let flags = function.unwrap_or(MatmulPacked::LINEAR) | if into.is_some() { MatmulPacked::ADD } else { 0 };
        let constants = MatmulPacked { m: params.m, n: params.n, k: params.k, flags };
        let last = epilogue.as_ref().map_or(index, |epilogue| epilogue.step);
        let result = editor.dispatches[last].bindings.last().map_or(output, |(tensor_id, _)| *tensor_id);
        let label = match epilogue {
            Some(epilogue) => {
                format!("{} + {}", editor.dispatches[index].label, editor.dispatches[epilogue.step].label)
            }
            None => editor.dispatches[index].label.clone(),
        };
        editor.remove(index);
        let step = Dispatch {
            kernel: "matmul_packed",
            label,
            grid: [1; 3],
            constants: bytemuck::bytes_of(&constants).to_vec(),
            bindings: vec![(x, false), (packed, false), (into.unwrap_or(result), true)],
        };
        editor.set(last, step);
        if let Some(into) = into {
            editor.alias(result, into);
        }
    }
    editor.remove_dead();
    Ok(())
}

/// The parameters of a product of two dense matrices.
fn plain(step: &Dispatch) -> Option<Matmul> {
    if !matches!(step.kernel, "matmul_f32" | "matmul_large_f32") || step.bindings.is_empty() {
        return None;
    }
    let p: Matmul = bytemuck::pod_read_unaligned(&step.constants);
    let dense = p.batches == 1 && p.lda == p.k && p.ldb == p.n && p.ldc == p.n;
    (dense && p.m >= MIN_ROWS).then_some(p)
}

/// The epilogue that the packed kernel can do. The bias is packed with the weights, so it must be a
/// constant.
fn epilogue(editor: &SegmentEditor<'_>, index: usize, columns: u32) -> Option<(Epilogue, u32)> {
    let epilogue = linear::epilogue(editor, index, columns)?;
    let function = match epilogue.function {
        Activation::None => MatmulPacked::LINEAR,
        Activation::Clamp(0.0, f32::INFINITY) => MatmulPacked::RELU,
        Activation::Gelu => MatmulPacked::GELU,
        Activation::Clamp(..) | Activation::Silu => return None,
    };
    epilogue.bias.is_none_or(|bias| editor.constant(bias).is_some()).then_some((epilogue, function))
}
