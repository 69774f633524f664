// A kernel and a variable for a separate code object.
#include <hip/hip_runtime.h>

extern "C" __device__ int launches = 0;

extern "C" __global__ void triple(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 3;
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}
