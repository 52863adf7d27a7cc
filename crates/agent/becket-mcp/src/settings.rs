//! The configuration of a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use becket_hooks::{Pattern, Program};
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::offer::{plain_name, tool_name};

/// Makes a client that reaches only one address, after the address was judged; the error says why it may not be
/// reached. The caller has to refuse redirects.
pub type WebAccess = Arc<dyn Fn(Url) -> BoxFuture<'static, Result<reqwest::Client, String>> + Send + Sync>;

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The server's name, which by default begins the names of its tools.
    pub name: String,
    /// Whether the names of the server's tools begin with its own name.
    pub prefix: Prefix,
    /// The file that configures the server, for messages.
    pub origin: String,
    /// Whether the model is offered the server's tools. Otherwise nobody asks which there are.
    pub is_offered: bool,
    /// How the server is reached.
    pub reach: Reach,
    /// How long the server may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// Which of the server's tools are offered.
    pub filter: ToolFilter,
    /// Texts that must not be repeated, whoever says them.
    pub secrets: Secrets,
}

/// The prefix of the names of a server's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Prefix {
    /// The server's name.
    #[default]
    Server,
    /// No prefix: the names are the server's own.
    Nothing,
}

/// Texts that must not be shown anywhere.
#[derive(Clone, Default)]
pub struct Secrets(pub Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program that speaks over its standard input and output.
    Program {
        /// The program, with its environment.
        program: Program,
        /// The program and its arguments as they were configured, for messages.
        words: Vec<String>,
        /// The names of the variables that were set for the program. Their values must not be shown.
        variables: Vec<String>,
        /// The directory in which the program runs.
        directory: PathBuf,
    },
    /// A service on the web.
    Web {
        /// The address of the service.
        url: Url,
        /// The headers of every request.
        headers: Headers,
        /// Whether the service speaks the protocol's older form, with a standing stream of events.
        is_event_stream: bool,
    },
}

/// Headers of requests. Their values may be secrets, so only the names are shown.
#[derive(Clone, Default)]
pub struct Headers(pub Vec<(HeaderName, HeaderValue)>);

impl Headers {
    /// Parses names and values; the error names the header and never its value.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let read = |(name, value): (&str, &str)| {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{name}` is no name of a header"))?;
            if RESERVED.contains(&name.as_str()) {
                return Err(format!(
                    "the header `{name}` belongs to the protocol; leave it out"
                ));
            }
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                format!("the value of the header `{name}` holds characters that cannot be sent")
            })?;
            value.set_sensitive(true);
            Ok((name, value))
        };
        pairs
            .into_iter()
            .map(read)
            .collect::<Result<_, String>>()
            .map(Self)
    }
}

/// The shortest text that is treated as a secret.
const SHORTEST_SECRET: usize = 5;

/// Headers that the protocol itself sets.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// Which tools of a server are offered, by the names that the server gives them.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
}

impl ToolFilter {
    /// A filter of globs. Without any to allow, all tools are allowed; what is denied is not offered in any case.
    pub fn read(allow: &[String], deny: &[String]) -> Result<Self, String> {
        let read = |globs: &[String]| -> Result<Vec<Pattern>, String> {
            let read = |glob: &String| Pattern::glob(glob).map_err(|error| format!("`{glob}`: {error}"));
            globs.iter().map(read).collect()
        };
        Ok(Self {
            allow: read(allow)?,
            deny: read(deny)?,
        })
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        let names = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        (self.allow.is_empty() || names(&self.allow)) && !names(&self.deny)
    }
}

impl ServerSettings {
    /// The name by which the model knows one of the server's tools.
    pub fn tool_name(&self, tool: &str) -> String {
        match self.prefix {
            Prefix::Server => tool_name(&self.name, tool),
            Prefix::Nothing => plain_name(tool),
        }
    }

    /// How the server is reached, on one line for the user, without anything that may be a secret.
    pub fn place(&self) -> String {
        self.discreet(&match &self.reach {
            Reach::Program { words, .. } => words.join(" "),
            Reach::Web { url, .. } => bare(url),
        })
    }

    /// The text with secrets hidden: a server may repeat them.
    pub(crate) fn discreet(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| match text.contains(secret) {
            true => text.replace(secret, "[hidden]"),
            false => text,
        };
        self.hidden().iter().fold(text.to_owned(), hide)
    }

