//! The picture in the clipboard, for Ctrl-V: a program of the desktop is asked for it. It goes into a file that only
//! the user can read, whose path is put into the line, as if the file had been dropped there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// How long a program may take to hand over a picture.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The largest picture that is taken, in bytes.
const MOST_BYTES: u64 = 20 * 1024 * 1024;

/// The programs that hand over a picture, with their arguments.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    (
        "xclip",
        &["-selection", "clipboard", "-target", "image/png", "-out"],
    ),
    ("pngpaste", &["-"]),
];

/// Writes the picture in the clipboard to a new file in this folder, and returns its path. The error says what is
/// missing.
pub async fn picture(
    environment: Arc<BTreeMap<OsString, OsString>>,
    folder: PathBuf,
) -> Result<PathBuf, String> {
    let mut is_asked = false;
    for (program, arguments) in PROGRAMS {
        let asked = tokio::time::timeout(TIMEOUT, output_of(program, arguments, &environment)).await;
        match asked {
            Ok(Ok(bytes)) if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => {
                let kept = keep(&bytes, &folder);
                return kept.map_err(|error| format!("the picture cannot be kept: {error}"));
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
            // Another program may know the clipboard of this desktop.
            Ok(_) | Err(_) => is_asked = true,
        }
    }
    Err(match is_asked {
        true => "there is no picture in the clipboard".into(),
        false => {
            let names: Vec<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
            format!(
                "pictures of the clipboard need one of the programs {}; the path of a file works without them",
                names.join(", ")
            )
        }
    })
}

/// What a program writes, if it ends well.
async fn output_of(
    program: &str,
    arguments: &[&str],
    environment: &BTreeMap<OsString, OsString>,
) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut bytes = Vec::new();
    if let Some(written) = child.stdout.take() {
        written.take(MOST_BYTES + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("the picture is too large"));
    }
    match child.wait().await?.success() {
        true => Ok(bytes),
        false => Err(io::Error::other("there is no picture")),
    }
}

fn keep(bytes: &[u8], folder: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    let path = folder.join(format!("clipboard-{number:016x}.png"));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(bytes)?;
    Ok(path)
}
