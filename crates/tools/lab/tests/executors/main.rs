//! Executors against the real tools: Slurm's daemons on loopback, Podman with a test image,
//! manifests with kubectl; and against a fake Kubernetes API, with the feature `kubernetes` also
//! over HTTP.

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod common;
mod drive;
mod fake_api;
mod kubectl;
mod kubernetes;
#[cfg(feature = "kubernetes")]
mod kubernetes_http;
mod podman;
mod slurm;
mod slurm_cluster;
