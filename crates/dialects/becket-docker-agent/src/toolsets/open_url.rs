//! The toolset `open_url`: one tool without arguments that opens an address of the file in the user's browser.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::tool::{Tool, ToolSpec};
use becket_tools::{PlainTool, plain_spec};
use serde::Deserialize;
use tokio::process::Command;
use url::Url;

use super::words::schema;

/// The program that opens addresses.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// How long the program may take.
const DEADLINE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A tool that opens an address. The error says why the address cannot be opened.
pub fn open_url_tool(
    name: &str,
    url: &str,
    environment: Vec<(OsString, OsString)>,
) -> Result<Arc<dyn Tool>, String> {
    Url::parse(url).map_err(|error| format!("`{url}` cannot be opened: {error}"))?;
    let about = format!("Open {url} in the user's browser.");
    let spec = ToolSpec {
        read_only: false,
        ..plain_spec(name, &about, schema(&[], &[]))
    };
    let url = url.to_owned();
    Ok(PlainTool::waiting(spec, move |_: Nothing, _| {
        let (url, environment) = (url.clone(), environment.clone());
        Box::pin(async move { open(&url, environment).await })
    }))
}

async fn open(url: &str, environment: Vec<(OsString, OsString)>) -> Result<String, String> {
    let mut command = Command::new(OPENER);
    command
        .arg(url)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let failed = |why: String| format!("{url} was not opened: {why}");
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("{OPENER}: {error}")))?;
    match tokio::time::timeout(DEADLINE, child.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(failed(format!("{OPENER} ended with {status}"))),
        Ok(Err(error)) => Err(failed(error.to_string())),
        // A browser that the program has become goes on.
        Ok(Ok(_)) | Err(_) => Ok(format!("{url} was opened.")),
    }
}
