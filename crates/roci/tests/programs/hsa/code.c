// Executables, and code objects of the first loader.
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

static hsa_status_t count_symbol(hsa_executable_t executable, hsa_executable_symbol_t symbol, void *data) {
  (void)executable;
  (void)symbol;
  ++*(int *)data;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t count_agent_symbol(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol,
                                       void *data) {
  (void)agent;
  return count_symbol(executable, symbol, data);
}

static hsa_status_t stop_at_symbol(hsa_executable_t executable, hsa_executable_symbol_t symbol, void *data) {
  count_symbol(executable, symbol, data);
  return HSA_STATUS_INFO_BREAK;
}

void executables(things_t things, code_t code) {
  hsa_executable_t executable, frozen, none = {0};
  hsa_code_object_reader_t reader;
  hsa_executable_symbol_t symbol;
  GIVES(BAD_ARGUMENT, hsa_executable_create((hsa_profile_t)9, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &executable));
  GIVES(BAD_ARGUMENT, hsa_executable_create(HSA_PROFILE_FULL, (hsa_executable_state_t)9, NULL, &executable));
  GIVES(BAD_ARGUMENT, hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_FROZEN, NULL, NULL));
  WORKS(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_FROZEN, NULL, &frozen));
  WORKS(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &executable));

  // A reader of a file; an invalid file, and an empty one.
  int file = open(code.path, O_RDONLY);
  GIVES(HSA_STATUS_ERROR_INVALID_FILE, hsa_code_object_reader_create_from_file(-1, &reader));
  GIVES(HSA_STATUS_ERROR_INVALID_FILE, hsa_code_object_reader_create_from_file(987, &reader));
  GIVES(BAD_ARGUMENT, hsa_code_object_reader_create_from_file(file, NULL));
  GIVES(BAD_ARGUMENT, hsa_code_object_reader_create_from_memory(NULL, 64, &reader));
  GIVES(BAD_ARGUMENT, hsa_code_object_reader_create_from_memory(code.bytes, 0, &reader));
  WORKS(hsa_code_object_reader_create_from_file(file, &reader));
  close(file);

  hsa_executable_state_t state;
  hsa_profile_t profile;
  WORKS(hsa_executable_get_info(frozen, HSA_EXECUTABLE_INFO_STATE, &state));
  CHECK(state == HSA_EXECUTABLE_STATE_FROZEN);
  WORKS(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &state));
  WORKS(hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_PROFILE, &profile));
  CHECK(state == HSA_EXECUTABLE_STATE_UNFROZEN && profile == HSA_PROFILE_FULL);
  GIVES(BAD_ARGUMENT, hsa_executable_get_info(executable, (hsa_executable_info_t)9, &state));
  GIVES(BAD_ARGUMENT, hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_get_info(none, HSA_EXECUTABLE_INFO_STATE, &state));

  // Loading.
  GIVES(HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
        hsa_executable_load_agent_code_object(frozen, things.gpu, reader, NULL, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_EXECUTABLE,
        hsa_executable_load_agent_code_object(none, things.gpu, reader, NULL, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
        hsa_executable_load_agent_code_object(executable, things.gpu, (hsa_code_object_reader_t){0}, NULL, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
        hsa_executable_load_program_code_object(executable, reader, NULL, NULL));
  int variable;
  WORKS(hsa_executable_global_variable_define(executable, "program_variable", &variable));
  GIVES(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
        hsa_executable_global_variable_define(executable, "program_variable", &variable));
  WORKS(hsa_executable_readonly_variable_define(executable, things.gpu, "agent_variable", &variable));
  GIVES(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
        hsa_executable_agent_global_variable_define(executable, things.gpu, "agent_variable", &variable));
  GIVES(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_global_variable_define(frozen, "x", &variable));
  GIVES(BAD_ARGUMENT, hsa_executable_global_variable_define(executable, NULL, &variable));
  WORKS(hsa_executable_load_agent_code_object(executable, things.gpu, reader, NULL, NULL));
  WORKS(hsa_executable_freeze(executable, NULL));
  GIVES(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_freeze(executable, NULL));
  uint32_t result = 7;
  WORKS(hsa_executable_validate(executable, &result));
  CHECK(result == 0);
  GIVES(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_validate(none, &result));

  // Symbols: by name, and all.
  hsa_variable_allocation_t allocation;
  hsa_variable_segment_t segment;
  WORKS(hsa_executable_get_symbol(executable, NULL, "program_variable", things.gpu, 0, &symbol));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION, &allocation));
  CHECK(allocation == HSA_VARIABLE_ALLOCATION_PROGRAM);
  WORKS(hsa_executable_get_symbol_by_name(executable, "program_variable", NULL, &symbol));
  WORKS(hsa_executable_get_symbol(executable, "", "agent_variable", things.gpu, 0, &symbol));
  WORKS(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT, &segment));
  CHECK(segment == HSA_VARIABLE_SEGMENT_READONLY);
  WORKS(hsa_executable_get_symbol(executable, NULL, "fill.kd", things.gpu, 0, &symbol));
  GIVES(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
        hsa_executable_get_symbol(executable, "module", "fill.kd", things.gpu, 0, &symbol));
  GIVES(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
        hsa_executable_get_symbol(executable, NULL, "", things.gpu, 0, &symbol));
  GIVES(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "fill.kd", NULL, &symbol));
  GIVES(BAD_ARGUMENT, hsa_executable_get_symbol(executable, NULL, NULL, things.gpu, 0, &symbol));
  GIVES(BAD_ARGUMENT, hsa_executable_get_symbol_by_name(executable, "fill.kd", &things.gpu, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
        hsa_executable_symbol_get_info((hsa_executable_symbol_t){0}, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &state));
  int all = 0, program = 0, agent = 0, first = 0;
  WORKS(hsa_executable_iterate_symbols(executable, count_symbol, &all));
  WORKS(hsa_executable_iterate_program_symbols(executable, count_symbol, &program));
  WORKS(hsa_executable_iterate_agent_symbols(executable, things.gpu, count_agent_symbol, &agent));
  CHECK(program == 1 && agent >= 3 && all == program + agent);
  GIVES(HSA_STATUS_INFO_BREAK, hsa_executable_iterate_symbols(executable, stop_at_symbol, &first));
  CHECK(first == 1);
  GIVES(BAD_ARGUMENT, hsa_executable_iterate_symbols(executable, NULL, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT,
        hsa_executable_iterate_agent_symbols(executable, no_agent, count_agent_symbol, &agent));

  WORKS(hsa_code_object_reader_destroy(reader));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, hsa_code_object_reader_destroy(reader));
  WORKS(hsa_executable_destroy(executable));
  WORKS(hsa_executable_destroy(frozen));
  GIVES(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_destroy(executable));
}

