//! `becket audit`: the log of what was decided and done. It is read here and never written.

mod refused;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use becket_agent::audit::LedgerCounts;
use becket_face_kit::progress;
use becket_store::{AuditEntry, AuditQuery, SqliteStore};
use becket_system::counted;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_workbench::dialect_named;
use serde_json::{Value, json};

use self::refused::Wanted;
use super::trace;
use crate::args::AuditCommand;
use crate::options::Options;
use crate::printing::print;
use crate::since::since;

/// Runs one of the audit commands.
pub fn run(
    options: &Options,
    command: Option<AuditCommand>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    match command {
        None => ledgers(options, &store),
        Some(AuditCommand::Verify { head }) => verify(options, &store, head.as_deref(), surroundings),
        Some(AuditCommand::Export {
            session,
            since,
            dialect,
        }) => {
            let dialect = dialect.as_deref().map(dialect_named).transpose()?;
            export(&store, (session.as_deref(), since.as_deref()), dialect)
        }
        Some(AuditCommand::Refused {
            since,
            session,
            format,
        }) => {
            let session = session.map(|session| session_of(&store, &session)).transpose()?;
            let wanted = Wanted {
                session,
                since: &since,
                form: format,
            };
            refused::run(options, &store, &wanted, surroundings)
        }
        Some(AuditCommand::Head) => head(options, &store),
    }
}

fn verify(
    options: &Options,
    store: &SqliteStore,
    noted: Option<&str>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let noted = noted.map(|hash| hash.trim().to_lowercase());
    let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if noted.as_ref().is_some_and(|hash| !is_hash(hash)) {
        let problem = "a hash of the audit log has 64 hexadecimal digits";
        return Err(CliError::usage(problem).hint("`becket audit head` prints one"));
    }
    let mut progress = progress("records", options, surroundings);
    let verified = store
        .audit_log()
        .verify(noted.as_deref(), |done, total| progress.at(done, total))?;
    drop(progress);
    match verified {
        Ok(end) => {
            match options.run.json {
                true => print(&format!(
                    "{}\n",
                    json!({"ok": true, "records": end.count, "head": end.hash})
                ))?,
                false => print(&format!("{} records, none was changed\n", end.count))?,
            }
            Ok(Exit::Answered)
        }
        Err(flaw) => {
            if options.run.json {
                let flaw = json!({"ok": false, "record": flaw.seq, "problem": flaw.words});
                print(&format!("{flaw}\n"))?;
                return Ok(Exit::Failed);
            }
            let problem = format!("record {} of the audit log {}", flaw.seq, flaw.words);
            Err(CliError::failed(problem).hint(format!(
                "the log is in {}; compare it with a copy from before",
                store.path().display()
            )))
        }
    }
}

