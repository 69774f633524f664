// Streams and events.
#pragma once
#include "check.h"

__global__ void add_to(int *values, int n, int amount, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int round = 0; round < rounds; round++) values[i] += amount;
}

void called(hipStream_t, hipError_t status, void *data) { *(int *)data = status == hipSuccess ? 5 : 6; }

void streams_and_events() {
    const int n = 4096;
    hipStream_t one, two;
    CHECK(hipStreamCreate(&one));
    CHECK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    hipEvent_t begin, end;
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    Array<int> values(std::vector<int>(n, 1));
    int seen = 0;
    // The second stream waits for the first, and the first then waits for the second.
    for (int round = 0; round < 5; round++) {
        CHECK(hipEventRecord(begin, one));
        add_to<<<n / 64, 64, 0, one>>>(values.data, n, 1, 30);
        CHECK(hipEventRecord(end, one));
        CHECK(hipStreamWaitEvent(two, end, 0));
        add_to<<<n / 64, 64, 0, two>>>(values.data, n, -7, 1);
        hipEvent_t turn;
        CHECK(hipEventCreateWithFlags(&turn, hipEventDisableTiming));
        CHECK(hipEventRecord(turn, two));
        CHECK(hipStreamWaitEvent(one, turn, 0));
        CHECK(hipStreamSynchronize(two));
        CHECK(hipEventDestroy(turn));
    }
    CHECK(hipStreamAddCallback(one, called, &seen, 0));
    CHECK(hipStreamSynchronize(one));
    CHECK(hipEventSynchronize(end));
    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, begin, end));
    EXPECT(milliseconds > 0 && milliseconds < 600000);
    EXPECT(hipStreamQuery(one) == hipSuccess);
    for (int value : values.read()) EXPECT(value == 1 + 5 * (30 - 7));
    EXPECT(seen == 5);
    CHECK(hipEventDestroy(begin));
    CHECK(hipEventDestroy(end));
    CHECK(hipStreamDestroy(one));
    CHECK(hipStreamDestroy(two));
}

void async_copies() {
    const int n = 1 << 18, streams = 3;
    int *host = nullptr, *back = nullptr;
    CHECK(hipHostMalloc(&host, n * streams * sizeof(int)));
    CHECK(hipHostMalloc(&back, n * streams * sizeof(int)));
    for (int i = 0; i < n * streams; i++) host[i] = i, back[i] = 0;
    Array<int> device(n * streams);
    hipStream_t stream[streams];
    for (int s = 0; s < streams; s++) {
        CHECK(hipStreamCreate(&stream[s]));
        CHECK(hipMemcpyAsync(device.data + s * n, host + s * n, n * sizeof(int), hipMemcpyHostToDevice, stream[s]));
        add_to<<<n / 256, 256, 0, stream[s]>>>(device.data + s * n, n, s + 1, 1);
        CHECK(hipMemcpyAsync(back + s * n, device.data + s * n, n * sizeof(int), hipMemcpyDeviceToHost, stream[s]));
    }
    CHECK(hipMemsetAsync(device.data, 0, 0, stream[0]));
    for (int s = 0; s < streams; s++) {
        CHECK(hipStreamSynchronize(stream[s]));
        for (int i = s * n; i < (s + 1) * n; i++) EXPECT(back[i] == i + s + 1);
        CHECK(hipStreamDestroy(stream[s]));
    }
    CHECK(hipHostFree(host));
    CHECK(hipHostFree(back));
}
