//! The tables, and the migrations from older versions of the file.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::problem::Problem;

/// The migrations, one for every version; the first makes the tables of version 1. A released step never changes.
pub(crate) const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9,
    VERSION_10,
];

/// Marks a file as becket's (`beck` in ASCII), so that another program's database is never used by mistake.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"beck");

/// The first tables. Short columns come first in a row and large ones last: a query never reads what it skips.
///
/// `entries.seq` grows with every entry, so a parent always has a smaller one than its children. The current entries of
/// contexts and sessions are no foreign keys, because each delete of an entry would search for them. `inbox` and
/// `trace` do not refer to contexts and sessions: a message may wait for a context that does not exist yet, and a hook
/// may be traced before its session is on disk.
const VERSION_1: &str = "
CREATE TABLE contexts (
    name TEXT PRIMARY KEY,
    created_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    leaf INTEGER,
    settings TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    parent_id TEXT,
    context TEXT NOT NULL REFERENCES contexts(name),
    leaf INTEGER,
    model TEXT NOT NULL,
    cwd TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_context ON sessions(context, started_ms);

CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    parent INTEGER,
    context TEXT NOT NULL REFERENCES contexts(name),
    id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    time_ms INTEGER NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (context, id)
) STRICT;
CREATE INDEX entries_by_session ON entries(session_id);

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    context TEXT NOT NULL,
    consumed_by TEXT,
    sender TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE INDEX inbox_by_context ON inbox(context, consumed_by);

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE trace (
    seq INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    event TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    dispatch TEXT NOT NULL
) STRICT;
CREATE INDEX trace_by_session ON trace(session_id);
";

/// Contexts that are chosen, cleared and destroyed in time.
///
/// `contexts.cleared` is the last entry at the time when the context was cleared; `message_count` counts what came
/// after it. An archive is the last current entry of the conversation: the entries themselves stay where they are.
/// `chosen` has one row. Its contexts are no foreign keys: the first one is chosen before it exists.
const VERSION_2: &str = "
ALTER TABLE contexts ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN destroy_at_ms INTEGER;
ALTER TABLE contexts ADD COLUMN destroy_after_ms INTEGER;

CREATE TABLE archives (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    context TEXT NOT NULL REFERENCES contexts(name),
    leaf INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    message_count INTEGER NOT NULL
) STRICT;
CREATE INDEX archives_by_context ON archives(context);

CREATE TABLE chosen (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    current TEXT NOT NULL,
    previous TEXT
) STRICT;
INSERT INTO chosen VALUES (1, 'default', NULL);
";

/// Messages that are brought in from elsewhere, each once: `inbox.origin` stays when the message is consumed.
const VERSION_3: &str = "
ALTER TABLE inbox ADD COLUMN origin TEXT;
CREATE UNIQUE INDEX inbox_by_origin ON inbox(origin) WHERE origin IS NOT NULL;
";

/// Names of conversations, as the entries on each session's path give them: listings need not read the path.
const VERSION_4: &str = "
ALTER TABLE sessions ADD COLUMN name TEXT;
";

/// Conversations that continue anywhere in their tree, or come from elsewhere.
///
/// `contexts.title` is the name of the conversation, on whichever branch it was given; `contexts.origin` says where the
/// conversation comes from. `entries.source` is the original of an imported entry.
const VERSION_5: &str = "
ALTER TABLE contexts ADD COLUMN title TEXT;
ALTER TABLE contexts ADD COLUMN origin TEXT;
ALTER TABLE entries ADD COLUMN source TEXT;
UPDATE contexts SET title = (SELECT sessions.name FROM sessions
    WHERE sessions.context = contexts.name AND sessions.leaf = contexts.leaf
    ORDER BY sessions.started_ms DESC LIMIT 1);
";

