// Features of HIP besides plain launches: graphs, managed memory, memory that kernels allocate, assertions.
#pragma once
#include <cassert>

#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

#include "check.h"

__global__ void increase(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i]++;
}

void managed_memory() {
    const int n = 1000;
    int *values = nullptr;
    CHECK(hipMallocManaged(&values, n * sizeof(int)));
    for (int i = 0; i < n; i++) values[i] = i;
    increase<<<4, 256>>>(values, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(values[i] == i + 1);
    CHECK(hipFree(values));
}

void graphs() {
    const int n = 1000;
    Array<int> values(std::vector<int>(n, 0));
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++) increase<<<4, 256, 0, stream>>>(values.data, n);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 5; i++) CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int value : values.read()) EXPECT(value == 15);
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipStreamDestroy(stream));
}

void many_streams() {
    const int count = 40, rounds = 20;
    Array<int> values(std::vector<int>(count * 64, 0));
    std::vector<hipStream_t> streams(count);
    for (auto &stream : streams) CHECK(hipStreamCreate(&stream));
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) increase<<<1, 64, 0, streams[i]>>>(values.data + 64 * i, 64);
    CHECK(hipDeviceSynchronize());
    for (int value : values.read()) EXPECT(value == rounds);
    for (auto &stream : streams) CHECK(hipStreamDestroy(stream));
}

__global__ void read_others(int *cells, int *sums, int rounds) {
    auto grid = cooperative_groups::this_grid();
    int me = grid.thread_rank(), n = gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; round++) {
        cells[me] = me + round;
        grid.sync();
        int other = cells[(me + n / 2) % n];
        grid.sync();
        sums[me] += other;
    }
}

// A cooperative grid of maximum size. RDNA 1 does not support grid barriers.
void cooperative() {
    int can = 0, groups = 0, rounds = 3;
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    CHECK(hipDeviceGetAttribute(&can, hipDeviceAttributeCooperativeLaunch, 0));
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&groups, read_others, 128, 0));
    groups *= properties.multiProcessorCount;
    const int n = groups * 128;
    Array<int> cells(n), sums(std::vector<int>(n, 0));
    void *arguments[] = {&cells.data, &sums.data, &rounds};
    hipError_t status = hipLaunchCooperativeKernel((void *)read_others, dim3(groups), dim3(128), arguments, 0, 0);
    EXPECT(can == !strstr(properties.gcnArchName, "gfx101") && (status == hipSuccess) == can);
    if (!can) return;
    std::vector<int> values = sums.read();
    for (int i = 0; i < n; i++) EXPECT(values[i] == 3 * ((i + n / 2) % n) + 3);
}

__global__ void turn_round(int *out) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void halves(__half *values) {
    int i = threadIdx.x;
    values[i] = __hadd(__hmul(values[i], values[i]), __float2half(1));
}

void dynamic_lds_and_halves() {
    Array<int> out(256);
    turn_round<<<1, 256, 256 * sizeof(int)>>>(out.data);
    CHECK(hipGetLastError());
    auto turned = out.read();
    for (int i = 0; i < 256; i++) EXPECT(turned[i] == 255 - i);

    // Squares of multiples of 0.25 up to 4 are exact.
    std::vector<__half> values(16);
    for (int i = 0; i < 16; i++) values[i] = __float2half(i * 0.25f);
    Array<__half> data(values);
    halves<<<1, 16>>>(data.data);
    auto got = data.read();
    for (int i = 0; i < 16; i++) EXPECT(__half2float(got[i]) == i * i / 16.0f + 1);
}

__global__ void allocate(int **places) {
    int *place = (int *)malloc(64);
    if (place) place[0] = threadIdx.x;
    places[threadIdx.x] = place;
}

__global__ void give_back(int **places, int *values) {
    values[threadIdx.x] = places[threadIdx.x] ? places[threadIdx.x][0] : -1;
    free(places[threadIdx.x]);
}

// The kernel asks the host for memory while it runs.
void kernel_malloc() {
    Array<int *> places(32);
    Array<int> values(32);
    allocate<<<1, 32>>>(places.data);
    give_back<<<1, 32>>>(places.data, values.data);
    auto got = values.read();
    for (int i = 0; i < 32; i++) EXPECT(got[i] == i);
}

__global__ void insist(int value) { assert(value == 3); }

void kernel_assert() {
    insist<<<1, 1>>>(4);
    CHECK(hipDeviceSynchronize());
}

// Needs two GPUs.
void peers() {
    const int n = 1000;
    int count = 0, can = 0;
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count == 2);
    CHECK(hipSetDevice(0));
    Array<int> near(std::vector<int>(n, 5));
    CHECK(hipSetDevice(1));
    Array<int> far(n);
    CHECK(hipMemcpyPeer(far.data, 1, near.data, 0, n * sizeof(int)));
    increase<<<4, 256>>>(far.data, n);
    for (int value : far.read()) EXPECT(value == 6);
    CHECK(hipDeviceCanAccessPeer(&can, 1, 0));
    EXPECT(can);
    CHECK(hipDeviceEnablePeerAccess(0, 0));
    increase<<<4, 256>>>(near.data, n);
    CHECK(hipDeviceSynchronize());
    for (int value : near.read()) EXPECT(value == 6);
}
