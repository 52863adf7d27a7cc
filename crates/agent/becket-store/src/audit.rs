//! The audit log: what was decided and done, each record chained to the one before by its hash.
//!
//! A record's hash is taken over the hash of the record before, its number, time, session, kind and text, so none of
//! them can be changed, left out or moved without a trace. Where the chain ends stands in a row of its own, and SQLite
//! counts by itself how many records there have been: so it is noticed as well when the last ones are gone. Whoever can
//! write the file can write a whole new chain; only a hash that was noted elsewhere tells that
//! ([`SqliteStore::verify_audit`]).

use becket_agent::audit::AuditRecord;
use becket_agent::store::StoreError;
use becket_hooks::{DispatchTrace, Effect};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::reading::unsigned;
use crate::sqlite::SqliteStore;
use crate::writing::milliseconds;

/// What the first record has in the place of a hash before it.
const BEFORE_ALL: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Longer texts stand in the log as their length and hash; the conversation and the trace have them in full.
const LONGEST_TEXT: usize = 4096;

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; the first one has 1, and none is left out or used twice.
    pub seq: u64,
    /// When it was written down, in milliseconds since 1970.
    pub time_ms: u64,
    /// The session in which it happened.
    pub session_id: String,
    /// What it is about.
    pub kind: String,
    /// The hash of the record before it.
    pub previous: String,
    /// Its own hash.
    pub hash: String,
    /// Everything about it, as JSON.
    pub record: String,
}

/// Where the log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// How many records there are.
    pub count: u64,
    /// The hash of the last one.
    pub hash: String,
}

/// What is wrong with the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The first record that is not as it was written, or would be the first that is missing.
    pub seq: u64,
    /// What is wrong with it.
    pub words: String,
}

/// Which records are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditQuery<'a> {
    /// Those of this session, and of the sub-agents below it.
    pub session_id: Option<&'a str>,
    /// Those since this moment, in milliseconds since 1970.
    pub since_ms: u64,
}

impl SqliteStore {
    /// The end of the log, as the store itself says.
    pub fn audit_head(&self) -> Result<AuditHead, StoreError> {
        self.look("read the audit log", |connection| Ok(head(connection)?.head))
    }

    /// Goes through the whole log and says where it ends, or what is wrong with it. A hash that was noted earlier must
    /// still be among the records. `seen` is told after each record how many there are so far, and in all.
    pub fn verify_audit(
        &self,
        noted: Option<&str>,
        mut seen: impl FnMut(u64, u64),
    ) -> Result<Result<AuditHead, Flaw>, StoreError> {
        self.look("verify the audit log", |connection| {
            // One moment for everything: others may write meanwhile.
            let _moment = connection.unchecked_transaction()?;
            let end = head(connection)?;
            let mut check = Check::default();
            let mut rows = connection.prepare(&format!("{SELECT} ORDER BY seq"))?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let entry = AuditEntry::read(row)?;
                if let Err(flaw) = check.next(&entry, noted) {
                    return Ok(Err(flaw));
                }
                seen(entry.seq, end.head.count);
            }
            Ok(check.end(&end, noted))
        })
    }

    /// Hands the records that are wanted to somebody, in their order, until that one has had enough.
    pub fn each_audited(
        &self,
        query: AuditQuery<'_>,
        mut take: impl FnMut(AuditEntry) -> std::ops::ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.look("read the audit log", |connection| {
            let since = i64::try_from(query.since_ms).unwrap_or(i64::MAX);
            // Sessions of destroyed contexts are known to the log alone.
            let mut rows = connection.prepare(&format!(
                "WITH RECURSIVE family(id) AS (
                     SELECT ?1 UNION SELECT sessions.id FROM family JOIN sessions ON sessions.parent_id = family.id
                 )
                 {SELECT} WHERE time_ms >= ?2 AND (?1 IS NULL OR session_id IN (SELECT id FROM family)) ORDER BY seq"
            ))?;
            let mut rows = rows.query(params![query.session_id, since])?;
            while let Some(row) = rows.next()? {
                if take(AuditEntry::read(row)?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}

const SELECT: &str = "SELECT seq, time_ms, session_id, kind, previous, hash, record FROM audit";

impl AuditEntry {
    fn read(row: &Row<'_>) -> Result<Self, Problem> {
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

    /// The hash that it must have.
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
            // With its length, so that nothing can move from one part to the next.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// As one line of JSON.
    pub fn line(&self) -> String {
        let record: Value = serde_json::from_str(&self.record).unwrap_or(Value::Null);
        let line = json!({
            "seq": self.seq, "time_ms": self.time_ms, "session_id": self.session_id, "kind": self.kind,
            "previous": self.previous, "hash": self.hash, "record": record,
        });
        format!("{line}\n")
    }
}

/// Where the log ends, as three places say.
#[derive(Debug, Clone)]
struct End {
    head: AuditHead,
    /// The largest number that SQLite has ever given.
    highest: u64,
}

fn head(connection: &Connection) -> Result<End, Problem> {
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
    // Without the row somebody has taken it away; it had the number that SQLite still knows.
    let head = head.unwrap_or(AuditHead {
        count: highest,
        hash: String::new(),
    });
    Ok(End { head, highest })
}

/// Goes along the chain.
#[derive(Default)]
struct Check {
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

    fn next(&mut self, entry: &AuditEntry, noted: Option<&str>) -> Result<(), Flaw> {
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

    fn end(self, end: &End, noted: Option<&str>) -> Result<AuditHead, Flaw> {
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

/// A record that is about to be written.
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

    /// What hooks have said, if they have decided or changed something.
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
    let spoke = |effect: &Effect| matches!(effect, Effect::Denied | Effect::Rewrote | Effect::Failed { .. });
    trace.verdict.is_some() || trace.runs.iter().any(|run| spoke(&run.effect))
}

/// Puts the length and the hash in the place of long texts.
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

/// The log inside of a transaction: nobody else writes until it is over.
pub(crate) struct Log<'a> {
    connection: &'a Connection,
    /// Where it ends, once something was added.
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

    /// Writes down where it ends.
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
