// Tiles of tokens, for products with several tokens; appended to the source of the kernels that use
// it, which define `TOKENS`, the tokens of a tile.
//
// With experts, "tokens" are pairs of a token and one of its experts. `tiles` assigns them to tiles
// as `lm_moe_group.wgsl` writes it: for each tile its expert, then its pairs. All pairs of a tile
// have the same expert. Places without a pair are at the end of a tile and hold a number above all
// pairs; a tile without pairs has such a number as its expert too.

// The first row of the matrix of a tile's expert.
fn tile_first_row(tile: u32) -> u32 {
    if params.experts == 0u {
        return 0u;
    }
    return min(tiles[tile * (TOKENS + 1u)], params.experts - 1u) * params.rows;
}

// The token at a place of a tile; at least `params.tokens` if there is none.
fn tile_token(tile: u32, place: u32) -> u32 {
    if params.experts == 0u {
        return tile * TOKENS + place;
    }
    return tiles[tile * (TOKENS + 1u) + 1u + place];
}

// The row of x of the token at a place of a tile. Places without a token have some row.
fn tile_x_row(tile: u32, place: u32) -> u32 {
    let token = min(tile_token(tile, place), params.tokens - 1u);
    if params.experts == 0u {
        return token;
    }
    return token / params.sharing;
}
