//! Packages that tests fetch from the registry of Python packages, because they are no part of this repository.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::room::{go_without, needs};

/// Gets the package at this version, and takes it out of its wheel. If the registry cannot be reached, the test prints
/// why it is skipped, or fails if `BECKET_TEST_ALL` is set and `BECKET_TEST_WITHOUT` does not name `pypi`.
pub fn fetched_from_pypi(package: &str) -> Option<TempDir> {
    if !needs("python3") {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    if let Err(reason) = download(package, folder.path()) {
        go_without("pypi", &format!(", which does not give {package}: {reason}"));
        return None;
    }
    let unpack = "import glob, sys, zipfile\n\
        [zipfile.ZipFile(file).extractall(sys.argv[1]) for file in glob.glob(sys.argv[1] + '/*.whl')]";
    let done = Command::new("python3")
        .args(["-c", unpack])
        .arg(folder.path())
        .status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "{package} can be unpacked"
    );
    Some(folder)
}

/// One wheel is as good as any other: only data is taken from it.
fn download(package: &str, folder: &Path) -> Result<(), String> {
    let words = "-m pip download --quiet --no-deps --pre --timeout=30 --retries=5 --only-binary=:all: \
        --python-version=3.12 --platform=manylinux_2_28_x86_64 --disable-pip-version-check --dest";
    let done = Command::new("python3")
        .args(words.split_whitespace())
        .arg(folder)
        .arg(package)
        .output();
    let done = done.map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}
