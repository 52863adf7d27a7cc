//! Brings a conversation from a file of another system into a context.

#![allow(
    clippy::disallowed_methods,
    reason = "nothing here decides which hooks there are"
)]

use std::path::Path;

use becket_agent::store::{NewSession, Store, fresh_id};
use becket_host::{ForeignSession, SessionFiles};
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::{CliError, Surroundings, harmless_name};

use crate::hosts::Hosts;
use crate::target::claim_new;

/// The reason for which a session ends that only imports a conversation.
const IMPORTED: &str = "imported";

/// How many problems of a file are shown one by one.
const MOST_TOLD: usize = 10;

/// A context that was made from a file.
pub struct Imported {
    /// The context.
    pub name: ContextName,
    /// Keeps other processes out of the context.
    pub claim: Claim,
    /// How many entries the file had.
    pub entries: usize,
}

/// Imports a file into a new context, under the given name or a fresh one.
pub async fn bring(
    file: &Path,
    to: Option<&str>,
    store: &SqliteStore,
    (hosts, surroundings): (Hosts, &Surroundings),
) -> Result<Imported, CliError> {
    let unreadable = |why: String| CliError::failed(format!("cannot import {}: {why}", file.display()));
    let files = hosts.session_files().next();
    let files: &dyn SessionFiles =
        files.ok_or_else(|| unreadable("this becket was built without support for such files".into()))?;
    let bytes = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
    let read = files.read(&String::from_utf8_lossy(&bytes)).map_err(unreadable)?;
    for problem in read.problems.iter().take(MOST_TOLD) {
        surroundings.remark(&harmless_name(problem));
    }
    let more = read.problems.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        surroundings.remark(&format!("and {more} more"));
    }
    let (name, claim) = claim_new(to, Some(files.format()), store)?;
    let entries = read.seed.entries.len();
    keep(read, &name, store, surroundings).await?;
    Ok(Imported { name, claim, entries })
}

/// Stores a conversation of another system as the first session of a context.
pub(crate) async fn keep(
    read: ForeignSession,
    name: &ContextName,
    store: &SqliteStore,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let session = NewSession {
        session_id: fresh_id(),
        parent_session_id: None,
        context_name: name.to_string(),
        model: read.model.unwrap_or_else(|| "unknown".into()),
        cwd: read.cwd.unwrap_or_else(|| surroundings.cwd.display().to_string()),
    };
    let session_id = session.session_id.clone();
    store.plant(session, read.seed).await?;
    store.end_session(&session_id, IMPORTED).await?;
    Ok(())
}

/// The name of a context without its timestamp, such as `review` for `review_20260131_154500`; `None` if nothing else
/// is left.
pub fn without_moment(name: &str) -> Option<&str> {
    let is_number = |piece: &str| !piece.is_empty() && piece.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = name;
    while let Some((before, last)) = rest.rsplit_once('_')
        && is_number(last)
    {
        rest = before;
    }
    let is_moment = rest != name && is_number(rest);
    (!is_moment).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_is_named_after_the_context_and_not_after_its_moment() {
        let cases = [
            ("review", Some("review")),
            ("review_20260131_154500", Some("review")),
            ("review_20260131_154500_2", Some("review")),
            ("20260131_154500", None),
            ("20260131_154500_2", None),
            ("2026", Some("2026")),
        ];
        for (name, expected) in cases {
            assert_eq!(without_moment(name), expected, "{name}");
        }
    }
}
