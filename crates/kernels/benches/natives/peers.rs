//! The libraries that the matrix product is measured against.

use std::ffi::c_int;

use gemm::Parallelism;

use crate::pool::THREADS;

/// `cblas_sgemm`: order, transposed a and b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int,
);

/// OpenBLAS as Debian builds it.
pub(crate) struct OpenBlas {
    sgemm: Sgemm,
    _library: libloading::Library,
}

impl OpenBlas {
    /// Loads it, if it is installed, and gives it as many threads as the others have.
    pub(crate) fn load() -> Result<OpenBlas, libloading::Error> {
        let open = |name| {
            // SAFETY: OpenBLAS starts its threads when loaded and asks nothing of its caller.
            unsafe { libloading::Library::new(name) }
        };
        let library = open("libopenblas.so.0").or_else(|_| open("libopenblas.so"))?;
        // SAFETY: OpenBLAS declares it as `void openblas_set_num_threads(int)`.
        let set_threads = *unsafe { library.get::<unsafe extern "C" fn(c_int)>(b"openblas_set_num_threads\0") }?;
        // SAFETY: takes any number.
        unsafe { set_threads(THREADS as c_int) };
        // SAFETY: the signature is CBLAS's.
        let sgemm = *unsafe { library.get::<Sgemm>(b"cblas_sgemm\0") }?;
        Ok(OpenBlas { sgemm, _library: library })
    }

    /// `c = a * b`, row-major and dense.
    ///
    /// # Safety
    /// The pointers are valid for matrices of these sizes.
    pub(crate) unsafe fn multiply(&self, [m, n, k]: [usize; 3], a: *const f32, b: *const f32, c: *mut f32) {
        const ROW_MAJOR: c_int = 101;
        const PLAIN: c_int = 111;
        let [m, n, k] = [m, n, k].map(|size| size as c_int);
        // SAFETY: the caller vouches for the matrices; leading dimensions are those of dense ones.
        unsafe { (self.sgemm)(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1.0, a, k, b, n, 0.0, c, n) }
    }
}

/// The `gemm` crate's product, for f32 and f16.
///
/// # Safety
/// The pointers are valid for dense row-major matrices of these sizes.
pub(crate) unsafe fn gemm_crate<T: 'static>(
    [m, n, k]: [usize; 3],
    a: *const T,
    b: *const T,
    c: *mut T,
    zero: T,
    one: T,
) {
    let threads = Parallelism::Rayon(THREADS);
    let (n_stride, k_stride) = (n as isize, k as isize);
    // SAFETY: the caller vouches for the matrices; strides are those of dense row-major ones.
    unsafe {
        gemm::gemm(
            m, n, k, c, 1, n_stride, false, a, 1, k_stride, b, 1, n_stride, zero, one, false, false, false, threads,
        )
    }
}

/// The `matrixmultiply` crate's product; its threads come from `MATMUL_NUM_THREADS`.
///
/// # Safety
/// The pointers are valid for dense row-major matrices of these sizes.
pub(crate) unsafe fn matrixmultiply_crate([m, n, k]: [usize; 3], a: *const f32, b: *const f32, c: *mut f32) {
    let (n_stride, k_stride) = (n as isize, k as isize);
    // SAFETY: the caller vouches for the matrices; strides are those of dense row-major ones.
    unsafe { matrixmultiply::sgemm(m, k, n, 1.0, a, k_stride, 1, b, n_stride, 1, 0.0, c, n_stride, 1) }
}
