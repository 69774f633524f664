"""Trains the example network of crates/graph/core/src/train/example.rs in JAX, in double precision.

Prints the losses, and a checksum of each tensor after the last step. oracle.txt was made with JAX 0.10.2:
    python oracle.py > oracle.txt
"""
import jax, jax.numpy as jnp, numpy as np, optax
from jax import lax
jax.config.update("jax_enable_x64", True)

STEPS, BATCH = 8, 6
PARAMETERS = [("edges.weights", (8, 1, 3, 3)), ("edges.scale", (8,)), ("edges.bias", (8,)),
    ("by channel.weights", (8, 1, 3, 3)), ("by pixel.weights", (16, 8, 1, 1)),
    ("by pixel.scale", (16,)), ("by pixel.bias", (16,)),
    ("in groups.weights", (16, 8, 3, 3)), ("in groups.scale", (16,)), ("in groups.bias", (16,)),
    ("linear.weights", (5, 16)), ("linear.bias", (5,))]

def numbers(salt, shape, scale, shift=0.0):
    at = np.arange(int(np.prod(shape)), dtype=np.float64)
    return jnp.asarray((np.sin(at * 1.7 + at * at * 0.013 + salt) * scale + shift).reshape(shape))

def conv(x, w, stride, groups):
    pad = w.shape[2] // 2
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups,
        dimension_numbers=("NCHW", "OIHW", "NCHW"))

def norm(p, name, x, kept):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    kept[name] = (mean, variance)
    wide = lambda one: one[None, :, None, None]
    y = (x - wide(mean)) / jnp.sqrt(wide(variance) + np.float64(np.float32(1e-5)))
    return jax.nn.relu(y * wide(p[name + ".scale"]) + wide(p[name + ".bias"]))

def windows(x, start, fold, kernel, stride, pad):
    return lax.reduce_window(x, start, fold, (1, 1, kernel, kernel), (1, 1, stride, stride),
        [(0, 0), (0, 0), (pad, pad), (pad, pad)])

def loss(p, x, classes):
    kept = {}
    y = norm(p, "edges", conv(x, p["edges.weights"], 1, 1), kept)
    y = windows(y, -jnp.inf, lax.max, 2, 2, 0)
    y = conv(conv(y, p["by channel.weights"], 2, 8), p["by pixel.weights"], 1, 1)
    y = norm(p, "by pixel", y, kept)
    y = norm(p, "in groups", conv(y, p["in groups.weights"], 1, 2), kept)
    y = windows(y, 0.0, lax.add, 3, 2, 1) / windows(jnp.ones_like(y), 0.0, lax.add, 3, 2, 1)
    scores = y.mean((2, 3)) @ p["linear.weights"].T + p["linear.bias"]
    return optax.softmax_cross_entropy_with_integer_labels(scores, classes).mean(), kept

def figure(tensor):
    flat = np.asarray(tensor).reshape(-1)
    return float((flat * np.cos(np.arange(flat.size))).sum())

for name, rule, rate in [
    ("sgd", lambda rate: optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(rate, momentum=0.9)), 0.05),
    ("adam", lambda rate: optax.adam(rate), 0.01),
]:
    p = {n: numbers(k, s, 0.1 if len(s) == 1 else 0.5, 1.0 if n.endswith("scale") else 0.0)
         for k, (n, s) in enumerate(PARAMETERS)}
    kept = {n: (jnp.zeros(c), jnp.ones(c)) for n, c in [("edges", 8), ("by pixel", 16), ("in groups", 16)]}
    optimizer = rule(rate)
    state = optimizer.init(p)
    losses = []
    for step in range(STEPS):
        x = numbers(100 + step, (BATCH, 1, 16, 16), 1.0)
        classes = jnp.asarray([(at * 3 + step) % 5 for at in range(BATCH)])
        (value, new), slopes = jax.value_and_grad(loss, has_aux=True)(p, x, classes)
        changes, state = optimizer.update(slopes, state, p)
        p = optax.apply_updates(p, changes)
        keep = np.float64(np.float32(0.9))
        kept = {n: tuple(old * keep + now * (1 - keep) for old, now in zip(kept[n], new[n])) for n in kept}
        losses.append(float(value))
    print(name, "losses", *("%.15g" % value for value in losses))
    for n, _ in PARAMETERS:
        print(name, n.replace(" ", "_"), "%.15g" % figure(p[n]))
    for n in kept:
        for what, tensor in zip(["mean", "variance"], kept[n]):
            print(name, (n + "." + what).replace(" ", "_"), "%.15g" % figure(tensor))
