// Codes of 12 bytes per group, for `lm_grid_units.wgsl`; appended to its source.

alias Codes = u32;

fn load_codes(group: u32) -> vec4<u32> {
    return vec4<u32>(codes[group * 3u], codes[group * 3u + 1u], codes[group * 3u + 2u], 0u);
}
