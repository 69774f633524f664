// Unsupported: images, samplers, a finalizer.
#include "check.h"

void refused(things_t things) {
  uint32_t mask = 7;
  hsa_ext_image_format_t format = {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
  hsa_ext_image_descriptor_t descriptor = {HSA_EXT_IMAGE_GEOMETRY_2D, 64, 64, 1, 0, format};
  hsa_ext_image_data_info_t info;
  hsa_ext_image_t image = {0};
  hsa_ext_sampler_t sampler;
  WORKS(hsa_ext_image_get_capability(things.gpu, HSA_EXT_IMAGE_GEOMETRY_2D, &format, &mask));
  CHECK(mask == HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED);
  GIVES(HSA_STATUS_ERROR_INVALID_AGENT,
        hsa_ext_image_get_capability(no_agent, HSA_EXT_IMAGE_GEOMETRY_2D, &format, &mask));
  const hsa_status_t unsupported = (hsa_status_t)HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  GIVES(unsupported, hsa_ext_image_data_get_info(things.gpu, &descriptor, HSA_ACCESS_PERMISSION_RO, &info));
  GIVES(unsupported,
        hsa_ext_image_data_get_info_with_layout(things.gpu, &descriptor, HSA_ACCESS_PERMISSION_RO,
                                                HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 0, 0, &info));
  GIVES(BAD_ARGUMENT, hsa_ext_image_clear(things.gpu, image, &mask, NULL));
  GIVES(BAD_ARGUMENT, hsa_ext_image_copy(things.gpu, image, NULL, image, NULL, NULL));
  hsa_ext_sampler_descriptor_t wanted = {HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED, HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                         HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT};
  GIVES(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED, hsa_ext_sampler_create(things.gpu, &wanted, &sampler));
  uint32_t size[2] = {0};
  WORKS(hsa_amd_image_get_info_max_dim(things.gpu, (hsa_agent_info_t)HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS, size));
  CHECK(size[0] == 16384 && size[1] == 16384);
  GIVES(BAD_ARGUMENT, hsa_amd_image_get_info_max_dim(things.gpu, HSA_AGENT_INFO_NAME, size));

  // The same status as without an installed finalizer.
  hsa_ext_program_t program;
  hsa_code_object_t code;
  hsa_ext_control_directives_t directives;
  memset(&directives, 0, sizeof directives);
  GIVES(HSA_STATUS_ERROR_NOT_INITIALIZED,
        hsa_ext_program_create(HSA_MACHINE_MODEL_LARGE, HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                               &program));
  GIVES(HSA_STATUS_ERROR_NOT_INITIALIZED,
        hsa_ext_program_finalize((hsa_ext_program_t){0}, (hsa_isa_t){0}, 0, directives, "",
                                 HSA_CODE_OBJECT_TYPE_PROGRAM, &code));
}
