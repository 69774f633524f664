//! The forms of the matrix product: what each asks of a problem, and which one a device should run.

use roci_hal::DeviceInfo;

use crate::executable::takes_native;
use crate::params::{MATMUL_LARGE_TILE, MATMUL_MATRIX_TILE, MATMUL_TILE, Matmul};
use crate::{Error, KernelSpec, table};

/// A form of `matmul_*`. All take the same buffers and constants and give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatmulForm {
    /// `matmul_f32`, `matmul_f16`: any problem, in small tiles.
    General,
    /// `matmul_large_f32`, `matmul_large_f16`: four elements at a time, in large tiles.
    Large,
    /// `matmul_matrix_f16`: on matrix units.
    Matrix,
}

/// What a product's matrices hold; sums are f32 in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatmulElement {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
}

impl MatmulForm {
    /// All forms, the fastest first where it can run.
    pub const ALL: [Self; 3] = [Self::Matrix, Self::Large, Self::General];

    /// The form of a kernel of the table; `None` for a kernel that is no matrix product.
    pub fn of(kernel: &str) -> Option<Self> {
        match kernel {
            "matmul_f32" | "matmul_f16" => Some(Self::General),
            "matmul_large_f32" | "matmul_large_f16" => Some(Self::Large),
            "matmul_matrix_f16" => Some(Self::Matrix),
            _ => None,
        }
    }

    /// The kernel; an error for a form that there is not for this element.
    pub fn kernel(self, element: MatmulElement) -> Result<&'static KernelSpec, Error> {
        self.named("matmul", element)
    }

    /// The kernel of a layer of this form, `linear_*`, whose weights are so wide; an error for a form that there is not.
    pub fn layer(self, weights: MatmulElement) -> Result<&'static KernelSpec, Error> {
        self.named("linear", weights)
    }

    fn named(self, kind: &str, element: MatmulElement) -> Result<&'static KernelSpec, Error> {
        let form = match self {
            Self::General => "",
            Self::Large => "_large",
            Self::Matrix => "_matrix",
        };
        let element = match element {
            MatmulElement::F32 => "f32",
            MatmulElement::F16 => "f16",
        };
        table::find(&format!("{kind}{form}_{element}"))
    }

    /// Rows and columns of the result that one workgroup computes.
    pub fn tile(self) -> [u32; 2] {
        match self {
            Self::General => [MATMUL_TILE; 2],
            Self::Large => [MATMUL_LARGE_TILE; 2],
            Self::Matrix => MATMUL_MATRIX_TILE,
        }
    }

    /// Whether it can compute this problem. Buffers must start at multiples of 16 bytes besides, for all but `General`.
    pub fn takes(self, problem: &Matmul) -> bool {
        let Matmul { m, n, k, lda, ldb, ldc, batch_a, batch_b, batch_c, .. } = *problem;
        let step = match self {
            Self::General => return true,
            Self::Large => 8,
            Self::Matrix => 64,
        };
        let fours = [n, lda, ldb, ldc, batch_a, batch_b, batch_c].iter().all(|count| count % 4 == 0);
        fours && m > 0 && n > 0 && k > 0 && k.is_multiple_of(step)
    }

    /// One workgroup a tile of the result, batches in z.
    pub fn grid(self, problem: &Matmul) -> [u32; 3] {
        problem.tiles(self.tile())
    }

    /// The form that a device should run: the fastest that it can, unless its tiles are too few to keep the device busy.
    pub fn best(problem: &Matmul, element: MatmulElement, device: &DeviceInfo) -> Self {
        // Native kernels have tiles of their own: all forms are one there, and this one takes any problem.
        if takes_native(device) {
            return Self::General;
        }
        let units = device.physical.iter().map(|one| u64::from(one.compute_units)).min().unwrap_or(1);
        let busy = |form: Self| form.grid(problem).iter().map(|&groups| u64::from(groups)).product::<u64>() >= units;
        let runs = |form: Self| form.kernel(element).is_ok_and(|kernel| kernel.runs_on(device));
        let can = |form: &Self| runs(*form) && form.takes(problem) && busy(*form);
        Self::ALL.into_iter().find(can).unwrap_or(Self::General)
    }
}

#[cfg(test)]
mod tests {
    use roci_hal::{Capabilities, CodeFormat, DeviceKind, PhysicalInfo};

    use super::*;

    #[test]
    fn every_product_of_the_table_has_a_form_that_names_it() {
        for kernel in table::kernels().iter().filter(|kernel| kernel.name().starts_with("matmul")) {
            let form = MatmulForm::of(kernel.name()).expect("a form");
            let element = if kernel.name().ends_with("f16") { MatmulElement::F16 } else { MatmulElement::F32 };
            assert_eq!(form.kernel(element).expect("a kernel").name(), kernel.name());
            assert_eq!(kernel.needs_matrix(), form == MatmulForm::Matrix);
        }
        assert!(MatmulForm::Matrix.kernel(MatmulElement::F32).is_err());
        for form in [MatmulForm::General, MatmulForm::Large] {
            assert!(form.layer(MatmulElement::F16).is_ok_and(|kernel| kernel.name().starts_with("linear")));
        }
    }

    #[test]
    fn forms_refuse_what_they_would_compute_wrongly() {
        let fits = Matmul::dense(5, 8, 64);
        assert!(MatmulForm::ALL.iter().all(|form| form.takes(&fits)));
        for odd in [
            Matmul { n: 7, ..fits },
            Matmul { k: 60, ..fits },
            Matmul { lda: 65, ..fits },
            Matmul { ldc: 9, ..fits },
            Matmul { batch_b: 2, ..fits },
            Matmul { k: 0, ..fits },
            Matmul { m: 0, ..fits },
        ] {
            assert!(!MatmulForm::Large.takes(&odd) && !MatmulForm::Matrix.takes(&odd), "{odd:?}");
            assert!(MatmulForm::General.takes(&odd), "{odd:?}");
        }
        assert!(
            MatmulForm::Large.takes(&Matmul::dense(5, 8, 24)) && !MatmulForm::Matrix.takes(&Matmul::dense(5, 8, 24))
        );
    }

    #[test]
    fn the_best_form_is_the_fastest_that_the_device_runs_and_that_keeps_it_busy() {
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
        let best = |problem, element, info: &DeviceInfo| MatmulForm::best(&problem, element, info);
        // Four tiles for matrix units, eight large ones, 32 general ones.
        let problem = Matmul::dense(256, 512, 64);
        let (f16, f32) = (MatmulElement::F16, MatmulElement::F32);
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 4)), MatmulForm::Matrix);
        assert_eq!(best(problem, f16, &spirv(matrix(&[16, 32]), 4)), MatmulForm::Matrix);
        assert_eq!(best(problem, f32, &spirv(matrix(&[32]), 4)), MatmulForm::Large, "there is none for f32");
        assert_eq!(best(problem, f16, &spirv(matrix(&[64]), 4)), MatmulForm::Large, "sub-groups of another size");
        assert_eq!(best(problem, f16, &spirv(Capabilities::default(), 4)), MatmulForm::Large, "no matrix units");
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 5)), MatmulForm::Large, "tiles for four of five units");
        assert_eq!(best(problem, f16, &spirv(matrix(&[32]), 9)), MatmulForm::General, "no large tiles for nine units");
        assert_eq!(
            best(Matmul::dense(256, 511, 64), f16, &spirv(matrix(&[32]), 1)),
            MatmulForm::General,
            "odd columns"
        );
        let native = device(matrix(&[32]), 1, CodeFormat::Native);
        assert_eq!(best(problem, f16, &native), MatmulForm::General, "natives are all one");
    }
}
