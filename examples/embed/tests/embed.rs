//! The guard of the example refuses, and everything else runs.

use std::path::Path;
use std::process::Command;

fn answer(folder: &Path, prompt: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_embed"))
        .arg(prompt)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("BECKET_HOME", folder.join("becket"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_guard_in_rust_refuses_and_lets_the_rest_through() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("build")).unwrap();
    let refused = answer(folder.path(), "Run: rm -rf build");
    assert!(refused.contains("rm is not allowed here"), "{refused}");
    assert!(folder.path().join("build").is_dir());
    let listed = answer(folder.path(), "List files in current dir");
    assert!(listed.contains("build"), "{listed}");
}
