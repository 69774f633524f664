// The k largest or smallest elements of each row of x, sorted, and their columns; ties go to the
// lower column.
//
// For small k a workgroup selects one result at a time. For large k every invocation counts how
// many elements precede its own.

// Counting is faster for k above `COUNTING_MIN_K` that is at least 1/`COUNTING_MIN_SHARE` of the
// row. `TopK::counts` must agree.
const COUNTING_MIN_K = 32u;
const COUNTING_MIN_SHARE = 8u;
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
var<workgroup> columns: array<u32, 256>;

fn rank(word: u32) -> u32 {
    let ascending = ascending_key(word, params.numbers);
    return select(~ascending, ascending, params.largest != 0u);
}

// Whether the element with a rank at a column precedes another; one at `NONE` comes last.
fn precedes(rank: u32, column: u32, other_rank: u32, other_column: u32) -> bool {
    let better = rank > other_rank || (rank == other_rank && column < other_column);
    return column != NONE && (other_column == NONE || better);
}

@compute @workgroup_size(256)
fn top_k(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if params.k > COUNTING_MIN_K && params.k >= params.columns / COUNTING_MIN_SHARE {
        let elements = params.rows * params.columns;
        for (var element = group.x * 256u + lane; element < elements; element += groups.x * 256u) {
            let row = element / params.columns;
            let start = row * params.columns;
            let column = element - start;
            let word = x[element];
            let own_rank = rank(word);
            var preceding = 0u;
            for (var c = 0u; c < params.columns; c += 1u) {
                preceding += select(0u, 1u, precedes(rank(x[start + c]), c, own_rank, column));
            }
            if preceding < params.k {
                values[row * params.k + preceding] = word;
                indices[row * params.k + preceding] = column;
            }
        }
        return;
    }
    for (var row = group.x; row < params.rows; row += groups.x) {
        let start = row * params.columns;
        var last_rank = 0u;
        var last_column = NONE;
        for (var j = 0u; j < params.k; j += 1u) {
            var best = 0u;
            var column = NONE;
            for (var c = lane; c < params.columns; c += 256u) {
                let candidate = rank(x[start + c]);
                let is_remaining = j == 0u || precedes(last_rank, last_column, candidate, c);
                if is_remaining && precedes(candidate, c, best, column) {
                    best = candidate;
                    column = c;
                }
            }
            ranks[lane] = best;
            columns[lane] = column;
            workgroupBarrier();
            for (var step = 128u; step > 0u; step = step / 2u) {
                if lane < step && precedes(ranks[lane + step], columns[lane + step], ranks[lane], columns[lane]) {
                    ranks[lane] = ranks[lane + step];
                    columns[lane] = columns[lane + step];
                }
                workgroupBarrier();
            }
            last_rank = ranks[0];
            last_column = columns[0];
            workgroupBarrier();
            if lane == 0u && last_column < params.columns {
                values[row * params.k + j] = x[start + last_column];
                indices[row * params.k + j] = last_column;
            }
        }
    }
}
