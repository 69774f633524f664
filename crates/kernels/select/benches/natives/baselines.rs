//! The baseline libraries for matrix products.

use std::ffi::c_int;

use gemm_common::Parallelism;

use crate::pool::THREADS;

/// `cblas_sgemm`: order, transpose a, transpose b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int,
);

/// OpenBLAS, loaded at run time.
pub(crate) struct OpenBlas {
    sgemm: Sgemm,
    _library: libloading::Library,
}

impl OpenBlas {
    /// Loads OpenBLAS, if installed, and sets its number of threads to [`THREADS`].
    pub(crate) fn load() -> Result<OpenBlas, libloading::Error> {
        let open = |name| {
            // SAFETY: loading OpenBLAS starts its threads and has no preconditions.
            unsafe { libloading::Library::new(name) }
        };
        let library = open("libopenblas.so.0").or_else(|_| open("libopenblas.so"))?;
        // SAFETY: OpenBLAS declares it as `void openblas_set_num_threads(int)`.
        let set_threads = *unsafe { library.get::<unsafe extern "C" fn(c_int)>(b"openblas_set_num_threads\0") }?;
        // SAFETY: any positive number is valid.
        unsafe { set_threads(THREADS as c_int) };
        // SAFETY: the signature is that of CBLAS.
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
        // SAFETY: the caller guarantees the matrices; the leading dimensions are those of dense
        // matrices.
        unsafe { (self.sgemm)(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1.0, a, k, b, n, 0.0, c, n) }
    }
}

/// A product of the `gemm` crates: m, n, k; then c, a and b, each with its column and row strides,
/// and after c a flag to read it; the factors of c and of the product; conjugation flags.
#[rustfmt::skip]
pub(crate) type Product<T> = unsafe fn(
    usize, usize, usize, *mut T, isize, isize, bool, *const T, isize, isize, *const T, isize, isize, T, T,
    bool, bool, bool, Parallelism,
);

/// The product of a `gemm` crate; `[T; 2]` is zero and one.
///
/// # Safety
/// The pointers are valid for dense row-major matrices of these sizes.
pub(crate) unsafe fn gemm_crate<T>(
    product: Product<T>,
    [m, n, k]: [usize; 3],
    [a, b]: [*const T; 2],
    c: *mut T,
    [zero, one]: [T; 2],
) {
    let threads = Parallelism::Rayon(THREADS);
    let (n_stride, k_stride) = (n as isize, k as isize);
    // The library prefers a column-major result, so the operands are transposed, as the `gemm`
    // crate itself does.
    //
    // SAFETY: the caller guarantees the matrices; the strides are those of dense row-major
    // matrices.
    unsafe {
        product(n, m, k, c, n_stride, 1, false, b, n_stride, 1, a, k_stride, 1, zero, one, false, false, false, threads)
    }
}

/// The product of the `matrixmultiply` crate. `MATMUL_NUM_THREADS` sets its number of threads.
///
/// # Safety
/// The pointers are valid for dense row-major matrices of these sizes.
pub(crate) unsafe fn matrixmultiply_crate([m, n, k]: [usize; 3], a: *const f32, b: *const f32, c: *mut f32) {
    let (n_stride, k_stride) = (n as isize, k as isize);
    // SAFETY: the caller guarantees the matrices; the strides are those of dense row-major
    // matrices.
    unsafe { matrixmultiply::sgemm(m, k, n, 1.0, a, k_stride, 1, b, n_stride, 1, 0.0, c, n_stride, 1) }
}
