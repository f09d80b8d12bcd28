//! Manifests of a cluster for questions over a fleet: `compose.yaml`, `kubernetes.yaml` and the image for both.
//! `tests/manifests.rs` compares them with the types of their schemas.
