//! What would have been refused: kept line by line, so that a team can see what enforcing would stop.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becket_events::Verdict;
use becket_host::{Asked, Moment, Ruling};
use becket_system::CliError;
use serde::{Deserialize, Serialize};

use crate::question::Question;

/// Something that becket would have refused, changed or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowRecord {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// The agent that asked.
    pub system: String,
    /// The agent's event.
    pub event: String,
    /// The agent's session.
    pub session_id: String,
    /// `deny`, `ask`, `rewrite`, `replace`, `go_on` or `halt`.
    pub effect: String,
    /// What it is about: a command, a file, a prompt.
    pub subject: String,
    /// The words of the hook or the rule.
    pub reason: String,
}

impl ShadowRecord {
    /// What a ruling would have done; `None` if it would have done nothing.
    pub(crate) fn of(question: &Question, asked: &Asked, ruling: &Ruling) -> Option<Self> {
        let (effect, reason) = effect(ruling)?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(Self {
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            system: question.asked.bridge.system.into(),
            event: question.asked.event.name.into(),
            session_id: asked.session_id.clone(),
            effect: effect.into(),
            subject: subject(&asked.moment),
            reason,
        })
    }
}

fn effect(ruling: &Ruling) -> Option<(&'static str, String)> {
    match &ruling.verdict {
        Some(Verdict::Deny(reason)) => return Some(("deny", reason.clone())),
        Some(Verdict::Ask(reason) | Verdict::Insist(reason)) => return Some(("ask", reason.clone())),
        Some(Verdict::Allow) | None => {}
    }
    if let Some(reason) = &ruling.halt {
        return Some(("halt", reason.clone()));
    }
    if let Some(arguments) = &ruling.arguments {
        return Some(("rewrite", serde_json::to_string(arguments).unwrap_or_default()));
    }
    if ruling.output.is_some() {
        return Some(("replace", "a result is replaced".into()));
    }
    ruling.go_on.as_ref().map(|reason| ("go_on", reason.clone()))
}

/// What a moment is about, in a few words.
fn subject(moment: &Moment) -> String {
    const LONGEST: usize = 200;
    let text = match moment {
        Moment::Prompt(text) => text.clone(),
        Moment::Call(call) | Moment::Permission(call) | Moment::Called { call, .. } => {
            let named = ["command", "file_path", "path", "url"];
            let argument = named
                .into_iter()
                .find_map(|name| call.arguments.get(name)?.as_str());
            format!("{} {}", call.name, argument.unwrap_or_default())
        }
        Moment::Stop { response, .. } => response.clone(),
        _ => String::new(),
    };
    text.trim().chars().take(LONGEST).collect()
}

fn file(data: &Path) -> PathBuf {
    data.join("bridge-shadow.jsonl")
}

pub(crate) fn keep(data: &Path, record: &ShadowRecord) -> Result<(), CliError> {
    let path = file(data);
    let line = serde_json::to_string(record).unwrap_or_default() + "\n";
    File::options()
        .append(true)
        .create(true)
        .open(&path)
        // One write, so that lines of several processes do not mix.
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))
}

/// What was kept in the time before now, oldest first. Lines that cannot be read are left out and counted.
pub fn records_since(data: &Path, before: Duration) -> Result<(Vec<ShadowRecord>, usize), CliError> {
    let path = file(data);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(CliError::failed(format!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    let earliest = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .saturating_sub(before);
    let mut records = Vec::new();
    let mut unreadable = 0;
    for line in text.lines() {
        match serde_json::from_str::<ShadowRecord>(line) {
            Ok(record) if u128::from(record.time_ms) >= earliest.as_millis() => records.push(record),
            Ok(_) => {}
            Err(_) => unreadable += 1,
        }
    }
    Ok((records, unreadable))
}
