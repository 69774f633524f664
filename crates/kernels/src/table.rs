//! The table of kernels: which file, which variants, and what a caller binds.

use std::mem::{offset_of, size_of};
use std::sync::LazyLock;

use roci_hal::Access;

use crate::params::{self, LINEAR_WORKGROUP};
use crate::{Compiled, Error, Source};

/// One buffer of a kernel; its place in the list is its binding number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name in the WGSL source.
    pub name: &'static str,
    /// What is done with it.
    pub access: Access,
}

/// The constants block of a kernel: one of the structs in [`params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Name of the Rust struct.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its members with their offsets in bytes, in order.
    pub members: &'static [(&'static str, usize)],
}

/// One member of a family: a name and what sets it apart.
#[derive(Clone, Copy, Debug)]
struct Variant {
    name: &'static str,
    overrides: &'static [(&'static str, f64)],
}

/// Kernels that share a WGSL file, its bindings and its constants.
#[derive(Debug)]
struct Family {
    file: &'static str,
    text: &'static str,
    /// Name of the entry point in the file; a variant's entry point carries the variant's name.
    entry: &'static str,
    /// Type aliases that the file leaves open, and functions that it shares with others. They go behind the text, so that line
    /// numbers stay.
    aliases: &'static str,
    variants: &'static [Variant],
    bindings: &'static [Binding],
    constants: Constants,
    workgroup: [u32; 3],
    in_place: bool,
    /// Only for devices with matrix units.
    matrix: bool,
}

/// A kernel: one variant of one WGSL file.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec {
    variant: Variant,
    family: &'static Family,
}

macro_rules! constants {
    ($name:ident: $($member:ident)*) => {
        Constants {
            name: stringify!($name),
            size: size_of::<params::$name>(),
            members: &[$((stringify!($member), offset_of!(params::$name, $member))),*],
        }
    };
}

const fn read(name: &'static str) -> Binding {
    Binding { name, access: Access::Read }
}

const fn write(name: &'static str) -> Binding {
    Binding { name, access: Access::ReadWrite }
}

const fn plain(name: &'static str) -> Variant {
    Variant { name, overrides: &[] }
}

macro_rules! variants {
    ($($name:literal: $($key:ident = $value:literal),*;)*) => {
        &[$(Variant { name: $name, overrides: &[$((stringify!($key), $value as f64)),*] }),*]
    };
}

mod indexing;
mod language;
mod products;
mod rows;

/// Functions of numbers that several files use.
const MATH: &str = include_str!("../wgsl/math.wgsl");

const LINEAR: [u32; 3] = [LINEAR_WORKGROUP, 1, 1];

/// What kernels share that read words as numbers or as indices.
const WORDS: &str = include_str!("../wgsl/words.wgsl");

