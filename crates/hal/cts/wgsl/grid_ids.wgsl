// Every invocation of a 3-D grid writes its packed workgroup id and local id at its linear index.

@group(0) @binding(0) var<storage, read_write> ids: array<u32>;

@compute @workgroup_size(4, 2, 2)
fn grid_ids(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let group_index = (group.z * groups.y + group.y) * groups.x + group.x;
    let local_index = (local.z * 2u + local.y) * 4u + local.x;
    let at = (group_index * 16u + local_index) * 2u;
    ids[at] = group.x | (group.y << 10u) | (group.z << 20u);
    ids[at + 1u] = local.x | (local.y << 10u) | (local.z << 20u);
}
