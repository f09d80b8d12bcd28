//! The manifests have the types of their schemas and no field that these do not know, and the engine takes the words that
//! they start it with.

use compose_spec::Compose;
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{PersistentVolumeClaim, Service},
    networking::v1::NetworkPolicy,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{collections::BTreeMap, env, process::Command};

const COMPOSE: &str = include_str!("../compose.yaml");
const KUBERNETES: &str = include_str!("../kubernetes.yaml");

/// The documents of the file for Kubernetes.
fn documents() -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(KUBERNETES);
    let documents = documents.map(|one| Value::deserialize(one).unwrap());
    documents.collect()
}

/// The file for compose, in which common parts are merged.
fn compose() -> Value {
    let mut file: serde_yaml_ng::Value = serde_yaml_ng::from_str(COMPOSE).unwrap();
    file.apply_merge().unwrap();
    serde_json::to_value(file).unwrap()
}

/// The paths of the fields below a value.
fn fields(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields_of) => fields_of
            .iter()
            .for_each(|(name, field)| fields(field, &format!("{path}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| fields(item, &format!("{path}/{at}"), found)),
        plain => drop(found.insert(path.to_owned(), plain.clone())),
    }
}

/// Reads a document as this type, and checks that nothing of it is lost.
fn conforms<T: DeserializeOwned + Serialize>(document: &Value) {
    let typed: T = serde_json::from_value(document.clone())
        .unwrap_or_else(|error| panic!("{error}: {document:#}"));
    let [mut written, mut known] = [BTreeMap::new(), BTreeMap::new()];
    fields(document, "", &mut written);
    fields(&serde_json::to_value(typed).unwrap(), "", &mut known);
    for (path, value) in written {
        assert_eq!(known.get(&path), Some(&value), "{path}");
    }
}

#[test]
fn the_manifests_for_kubernetes_conform() {
    let documents = documents();
    assert_eq!(documents.len(), 6);
    for document in &documents {
        match document["kind"].as_str().unwrap() {
            "Deployment" => conforms::<Deployment>(document),
            "Job" => conforms::<Job>(document),
            "NetworkPolicy" => conforms::<NetworkPolicy>(document),
            "PersistentVolumeClaim" => conforms::<PersistentVolumeClaim>(document),
            "Service" => conforms::<Service>(document),
            kind => panic!("no schema for {kind}"),
        }
    }
}

#[test]
#[should_panic(expected = "/spec/replica")]
fn a_field_that_the_schema_does_not_know_is_found() {
    let mut documents = documents().into_iter();
    let mut deployment = documents.find(|one| one["kind"] == "Deployment").unwrap();
    deployment["spec"]["replica"] = Value::from(3);
    conforms::<Deployment>(&deployment);
}

/// Names lead somewhere: claims, the scheduler's service, and the pods that it selects.
#[test]
fn what_the_manifests_refer_to_is_there() {
    let documents = documents();
    let named = |kind: &str, name: &str| {
        let mut of_kind = documents.iter().filter(|one| one["kind"] == kind);
        of_kind.any(|one| one["metadata"]["name"] == name)
    };
    assert!(named("PersistentVolumeClaim", "unsnarl-fleet"));
    assert!(named("Service", "unsnarl-fleet-scheduler"));
    for document in &documents {
        let pod = &document["spec"]["template"]["spec"];
        for volume in pod["volumes"].as_array().into_iter().flatten() {
            let claim = volume["persistentVolumeClaim"]["claimName"].as_str();
            assert!(claim.is_none_or(|claim| named("PersistentVolumeClaim", claim)));
        }
        if document["kind"] == "Service" {
            let is_selected =
                |pod: &Value| pod["metadata"]["labels"] == document["spec"]["selector"];
            assert!(
                documents
                    .iter()
                    .any(|one| is_selected(&one["spec"]["template"]))
            );
        }
    }
}

#[test]
fn the_compose_file_conforms() {
    let file = compose();
    let typed: Compose = serde_json::from_value(file.clone()).unwrap();
    typed.validate_all().unwrap();
    assert_eq!(typed.services.len(), 3);
}

fn words(of: &Value) -> Vec<String> {
    let words = of.as_array().into_iter().flatten();
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

/// `cargo xtask fleet` names the engine that it has built.
#[test]
fn the_engine_takes_what_it_is_started_with() {
    let engine =
        env::var_os("UNSNARL_FLEET_ENGINE").expect("UNSNARL_FLEET_ENGINE is the engine's path");
    let file = compose();
    let services = file["services"].as_object().unwrap().values();
    let of_services = services.map(
        |service| match words(&service["entrypoint"]).split_first() {
            Some((_, rest)) => rest.to_vec(),
            None => words(&service["command"]),
        },
    );
    let documents = documents();
    let containers = documents
        .iter()
        .flat_map(|one| one["spec"]["template"]["spec"]["containers"].as_array())
        .flatten();
    let of_containers = containers.map(|container| words(&container["args"]));
    let all: Vec<Vec<String>> = of_services.chain(of_containers).collect();
    assert_eq!(all.len(), 6);
    for words in all {
        let asked = Command::new(&engine)
            .args(&words)
            .arg("--help")
            .output()
            .unwrap();
        assert!(
            asked.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&asked.stderr)
        );
    }
}
