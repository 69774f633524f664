"""llama.cpp's library from the wheel `xllamacpp` of PyPI, compiled for CPUs, for the scripts that record
its results."""

import ctypes
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

WHEEL = "xllamacpp==2026.10.11549"


class Params(ctypes.Structure):
    """Parameters of llama.cpp passed by value: larger than any version's, filled by the library itself."""

    _fields_ = [("bytes", ctypes.c_ubyte * 512)]
    _align_ = 8


class Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.POINTER(ctypes.c_float)),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
# Errors only (level 4): llama.cpp warns of the missing vocabulary for each file.
QUIET = LOG(lambda level, text, _: level == 4 and sys.stderr.write(text.decode()) and None)

MODEL_FUNCTIONS = [
    ("llama_backend_init", None, []),
    ("llama_log_set", None, [LOG, ctypes.c_void_p]),
    ("llama_model_default_params", Params, []),
    ("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, Params]),
    ("llama_model_get_vocab", ctypes.c_void_p, [ctypes.c_void_p]),
    ("llama_model_free", None, [ctypes.c_void_p]),
]
CONTEXT_FUNCTIONS = [
    ("llama_context_default_params", Params, []),
    ("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, Params]),
    ("llama_batch_init", Batch, [ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]),
    ("llama_batch_free", None, [Batch]),
    ("llama_decode", ctypes.c_int32, [ctypes.c_void_p, Batch]),
    ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p, ctypes.c_int32]),
    ("llama_vocab_n_tokens", ctypes.c_int32, [ctypes.c_void_p]),
    ("llama_free", None, [ctypes.c_void_p]),
]


def load(folder, functions):
    """The library, downloaded into a folder, with MODEL_FUNCTIONS and others: names, results, arguments."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, WHEEL], check=True)
    zipfile.ZipFile(next(Path(folder).glob("*.whl"))).extractall(folder)
    lib = ctypes.CDLL(str(next(Path(folder).rglob("xllamacpp*.so"))))
    for name, result, arguments in MODEL_FUNCTIONS + functions:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.llama_log_set(QUIET, None)
    lib.llama_backend_init()
    return lib


def context_params(lib, context):
    """Parameters with f32 caches and no flash attention.

    Their layout changes between versions. Four consecutive floats of -1 are the YaRN factors, and the fields to set have fixed
    offsets from them. The defaults found at these offsets show whether that still holds.
    """
    params = lib.llama_context_default_params()
    raw = bytearray(params.bytes)
    yarn = raw.find(struct.pack("<4f", -1, -1, -1, -1))
    flash, types = yarn - 12, (yarn + 24 + 7) // 8 * 8 + 16
    found = struct.unpack_from("<I", raw, 0), struct.unpack_from("<i", raw, flash), struct.unpack_from("<2i", raw, types)
    assert found == ((512,), (-1,), (1, 1)), f"another layout of llama.cpp's parameters: {found}"
    struct.pack_into("<I", raw, 0, context)
    struct.pack_into("<i", raw, flash, 0)
    struct.pack_into("<2i", raw, types, 0, 0)
    params.bytes[:] = raw
    return params
