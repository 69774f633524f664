// Kernels that compute: one thread per element, tiles in LDS, shuffles, atomic operations, globals.
#pragma once
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

void vector_add() {
    const int n = 100003;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    Array<float> da(a), db(b), dc(n);
    add<<<(n + 255) / 256, 256>>>(da.data, db.data, dc.data, n);
    CHECK(hipGetLastError());
    auto c = dc.read();
    for (int i = 0; i < n; i++) EXPECT(c[i] == 3.0f * i);
}

constexpr int TILE = 16;

__global__ void multiply(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile * TILE < n; tile++) {
        int k = tile * TILE;
        left[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

void tiled_matmul() {
    const int n = 83;
    std::vector<float> a(n * n), b(n * n);
    // Small whole numbers: every sum is exact, in any order.
    for (int i = 0; i < n * n; i++) a[i] = i % 13 - 6, b[i] = i % 7 - 3;
    Array<float> da(a), db(b), dc(n * n);
    int blocks = (n + TILE - 1) / TILE;
    multiply<<<dim3(blocks, blocks), dim3(TILE, TILE)>>>(da.data, db.data, dc.data, n);
    CHECK(hipGetLastError());
    auto c = dc.read();
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            float want = 0;
            for (int k = 0; k < n; k++) want += a[row * n + k] * b[k * n + column];
            EXPECT(c[row * n + column] == want);
        }
}

__global__ void sum(const int *values, long long *total, int n) {
    __shared__ int waves[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? values[i] : 0;
    for (int distance = warpSize / 2; distance > 0; distance /= 2) value += __shfl_down(value, distance);
    if (threadIdx.x % warpSize == 0) waves[threadIdx.x / warpSize] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        long long block = 0;
        for (unsigned wave = 0; wave < blockDim.x / warpSize; wave++) block += waves[wave];
        atomicAdd((unsigned long long *)total, (unsigned long long)block);
    }
}

__global__ void vote(unsigned long long *out) {
    int lane = threadIdx.x;
    if (lane == 0) out[0] = __ballot(lane % 3 == 0);
    unsigned long long third = __ballot(lane % 3 == 0);
    int turned = __shfl_xor(lane, 5), first = __shfl(lane * 10, 7), up = __shfl_up(lane, 1);
    if (lane == 9) out[1] = third, out[2] = turned, out[3] = first, out[4] = up;
    int any = __any(lane == 31), all = __all(lane < 31);
    if (lane == 9) out[5] = any * 10 + all;
}

void shuffle_reduction() {
    const int n = 50021;
    std::vector<int> values(n);
    long long want = 0;
    for (int i = 0; i < n; i++) want += values[i] = i * 7 % 1000 - 300;
    Array<int> data(values);
    Array<long long> total(std::vector<long long>{0});
    sum<<<(n + 255) / 256, 256>>>(data.data, total.data, n);
    CHECK(hipGetLastError());
    EXPECT(total.read()[0] == want);

    Array<unsigned long long> out(6);
    vote<<<1, 32>>>(out.data);
    CHECK(hipGetLastError());
    auto got = out.read();
    EXPECT(got[1] == 0x49249249 && got[2] == (9 ^ 5) && got[3] == 70 && got[4] == 8 && got[5] == 10);
}

__global__ void atomics(int *ints, float *floats, unsigned *cas, int *histogram) {
    __shared__ int bins[8];
    __shared__ float shared_sum;
    __shared__ unsigned ticket;
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared_sum = 0, ticket = 0;
    __syncthreads();
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&ints[0], 2);
    atomicSub(&ints[1], 1);
    atomicMax(&ints[2], id);
    atomicMin(&ints[3], -id);
    atomicOr(&ints[4], 1 << (id % 31));
    atomicXor(&ints[5], id);
    atomicAdd(&floats[0], 0.5f);
    atomicAdd(&shared_sum, 1.0f);
    atomicAdd(&bins[threadIdx.x % 8], 1);
    // A counter that uses only compare and swap, in global and in shared memory.
    unsigned old = *cas, seen;
    while ((seen = atomicCAS(cas, old, old + 3)) != old) old = seen;
    old = ticket;
    while ((seen = atomicCAS(&ticket, old, old + 1)) != old) old = seen;
    atomicInc((unsigned *)&ints[6], 99);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(&floats[1], shared_sum), atomicAdd(&ints[7], (int)ticket);
}

void atomic_operations() {
    const int blocks = 7, threads = 160, n = blocks * threads;
    Array<int> ints(std::vector<int>(8, 0)), histogram(std::vector<int>(8, 0));
    Array<float> floats(std::vector<float>(2, 0));
    Array<unsigned> cas(std::vector<unsigned>(1, 0));
    atomics<<<blocks, threads>>>(ints.data, floats.data, cas.data, histogram.data);
    CHECK(hipGetLastError());
    int all = 0;
    for (int i = 0; i < n; i++) all ^= i;
    std::vector<int> want{2 * n, -n, n - 1, 1 - n, 0x7fffffff, all, n % 100, n};
    EXPECT(ints.read() == want);
    EXPECT(floats.read() == (std::vector<float>{n / 2.0f, n}));
    EXPECT(cas.read()[0] == 3u * n);
    for (int bin : histogram.read()) EXPECT(bin == n / 8);
}

__device__ int scale;
__constant__ float table[4];
__device__ int counter = 40;

__global__ void use_globals(float *out) {
    int i = threadIdx.x;
    out[i] = table[i] * scale;
    if (i == 0) counter += 2;
}

void device_globals() {
    int seven = 7, counted = 0;
    float values[4] = {1, 2, 3, 4};
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(scale), &seven, sizeof seven));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values));
    Array<float> out(4);
    use_globals<<<1, 4>>>(out.data);
    CHECK(hipGetLastError());
    EXPECT(out.read() == (std::vector<float>{7, 14, 21, 28}));
    CHECK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof counted));
    EXPECT(counted == 42);
    void *address = nullptr;
    size_t size = 0;
    CHECK(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
    CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
    EXPECT(address != nullptr && size == sizeof values);
}

// Indexed private memory, a call that is not inlined, and functions of the math library.
__device__ __attribute__((noinline)) double series(int terms, const double *weights) {
    double sum = 0;
    for (int i = 0; i < terms; i++) sum += weights[i % 16] / (i + 1);
    return sum;
}

__global__ void maths(double *out, float *roots, int terms) {
    int id = threadIdx.x;
    double weights[16];
    for (int i = 0; i < 16; i++) weights[(i * 5 + id) % 16] = i + id;
    out[id] = series(terms, weights);
    roots[id] = sqrtf(id) + expf(-id * 0.125f) + sinf(id) * logf(id + 1.0f) + powf(id + 1.0f, 0.75f);
}

void scratch_and_maths() {
    const int n = 64, terms = 37;
    Array<double> out(n);
    Array<float> roots(n);
    maths<<<1, n>>>(out.data, roots.data, terms);
    CHECK(hipGetLastError());
    auto got = out.read();
    auto got_roots = roots.read();
    for (int id = 0; id < n; id++) {
        double weights[16], want = 0;
        for (int i = 0; i < 16; i++) weights[(i * 5 + id) % 16] = i + id;
        for (int i = 0; i < terms; i++) want += weights[i % 16] / (i + 1);
        EXPECT(fabs(got[id] - want) <= 1e-12 * fabs(want));
        double root = sqrt(id) + exp(-id * 0.125) + sin(id) * log(id + 1.0) + pow(id + 1.0, 0.75);
        EXPECT(fabs(got_roots[id] - root) <= 1e-5 * (1 + fabs(root)));
    }
}
