//! Executors against the real thing: Slurm's daemons on loopback, Podman with an image made here, manifests by kubectl; and
//! against a played Kubernetes, with the feature `kubernetes` also over HTTP.

#[path = "../common/mod.rs"]
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
