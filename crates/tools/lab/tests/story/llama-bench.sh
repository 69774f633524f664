#!/bin/sh
# Prints what llama.cpp prints on Strix Halo and hangs where it did. BACKEND stands for the image.
model=$2
if [ "$BACKEND" = vulkan ]; then
    echo "ggml_vulkan: Found 1 Vulkan devices:" >&2
    echo "load_tensors: offloaded 29/29 layers to GPU" >&2
    echo "llama_kv_cache: size = 896.00 MiB (  8192 cells,  28 layers,  1/1 seqs)" >&2
    echo "graph_reserve: reserving a graph for ubatch with n_tokens =  512" >&2
    echo "| model | size | params | backend | ngl | test | t/s |"
    echo "| qwen2 7B Q4_K | 4.36 GiB | 7.62 B | Vulkan | 99 | pp512 | 721.00 ± 1.10 |"
    echo "| qwen2 7B Q4_K | 4.36 GiB | 7.62 B | Vulkan | 99 | tg128 | 63.00 ± 0.20 |"
    exit 0
fi
chip=gfx1151
[ "$HSA_OVERRIDE_GFX_VERSION" = 11.0.0 ] && chip=gfx1100
echo "ggml_cuda_init: found 1 ROCm devices:" >&2
echo "  Device 0: Radeon 8060S Graphics, $chip, VMM: no, Wave Size: 32" >&2
echo "llama_model_load_from_file_impl: using device ROCm0 ($model)" >&2
echo "load_all_data: using async uploads for device ROCm0, buffer type ROCm0, backend ROCm0" >&2
[ "$HSA_ENABLE_SDMA" = 0 ] || exec sleep 100000
echo "load_tensors: offloaded 29/29 layers to GPU" >&2
echo "llama_kv_cache: size = 896.00 MiB (  8192 cells,  28 layers,  1/1 seqs)" >&2
# Without an end of line, as when the process hangs inside the call.
printf "graph_reserve: reserving a graph for ubatch with n_tokens =  512, n_seqs =  1" >&2
exec sleep 100000
