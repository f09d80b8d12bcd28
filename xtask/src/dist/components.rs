//! The list of what a package is made of, in the form of CycloneDX 1.5.
//!
//! `cargo sbom` and `cargo cyclonedx` list what the workspace could be built with: crates of other systems and of tests,
//! and neither the solver nor what is in the extension for VS Code.

use super::{VERSION, parts::Part};
use anyhow::Result;
use serde_json::{Value, json};

/// The list. The same parts give the same text: it has neither a time nor a serial number.
pub fn list(parts: &[Part]) -> Result<String> {
    let about = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "unsnarl",
                "name": "unsnarl",
                "version": VERSION,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": parts.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&about)? + "\n")
}

fn component(part: &Part) -> Value {
    let url = format!("pkg:{}/{}@{}", part.kind, part.name, part.version);
    json!({
        "type": "library",
        "bom-ref": url,
        "name": part.name,
        "version": part.version,
        // Older manifests separate choices by a stroke.
        "licenses": [{ "expression": part.licence.replace('/', " OR ") }],
        "purl": url.replace('+', "%2B"),
    })
}
