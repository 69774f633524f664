//! The variants of the matrix product, and the problems that each supports.

use crate::{MATMUL_LARGE_TILE, MATMUL_MATRIX_TILE, MATMUL_TILE, Matmul};

/// A variant of `matmul_*`. All take the same buffers and parameters and compute the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatmulForm {
    /// `matmul_f32`, `matmul_f16`: any problem; small tiles.
    General,
    /// `matmul_large_f32`, `matmul_large_f16`: vec4 loads; large tiles.
    Large,
    /// `matmul_coopmat_f16`: matrix units.
    Matrix,
}

impl MatmulForm {
    /// All variants, in order of preference.
    pub const ALL: [Self; 3] = [Self::Matrix, Self::Large, Self::General];

    /// The variant of a kernel; `None` if the kernel is not a matrix product.
    pub fn of(kernel: &str) -> Option<Self> {
        match kernel {
            "matmul_f32" | "matmul_f16" => Some(Self::General),
            "matmul_large_f32" | "matmul_large_f16" => Some(Self::Large),
            "matmul_coopmat_f16" => Some(Self::Matrix),
            _ => None,
        }
    }

    /// Rows and columns of the output tile of one workgroup.
    pub fn tile(self) -> [u32; 2] {
        match self {
            Self::General => [MATMUL_TILE; 2],
            Self::Large => [MATMUL_LARGE_TILE; 2],
            Self::Matrix => MATMUL_MATRIX_TILE,
        }
    }

    /// Whether the variant supports this problem. All except `General` also require buffers aligned
    /// to 16 bytes.
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

    /// One workgroup per output tile; batches in z.
    pub fn grid(self, problem: &Matmul) -> [u32; 3] {
        problem.tiles(self.tile())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_reject_unsupported_problems() {
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
}
