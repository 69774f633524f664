// Calls the interface correctly and incorrectly, and reports differences from AMD's library.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

int wrong = 0;

static hsa_status_t find_agent(hsa_agent_t agent, void *data) {
  things_t *things = data;
  hsa_device_type_t type;
  WORKS(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU) {
    things->cpu = agent;
  } else if (!things->gpu.handle) {
    things->gpu = agent;
  }
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *data) {
  things_t *things = data;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  bool allocates = false;
  WORKS(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  WORKS(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  WORKS(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates));
  if (segment == HSA_AMD_SEGMENT_GROUP) {
    things->group = pool;
  } else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
    things->kernarg = pool;
  } else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) {
    things->fine = pool;
  } else if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) && allocates) {
    things->device = pool;  // the GPU's is last
  }
  return HSA_STATUS_SUCCESS;
}

things_t find_things(void) {
  things_t things;
  memset(&things, 0, sizeof things);
  WORKS(hsa_iterate_agents(find_agent, &things));
  WORKS(hsa_amd_agent_iterate_memory_pools(things.cpu, find_pool, &things));
  WORKS(hsa_amd_agent_iterate_memory_pools(things.gpu, find_pool, &things));
  return things;
}

code_t read_code(const char *path) {
  code_t code = {path, NULL, 0};
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  code.size = (size_t)ftell(file);
  rewind(file);
  code.bytes = malloc(code.size);
  if (fread(code.bytes, 1, code.size, file) != code.size) exit(2);
  fclose(file);
  return code;
}

kernel_t load_kernel(hsa_agent_t gpu, code_t code, const char *name, hsa_executable_t *executable) {
  kernel_t kernel = {0};
  hsa_code_object_reader_t reader;
  hsa_executable_symbol_t symbol;
  WORKS(hsa_code_object_reader_create_from_memory(code.bytes, code.size, &reader));
  WORKS(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, executable));
  WORKS(hsa_executable_load_agent_code_object(*executable, gpu, reader, NULL, NULL));
  WORKS(hsa_executable_freeze(*executable, NULL));
  WORKS(hsa_code_object_reader_destroy(reader));
  WORKS(hsa_executable_get_symbol_by_name(*executable, name, &gpu, &symbol));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                                       &kernel.kernarg_size));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &kernel.group_size));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                       &kernel.private_size));
  return kernel;
}

void dispatch(hsa_queue_t *queue, kernel_t kernel, void *kernarg, uint32_t grid, uint16_t group) {
  hsa_signal_t done;
  WORKS(hsa_signal_create(1, 0, NULL, &done));
  uint64_t index = hsa_queue_add_write_index_acq_rel(queue, 1);
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (queue->size - 1));
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = group;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = grid;
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->group_segment_size = kernel.group_size;
  packet->private_segment_size = kernel.private_size;
  packet->kernel_object = kernel.object;
  packet->kernarg_address = kernarg;
  packet->completion_signal = done;
  uint32_t head = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                  1 << HSA_PACKET_HEADER_BARRIER |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE | 1 << 16;
  __atomic_store_n((uint32_t *)packet, head, __ATOMIC_RELEASE);
  hsa_signal_store_release(queue->doorbell_signal, (hsa_signal_value_t)index);
  CHECK(hsa_signal_wait_acquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
  WORKS(hsa_signal_destroy(done));
}

// The library must export each name under the version that programs are linked against.
static void names(char **names) {
  for (; *names; names++) {
    if (!dlvsym(RTLD_DEFAULT, *names, "ROCR_1")) {
      printf("there is no %s@ROCR_1\n", *names);
      wrong++;
    }
  }
}

int main(int count, char **arguments) {
  if (count > 2 && !strcmp(arguments[1], "names")) {
    names(arguments + 2);
    if (!wrong) puts("right");
    return wrong != 0;
  }
  if (count == 4 && !strcmp(arguments[1], "share")) {
    WORKS(hsa_init());
    share(arguments[2], arguments[3]);
    WORKS(hsa_shut_down());
    return wrong;
  }
  if (count != 3) return 2;
  code_t code = read_code(arguments[2]);
  before_init();
  WORKS(hsa_init());
  things_t things = find_things();
  CHECK(things.gpu.handle && things.device.handle && things.fine.handle && things.kernarg.handle);
  const char *name = arguments[1];
  if (!strcmp(name, "system_and_agents")) system_and_agents(things);
  else if (!strcmp(name, "instruction_sets")) instruction_sets(things);
  else if (!strcmp(name, "memory")) memory(things);
  else if (!strcmp(name, "signals")) signals(things);
  else if (!strcmp(name, "queues")) queues(things, code);
  else if (!strcmp(name, "executables")) executables(things, code);
  else if (!strcmp(name, "code_objects")) code_objects(things, code);
  else if (!strcmp(name, "virtual_memory")) virtual_memory(things);
  else if (!strcmp(name, "refused")) refused(things);
  else if (!strcmp(name, "vendor_packets")) vendor_packets(things);
  else if (!strcmp(name, "memory_faults")) memory_faults(things, code);
  else if (!strcmp(name, "shared")) shared(things, arguments[0]);
  else if (!strcmp(name, "driver_clocks")) driver_clocks(things);
  else if (!strcmp(name, "forked")) forked(things);
  else if (!strcmp(name, "ended_under_a_handler")) ended_under_a_handler(things);
  else return 2;
  WORKS(hsa_shut_down());
  GIVES(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  if (!wrong) puts("right");
  return wrong;
}
