//! Reading and verifying the audit log of a store.

use becket_agent::store::StoreError;
use rusqlite::params;

use crate::audit::{AuditEntry, AuditHead, Check, Flaw, head};
use crate::database::Database;

/// Selects records of the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditQuery<'a> {
    /// Only records of this session, and of the sub-agents below it.
    pub session_id: Option<&'a str>,
    /// Only records since this time, in milliseconds since 1970.
    pub since_ms: u64,
}

/// The log of what was decided and done in a store.
#[derive(Clone, Copy)]
pub struct AuditLog<'a> {
    database: &'a Database,
}

impl<'a> AuditLog<'a> {
    pub(crate) fn of(database: &'a Database) -> Self {
        Self { database }
    }

    /// The end of the log, as the store itself records it.
    pub fn head(&self) -> Result<AuditHead, StoreError> {
        self.database
            .look("read the audit log", |connection| Ok(head(connection)?.head))
    }

    /// Checks the whole log and returns where it ends, or what is wrong with it. A hash that was noted earlier must
    /// still be among the records. `seen` is called after each record with how many there are so far, and in all.
    pub fn verify(
        &self,
        noted: Option<&str>,
        mut seen: impl FnMut(u64, u64),
    ) -> Result<Result<AuditHead, Flaw>, StoreError> {
        self.database.look("verify the audit log", |connection| {
            // A single transaction, since others may write meanwhile.
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

    /// Passes the selected records to `take`, in their order, until it breaks.
    pub fn each(
        &self,
        query: AuditQuery<'_>,
        mut take: impl FnMut(AuditEntry) -> std::ops::ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.database.look("read the audit log", |connection| {
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
