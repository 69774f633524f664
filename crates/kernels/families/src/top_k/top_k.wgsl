// The k largest or smallest elements of each row of x, sorted, and their columns; ties go to the
// lower column.
//
// For small k a workgroup selects one result at a time. For large k every invocation counts how
// many elements precede its own.

// Counting is faster for k above `MANY` that is at least 1/`SHARE` of the row. `TopK::counts` must
// agree.
const MANY = 32u;
const SHARE = 8u;
// No candidate.
const NONE = 0xffffffffu;

struct Params {
    rows: u32,
    columns: u32,
    k: u32,
    numbers: u32,
    largest: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> indices: array<u32>;

var<workgroup> ranks: array<u32, 256>;
var<workgroup> places: array<u32, 256>;

fn rank(word: u32) -> u32 {
    let up = rising(word, params.numbers);
    return select(~up, up, params.largest != 0u);
}

// Whether the element with a rank at a column precedes another; one at `NONE` comes last.
fn goes_before(rank: u32, place: u32, other_rank: u32, other_place: u32) -> bool {
    let better = rank > other_rank || (rank == other_rank && place < other_place);
    return place != NONE && (other_place == NONE || better);
}

@compute @workgroup_size(256)
fn top_k(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if params.k > MANY && params.k >= params.columns / SHARE {
        let elements = params.rows * params.columns;
        for (var element = group.x * 256u + lane; element < elements; element += groups.x * 256u) {
            let row = element / params.columns;
            let start = row * params.columns;
            let place = element - start;
            let word = x[element];
            let mine = rank(word);
            var before = 0u;
            for (var c = 0u; c < params.columns; c += 1u) {
                before += select(0u, 1u, goes_before(rank(x[start + c]), c, mine, place));
            }
            if before < params.k {
                values[row * params.k + before] = word;
                indices[row * params.k + before] = place;
            }
        }
        return;
    }
    for (var row = group.x; row < params.rows; row += groups.x) {
        let start = row * params.columns;
        var last_rank = 0u;
        var last_place = NONE;
        for (var j = 0u; j < params.k; j += 1u) {
            var best = 0u;
            var place = NONE;
            for (var c = lane; c < params.columns; c += 256u) {
                let candidate = rank(x[start + c]);
                let is_left = j == 0u || goes_before(last_rank, last_place, candidate, c);
                if is_left && goes_before(candidate, c, best, place) {
                    best = candidate;
                    place = c;
                }
            }
            ranks[lane] = best;
            places[lane] = place;
            workgroupBarrier();
            for (var step = 128u; step > 0u; step = step / 2u) {
                if lane < step && goes_before(ranks[lane + step], places[lane + step], ranks[lane], places[lane]) {
                    ranks[lane] = ranks[lane + step];
                    places[lane] = places[lane + step];
                }
                workgroupBarrier();
            }
            last_rank = ranks[0];
            last_place = places[0];
            workgroupBarrier();
            if lane == 0u && last_place < params.columns {
                values[row * params.k + j] = x[start + last_place];
                indices[row * params.k + j] = last_place;
            }
        }
    }
}
