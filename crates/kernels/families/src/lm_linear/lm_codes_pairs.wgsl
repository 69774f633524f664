// Codes of 8 bytes per group, for `lm_grid_units.wgsl`; appended to its source.

alias Codes = vec2<u32>;

fn load_codes(group: u32) -> vec4<u32> {
    return vec4<u32>(codes[group], 0u, 0u);
}
