// Binds nothing, takes nothing, does nothing.

@compute @workgroup_size(1)
fn empty() {
}
