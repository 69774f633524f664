//! Type aliases of the WGSL of products.

/// Type aliases of a scalar product: left operand, right operand, epilogue. Accumulation is f32.
macro_rules! scalar_aliases {
    ($left:literal, $right:literal, $epilogue:expr) => {
        concat!(
            "alias Element = ",
            $left,
            ";\nalias Weight = ",
            $right,
            ";\nalias Sum = f32;\nalias Bits = u32;\n",
            $epilogue
        )
    };
}

/// The same for products of vec4.
macro_rules! vec4_aliases {
    ($left:literal, $right:literal, $epilogue:expr) => {
        concat!(
            "alias Element = vec4<",
            $left,
            ">;\nalias Weight = vec4<",
            $right,
            ">;\nalias Sum = vec4<f32>;\nalias Bits = vec4<u32>;\n",
            $epilogue
        )
    };
}

pub(crate) use {scalar_aliases, vec4_aliases};
