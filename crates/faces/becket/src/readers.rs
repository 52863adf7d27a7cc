//! The program's own readers of text that others wrote, by name: for the fuzz targets, which run them all.

use std::collections::BTreeMap;
use std::path::Path;

use becket_check::{echoes, shell, written};
use becket_front::{Style, render};
#[cfg(feature = "web")]
use becket_record::timeline::{Asked, Stretch};
use becket_run::config::{Config, ProjectConfig};
use becket_run::hosts::Hosts;
use becket_run::target::parse_name;
use becket_store::AuditEntry;
#[cfg(feature = "web")]
use becket_store::RawTrace;
use becket_system::moments::{parse_moment, parse_since, parse_span};
use becket_system::{harmless, harmless_indented, harmless_name};
use becket_trust::follow::{Language, follow};
use becket_trust::{Lock, Record};
use becket_workbench::Suite;

use crate::commands::audit::Account;
use crate::commands::tool_arguments;

/// Reads a text and ignores the result.
pub type Reader = fn(&str);

/// The readers, by the name of their format.
// tidy: a table
pub const READERS: &[(&str, Reader)] = &[
    ("config", |text| {
        let _ = Config::read(text, Path::new("config.toml"), &Hosts::default().sections());
    }),
    ("project", |text| {
        let _ = ProjectConfig::read(text, Path::new("becket.toml"));
    }),
    ("hooktest", |text| {
        let _ = Suite::read(text, Path::new("fuzz.hooktest.toml"));
    }),
    ("lock", |text| {
        let _ = Lock::read(text, Path::new("becket.lock"));
    }),
    ("trust_record", |text| drop(Record::read(text))),
    ("follow_shell", |text| {
        drop(follow(text, Language::Shell, &BTreeMap::new()))
    }),
    ("follow_python", |text| {
        drop(follow(text, Language::Python, &BTreeMap::new()))
    }),
    ("follow_scheme", |text| {
        drop(follow(text, Language::Scheme, &BTreeMap::new()))
    }),
    ("check_shell", |text| {
        drop((shell::used(text), echoes::echoes(text)));
        for statement in written::by_shell(text) {
            drop(written::objects(&statement));
        }
        drop(written::by_lines(text));
    }),
    ("markdown", |text| drop(render(text, Style::plain(), Some(30)))),
    ("harmless", |text| {
        drop((harmless(text), harmless_name(text), harmless_indented(text, "  ")));
    }),
    ("moments", |text| {
        let _ = (parse_moment(text), parse_since(text, u64::MAX), parse_span(text));
    }),
    ("words", |text| {
        let _ = (parse_name(text), tool_arguments(text));
    }),
    ("audit", |text| {
        for kind in ["call", "operation", "hooks", "ledger", "guest"] {
            drop(Account::of_one(&AuditEntry {
                seq: 1,
                time_ms: 1,
                session_id: String::new(),
                kind: kind.to_owned(),
                previous: String::new(),
                hash: String::new(),
                record: text.to_owned(),
            }));
        }
    }),
    #[cfg(feature = "acp")]
    ("editor", |text| drop(becket_acp::read_prompt(text))),
    #[cfg(feature = "web")]
    ("trace", |text| {
        let trace = RawTrace {
            seq: 1,
            session_id: String::new(),
            dispatch: text.to_owned(),
        };
        if let Some(asked) = Asked::read(&trace) {
            let _ = (
                asked.start_ms(),
                asked.end_ms(),
                asked.starts_ms(),
                asked.reason(),
            );
        }
        if let Some(stretch) = Stretch::read(&trace) {
            let _ = (stretch.start_ms(), stretch.end_ms());
        }
    }),
];
