//! The files in which tools keep what later sessions find.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use becket_agent::judged_path;
use becket_lock::lock_within;

/// How long to wait for another process that changes the same files.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The time, as the tools write it.
pub(super) fn now() -> String {
    becket_system::moments::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Reads a file of one value; `None` if it is not there.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(file: &Path) -> Result<Option<T>, String> {
    match becket_fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("{} cannot be read: {error}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

/// Writes a value to a file. Readers see the old content or the new one, never a part.
pub(super) fn write_json(file: &Path, value: &impl serde::Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", file.display());
    let folder = becket_fs::canonicalize(folder_of(file)).map_err(failed)?;
    let file = folder.join(file.file_name().unwrap_or_default());
    judged_path::replace_file(&file, text.as_bytes(), None).map_err(failed)?;
    Ok(())
}

pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Keeps other processes from changing the files of a folder, which is made if it is not there. The lock ends with the
/// value.
pub(super) fn locked(folder: &Path) -> Result<File, String> {
    let failed = |error: std::io::Error| format!("{} cannot be locked: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let held = becket_fs::open(folder).map_err(failed)?;
    match lock_within(&held, LOCK_TIMEOUT).map_err(failed)? {
        true => Ok(held),
        false => Err(format!("another process changes what is in {}", folder.display())),
    }
}