/// The audit log, and a trace that can be replayed.
///
/// The log (`audit.rs`) is chained: each record has the hash of the one before, and `audit_head` says where the chain
/// ends. becket never changes or deletes a record, and triggers make sure of it; destroyed contexts leave theirs
/// behind. `trace.seq` is never reused, even when the last rows were deleted. `trace.heard` is 0 for an event without
/// any handler; `sessions.record` says how much was recorded of a session: 0 before such events were.
const VERSION_6: &str = "
ALTER TABLE sessions ADD COLUMN record INTEGER NOT NULL DEFAULT 0;

ALTER TABLE trace RENAME TO trace_before;
DROP INDEX trace_by_session;
CREATE TABLE trace (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    event TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    heard INTEGER NOT NULL DEFAULT 1,
    dispatch TEXT NOT NULL
) STRICT;
INSERT INTO trace (seq, session_id, event, time_ms, dispatch)
    SELECT seq, session_id, event, time_ms, dispatch FROM trace_before ORDER BY seq;
DROP TABLE trace_before;
CREATE INDEX trace_by_session ON trace(session_id);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time_ms INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit(session_id);
CREATE TABLE audit_head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    count INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'records of the audit log are never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
    BEGIN SELECT raise(ABORT, 'records of the audit log are never deleted'); END;
";