/// What the variants with and without broadcasting share.
const BINARY: Family = Family {
    file: "binary.wgsl",
    text: include_str!("../wgsl/binary.wgsl"),
    entry: "binary",
    aliases: MATH,
    variants: &[],
    bindings: &[read("a"), read("b"), write("y")],
    constants: constants!(Binary: count shape a_strides b_strides),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// What the conversions share.
const CONVERT: Family = Family {
    file: "convert.wgsl",
    text: include_str!("../wgsl/convert.wgsl"),
    entry: "convert",
    aliases: "",
    variants: &[],
    bindings: &[read("x"), write("y")],
    constants: constants!(Convert: count),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// The constants of convolutions, and what is done with their sums.
macro_rules! conv_finish {
    ($($alias:literal)?) => {
        concat!($($alias, "\n",)? include_str!("../wgsl/conv_finish.wgsl"))
    };
}
const WITH_F32: &str = conv_finish!("alias Weight = f32;");
const WITH_F16: &str = conv_finish!("alias Weight = f16;");

/// What the convolutions share.
const CONV: Family = Family {
    file: "conv.wgsl",
    text: include_str!("../wgsl/conv.wgsl"),
    entry: "conv",
    aliases: WITH_F32,
    variants: &[plain("conv")],
    bindings: &[read("x"), read("w"), read("bias"), write("y")],
    constants: constants!(
        Conv: batch in_channels out_channels groups input output kernel stride dilation pad flags low high parts
    ),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

static FAMILIES: &[Family] = &[
    Family {
        file: "fill.wgsl",
        text: include_str!("../wgsl/fill.wgsl"),
        entry: "fill",
        aliases: "",
        variants: &[plain("fill")],
        bindings: &[write("target_words")],
        constants: constants!(Fill: count offset value),
        workgroup: LINEAR,
        in_place: false,
        matrix: false,
    },
    Family {
        file: "copy.wgsl",
        text: include_str!("../wgsl/copy.wgsl"),
        entry: "copy",
        aliases: "",
        variants: &[plain("copy")],
        bindings: &[read("source_words"), write("target_words")],
        constants: constants!(Copy: count source_offset target_offset),
        workgroup: LINEAR,
        in_place: false,
        matrix: false,
    },
    Family {
        file: "arrange.wgsl",
        text: include_str!("../wgsl/arrange.wgsl"),
        entry: "arrange",
        aliases: "",
        variants: &[plain("arrange")],
        bindings: &[read("source_words"), write("target_words")],
        constants: constants!(Arrange: count source_offset shape strides target_offset run pitch),
        workgroup: LINEAR,
        in_place: false,
        matrix: false,
    },
    Family {
        file: "unary.wgsl",
        text: include_str!("../wgsl/unary.wgsl"),
        entry: "unary",
        aliases: MATH,
        variants: variants! {
            "unary_neg": OP = 0;
            "unary_abs": OP = 1;
            "unary_exp": OP = 2;
            "unary_log": OP = 3;
            "unary_sqrt": OP = 4;
            "unary_rsqrt": OP = 5;
            "unary_relu": OP = 6;
            "unary_sigmoid": OP = 7;
            "unary_tanh": OP = 8;
            "unary_gelu": OP = 9;
            "unary_silu": OP = 10;
            "unary_sin": OP = 11;
            "unary_cos": OP = 12;
        },
        bindings: &[read("x"), write("y")],
        constants: constants!(Unary: count),
        workgroup: LINEAR,
        in_place: true,
        matrix: false,
    },
    Family {
        variants: variants! {
            "binary_add": OP = 0, BROADCAST = 0;
            "binary_sub": OP = 1, BROADCAST = 0;
            "binary_mul": OP = 2, BROADCAST = 0;
            "binary_div": OP = 3, BROADCAST = 0;
            "binary_min": OP = 4, BROADCAST = 0;
            "binary_max": OP = 5, BROADCAST = 0;
            "binary_pow": OP = 6, BROADCAST = 0;
        },
        // An element of a broadcast input is read for many outputs; without broadcasting it is read for one.
        in_place: true,
        ..BINARY
    },
    Family {
        variants: variants! {
            "binary_add_broadcast": OP = 0, BROADCAST = 1;
            "binary_sub_broadcast": OP = 1, BROADCAST = 1;
            "binary_mul_broadcast": OP = 2, BROADCAST = 1;
            "binary_div_broadcast": OP = 3, BROADCAST = 1;
            "binary_min_broadcast": OP = 4, BROADCAST = 1;
            "binary_max_broadcast": OP = 5, BROADCAST = 1;
            "binary_pow_broadcast": OP = 6, BROADCAST = 1;
        },
        ..BINARY
    },
    Family {
        file: "chain.wgsl",
        text: include_str!("../wgsl/chain.wgsl"),
        entry: "chain",
        aliases: MATH,
        variants: &[plain("chain")],
        bindings: &[read("a"), read("b"), read("c"), write("y")],
        constants: constants!(Chain: count shape strides program immediates),
        workgroup: LINEAR,
        in_place: true,
        matrix: false,
    },
    Family { aliases: "alias From = f32;\nalias To = f16;", variants: &[plain("narrow_f16")], ..CONVERT },
    Family { aliases: "alias From = f16;\nalias To = f32;", variants: &[plain("widen_f16")], ..CONVERT },
    Family {
        file: "random.wgsl",
        text: include_str!("../wgsl/random.wgsl"),
        entry: "random",
        aliases: MATH,
        variants: &[plain("random")],
        bindings: &[write("y")],
        constants: constants!(Random: count key counter form),
        workgroup: LINEAR,
        in_place: false,
        matrix: false,
    },
    CONV,
    Family {
        file: "conv_transpose.wgsl",
        text: include_str!("../wgsl/conv_transpose.wgsl"),
        entry: "conv_transpose",
        aliases: conv_finish!(),
        variants: &[plain("conv_transpose")],
        ..CONV
    },
    Family {
        entry: "conv_tiled",
        variants: variants! {
            "conv_tiled": PARTIAL = 0;
            "conv_partial": PARTIAL = 1;
        },
        ..CONV
    },
    Family {
        entry: "conv_tiled",
        aliases: WITH_F16,
        variants: variants! {
            "conv_tiled_f16": PARTIAL = 0;
            "conv_partial_f16": PARTIAL = 1;
        },
        ..CONV
    },
    Family {
        file: "conv_join.wgsl",
        text: include_str!("../wgsl/conv_join.wgsl"),
        entry: "conv_join",
        aliases: conv_finish!(),
        variants: &[plain("conv_join")],
        bindings: &[read("x"), read("bias"), write("y")],
        ..CONV
    },
    Family {
        file: "pool.wgsl",
        text: include_str!("../wgsl/pool.wgsl"),
        entry: "pool",
        aliases: "",
        variants: variants! {
            "pool_max": OP = 0;
            "pool_max_indices": OP = 1;
            "pool_average": OP = 2;
            "pool_lp": OP = 3;
        },
        bindings: &[read("x"), write("y")],
        constants: constants!(
            Pool: planes input output kernel stride dilation pad pad_end flags norm
        ),
        workgroup: LINEAR,
        in_place: false,
        matrix: false,
    },
];

/// All kernels, in the order of the table.
pub fn kernels() -> &'static [KernelSpec] {
    static KERNELS: LazyLock<Vec<KernelSpec>> = LazyLock::new(|| {
        [FAMILIES, products::FAMILIES, indexing::FAMILIES, rows::FAMILIES, language::FAMILIES]
            .into_iter()
            .flatten()
            .flat_map(|family| family.variants.iter().map(move |&variant| KernelSpec { variant, family }))
            .collect()
    });
    &KERNELS
}

/// The kernel of a name.
pub fn find(name: &str) -> Result<&'static KernelSpec, Error> {
    let shared = |kernel: &&KernelSpec| kernel.name().bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    kernels().iter().find(|kernel| kernel.name() == name).ok_or_else(|| Error::UnknownKernel {
        name: name.to_owned(),
        nearest: kernels().iter().max_by_key(shared).map_or("", KernelSpec::name),
    })
}

impl KernelSpec {
    /// The kernel's name, which is also its entry point's.
    pub fn name(&self) -> &'static str {
        self.variant.name
    }

    /// The WGSL file.
    pub fn file(&self) -> &'static str {
        self.family.file
    }

    /// The override constants that make this variant.
    pub fn overrides(&self) -> &'static [(&'static str, f64)] {
        self.variant.overrides
    }

    /// The buffers, by binding number.
    pub fn bindings(&self) -> &'static [Binding] {
        self.family.bindings
    }

    /// The constants block.
    pub fn constants(&self) -> Constants {
        self.family.constants
    }

    /// Invocations of a workgroup in each dimension.
    pub fn workgroup(&self) -> [u32; 3] {
        self.family.workgroup
    }

    /// Whether the output may be the very buffer range of an input of the same extent.
    pub fn in_place(&self) -> bool {
        self.family.in_place
    }

    /// Whether it runs on matrix units; [`runs_on`](Self::runs_on) tells which devices have what that takes.
    pub fn needs_matrix(&self) -> bool {
        self.family.matrix
    }

    /// The module: parsed, validated, overrides resolved, rules held.
    pub fn module(&self) -> Result<Compiled, Error> {
        let (source, entry) = (self.source(), Some(self.entry()));
        source.compile(self.variant.overrides, entry)
    }

    /// The whole text.
    pub(crate) fn source(&self) -> Source {
        Source::new(self.family.file, format!("{}{}", self.family.text, self.family.aliases))
    }

    /// The name of the entry point in the text, and the name that it gets.
    pub(crate) fn entry(&self) -> (&'static str, &'static str) {
        (self.family.entry, self.variant.name)
    }
}
