// Groups pairs of a token and one of its experts by expert, in tiles for the products of
// `lm_tiles.wgsl`. One workgroup per expert.
//
// With `before` pairs of lower experts, the tiles of expert `e` begin at `before / tile + e`. That
// leaves room for all of them, whatever the numbers of pairs, without those of the other experts.

struct Params {
    pairs: u32,
    experts: u32,
    tile: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> selected: array<u32>;
@group(0) @binding(1) var<storage, read_write> tiles: array<u32>;

const NO_PAIR = 0xffffffffu;

// Pairs of lower experts, and of this one, that an invocation has counted.
var<workgroup> lower: array<u32, 64>;
var<workgroup> own: array<u32, 64>;

@compute @workgroup_size(64)
fn lm_moe_group(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let expert = group.x;
    var lower_count = 0u;
    var own_count = 0u;
    for (var pair = lane; pair < params.pairs; pair += 64u) {
        let other = min(selected[pair], params.experts - 1u);
        lower_count += select(0u, 1u, other < expert);
        own_count += select(0u, 1u, other == expert);
    }
    lower[lane] = lower_count;
    own[lane] = own_count;
    workgroupBarrier();
    var before = 0u;
    var count = 0u;
    var place = 0u;
    for (var i = 0u; i < 64u; i += 1u) {
        before += lower[i];
        place += select(0u, own[i], i < lane);
        count += own[i];
    }
    let pitch = params.tile + 1u;
    let first = before / params.tile + expert;
    let end = (before + count) / params.tile + expert + 1u;
    for (var at = first + lane; at < end; at += 64u) {
        tiles[at * pitch] = select(NO_PAIR, expert, (at - first) * params.tile < count);
    }
    for (var at = count + lane; at < (end - first) * params.tile; at += 64u) {
        tiles[(first + at / params.tile) * pitch + 1u + at % params.tile] = NO_PAIR;
    }
    for (var pair = lane; pair < params.pairs; pair += 64u) {
        if min(selected[pair], params.experts - 1u) == expert {
            tiles[(first + place / params.tile) * pitch + 1u + place % params.tile] = pair;
            place += 1u;
        }
    }
}