/// Indexes to the sub-agents of a session, and to its turns.
const VERSION_7: &str = "
CREATE INDEX sessions_by_parent ON sessions(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX trace_turns ON trace(session_id) WHERE event = 'turn';
";

/// A current context for each project. The row without a project is the one that all projects had together.
const VERSION_8: &str = "
ALTER TABLE chosen RENAME TO chosen_before;
CREATE TABLE chosen (
    project TEXT PRIMARY KEY,
    current TEXT NOT NULL,
    previous TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO chosen SELECT '', current, previous FROM chosen_before;
DROP TABLE chosen_before;
";

/// Counts that are kept while traces and messages are written, so that a listing reads no record as a whole.
///
/// `sessions.prompt` is the beginning of a session's first prompt; tokens and cost are the sums over its answers.
/// `runs` counts hook runs by session, hook, hour, effect and duration, which is rounded down to two digits.
/// `outcomes` counts turns, requests and calls of a session, and those that were refused or failed. Neither refers to
/// `sessions`: a hook may be traced before its session is on disk. `summary.rs` counts what is written from now on.
const VERSION_9: &str = "
ALTER TABLE sessions ADD COLUMN prompt TEXT;
ALTER TABLE sessions ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost REAL;
UPDATE sessions SET prompt = (
    SELECT substr(json_extract(content, '$.message.content[0].text'), 1, 400) FROM entries
    WHERE session_id = sessions.id
        AND CASE WHEN json_valid(content) THEN json_extract(content, '$.message.role') END = 'user'
    ORDER BY seq LIMIT 1);
UPDATE sessions SET (input_tokens, cached_tokens, output_tokens, cost) = (
    SELECT coalesce(sum(json_extract(content, '$.message.usage.input_tokens')), 0),
           coalesce(sum(json_extract(content, '$.message.usage.cache_read_tokens')), 0),
           coalesce(sum(json_extract(content, '$.message.usage.output_tokens')), 0),
           sum(json_extract(content, '$.message.usage.cost'))
    FROM entries WHERE session_id = sessions.id
        AND CASE WHEN json_valid(content) THEN json_extract(content, '$.message.role') END = 'assistant');

CREATE TABLE hooks (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    handler TEXT NOT NULL,
    source TEXT NOT NULL,
    UNIQUE (event, handler, source)
) STRICT;
CREATE TABLE runs (
    session_id TEXT NOT NULL,
    hook INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    effect TEXT NOT NULL,
    took_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum_us INTEGER NOT NULL,
    PRIMARY KEY (session_id, hook, hour, effect, took_us)
) STRICT, WITHOUT ROWID;
CREATE TABLE outcomes (
    session_id TEXT NOT NULL,
    what TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (session_id, what)
) STRICT, WITHOUT ROWID;

CREATE TEMP TABLE counted AS
    SELECT trace.session_id, trace.event, trace.time_ms / 3600000 AS hour,
           json_extract(run.value, '$.handler') AS handler, json_extract(run.value, '$.source') AS source,
           CASE WHEN json_extract(run.value, '$.effect.kind') = 'failed'
                     AND json_extract(run.value, '$.effect.refused') THEN 'unevaluated'
                ELSE json_extract(run.value, '$.effect.kind') END AS effect,
           coalesce(json_extract(run.value, '$.duration_us'), 0) AS us
    FROM trace, json_each(CASE WHEN json_valid(trace.dispatch) THEN trace.dispatch ELSE '{}' END, '$.runs') AS run
    WHERE trace.heard AND trace.event NOT IN ('turn', 'request', 'tool_call');
DELETE FROM counted WHERE handler IS NULL OR effect IS NULL;
INSERT INTO hooks (event, handler, source)
    SELECT DISTINCT event, handler, coalesce(source, '') FROM counted ORDER BY event, handler, source;
INSERT INTO runs
    SELECT session_id, hooks.id, hour, effect, us / unit * unit AS rounded, count(*), sum(us)
    FROM (SELECT *, CASE WHEN us < 100 THEN 1 WHEN us < 1000 THEN 10 WHEN us < 10000 THEN 100
                         WHEN us < 100000 THEN 1000 WHEN us < 1000000 THEN 10000 WHEN us < 10000000 THEN 100000
                         WHEN us < 100000000 THEN 1000000 ELSE 10000000 END AS unit FROM counted) AS counted
    JOIN hooks ON hooks.event = counted.event AND hooks.handler = counted.handler
        AND hooks.source = coalesce(counted.source, '')
    GROUP BY session_id, hooks.id, hour, effect, rounded;
DROP TABLE counted;
INSERT INTO outcomes
    SELECT session_id, event, count(*) FROM trace
    WHERE event IN ('turn', 'request', 'tool_call') GROUP BY session_id, event;
INSERT INTO outcomes
    SELECT session_id, what, count(*) FROM (
        SELECT session_id, CASE
            WHEN event = 'request' AND (json_extract(dispatch, '$.facts.ended.error') IS NOT NULL
                OR json_extract(dispatch, '$.facts.ended.blocked') IS NOT NULL) THEN 'request_failed'
            WHEN event = 'tool_call' AND json_extract(dispatch, '$.facts.refused') IS NOT NULL THEN 'call_refused'
            WHEN event = 'tool_call' AND json_extract(dispatch, '$.facts.is_error') THEN 'call_failed' END AS what
        FROM trace WHERE event IN ('request', 'tool_call') AND json_valid(dispatch))
    WHERE what IS NOT NULL GROUP BY session_id, what;
INSERT INTO outcomes
    SELECT session_id, 'event_refused', count(*) FROM trace
    WHERE heard AND event NOT IN ('turn', 'request', 'tool_call') AND CASE WHEN json_valid(dispatch)
        THEN json_extract(dispatch, '$.tool_call_id') IS NULL AND EXISTS (
            SELECT 1 FROM json_each(dispatch, '$.runs') WHERE json_extract(value, '$.effect.kind') = 'denied'
                OR (json_extract(value, '$.effect.kind') = 'failed' AND json_extract(value, '$.effect.refused')))
        END
    GROUP BY session_id;
";

/// Where conversations begin after a compaction, so that opening one does not read what the summary replaces.
///
/// `first` is the first entry that the compaction in `seq` kept, or the compaction itself; `noted` is what the entries
/// before `first` have noted. Compactions of older versions have no row.
const VERSION_10: &str = "
CREATE TABLE compactions (
    seq INTEGER PRIMARY KEY REFERENCES entries(seq) ON DELETE CASCADE,
    first INTEGER NOT NULL,
    noted TEXT NOT NULL
) STRICT;
";

/// The tables of a new file: what all migrations together lead to, without the
/// detours, which a start in a new home would pay for. A test compares the two.
const NEWEST: &str = "
CREATE TABLE contexts (
    name TEXT PRIMARY KEY,
    created_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    leaf INTEGER,
    settings TEXT NOT NULL DEFAULT '{}',
    cleared INTEGER NOT NULL DEFAULT 0,
    destroy_at_ms INTEGER,
    destroy_after_ms INTEGER,
    title TEXT,
    origin TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    parent_id TEXT,
    context TEXT NOT NULL REFERENCES contexts(name),
    leaf INTEGER,
    model TEXT NOT NULL,
    cwd TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    reason TEXT,
    name TEXT,
    record INTEGER NOT NULL DEFAULT 0,
    prompt TEXT,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_context ON sessions(context, started_ms);
CREATE INDEX sessions_by_parent ON sessions(parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    parent INTEGER,
    context TEXT NOT NULL REFERENCES contexts(name),
    id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    time_ms INTEGER NOT NULL,
    content TEXT NOT NULL,
    source TEXT,
    UNIQUE (context, id)
) STRICT;
CREATE INDEX entries_by_session ON entries(session_id);

CREATE TABLE compactions (
    seq INTEGER PRIMARY KEY REFERENCES entries(seq) ON DELETE CASCADE,
    first INTEGER NOT NULL,
    noted TEXT NOT NULL
) STRICT;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    context TEXT NOT NULL,
    consumed_by TEXT,
    sender TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    content TEXT NOT NULL,
    origin TEXT
) STRICT;
CREATE INDEX inbox_by_context ON inbox(context, consumed_by);
CREATE UNIQUE INDEX inbox_by_origin ON inbox(origin) WHERE origin IS NOT NULL;

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE archives (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    context TEXT NOT NULL REFERENCES contexts(name),
    leaf INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    message_count INTEGER NOT NULL
) STRICT;
CREATE INDEX archives_by_context ON archives(context);

CREATE TABLE trace (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    event TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    heard INTEGER NOT NULL DEFAULT 1,
    dispatch TEXT NOT NULL
) STRICT;
CREATE INDEX trace_by_session ON trace(session_id);
CREATE INDEX trace_turns ON trace(session_id) WHERE event = 'turn';

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time_ms INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit(session_id);
CREATE TABLE audit_head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    count INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'records of the audit log are never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
    BEGIN SELECT raise(ABORT, 'records of the audit log are never deleted'); END;

CREATE TABLE chosen (
    project TEXT PRIMARY KEY,
    current TEXT NOT NULL,
    previous TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO chosen VALUES ('', 'default', NULL);

CREATE TABLE hooks (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    handler TEXT NOT NULL,
    source TEXT NOT NULL,
    UNIQUE (event, handler, source)
) STRICT;
CREATE TABLE runs (
    session_id TEXT NOT NULL,
    hook INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    effect TEXT NOT NULL,
    took_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum_us INTEGER NOT NULL,
    PRIMARY KEY (session_id, hook, hour, effect, took_us)
) STRICT, WITHOUT ROWID;
CREATE TABLE outcomes (
    session_id TEXT NOT NULL,
    what TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (session_id, what)
) STRICT, WITHOUT ROWID;
";

/// Makes the tables of a new file, or migrates those of an older one.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), Problem> {
    bring_up_to_date(connection, MIGRATIONS, Some(NEWEST))
}

/// Migrates the file to the newest version among the steps.
#[cfg(test)]
fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), Problem> {
    bring_up_to_date(connection, steps, None)
}

/// Brings a file to the newest version among the steps: a new one at once, if it is known what they lead to. For an
/// up-to-date file this costs one read.
fn bring_up_to_date(
    connection: &mut Connection,
    steps: &[&str],
    newest: Option<&str>,
) -> Result<(), Problem> {
    if checked_version(connection, steps)? == steps.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file while this one waited for the lock.
    let found = checked_version(&transaction, steps)?;
    match newest.filter(|_| found == 0) {
        Some(newest) => transaction.execute_batch(newest)?,
        None => steps[found..]
            .iter()
            .try_for_each(|step| transaction.execute_batch(step))?,
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", steps.len() as i64)?;
    transaction.commit()?;
    Ok(())
}

/// The version of the file, after checking that the file is becket's and not newer than the steps. Changes nothing.
pub(crate) fn checked_version(connection: &Connection, steps: &[&str]) -> Result<usize, Problem> {
    // One transaction for all reads: between two of them another process could make the tables.
    let _moment = match connection.is_autocommit() {
        true => Some(connection.unchecked_transaction()?),
        false => None,
    };
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let found = usize::try_from(found).map_err(|_| not_ours())?;
    let owner: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if owner != APPLICATION_ID && (found > 0 || has_tables(connection)?) {
        return Err(not_ours());
    }
    if found > steps.len() {
        return Err(Problem::Refused(format!(
            "it was written by a newer becket: its tables have version {found}, and this one knows versions up to \
             {}. Nothing was changed. Update becket, or use another home",
            steps.len()
        )));
    }
    Ok(found)
}

fn has_tables(connection: &Connection) -> Result<bool, Problem> {
    let table: Option<String> = connection
        .query_row("SELECT name FROM sqlite_schema LIMIT 1", [], |row| row.get(0))
        .optional()?;
    Ok(table.is_some())
}

fn not_ours() -> Problem {
    Problem::Refused(
        "it is a database of another program. Nothing was changed. Move it away, or use another home".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[&str] = &["CREATE TABLE one (x);"];
    const NEW: &[&str] = &[
        OLD[0],
        "ALTER TABLE one ADD COLUMN y; INSERT INTO one VALUES (1, 2);",
    ];

    fn message(problem: Result<(), Problem>) -> String {
        problem.unwrap_err().to_string()
    }

    #[test]
    fn runs_only_the_missing_steps_and_each_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, OLD).unwrap();
        connection.execute("INSERT INTO one VALUES (7)", []).unwrap();
        migrate(&mut connection, NEW).unwrap();
        migrate(&mut connection, NEW).unwrap();
        assert_eq!(checked_version(&connection, NEW).unwrap(), 2);
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM one", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 2);
    }

    /// Everything that is in a file: columns, keys, indexes, triggers and rows.
    fn described(connection: &Connection) -> Vec<String> {
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let tables: Vec<String> = {
            let mut query = connection.prepare(names).unwrap();
            let rows = query.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let mut queries = vec![
            "SELECT name, type, ncol, wr, strict FROM pragma_table_list WHERE schema = 'main' ORDER BY name"
                .into(),
            "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type != 'table' ORDER BY name".to_owned(),
        ];
        for table in &tables {
            queries.push(format!("SELECT * FROM pragma_table_xinfo('{table}')"));
            queries.push(format!("SELECT * FROM pragma_foreign_key_list('{table}')"));
            queries.push(format!("SELECT * FROM {table}"));
        }
        let mut lines = Vec::new();
        for text in &queries {
            let mut query = connection.prepare(text).unwrap();
            let columns = query.column_count();
            let mut rows = query.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values = (0..columns).map(|place| format!("{:?}", row.get_ref(place).unwrap()));
                lines.push(format!("{text}: {}", values.collect::<Vec<_>>().join(" ")));
            }
        }
        lines.retain(|line| !line.contains("sqlite_schema:") && !line.contains("SELECT * FROM sqlite_"));
        lines
    }

    #[test]
    fn a_new_file_has_what_all_migrations_lead_to() {
        let mut migrated = Connection::open_in_memory().unwrap();
        migrate(&mut migrated, MIGRATIONS).unwrap();
        let mut new = Connection::open_in_memory().unwrap();
        prepare(&mut new).unwrap();
        let (migrated, new) = (described(&migrated), described(&new));
        assert!(migrated.len() > 90, "{migrated:#?}");
        similar_asserted(&migrated, &new);
    }

    fn similar_asserted(migrated: &[String], new: &[String]) {
        for (old, new) in migrated.iter().zip(new) {
            assert_eq!(old, new);
        }
        assert_eq!(migrated.len(), new.len());
    }

    #[test]
    fn a_store_of_version_1_keeps_everything() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("becket.db");
        let mut old = Connection::open(&file).unwrap();
        migrate(&mut old, &[VERSION_1]).unwrap();
        old.execute_batch(
            r#"INSERT INTO contexts (name, created_ms, used_ms, message_count) VALUES ('old', 1, 2, 0);
               INSERT INTO sessions (id, context, model, cwd, started_ms) VALUES ('s', 'old', 'm', '/', 1);
               INSERT INTO entries (context, id, session_id, time_ms, content)
               VALUES ('old', 'e', 's', 3, '{"type":"custom","kind":"k","data":7}');
               UPDATE contexts SET leaf = 1; UPDATE sessions SET leaf = 1;"#,
        )
        .unwrap();
        drop(old);
        let store = crate::SqliteStore::open(&file).unwrap();
        let entries = store.entries("old").unwrap();
        assert_eq!((entries[0].id.as_str(), entries[0].time_ms), ("e", 3));
        assert_eq!(store.chosen().unwrap().current, "default");
        let project = crate::Project::at(folder.path());
        let elsewhere = crate::SqliteStore::open(&file)
            .unwrap()
            .in_project(project.clone());
        assert_eq!(elsewhere.chosen().unwrap().current, project.first().as_str());
        assert_eq!(
            store.context("old").unwrap().unwrap().lifetime,
            crate::Lifetime::default()
        );
        assert_eq!(store.integrity_check().unwrap(), Vec::<String>::new());
        assert_eq!(
            store.audit_log().verify(None, |_, _| {}).unwrap().unwrap().count,
            0
        );
    }

    /// A record of version 8 with hook runs, calls and answers, and with rows that cannot be read.
    const RECORD: &str = r#"
        INSERT INTO contexts (name, created_ms, used_ms) VALUES ('c', 1, 1);
        INSERT INTO sessions (id, context, model, cwd, started_ms) VALUES ('s', 'c', 'm', '/', 1);
        INSERT INTO entries (context, id, session_id, time_ms, content) VALUES
            ('c', 'a', 's', 1, 'no JSON'),
            ('c', 'b', 's', 1, '{"type":"message","message":{"role":"user","content":[{"type":"text","text":"go"}]}}'),
            ('c', 'd', 's', 1, '{"type":"message","message":{"role":"assistant",
                "usage":{"input_tokens":5,"output_tokens":2,"cost":0.5}}}'),
            ('c', 'e', 's', 1, '{"type":"message","message":{"role":"assistant",
                "usage":{"input_tokens":6,"output_tokens":1}}}');
        INSERT INTO trace (session_id, event, time_ms, heard, dispatch) VALUES
            ('s', 'pre_tool', 7200001, 1, '{"tool_call_id":"x","runs":[
                {"handler":"h","source":"f","effect":{"kind":"denied"},"duration_us":1234},
                {"handler":"i","source":"f","effect":{"kind":"not_asked"},"duration_us":0}]}'),
            ('s', 'user_prompt', 7200001, 1, '{"runs":[
                {"handler":"h","source":"f","effect":{"kind":"failed","refused":true},"duration_us":99}]}'),
            ('s', 'pre_tool', 7200001, 1, '{"runs":[
                {"handler":"h","source":"f","effect":{"kind":"none"},"duration_us":1299}]}'),
            ('s', 'pre_tool', 7200001, 1, '{"runs":[
                {"handler":"h","source":"f","effect":{"kind":"none"},"duration_us":1201}]}'),
            ('s', 'pre_tool', 1, 1, 'no JSON'),
            ('s', 'turn', 1, 1, '{}'),
            ('s', 'request', 1, 1, '{"facts":{"ended":{"error":"away"}}}'),
            ('s', 'tool_call', 1, 1, '{"facts":{"refused":"no","is_error":true}}'),
            ('s', 'tool_call', 1, 1, '{"facts":{"is_error":true}}'),
            ('s', 'tool_call', 1, 1, 'no JSON');
    "#;

    #[test]
    fn an_older_record_is_counted_as_a_newer_one() {
        use crate::RunEffect::{Denied, Failed, NotAsked, Passed, Unevaluated};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("becket.db");
        let mut old = Connection::open(&file).unwrap();
        migrate(&mut old, &MIGRATIONS[..8]).unwrap();
        old.execute_batch(RECORD).unwrap();
        drop(old);
        let store = crate::SqliteStore::open(&file).unwrap();
        let session = &store.sessions(None).unwrap()[0];
        assert_eq!(session.prompt.as_deref(), Some("go"));
        let usage = &session.usage;
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.cost),
            (11, 3, Some(0.5))
        );
        let counts = &store.record().session_counts().unwrap()["s"];
        let runs = |effect| counts.runs.get(&effect).copied().unwrap_or_default();
        assert_eq!(
            [Passed, Denied, Failed, Unevaluated, NotAsked].map(runs),
            [2, 1, 0, 1, 1]
        );
        assert_eq!((counts.turns, counts.requests, counts.calls), (1, 1, 3));
        assert_eq!((counts.failed_requests, counts.failed_calls), (1, 1));
        assert_eq!((counts.refused_calls, counts.refused_events), (1, 1));
        let (known, timed) = store.record().hook_counts(0).unwrap();
        let named: Vec<(&str, &str)> = known
            .iter()
            .map(|hook| (hook.event.as_str(), hook.handler.as_str()))
            .collect();
        assert_eq!(
            named,
            [("pre_tool", "h"), ("pre_tool", "i"), ("user_prompt", "h")]
        );
        let passed: Vec<_> = timed.iter().filter(|count| count.effect == Passed).collect();
        assert_eq!(passed.len(), 1, "rounded to the same two digits: {timed:?}");
        assert_eq!(
            (passed[0].took_us, passed[0].count, passed[0].sum_us),
            (1_200, 2, 2_500)
        );
        assert!(store.record().hook_counts(7_200_000).unwrap().0.len() == 3);
        assert!(store.record().hook_counts(10_800_000).unwrap().0.is_empty());
    }

    #[test]
    fn a_trace_keeps_its_numbers_and_none_is_used_again() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &MIGRATIONS[..5]).unwrap();
        let add = "INSERT INTO trace (session_id, event, time_ms, dispatch) VALUES ('s', 'e', 1, '{}')";
        for _ in 0..3 {
            connection.execute(add, []).unwrap();
        }
        connection.execute("DELETE FROM trace WHERE seq = 1", []).unwrap();
        migrate(&mut connection, MIGRATIONS).unwrap();
        let numbers = |connection: &Connection| -> Vec<i64> {
            let mut query = connection.prepare("SELECT seq FROM trace ORDER BY seq").unwrap();
            let rows = query.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        assert_eq!(numbers(&connection), [2, 3]);
        connection.execute("DELETE FROM trace", []).unwrap();
        connection.execute(add, []).unwrap();
        assert_eq!(numbers(&connection), [4]);
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_at_its_version() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, OLD).unwrap();
        migrate(&mut connection, &[OLD[0], "CREATE TABLE two (x); SELECT broken;"]).unwrap_err();
        assert_eq!(checked_version(&connection, NEW).unwrap(), 1);
        connection.execute("CREATE TABLE two (x)", []).unwrap();
    }

    #[test]
    fn refuses_a_newer_version_and_foreign_databases() {
        let mut newer = Connection::open_in_memory().unwrap();
        migrate(&mut newer, NEW).unwrap();
        assert!(message(migrate(&mut newer, OLD)).contains("written by a newer becket"));

        let mut foreign = Connection::open_in_memory().unwrap();
        foreign.execute("CREATE TABLE theirs (x)", []).unwrap();
        assert!(message(migrate(&mut foreign, NEW)).contains("another program"));
        foreign.pragma_update(None, "user_version", 2).unwrap();
        assert!(message(migrate(&mut foreign, NEW)).contains("another program"));
    }

    #[test]
    fn nobody_takes_a_store_that_is_just_being_made_for_another_programs() {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("becket.db");
            std::thread::scope(|scope| {
                let openings: Vec<_> = (0..4)
                    .map(|_| scope.spawn(|| crate::SqliteStore::open(&file).map(drop)))
                    .collect();
                for opening in openings {
                    opening.join().unwrap().unwrap();
                }
            });
        }
    }
}