fn export(
    store: &SqliteStore,
    (session, since_when): (Option<&str>, Option<&str>),
    dialect: Option<&str>,
) -> Result<Exit, CliError> {
    let since_ms = since_when.map(since).transpose()?.unwrap_or_default();
    let session = session.map(|session| session_of(store, session)).transpose()?;
    let query = AuditQuery {
        session_id: session.as_deref(),
        since_ms,
    };
    let mut problem = None;
    store.audit_log().each(query, |entry| {
        let line = match dialect {
            None => Some(entry.line()),
            Some(dialect) => record_of(&entry, dialect),
        };
        match line.map_or(Ok(()), |line| print(&line)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                problem = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    problem.map_or(Ok(Exit::Answered), Err)
}

/// The record that a dialect prescribes, if the entry holds one.
fn record_of(entry: &AuditEntry, dialect: &str) -> Option<String> {
    let entry: Value = serde_json::from_str(&entry.record).ok()?;
    let is_its = entry["kind"] == "guest" && entry["dialect"] == dialect;
    is_its.then(|| format!("{}\n", entry["record"]))
}

/// The session that is named. A session of a destroyed context is known to the log only, and only by its whole id.
fn session_of(store: &SqliteStore, named: &str) -> Result<String, CliError> {
    let known = trace::find(store, named);
    if known.is_err() {
        let mut is_there = false;
        let query = AuditQuery {
            session_id: Some(named),
            since_ms: 0,
        };
        store.audit_log().each(query, |_| {
            is_there = true;
            ControlFlow::Break(())
        })?;
        if is_there {
            return Ok(named.to_owned());
        }
    }
    known.map(|session| session.id)
}

fn head(options: &Options, store: &SqliteStore) -> Result<Exit, CliError> {
    let head = store.audit_log().head()?;
    match options.run.json {
        true => print(&format!(
            "{}\n",
            json!({"records": head.count, "head": head.hash})
        ))?,
        false => print(&format!("{}\n", head.hash))?,
    }
    Ok(Exit::Answered)
}

/// What the log says about one session.
#[derive(Default)]
pub(crate) struct Account {
    context: String,
    /// The counts of the agent's ledger when the session ended.
    ledger: Option<LedgerCounts>,
    /// Decisions that allowed a call, counted in the log.
    allowed: u64,
    refused: u64,
    operations: u64,
    decided_by_hooks: u64,
    /// Calls that were allowed and not made yet.
    open: BTreeMap<String, u64>,
    /// Operations that no decision has allowed.
    unpermitted: u64,
}

impl Account {
    fn count(&mut self, entry: &AuditEntry) {
        let record: Value = serde_json::from_str(&entry.record).unwrap_or_default();
        let call = || record["tool_call_id"].as_str().unwrap_or_default().to_owned();
        if let Some(context) = record["context_name"].as_str() {
            self.context = context.into();
        }
        match entry.kind.as_str() {
            "call" if record["decision"] == "allow" => {
                self.allowed += 1;
                *self.open.entry(call()).or_default() += 1;
            }
            "call" => self.refused += 1,
            "operation" => {
                self.operations += 1;
                match self.open.get_mut(&call()) {
                    Some(left) if *left > 0 => *left -= 1,
                    _ => self.unpermitted += 1,
                }
            }
            "hooks" => self.decided_by_hooks += 1,
            "ledger" => self.ledger = serde_json::from_value(record).ok(),
            _ => {}
        }
    }

    /// A record, and the account of a session that has only this record, as text.
    pub(crate) fn of_one(entry: &AuditEntry) -> String {
        let mut account = Self::default();
        account.count(entry);
        format!("{}{}{}", entry.line(), account.json(""), account.words(""))
    }

    /// What is wrong with the session, by the ledger of the agent or by the log.
    fn problem(&self) -> Option<String> {
        if self.unpermitted > 0 {
            return Some(format!("{} operations without a permit", self.unpermitted));
        }
        let ledger = self.ledger?;
        if !ledger.is_balanced() {
            return Some(format!("a difference of {}", ledger.difference()));
        }
        let logged = (self.allowed, self.refused, self.operations);
        let counted = (ledger.permits, ledger.refused, ledger.operations);
        (logged != counted).then(|| "the log and the ledger count differently".to_owned())
    }

    fn json(&self, session_id: &str) -> Value {
        json!({
            "session_id": session_id, "context": self.context, "permits": self.allowed, "refused": self.refused,
            "operations": self.operations, "decided_by_hooks": self.decided_by_hooks, "ledger": self.ledger,
            "difference": self.ledger.map(|ledger| ledger.difference()), "problem": self.problem(),
        })
    }

    fn words(&self, session_id: &str) -> String {
        let end = match (self.problem(), self.ledger) {
            (Some(problem), _) => format!("WRONG: {problem}"),
            (None, Some(ledger)) => format!("ok, {} used", counted(ledger.used, "permit")),
            (None, None) => "still open, or killed".into(),
        };
        format!(
            "{session_id}  {}  {} allowed, {} run, {} refused, hooks decided {}  {end}\n",
            self.context,
            counted(self.allowed, "call"),
            self.operations,
            self.refused,
            counted(self.decided_by_hooks, "time"),
        )
    }
}

/// The ledger of each session, the newest last.
fn ledgers(options: &Options, store: &SqliteStore) -> Result<Exit, CliError> {
    let mut order: Vec<String> = Vec::new();
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    store.audit_log().each(AuditQuery::default(), |entry| {
        if !accounts.contains_key(&entry.session_id) {
            order.push(entry.session_id.clone());
        }
        accounts
            .entry(entry.session_id.clone())
            .or_default()
            .count(&entry);
        ControlFlow::Continue(())
    })?;
    let mut text = String::new();
    let mut exit = Exit::Answered;
    for session_id in &order {
        let account = &accounts[session_id];
        if account.problem().is_some() {
            exit = Exit::Failed;
        }
        match options.run.json {
            true => text.push_str(&format!("{}\n", account.json(session_id))),
            false => text.push_str(&harmless(&account.words(session_id))),
        }
    }
    if order.is_empty() && !options.run.json {
        text.push_str("there are no decisions yet\n");
    }
    print(&text)?;
    Ok(exit)
}
