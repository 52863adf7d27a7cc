//! Tells the program what it was built from: its features, and the commit where that is known.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BECKET_COMMIT");
    let variables = std::env::vars();
    let features = variables.filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_owned()));
    let mut features: Vec<String> = features
        .map(|name| name.to_lowercase().replace('_', "-"))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(" "),
    };
    println!("cargo:rustc-env=BECKET_FEATURES={features}");
    let named = std::env::var("BECKET_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty());
    let commit = named.or_else(packed_commit).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=BECKET_BUILT_FROM={commit}");
}

/// The commit that a crate from a registry was packed at.
fn packed_commit() -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let text = std::fs::read_to_string(Path::new(&folder).join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let digits = rest.split('"').nth(1)?;
    Some(digits.chars().take(9).collect())
}
