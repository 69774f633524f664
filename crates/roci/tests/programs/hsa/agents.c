// The system, its agents and their instruction sets.
#include "check.h"

static hsa_status_t stop(hsa_agent_t agent, void *data) {
  (void)agent;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

// Every function except hsa_init and hsa_status_string needs the initialized runtime.
void before_init(void) {
  const hsa_status_t not_yet = HSA_STATUS_ERROR_NOT_INITIALIZED;
  uint64_t value;
  void *pointer = &value;
  hsa_signal_t signal;
  const char *text = NULL;
  GIVES(not_yet, hsa_shut_down());
  GIVES(not_yet, hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &value));
  GIVES(not_yet, hsa_iterate_agents(stop, &value));
  GIVES(not_yet, hsa_signal_create(0, 0, NULL, &signal));
  GIVES(not_yet, hsa_memory_free(pointer));
  GIVES(not_yet, hsa_amd_memory_unlock(pointer));
  GIVES(not_yet, hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1010", pointer));
  GIVES(not_yet, hsa_extension_get_name(HSA_EXTENSION_IMAGES, &text));
  GIVES(not_yet, hsa_queue_destroy(NULL));
  WORKS(hsa_status_string(HSA_STATUS_ERROR_INVALID_ISA_NAME, &text));
  CHECK(text && strstr(text, "HSA_STATUS_ERROR_INVALID_ISA_NAME") == text);
  GIVES(BAD_ARGUMENT, hsa_status_string(HSA_STATUS_SUCCESS, NULL));
  GIVES(BAD_ARGUMENT, hsa_status_string((hsa_status_t)0x7777, &text));
}

void system_and_agents(things_t things) {
  WORKS(hsa_init());  // reference-counted
  WORKS(hsa_shut_down());

  uint16_t major = 0;
  bool result = true;
  char bytes[256];
  GIVES(BAD_ARGUMENT, hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, NULL));
  GIVES(BAD_ARGUMENT, hsa_system_get_info((hsa_system_info_t)0x7777, bytes));
  WORKS(hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
  CHECK(major == 1);

  int seen = 0;
  GIVES(BAD_ARGUMENT, hsa_iterate_agents(NULL, NULL));
  GIVES(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(stop, &seen));
  CHECK(seen == 1);

  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info(no_agent, HSA_AGENT_INFO_NAME, bytes));
  GIVES(BAD_ARGUMENT, hsa_agent_get_info(things.gpu, HSA_AGENT_INFO_NAME, NULL));
  GIVES(BAD_ARGUMENT, hsa_agent_get_info(things.gpu, (hsa_agent_info_t)0x7777, bytes));

  // Extensions: only the loader's table.
  const char *name = NULL;
  WORKS(hsa_extension_get_name(HSA_EXTENSION_AMD_LOADER, &name));
  CHECK(name && !strcmp(name, "HSA_EXTENSION_AMD_LOADER"));
  GIVES(BAD_ARGUMENT, hsa_extension_get_name(0x7777, &name));
  GIVES(BAD_ARGUMENT, hsa_extension_get_name(HSA_EXTENSION_IMAGES, NULL));
  GIVES(BAD_ARGUMENT, hsa_agent_major_extension_supported(0x7777, things.gpu, 1, &major, &result));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT,
        hsa_agent_major_extension_supported(HSA_EXTENSION_IMAGES, no_agent, 1, &major, &result));
  WORKS(hsa_agent_major_extension_supported(HSA_EXTENSION_IMAGES, things.gpu, 1, &major, &result));
  CHECK(!result);
  hsa_ven_amd_loader_1_01_pfn_t table;
  memset(&table, 0, sizeof table);
  WORKS(hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 0, &table));
  CHECK(table.hsa_ven_amd_loader_query_executable && !table.hsa_ven_amd_loader_loaded_code_object_get_info);
  WORKS(hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 1, &table));
  CHECK(table.hsa_ven_amd_loader_loaded_code_object_get_info != NULL);
  GIVES(BAD_ARGUMENT, hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 77, &table));
  GIVES(BAD_ARGUMENT, hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 1, NULL));
  GIVES(HSA_STATUS_ERROR, hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_AQLPROFILE, 1, 80, bytes));
  GIVES(HSA_STATUS_ERROR, hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 7, 80, bytes));

  uint16_t mask = 7;
  WORKS(hsa_agent_get_exception_policies(things.gpu, HSA_PROFILE_BASE, &mask));
  CHECK(mask == 0);
  GIVES(BAD_ARGUMENT, hsa_agent_get_exception_policies(things.gpu, (hsa_profile_t)7, &mask));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_exception_policies(no_agent, HSA_PROFILE_BASE, &mask));

  hsa_amd_coherency_type_t coherency;
  WORKS(hsa_amd_coherency_set_type(things.gpu, HSA_AMD_COHERENCY_TYPE_NONCOHERENT));
  WORKS(hsa_amd_coherency_get_type(things.gpu, &coherency));
  CHECK(coherency == HSA_AMD_COHERENCY_TYPE_NONCOHERENT);
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_coherency_get_type(things.cpu, &coherency));
  GIVES(BAD_ARGUMENT, hsa_amd_coherency_get_type(things.gpu, NULL));

  uint64_t tick = 0;
  WORKS(hsa_amd_profiling_convert_tick_to_system_domain(things.gpu, 123, &tick));
  CHECK(tick == 1230);
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_profiling_convert_tick_to_system_domain(things.cpu, 1, &tick));
  GIVES(BAD_ARGUMENT, hsa_amd_profiling_convert_tick_to_system_domain(things.gpu, 1, NULL));
}