static hsa_status_t take(size_t size, hsa_callback_data_t data, void **address) {
  CHECK(data.handle == 42);
  *address = malloc(size);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t count_code_symbol(hsa_code_object_t code, hsa_code_symbol_t symbol, void *data) {
  (void)code;
  (void)symbol;
  ++*(int *)data;
  return HSA_STATUS_SUCCESS;
}

void code_objects(things_t things, code_t code) {
  hsa_code_object_t object, junk, none = {0};
  hsa_code_symbol_t symbol;
  GIVES(BAD_ARGUMENT, hsa_code_object_deserialize(NULL, 64, NULL, &object));
  GIVES(BAD_ARGUMENT, hsa_code_object_deserialize(code.bytes, 0, NULL, &object));
  WORKS(hsa_code_object_deserialize(code.bytes, code.size, NULL, &object));
  WORKS(hsa_code_object_deserialize("no code object", 14, NULL, &junk));

  void *bytes = NULL;
  size_t size = 0;
  const hsa_callback_data_t data = {42};
  WORKS(hsa_code_object_serialize(object, take, data, NULL, &bytes, &size));
  CHECK(size == code.size && !memcmp(bytes, code.bytes, size));
  free(bytes);
  GIVES(BAD_ARGUMENT, hsa_code_object_serialize(object, NULL, data, NULL, &bytes, &size));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_serialize(none, take, data, NULL, &bytes, &size));

  hsa_isa_t isa, wanted;
  hsa_machine_model_t model;
  WORKS(hsa_code_object_get_info(object, HSA_CODE_OBJECT_INFO_ISA, &isa));
  WORKS(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1010", &wanted));
  CHECK(isa.handle == wanted.handle);
  WORKS(hsa_code_object_get_info(object, HSA_CODE_OBJECT_INFO_MACHINE_MODEL, &model));
  CHECK(model == HSA_MACHINE_MODEL_LARGE);
  GIVES(BAD_ARGUMENT, hsa_code_object_get_info(object, (hsa_code_object_info_t)77, &model));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_get_info(junk, HSA_CODE_OBJECT_INFO_ISA, &isa));

  hsa_symbol_kind_t kind;
  char name[64] = {0};
  int count = 0;
  WORKS(hsa_code_object_get_symbol(object, "fill.kd", &symbol));
  WORKS(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_TYPE, &kind));
  WORKS(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_NAME, name));
  CHECK(kind == HSA_SYMBOL_KIND_KERNEL && !strcmp(name, "fill.kd"));
  GIVES(BAD_ARGUMENT, hsa_code_symbol_get_info(symbol, (hsa_code_symbol_info_t)22, name));
  WORKS(hsa_code_object_get_symbol_from_name(object, NULL, "counter", &symbol));
  GIVES(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, hsa_code_object_get_symbol_from_name(object, "m", "counter", &symbol));
  GIVES(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, hsa_code_object_get_symbol(object, "nothing", &symbol));
  WORKS(hsa_code_object_iterate_symbols(object, count_code_symbol, &count));
  CHECK(count >= 3);
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_iterate_symbols(none, count_code_symbol, &count));

  hsa_executable_t executable;
  hsa_executable_symbol_t kernel;
  WORKS(hsa_executable_create(HSA_PROFILE_BASE, HSA_EXECUTABLE_STATE_UNFROZEN, "", &executable));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_executable_load_code_object(executable, things.gpu, none, NULL));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_executable_load_code_object(executable, things.gpu, junk, NULL));
  WORKS(hsa_executable_load_code_object(executable, things.gpu, object, NULL));
  WORKS(hsa_code_object_destroy(object));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_destroy(object));
  WORKS(hsa_code_object_destroy(junk));
  GIVES(HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_TYPE, &kind));
  WORKS(hsa_executable_freeze(executable, NULL));
  WORKS(hsa_executable_get_symbol(executable, NULL, "fill.kd", things.gpu, 0, &kernel));
  WORKS(hsa_executable_destroy(executable));
}
