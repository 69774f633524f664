// Helpers of all cases: a GPU, a CPU, their memory, and failed checks.
#ifndef CHECK_H
#define CHECK_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int wrong;

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                               \
      wrong++;                                                                             \
    }                                                                                      \
  } while (0)

// Checks the status of a call.
#define GIVES(status, call)                                                                \
  do {                                                                                     \
    unsigned given = (call);                                                               \
    if (given != (unsigned)(status)) {                                                     \
      printf("%s:%d: %s gives %#x, not %s\n", __FILE__, __LINE__, #call, given, #status);  \
      wrong++;                                                                             \
    }                                                                                      \
  } while (0)

#define WORKS(call) GIVES(HSA_STATUS_SUCCESS, call)
#define BAD_ARGUMENT HSA_STATUS_ERROR_INVALID_ARGUMENT

typedef struct {
  hsa_agent_t cpu, gpu;
  hsa_amd_memory_pool_t device, fine, kernarg, group;
} things_t;

static const hsa_agent_t no_agent = {0x7777};

things_t find_things(void);

// The bytes of the code object that the program was given.
typedef struct {
  const char *path;
  void *bytes;
  size_t size;
} code_t;
code_t read_code(const char *path);

// A loaded kernel, and a dispatch that waits for its completion.
typedef struct {
  uint64_t object;
  uint32_t kernarg_size, group_size, private_size;
} kernel_t;
kernel_t load_kernel(hsa_agent_t gpu, code_t code, const char *name, hsa_executable_t *executable);
void dispatch(hsa_queue_t *queue, kernel_t kernel, void *kernarg, uint32_t grid, uint16_t group);

void before_init(void);
void system_and_agents(things_t things);
void instruction_sets(things_t things);
void memory(things_t things);
void signals(things_t things);
void queues(things_t things, code_t code);
void executables(things_t things, code_t code);
void code_objects(things_t things, code_t code);
void virtual_memory(things_t things);
void refused(things_t things);
void vendor_packets(things_t things);
void memory_faults(things_t things, code_t code);
void shared(things_t things, const char *program);
void driver_clocks(things_t things);
void forked(things_t things);
void ended_under_a_handler(things_t things);
void share(const char *handle, const char *signal);

#endif
