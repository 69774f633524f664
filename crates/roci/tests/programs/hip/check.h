// Helpers of all cases: calls that must succeed, and results that must be right.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <hip/hip_runtime.h>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        hipError_t status = (call);                                                                     \
        if (status != hipSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status));   \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: this is not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

// An array on the device.
template <typename T>
struct Array {
    T *data = nullptr;
    size_t count;

    explicit Array(size_t count) : count(count) { CHECK(hipMalloc(&data, count * sizeof(T))); }
    explicit Array(const std::vector<T> &values) : Array(values.size()) {
        CHECK(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
    }
    Array(const Array &) = delete;
    ~Array() { (void)hipFree(data); }

    std::vector<T> read() const {
        std::vector<T> values(count);
        CHECK(hipMemcpy(values.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
        return values;
    }
};
