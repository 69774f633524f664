// No bindings, no constants, no effect.

@compute @workgroup_size(1)
fn empty() {
}
