//! The kernels of the variants of the matrix product, and the best variant for a device.

use roci_hal::DeviceInfo;

use crate::executable::runs_native_kernels;
use crate::params::{Matmul, MatmulForm};
use crate::{Error, KernelSpec, table};

/// The element type of the matrices. Accumulation is always f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatmulElement {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
}

/// The `matmul_*` kernel of a variant for an element type; an error if the variant does not support
/// it.
pub fn matmul_kernel(form: MatmulForm, element: MatmulElement) -> Result<&'static KernelSpec, Error> {
    find_variant("matmul", form, element)
}

/// The `linear_*` kernel of a variant for a weight type; an error if the variant does not support
/// it.
pub fn linear_kernel(form: MatmulForm, weights: MatmulElement) -> Result<&'static KernelSpec, Error> {
    find_variant("linear", form, weights)
}

fn find_variant(kind: &str, form: MatmulForm, element: MatmulElement) -> Result<&'static KernelSpec, Error> {
    let form = match form {
        MatmulForm::General => "",
        MatmulForm::Large => "_large",
        MatmulForm::Matrix => "_coopmat",
    };
    let element = match element {
        MatmulElement::F32 => "f32",
        MatmulElement::F16 => "f16",
    };
    table::find(&format!("{kind}{form}_{element}"))
}

/// The best variant for a device: the fastest that supports the problem and has enough tiles to
/// occupy the device.
pub fn best_matmul(problem: &Matmul, element: MatmulElement, device: &DeviceInfo) -> MatmulForm {
    // Native kernels choose their own tiles: all variants are the same code there, and `General`
    // accepts any problem.
    if runs_native_kernels(device) {
        return MatmulForm::General;
    }
    let units = device.physical.iter().map(|one| u64::from(one.compute_units)).min().unwrap_or(1);
    let busy = |form: MatmulForm| form.grid(problem).iter().map(|&groups| u64::from(groups)).product::<u64>() >= units;
    let runs = |form: MatmulForm| matmul_kernel(form, element).is_ok_and(|kernel| kernel.runs_on(device));
    let can = |form: &MatmulForm| runs(*form) && form.takes(problem) && busy(*form);
    MatmulForm::ALL.into_iter().find(can).unwrap_or(MatmulForm::General)
}

#[cfg(test)]
mod tests {
    use roci_hal::{Capabilities, CodeFormat, DeviceKind, PhysicalInfo};

    use super::*;

    #[test]
    fn every_matmul_kernel_has_a_form() {
        for kernel in table::kernels().iter().filter(|kernel| kernel.name().starts_with("matmul")) {
            let form = MatmulForm::of(kernel.name()).expect("a form");
            let element = if kernel.name().ends_with("f16") { MatmulElement::F16 } else { MatmulElement::F32 };
            assert_eq!(matmul_kernel(form, element).expect("a kernel").name(), kernel.name());
            assert_eq!(kernel.needs_matrix(), form == MatmulForm::Matrix);
        }
        assert!(matmul_kernel(MatmulForm::Matrix, MatmulElement::F32).is_err());
        for form in [MatmulForm::General, MatmulForm::Large] {
            assert!(linear_kernel(form, MatmulElement::F16).is_ok_and(|kernel| kernel.name().starts_with("linear")));
        }
    }

    #[test]
    fn the_best_form_is_the_fastest_supported_one_that_fills_the_device() {
        let device = |capabilities: Capabilities, compute_units, format| DeviceInfo {
            uri: "null".parse().expect("a URI"),
            physical: vec![PhysicalInfo {
                compute_units,
                capabilities,
                ..PhysicalInfo::new("device", DeviceKind::DiscreteGpu)
            }],
            queues: Vec::new(),
            memory_types: Vec::new(),
            max_allocation: 0,
            binding_alignment: 4,
            max_binding: u64::MAX,
            max_bindings: 8,
            max_constants: 128,
            formats: vec![format],
        };
        let matrix =
            |sizes: &[u32]| Capabilities { matrix: true, subgroup_sizes: sizes.to_vec(), ..Capabilities::default() };
        let spirv = |capabilities, units| device(capabilities, units, CodeFormat::Spirv);
        let best = |problem, element, info: &DeviceInfo| best_matmul(&problem, element, info);
        // Four matrix-unit tiles, eight large tiles, 32 general tiles.
        let problem = Matmul::dense(256, 512, 64);
        let (f16, f32) = (MatmulElement::F16, MatmulElement::F32);
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 4)), MatmulForm::Matrix);
        assert_eq!(best(problem, f16, &spirv(matrix(&[16, 32]), 4)), MatmulForm::Matrix);
        assert_eq!(best(problem, f32, &spirv(matrix(&[32]), 4)), MatmulForm::Large, "no matrix-unit kernel for f32");
        assert_eq!(best(problem, f16, &spirv(matrix(&[64]), 4)), MatmulForm::Large, "subgroups of another size");
        assert_eq!(best(problem, f16, &spirv(Capabilities::default(), 4)), MatmulForm::Large, "no matrix units");
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 5)), MatmulForm::Large, "tiles for four of five units");
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 9)), MatmulForm::General, "no large tiles for nine units");
        assert_eq!(
            best(Matmul::dense(256, 511, 64), f16, &spirv(matrix(&[32]), 1)),
            MatmulForm::General,
            "odd columns"
        );
        let native = device(matrix(&[32]), 1, CodeFormat::Native);
        assert_eq!(best(problem, f16, &native), MatmulForm::General, "native code has one variant");
    }
}
