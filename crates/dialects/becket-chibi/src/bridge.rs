//! The MCP servers of a chibi home: `mcp-bridge.toml`, read as chibi's own bridge reads it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use becket_hooks::in_plain_words;
use serde::Deserialize;
use toml::Value;

/// The largest file that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// A server of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeServer {
    /// The server's name.
    pub name: String,
    /// How the server is reached; the error says what is wrong with its entry.
    pub reach: Result<BridgeReach, String>,
}

/// How a server is reached. A server with both a program and an address is a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeReach {
    /// The server is a program.
    Program {
        /// The program's name or path.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
    },
    /// The server is a service on the web.
    Web {
        /// The service's address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// How long the bridge waits for an answer, in seconds.
pub const BRIDGE_SECONDS: u64 = 30;

/// The part of the file that becket uses. Other keys are ignored: becket has no idle daemon, and summarises nothing.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    servers: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Program {
    command: String,
    #[serde(default)]
    args: Vec<String>,
}

#[derive(Deserialize)]
struct Web {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// The bridge's file in a home.
pub fn bridge_file(home: &Path) -> PathBuf {
    home.join("mcp-bridge.toml")
}

/// The servers of a home, by their names; none without the file.
pub fn read_bridge(home: &Path) -> Result<Vec<BridgeServer>, String> {
    let file = bridge_file(home);
    let wrong = |what: String| format!("{} is left out: {what}", file.display());
    let text = match becket_fs::metadata(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error.to_string())),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MOST_BYTES => {
            return Err(wrong("it is no file of at most 1 MiB".into()));
        }
        Ok(_) => becket_fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?,
    };
    servers(&text).map_err(wrong)
}

fn servers(text: &str) -> Result<Vec<BridgeServer>, String> {
    let File { servers } = becket_hooks::parse_toml(text).map_err(|error| {
        let before = error
            .span()
            .map_or("", |span| &text[..span.start.min(text.len())]);
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", in_plain_words(error.message()))
    })?;
    let read = |(name, entry): (String, Value)| BridgeServer {
        name,
        reach: reach(entry),
    };
    Ok(servers.into_iter().map(read).collect())
}

fn reach(entry: Value) -> Result<BridgeReach, String> {
    let has = |key: &str| entry.get(key).is_some();
    let words = |error: toml::de::Error| in_plain_words(error.message());
    if has("command") {
        let Program { command, args } = entry.try_into().map_err(words)?;
        return Ok(BridgeReach::Program { command, args });
    }
    if has("url") {
        let Web { url, headers } = entry.try_into().map_err(words)?;
        return Ok(BridgeReach::Web { url, headers });
    }
    Err("its entry has neither `command` nor `url`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_the_bridge_has_it_is_read() {
        let text = r#"
            idle_timeout_minutes = 10
            [summary]
            enabled = false
            [servers.local]
            command = "serena"
            args = ["--stdio"]
            [servers.remote]
            url = "https://host.test/mcp"
            [servers.remote.headers]
            Authorization = "Bearer x"
            [servers.both]
            command = "a"
            url = "http://b"
            [servers.none]
            args = ["--flag"]
            [servers.odd]
            command = 3
        "#;
        let found = servers(text).unwrap();
        let of = |name: &str| {
            let server = found.iter().find(|server| server.name == name).unwrap();
            server.reach.clone()
        };
        let program = |command: &str, args: &[&str]| BridgeReach::Program {
            command: command.into(),
            args: args.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(of("local"), Ok(program("serena", &["--stdio"])));
        assert_eq!(of("both"), Ok(program("a", &[])));
        let headers = BTreeMap::from([("Authorization".into(), "Bearer x".into())]);
        let url = "https://host.test/mcp".into();
        assert_eq!(of("remote"), Ok(BridgeReach::Web { url, headers }));
        assert!(of("none").unwrap_err().contains("neither `command` nor `url`"));
        assert!(of("odd").is_err());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_its_line() {
        assert!(
            servers("[servers.a]\ncommand = \n")
                .unwrap_err()
                .starts_with("line 2: ")
        );
        assert!(servers("servers = 3").is_err());
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read_bridge(home.path()), Ok(Vec::new()));
        std::fs::create_dir(bridge_file(home.path())).unwrap();
        assert!(read_bridge(home.path()).unwrap_err().contains("no file"));
    }
}
