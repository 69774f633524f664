//! Names reserved by C, OpenCL C and the prelude, and the names assigned to the items of a module.

use std::sync::LazyLock;

use naga::FastHashMap;
use naga::proc::{CaseInsensitiveKeywordSet, KeywordSet, NameKey, Namer};

/// Prefixes reserved for the prelude, for temporaries and for compilers.
const PREFIXES: &[&str] =
    &["roci_", "ROCI_", "_", "as_", "convert_", "atomic_", "get_", "vload", "vstore", "cl_", "CL"];

/// Keywords of C99 and OpenCL C, and the functions of the OpenCL C library: a function with such a
/// name would clash with the library's overloads, and a variable would hide them.
const WORDS: &str = "
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
bool true false half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t image1d_t image2d_t
image3d_t queue_t clk_event_t reserve_id_t pipe kernel global local constant private generic read_only write_only
read_write uniform complex imaginary quad main NULL INFINITY NAN HUGE_VALF MAXFLOAT FLT_MAX FLT_MIN FLT_EPSILON INT_MAX
INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX CHAR_BIT M_PI M_PI_F M_E M_E_F
acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi erfc erf exp exp2
exp10 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log2 log10 log1p logb
mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin sincos sinh sinpi sqrt
tan tanh tanpi tgamma trunc native_cos native_divide native_exp native_exp2 native_exp10 native_log native_log2
native_log10 native_powr native_recip native_rsqrt native_sin native_sqrt native_tan half_cos half_divide half_exp
half_exp2 half_exp10 half_log half_log2 half_log10 half_powr half_recip half_rsqrt half_sin half_sqrt half_tan abs
abs_diff add_sat hadd rhadd clamp clz ctz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24 mul24
degrees mix radians step smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize
isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered
isunordered signbit any all bitselect select shuffle shuffle2 printf prefetch barrier mem_fence read_mem_fence
write_mem_fence work_group_barrier async_work_group_copy wait_group_events atom_add atom_sub atom_xchg atom_cmpxchg
atom_min atom_max atom_and atom_or atom_xor sub_group_barrier sub_group_broadcast sub_group_ballot dot_acc_sat
read_imagef read_imagei read_imageui write_imagef write_imagei write_imageui linux unix i386
";

static RESERVED: LazyLock<KeywordSet> = LazyLock::new(|| {
    let mut words: KeywordSet = WORDS.split_whitespace().collect();
    words.extend(VECTORS.iter().map(String::as_str));
    words
});

/// Vector type names, `float2` to `ulong16`.
static VECTORS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let scalars = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"];
    let sizes = ["2", "3", "4", "8", "16"];
    scalars.iter().flat_map(|scalar| sizes.iter().map(move |size| format!("{scalar}{size}"))).collect()
});

/// Assigns a name to every item of the module, and returns the namer for further names.
pub(super) fn assign(module: &naga::Module) -> (FastHashMap<NameKey, String>, Namer) {
    let mut names = FastHashMap::default();
    let mut namer = Namer::default();
    namer.reset(module, &RESERVED, KeywordSet::empty(), CaseInsensitiveKeywordSet::empty(), PREFIXES, &mut names);
    // naga's namer appends an underscore to a name that ends in a digit, to keep it apart from
    // numbered ones. Callers look entry points up by name, and the namer never generates such a
    // name itself, so entry points keep theirs.
    for (index, entry_point) in module.entry_points.iter().enumerate() {
        let given = names.get_mut(&NameKey::EntryPoint(index as u16));
        let numbered = entry_point.name.ends_with(|last: char| last.is_ascii_digit());
        if let Some(given) = given.filter(|given| numbered && given.strip_suffix('_') == Some(&entry_point.name)) {
            given.pop();
        }
    }
    (names, namer)
}
