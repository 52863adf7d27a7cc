//! The audit log: what was decided and done, each record chained to the one before by its hash.
//!
//! A record's hash is taken over the hash of the record before, its number, time, session, kind and text, so none of
//! them can be changed, left out or moved without a trace. The end of the chain is kept in a row of its own, and SQLite
//! counts by itself how many records there have been: so missing last records are noticed as well. Whoever can write
//! the file can write a whole new chain; only a hash that was noted elsewhere reveals that
//! ([`AuditLog::verify`](crate::AuditLog::verify)).

use becket_agent::audit::AuditRecord;
use becket_hooks::{DispatchTrace, Effect};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::reading::unsigned;
use crate::time::milliseconds;

/// The previous hash of the first record.
const BEFORE_ALL: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The longest text in the log. Longer ones are replaced by length and hash; the conversation and the trace have them
/// in full.
const LONGEST_TEXT: usize = 4096;

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The record's number; the first one has 1, and none is left out or used twice.
    pub seq: u64,
    /// When the record was written, in milliseconds since 1970.
    pub time_ms: u64,
    /// The session that the record is about.
    pub session_id: String,
    /// The kind of the record.
    pub kind: String,
    /// The hash of the record before this one.
    pub previous: String,
    /// The hash of this record.
    pub hash: String,
    /// The whole record as JSON.
    pub record: String,
}

/// The end of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// How many records there are.
    pub count: u64,
    /// The hash of the last record.
    pub hash: String,
}

/// A flaw in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The first record that was changed, or the first one that is missing.
    pub seq: u64,
    /// A description of the flaw.
    pub words: String,
}

impl AuditEntry {
    /// Reads a row with the columns of a record, in the order of its fields.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, Problem> {
        Ok(Self {
            seq: unsigned(row.get(0)?),
            time_ms: unsigned(row.get(1)?),
            session_id: row.get(2)?,
            kind: row.get(3)?,
            previous: row.get(4)?,
            hash: row.get(5)?,
            record: row.get(6)?,
        })
    }

    /// The hash that the record must have.
    fn expected_hash(&self) -> String {
        let (seq, time) = (self.seq.to_string(), self.time_ms.to_string());
        let parts = [
            "becket audit 1",
            &self.previous,
            &seq,
            &time,
            &self.session_id,
            &self.kind,
            &self.record,
        ];
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // The length is hashed as well, so that nothing can move from one part to the next.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The record as one line of JSON.
    pub fn line(&self) -> String {
        let record: Value = serde_json::from_str(&self.record).unwrap_or(Value::Null);
        let line = json!({
            "seq": self.seq, "time_ms": self.time_ms, "session_id": self.session_id, "kind": self.kind,
            "previous": self.previous, "hash": self.hash, "record": record,
        });
        format!("{line}\n")
    }
}

/// The end of the log, according to three sources.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) head: AuditHead,
    /// The largest number that SQLite has ever given.
    highest: u64,
}

/// Where the log ends now.
pub(crate) fn head(connection: &Connection) -> Result<End, Problem> {
    let head = connection
        .prepare_cached("SELECT count, hash FROM audit_head")?
        .query_row([], |row| {
            Ok(AuditHead {
                count: unsigned(row.get(0)?),
                hash: row.get(1)?,
            })
        })
        .optional()?;
    let highest: Option<i64> = connection
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let highest = highest.map_or(0, unsigned);
    // If the row is missing, it was removed; its number was the one that SQLite still knows.
    let head = head.unwrap_or(AuditHead {
        count: highest,
        hash: String::new(),
    });
    Ok(End { head, highest })
}

/// Checks the chain, record by record.
#[derive(Default)]
pub(crate) struct Check {
    last: Option<AuditHead>,
    has_noted: bool,
}

impl Check {
    fn so_far(&self) -> AuditHead {
        self.last.clone().unwrap_or(AuditHead {
            count: 0,
            hash: BEFORE_ALL.into(),
        })
    }

    /// Checks the next record.
    pub(crate) fn next(&mut self, entry: &AuditEntry, noted: Option<&str>) -> Result<(), Flaw> {
        let AuditHead { count, hash } = self.so_far();
        let flaw = |seq: u64, words: &str| {
            Err(Flaw {
                seq,
                words: words.into(),
            })
        };
        if entry.seq > count + 1 {
            return flaw(count + 1, "is missing");
        }
        if entry.seq <= count {
            return flaw(entry.seq, "is there twice, or at the wrong place");
        }
        if entry.previous != hash {
            return flaw(entry.seq, "does not follow the record before it");
        }
        if entry.expected_hash() != entry.hash {
            return flaw(entry.seq, "was changed after it was written");
        }
        self.has_noted |= noted == Some(&entry.hash);
        self.last = Some(AuditHead {
            count: entry.seq,
            hash: entry.hash.clone(),
        });
        Ok(())
    }

