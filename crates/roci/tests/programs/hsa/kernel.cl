// Writes a word per work-item of workgroups of 32; and a variable.
__constant int table[4] = {10, 20, 30, 40};
__global int counter;

static unsigned place(void) { return __builtin_amdgcn_workgroup_id_x() * 32 + __builtin_amdgcn_workitem_id_x(); }

__kernel void fill(__global int *out) {
  unsigned i = place();
  out[i] = table[i & 3] + (int)i;
}

__kernel void count(__global int *out) { out[place()] = ++counter; }
