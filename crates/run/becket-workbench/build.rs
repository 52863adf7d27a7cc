//! Puts the documented payloads (`docs/events`) into the program: `becket hooks fire` begins with what was really sent.

use std::path::Path;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/events");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut members = Vec::new();
    // Where the sources are without their documents, payloads are made from the schemas.
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let file = entry.path();
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .map(ToOwned::to_owned);
        let is_json = file.extension().is_some_and(|extension| extension == "json");
        if let (Some(name), true, Ok(text)) = (name, is_json, std::fs::read_to_string(&file)) {
            members.push(format!("\"{name}\":{text}"));
        }
    }
    members.sort();
    let out = std::env::var("OUT_DIR").expect("cargo names the folder");
    let text = format!("{{{}}}", members.join(","));
    std::fs::write(Path::new(&out).join("samples.json"), text).expect("the folder is there");
}
