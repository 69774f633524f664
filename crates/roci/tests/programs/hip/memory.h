// Memory: fills, copies in rows, pinned and managed memory, attributes of pointers and devices.
#pragma once
#include "check.h"

void memset_and_copies() {
    Array<unsigned char> bytes(10007);
    CHECK(hipMemset(bytes.data, 0xa5, bytes.count));
    CHECK(hipMemset(bytes.data + 3, 0x17, 11));
    auto got = bytes.read();
    for (size_t i = 0; i < got.size(); i++) EXPECT(got[i] == (i >= 3 && i < 14 ? 0x17 : 0xa5));

    Array<unsigned> words(1001);
    CHECK(hipMemsetD32((hipDeviceptr_t)words.data, 0xdeadbeef, words.count));
    for (unsigned word : words.read()) EXPECT(word == 0xdeadbeef);

    std::vector<int> values(300);
    for (int i = 0; i < 300; i++) values[i] = i * i;
    Array<int> from(values), to(300);
    CHECK(hipMemcpy(to.data, from.data, 300 * sizeof(int), hipMemcpyDeviceToDevice));
    CHECK(hipDeviceSynchronize());
    EXPECT(to.read() == values);
}

void rows() {
    const size_t width = 37 * sizeof(int), height = 19;
    std::vector<int> source(37 * height), back(41 * height, -1);
    for (size_t i = 0; i < source.size(); i++) source[i] = (int)i;
    void *device = nullptr;
    size_t pitch = 0;
    CHECK(hipMallocPitch(&device, &pitch, width, height));
    EXPECT(pitch >= width);
    CHECK(hipMemset2D(device, pitch, 0xff, width, height));
    CHECK(hipMemcpy2D(device, pitch, source.data(), width, width, height, hipMemcpyHostToDevice));
    CHECK(hipMemcpy2D(back.data(), 41 * sizeof(int), device, pitch, width, height, hipMemcpyDeviceToHost));
    for (size_t row = 0; row < height; row++)
        for (size_t column = 0; column < 41; column++)
            EXPECT(back[row * 41 + column] == (column < 37 ? (int)(row * 37 + column) : -1));
    CHECK(hipFree(device));
}

__global__ void double_all(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}

void pinned_and_mapped() {
    const int n = 5000;
    int *host = nullptr, *seen = nullptr;
    CHECK(hipHostMalloc(&host, n * sizeof(int), hipHostMallocMapped));
    for (int i = 0; i < n; i++) host[i] = i;
    CHECK(hipHostGetDevicePointer((void **)&seen, host, 0));
    double_all<<<(n + 63) / 64, 64>>>(seen, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(host[i] == 2 * i);
    hipPointerAttribute_t attributes;
    CHECK(hipPointerGetAttributes(&attributes, host));
    EXPECT(attributes.memoryType == hipMemoryTypeHost);
    CHECK(hipHostFree(host));

    // Host memory that HIP registers, twice: unregistering must restore it.
    static int plain[n];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) plain[i] = 21;
        CHECK(hipHostRegister(plain, sizeof plain, hipHostRegisterMapped));
        CHECK(hipHostGetDevicePointer((void **)&seen, plain, 0));
        double_all<<<(n + 63) / 64, 64>>>(seen, n);
        CHECK(hipDeviceSynchronize());
        for (int value : plain) EXPECT(value == 42);
        Array<int> copy(n);
        CHECK(hipMemcpy(copy.data, plain, sizeof plain, hipMemcpyHostToDevice));
        CHECK(hipMemcpy(plain, copy.data, sizeof plain, hipMemcpyDeviceToHost));
        EXPECT(plain[n - 1] == 42);
        CHECK(hipHostUnregister(plain));
        EXPECT(hipHostUnregister(plain) == hipErrorHostMemoryNotRegistered);
    }
}

void device_properties() {
    int count = 0;
    CHECK(hipGetDeviceCount(&count));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    size_t available = 0, total = 0;
    CHECK(hipMemGetInfo(&available, &total));
    EXPECT(available <= total && total == properties.totalGlobalMem);
    printf("%d %s wave %d units %d lds %zu\n", count, properties.gcnArchName, properties.warpSize,
           properties.multiProcessorCount, properties.sharedMemPerBlock);
    int blocks = 0, grid = 0, block = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, double_all, 256, 0));
    EXPECT(blocks > 0);
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, double_all, 0, 0));
    EXPECT(grid > 0 && block > 0 && block <= properties.maxThreadsPerBlock);
    void *huge = nullptr;
    EXPECT(hipMalloc(&huge, total * 4) == hipErrorOutOfMemory);
}
