// Runs the case of this name: exits with 0 and prints `right` if all checks pass.
#include "check.h"
#include "compute.h"
#include "features.h"
#include "memory.h"
#include "streams.h"

__global__ void say(int n) {
    if (threadIdx.x < n) printf("lane %d of block %d: %s %.2f\n", (int)threadIdx.x, (int)blockIdx.x, "hello", 1.5 * threadIdx.x);
}

void kernel_printf() {
    say<<<1, 64>>>(3);
    CHECK(hipDeviceSynchronize());
}

__global__ void wild(int *place) { place[threadIdx.x] = 1; }

void kernel_fault() {
    wild<<<1, 32>>>((int *)0x123456789000);
    hipError_t status = hipDeviceSynchronize();
    fprintf(stderr, "the program goes on: %s\n", hipGetErrorString(status));
    exit(status == hipSuccess ? 0 : 1);
}

// The file has the kernel `triple` of module.cpp.
void load_module(const char *file) {
    hipModule_t module;
    hipFunction_t function;
    CHECK(hipModuleLoad(&module, file));
    CHECK(hipModuleGetFunction(&function, module, "triple"));
    EXPECT(hipModuleGetFunction(&function, module, "quadruple") == hipErrorNotFound);
    CHECK(hipModuleGetFunction(&function, module, "triple"));
    std::vector<int> values(1000, 14);
    Array<int> data(values);
    int n = 1000;
    void *arguments[] = {&data.data, &n};
    CHECK(hipModuleLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    for (int value : data.read()) EXPECT(value == 42);
    hipDeviceptr_t place;
    size_t size = 0;
    CHECK(hipModuleGetGlobal(&place, &size, module, "launches"));
    int launches = 0;
    CHECK(hipMemcpyDtoH(&launches, place, sizeof launches));
    EXPECT(size == sizeof launches && launches == 8);
    CHECK(hipModuleUnload(module));
}

int main(int count, char **arguments) {
    static const struct { const char *name; void (*run)(); } cases[] = {
        {"vector_add", vector_add}, {"tiled_matmul", tiled_matmul}, {"shuffle_reduction", shuffle_reduction},
        {"atomic_operations", atomic_operations}, {"device_globals", device_globals},
        {"scratch_and_maths", scratch_and_maths}, {"memset_and_copies", memset_and_copies}, {"rows", rows},
        {"pinned_and_mapped", pinned_and_mapped}, {"device_properties", device_properties},
        {"streams_and_events", streams_and_events}, {"async_copies", async_copies},
        {"managed_memory", managed_memory}, {"graphs", graphs}, {"many_streams", many_streams},
        {"dynamic_lds_and_halves", dynamic_lds_and_halves}, {"kernel_malloc", kernel_malloc},
        {"cooperative", cooperative}, {"kernel_assert", kernel_assert}, {"peers", peers},
        {"kernel_printf", kernel_printf}, {"kernel_fault", kernel_fault},
    };
    if (count == 3 && !strcmp(arguments[1], "load_module")) {
        load_module(arguments[2]);
        puts("right");
        return 0;
    }
    for (auto &one : cases)
        if (count == 2 && !strcmp(arguments[1], one.name)) {
            one.run();
            puts("right");
            return 0;
        }
    fprintf(stderr, "there is no such case\n");
    return 2;
}