    /// Checks that the records went up to the end of the log, and that the noted hash was among them.
    pub(crate) fn end(self, end: &End, noted: Option<&str>) -> Result<AuditHead, Flaw> {
        let last = self.so_far();
        let flaw = |seq: u64, words: &str| {
            Err(Flaw {
                seq,
                words: words.into(),
            })
        };
        let count = end.head.count.max(end.highest);
        if last.count < count {
            return flaw(last.count + 1, "is missing, and with it everything that followed");
        }
        if last != end.head {
            return flaw(
                last.count,
                "is not the one at which the log ends, as its head says",
            );
        }
        if !self.has_noted && noted.is_some_and(|noted| noted != BEFORE_ALL) {
            return flaw(
                last.count,
                "is the last, and none has the hash that was noted: the log is another one, or was cut",
            );
        }
        Ok(last)
    }
}

/// A record that is to be written.
pub(crate) struct NewRecord {
    time_ms: i64,
    session_id: String,
    kind: &'static str,
    record: String,
}

impl NewRecord {
    pub(crate) fn of(record: &AuditRecord) -> Result<Self, Problem> {
        let mut json = serde_json::to_value(record)?;
        shorten(&mut json);
        Ok(Self {
            time_ms: milliseconds(record.time_us),
            session_id: record.asker.session_id.clone(),
            kind: record.what.kind(),
            record: json.to_string(),
        })
    }

    /// The record of a dispatch, if hooks have decided or changed something.
    pub(crate) fn of_dispatch(session_id: &str, trace: &DispatchTrace) -> Result<Option<Self>, Problem> {
        if !decides(trace) {
            return Ok(None);
        }
        const KIND: &str = "hooks";
        let mut json = serde_json::to_value(trace)?;
        json["kind"] = KIND.into();
        shorten(&mut json);
        Ok(Some(Self {
            time_ms: milliseconds(trace.time_us),
            session_id: session_id.into(),
            kind: KIND,
            record: json.to_string(),
        }))
    }
}

/// Whether something was decided or changed in a dispatch.
pub(crate) fn decides(trace: &DispatchTrace) -> bool {
    let spoke = |effect: &Effect| {
        matches!(
            effect,
            Effect::Denied | Effect::Rewrote | Effect::Failed { .. } | Effect::Shadow { .. }
        )
    };
    trace.verdict.is_some() || trace.runs.iter().any(|run| spoke(&run.effect))
}

/// Replaces long texts by their length and hash.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => {
            let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
            *value = json!({"bytes": text.len(), "blake3": hash});
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(object) => object.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The log inside of a transaction: no one else writes until it is over.
pub(crate) struct Log<'a> {
    connection: &'a Connection,
    /// The end of the log, once something was added.
    end: Option<AuditHead>,
}

impl<'a> Log<'a> {
    pub(crate) fn open(connection: &'a Connection) -> Self {
        Self {
            connection,
            end: None,
        }
    }

    pub(crate) fn add(&mut self, new: &NewRecord) -> Result<(), Problem> {
        let end = match self.end.take() {
            Some(end) => end,
            None => {
                let End { head, highest } = head(self.connection)?;
                // A log that was cut goes on with a new number, so that the gap stays visible.
                let count = head.count.max(highest);
                AuditHead { count, ..head }
            }
        };
        let mut entry = AuditEntry {
            seq: end.count + 1,
            time_ms: unsigned(new.time_ms),
            session_id: new.session_id.clone(),
            kind: new.kind.into(),
            previous: end.hash,
            hash: String::new(),
            record: new.record.clone(),
        };
        entry.hash = entry.expected_hash();
        self.connection
            .prepare_cached(
                "INSERT INTO audit (seq, time_ms, session_id, kind, previous, hash, record) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                i64::try_from(entry.seq).unwrap_or(i64::MAX),
                new.time_ms,
                entry.session_id,
                entry.kind,
                entry.previous,
                entry.hash,
                entry.record
            ])?;
        self.end = Some(AuditHead {
            count: entry.seq,
            hash: entry.hash,
        });
        Ok(())
    }

    /// Writes the new end of the log.
    pub(crate) fn close(self) -> Result<(), Problem> {
        if let Some(AuditHead { count, hash }) = self.end {
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?)")?
                .execute(params![i64::try_from(count).unwrap_or(i64::MAX), hash])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