static hsa_status_t first_isa(hsa_isa_t isa, void *data) {
  *(hsa_isa_t *)data = isa;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t first_wavefront(hsa_wavefront_t wavefront, void *data) {
  *(hsa_wavefront_t *)data = wavefront;
  return HSA_STATUS_SUCCESS;
}

void instruction_sets(things_t things) {
  hsa_isa_t isa = {0}, found = {0}, open = {0};
  char name[64];
  WORKS(hsa_agent_iterate_isas(things.gpu, first_isa, &isa));
  WORKS(hsa_isa_get_info(isa, HSA_ISA_INFO_NAME, 0, name));
  WORKS(hsa_isa_from_name(name, &found));
  CHECK(found.handle == isa.handle && !strcmp(name, "amdgcn-amd-amdhsa--gfx1010:xnack-"));
  WORKS(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1010", &open));
  GIVES(HSA_STATUS_ERROR_INVALID_ISA_NAME, hsa_isa_from_name("gfx1010", &found));
  GIVES(BAD_ARGUMENT, hsa_isa_from_name(NULL, &found));
  GIVES(BAD_ARGUMENT, hsa_isa_from_name(name, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_INDEX, hsa_isa_get_info(isa, HSA_ISA_INFO_NAME, 1, name));
  GIVES(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_get_info((hsa_isa_t){0}, HSA_ISA_INFO_NAME, 0, name));
  GIVES(BAD_ARGUMENT, hsa_isa_get_info_alt(isa, (hsa_isa_info_t)0x7777, name));
  GIVES(BAD_ARGUMENT, hsa_isa_get_info_alt((hsa_isa_t){0}, HSA_ISA_INFO_NAME, NULL));

  bool compatible = false;
  WORKS(hsa_isa_compatible(open, isa, &compatible));
  CHECK(compatible);
  WORKS(hsa_isa_compatible(isa, open, &compatible));
  CHECK(!compatible);
  GIVES(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_compatible(isa, (hsa_isa_t){99}, &compatible));

  uint16_t mask = 7;
  WORKS(hsa_isa_get_exception_policies(isa, HSA_PROFILE_FULL, &mask));
  CHECK(mask == 0);
  hsa_round_method_t method;
  WORKS(hsa_isa_get_round_method(isa, HSA_FP_TYPE_32, HSA_FLUSH_MODE_FTZ, &method));
  CHECK(method == HSA_ROUND_METHOD_SINGLE);
  GIVES(BAD_ARGUMENT, hsa_isa_get_round_method(isa, (hsa_fp_type_t)3, HSA_FLUSH_MODE_FTZ, &method));
  GIVES(BAD_ARGUMENT, hsa_isa_get_round_method(isa, HSA_FP_TYPE_16, (hsa_flush_mode_t)0, &method));

  hsa_wavefront_t wavefront = {0};
  uint32_t lanes = 0;
  WORKS(hsa_isa_iterate_wavefronts(isa, first_wavefront, &wavefront));
  WORKS(hsa_wavefront_get_info(wavefront, HSA_WAVEFRONT_INFO_SIZE, &lanes));
  CHECK(lanes == 32);
  GIVES(BAD_ARGUMENT, hsa_isa_iterate_wavefronts(isa, NULL, NULL));
  GIVES(BAD_ARGUMENT, hsa_wavefront_get_info(wavefront, (hsa_wavefront_info_t)9, &lanes));
  GIVES(HSA_STATUS_ERROR_INVALID_WAVEFRONT,
        hsa_wavefront_get_info((hsa_wavefront_t){99}, HSA_WAVEFRONT_INFO_SIZE, &lanes));
}
