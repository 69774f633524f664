"""Runs one operation on the GPU and compares it with the CPU. `pytorch.toml` has the patterns for its output."""
import sys
import time

op = sys.argv[1]
print("phase: import")
import torch
from torch import nn

print("phase: device", flush=True)
if not torch.cuda.is_available():
    print("no GPU")
    sys.exit(3)
print("device:", torch.cuda.get_device_name(0))
torch.manual_seed(7)


def data(*shape):
    return torch.randn(*shape)


# name: (module or function, its inputs on the CPU)
OPS = {
    "create": (lambda x: x + 0, [data(100, 100, 100)]),
    "zeros": (lambda x: torch.zeros_like(x), [data(1000, 1000)]),
    "add": (torch.add, [data(512, 512), data(512, 512)]),
    "multiply": (torch.mul, [data(512, 512), data(512, 512)]),
    "divide": (torch.div, [data(512, 512), data(512, 512).abs() + 1]),
    "exp": (torch.exp, [data(512, 512)]),
    "log": (torch.log, [data(512, 512).abs() + 1]),
    "matmul": (torch.matmul, [data(512, 256), data(256, 384)]),
    "mm": (torch.mm, [data(512, 256), data(256, 384)]),
    "bmm": (torch.bmm, [data(8, 128, 64), data(8, 64, 96)]),
    "linear": (nn.Linear(128, 64), [data(32, 128)]),
    "batch-norm-1d": (nn.BatchNorm1d(64), [data(32, 64)]),
    "batch-norm-2d": (nn.BatchNorm2d(64), [data(4, 64, 32, 32)]),
    "layer-norm": (nn.LayerNorm(64), [data(32, 64)]),
    "max-pool-2d": (nn.MaxPool2d(2, 2), [data(4, 8, 32, 32)]),
    "avg-pool-2d": (nn.AvgPool2d(2, 2), [data(4, 8, 32, 32)]),
    "relu": (nn.ReLU(), [data(512, 512)]),
    "sigmoid": (nn.Sigmoid(), [data(512, 512)]),
    "tanh": (nn.Tanh(), [data(512, 512)]),
    "leaky-relu": (nn.LeakyReLU(), [data(512, 512)]),
    "dropout": (nn.Dropout(0.5).eval(), [data(512, 512)]),
    "lstm": (lambda x, m=nn.LSTM(64, 64): m.to(x.device)(x)[0], [data(16, 4, 64)]),
    "conv1d": (nn.Conv1d(16, 32, 3), [data(2, 16, 128)]),
    "conv2d": (nn.Conv2d(3, 16, 3), [data(1, 3, 32, 32)]),
    "conv2d-1x1": (nn.Conv2d(3, 16, 1), [data(1, 3, 32, 32)]),
    "conv2d-large": (nn.Conv2d(3, 64, 3), [data(1, 3, 224, 224)]),
    "conv3d": (nn.Conv3d(1, 16, 3), [data(1, 1, 16, 16, 16)]),
    "conv-transpose-2d": (nn.ConvTranspose2d(16, 3, 3), [data(1, 16, 32, 32)]),
}
if op not in OPS:
    print("no such operation:", op, "of", ", ".join(OPS))
    sys.exit(2)
function, inputs = OPS[op]

with torch.no_grad():
    wanted = function(*inputs)
    print("phase: allocate", flush=True)
    on_gpu = [tensor.cuda() for tensor in inputs]
    if isinstance(function, nn.Module):
        function = function.cuda()
    torch.cuda.synchronize()
    print("phase: run", flush=True)
    begun = time.perf_counter()
    got = function(*on_gpu)
    torch.cuda.synchronize()
    print("time:", round((time.perf_counter() - begun) * 1000, 3), "ms")
    print("phase: compare", flush=True)
    got = got.cpu()

if not torch.isfinite(got).all():
    print("wrong: some values are NaN or infinite")
    sys.exit(0)
error = (got - wanted).abs().max().item()
print("error:", error)
allowed = 1e-3 * max(1.0, wanted.abs().max().item())
print("right" if error <= allowed else f"wrong: off by {error}, {allowed} is allowed")