    /// Data with secrets hidden. The names of fields stay.
    pub(crate) fn discreet_data(&self, data: &mut Value) {
        match data {
            Value::String(text) => *text = self.discreet(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.discreet_data(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.discreet_data(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The texts to hide: the secrets as they are, and as they are written in addresses and in JSON. The longest come
    /// first, since one may be a part of another.
    fn hidden(&self) -> Vec<String> {
        let headers = match &self.reach {
            Reach::Web { headers, .. } => headers.0.as_slice(),
            Reach::Program { .. } => &[],
        };
        let headers = headers.iter().filter_map(|(_, value)| value.to_str().ok());
        let secrets = headers.chain(self.secrets.0.iter().map(String::as_str));
        // Shorter ones are words that may stand anywhere.
        let secrets = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET);
        let mut hidden: Vec<String> = secrets
            .flat_map(|secret| {
                let json = Value::from(secret).to_string();
                let json = json[1..json.len() - 1].to_owned();
                [secret.to_owned(), json].into_iter().chain(in_address(secret))
            })
            .collect();
        hidden.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        hidden.dedup();
        hidden
    }

    /// A hash that changes when the server does. A program is identified by its file, and by the files that its
    /// arguments name: `python3 server.py` is another server when `server.py` has changed.
    pub(crate) fn print(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut note = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        match &self.reach {
            Reach::Program {
                program,
                words,
                variables,
                directory,
            } => {
                note("program");
                note(&directory.display().to_string());
                match program.resolve(directory) {
                    Ok(path) => note(&state(&path)),
                    Err(failure) => note(&failure.detail),
                }
                for word in words {
                    note(word);
                    note(&state(&directory.join(word)));
                }
                variables.iter().for_each(|name| note(name));
            }
            Reach::Web { url, headers, .. } => {
                note("web");
                note(url.as_str());
                headers.0.iter().for_each(|(name, _)| note(name.as_str()));
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// An address without its query, which may hold a key, and without name and password.
pub(crate) fn bare(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// A text as it is encoded in the path of an address.
fn in_address(text: &str) -> Option<String> {
    let mut url = Url::parse("http://host/").ok()?;
    url.path_segments_mut().ok()?.push(text);
    let written = url.path().trim_start_matches('/');
    (written.len() >= SHORTEST_SECRET).then(|| written.to_owned())
}

/// A file's path, size and time of change; empty for anything else.
fn state(path: &Path) -> String {
    let Some(metadata) = path.metadata().ok().filter(|metadata| metadata.is_file()) else {
        return String::new();
    };
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |since| since.as_nanos());
    format!("{} {} {modified}", path.display(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_offers_what_it_allows_and_never_what_it_denies() {
        let filter = |allow: &[&str], deny: &[&str]| {
            let own = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
            ToolFilter::read(&own(allow), &own(deny)).unwrap()
        };
        for (allow, deny, tool, offered) in [
            (&[][..], &[][..], "read", true),
            (&["read*"][..], &[][..], "read_file", true),
            (&["read*"][..], &[][..], "write_file", false),
            (&["*"][..], &["write*"][..], "write_file", false),
            (&[][..], &["write*"][..], "read", true),
        ] {
            assert_eq!(
                filter(allow, deny).offers(tool),
                offered,
                "{allow:?} {deny:?} {tool}"
            );
        }
        assert!(ToolFilter::read(&["[".into()], &[]).is_err());
    }

    #[test]
    fn values_of_headers_are_not_shown_and_the_protocols_own_are_refused() {
        let headers = Headers::read([("Authorization", "Bearer hunter2")]).unwrap();
        assert!(!format!("{headers:?}").contains("hunter2"));
        for (name, value) in [("Mcp-Session-Id", "x"), ("a b", "x"), ("x-key", "hunter2\n")] {
            let error = Headers::read([(name, value)]).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_server_is_another_one_when_a_file_of_its_words_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.py");
        let words = vec!["sh".to_owned(), "server.py".to_owned()];
        let settings = ServerSettings {
            prefix: Prefix::Server,
            name: "x".into(),
            origin: String::new(),
            is_offered: true,
            reach: Reach::Program {
                program: Program::exec(&words),
                words,
                variables: Vec::new(),
                directory: folder.path().into(),
            },
            start_timeout: Duration::ZERO,
            call_timeout: Duration::ZERO,
            filter: ToolFilter::default(),
            secrets: Secrets(vec!["hunter2".into(), "1".into()]),
        };
        assert_eq!(settings.discreet("1: no hunter2"), "1: no [hidden]");
        let nested = ServerSettings {
            secrets: Secrets(vec!["hunter2".into(), "hunter2 \"the\" key".into()]),
            ..settings.clone()
        };
        for text in [
            "hunter2 \"the\" key",
            "hunter2 \\\"the\\\" key",
            "hunter2%20%22the%22%20key",
        ] {
            assert_eq!(nested.discreet(text), "[hidden]", "{text}");
        }
        let mut data = serde_json::json!({"hunter2": [1, {"a": "no hunter2"}]});
        settings.discreet_data(&mut data);
        assert_eq!(data, serde_json::json!({"hunter2": [1, {"a": "no [hidden]"}]}));
        let shown = ServerSettings {
            reach: Reach::Web {
                url: Url::parse("https://host.test/hunter2/mcp").unwrap(),
                headers: Headers::default(),
                is_event_stream: false,
            },
            ..settings.clone()
        };
        assert_eq!(shown.place(), "https://host.test/[hidden]/mcp");
        let absent = settings.print();
        std::fs::write(&script, "1").unwrap();
        let first = settings.print();
        assert_eq!(first, settings.print());
        std::fs::write(&script, "22").unwrap();
        assert!(absent != first && first != settings.print());
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_key() {
        let url = Url::parse("https://me:secret@host.test/mcp?key=secret#x").unwrap();
        assert_eq!(bare(&url), "https://host.test/mcp");
    }
}
