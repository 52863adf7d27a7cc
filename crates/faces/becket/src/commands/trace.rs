//! `becket trace`: what happened in a session, as a tree of turns, requests, tool calls and hook runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_face_kit::runtime;
use becket_record::{Family, Form, Item, export, otlp};
use becket_run::otel;
use becket_run::setup::Setup;
use becket_store::{SessionSummary, SqliteStore, TurnPage};
use becket_system::project_root::nearest_project;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use serde_json::Value;
use url::Url;

use crate::args::TraceArgs;
use crate::options::Options;
use crate::printing::print;

/// The message about a session that was killed before it had stored an answer.
pub(super) const LOST_ANSWER: &str = "the last answer is not stored: becket was killed while it arrived";

/// How many turns are shown by default.
const TURNS: u64 = 100;

/// How many lines of JSON are written at once.
const LINES: usize = 1000;

/// How often `--follow` reads the record.
const PACE: Duration = Duration::from_millis(200);

/// Shows the trace of a session.
pub fn run(options: &Options, wanted: &TraceArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let store = folders.open_store()?;
    let session = match &wanted.session {
        Some(named) => find(&store, named)?,
        None if wanted.all => newest(&store)?,
        None => newest_here(&store, &folders, surroundings)?,
    };
    if wanted.follow {
        return follow(&store, &session, options);
    }
    let otel = otel_endpoint(options, surroundings)?;
    let form = wanted.export.or(options.run.json.then_some(Form::Jsonl));
    if form == Some(Form::Markdown) && otel.is_none() {
        return as_markdown(&store, &session, wanted);
    }
    let usual = (otel.is_none() && form.is_none()).then_some(TURNS);
    let page = page(&store, &session, wanted, usual)?;
    let record = match &page {
        Some(page) => store.record().of_turns(&session.id, page)?,
        None => store.record().of_session(&session.id, 0)?,
    };
    if form == Some(Form::Jsonl) && otel.is_none() {
        record
            .chunks(LINES)
            .try_for_each(|some| print(&export::json_lines(some)))?;
        return Ok(Exit::Answered);
    }
    let family = Family::of(record.iter().map(Item::read), export::parents(&store)?);
    drop(record);
    match (otel, form) {
        (Some(endpoint), _) => {
            let spans = otlp::request(&family, &session);
            return send(&endpoint, &spans, options, surroundings);
        }
        (None, Some(Form::Otlp)) => print(&export::otlp(&session, &family))?,
        (None, Some(_)) => print(&export::chrome(&session, &family))?,
        (None, None) => {
            print(&harmless(&family.tree(&session, page.as_ref())))?;
            if store.record().lost_answer(&session.id)? {
                print(&format!("{LOST_ANSWER}\n"))?;
            }
        }
    }
    Ok(Exit::Answered)
}

/// Prints the whole session as Markdown.
fn as_markdown(store: &SqliteStore, session: &SessionSummary, wanted: &TraceArgs) -> Result<Exit, CliError> {
    if wanted.turns.is_some() || wanted.before.is_some() {
        return Err(CliError::usage(
            "`--export markdown` always has the whole session, not some of its turns",
        )
        .hint("leave out --turns and --before, or use another form"));
    }
    print(&export::whole(store, session, Form::Markdown)?)?;
    Ok(Exit::Answered)
}

/// The turns to show: as many as the command line says, else `usual`; `None` for the whole record.
fn page(
    store: &SqliteStore,
    session: &SessionSummary,
    wanted: &TraceArgs,
    usual: Option<u64>,
) -> Result<Option<TurnPage>, CliError> {
    let most = match (wanted.turns.or(usual), wanted.before) {
        (None, None) => return Ok(None),
        (None, Some(_)) => TURNS,
        (Some(0), _) => u64::MAX,
        (Some(most), _) => most,
    };
    Ok(Some(store.record().turn_page(
        &session.id,
        most,
        wanted.before,
    )?))
}

/// Where the spans are to be sent, if the command line says so; settings are for runs only.
fn otel_endpoint(options: &Options, surroundings: &Surroundings) -> Result<Option<Url>, CliError> {
    if options.run.otel.is_none() {
        return Ok(None);
    }
    let config = Setup::read(&options.run, surroundings)?.config.otel;
    otel::endpoint(options.run.otel.as_deref(), &config, surroundings)
}

fn send(
    endpoint: &Url,
    spans: &Value,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let sending = otel::send(endpoint, spans.to_string(), surroundings);
    runtime(options)?.block_on(sending)?;
    Ok(Exit::Answered)
}

/// The newest session of any project.
fn newest(store: &SqliteStore) -> Result<SessionSummary, CliError> {
    let mut own = own_sessions(store)?.into_iter();
    own.next()
        .ok_or_else(|| CliError::usage("there are no sessions yet").hint("the first prompt creates one"))
}

/// The newest session of the current project. If another project has a newer one, the user is told.
pub(super) fn newest_here(
    store: &SqliteStore,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<SessionSummary, CliError> {
    let newest = newest(store)?;
    let home = surroundings.variable("HOME").map(PathBuf::from);
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut is_here = |folder: &String| {
        let is_here = || nearest_project(Path::new(folder), home.as_deref()) == folders.project;
        *known.entry(folder.clone()).or_insert_with(is_here)
    };
    let here = own_sessions(store)?
        .into_iter()
        .find(|session| is_here(&session.cwd));
    let project = folders.project.display();
    let here = here.ok_or_else(|| {
        CliError::usage(format!("there are no sessions of this project ({project}) yet"))
            .hint("`becket sessions` lists those of all projects, and `becket trace --all` shows the newest of them")
    })?;
    if here.id != newest.id {
        surroundings.remark(&format!(
            "this is the newest session of this project ({project}); {} is newer elsewhere",
            newest.id
        ));
    }
    Ok(here)
}

/// The sessions that a user began, newest first.
fn own_sessions(store: &SqliteStore) -> Result<Vec<SessionSummary>, CliError> {
    let mut sessions = store.sessions(None)?;
    sessions.retain(|session| session.parent_id.is_none());
    Ok(sessions)
}

/// The session whose id begins with a text.
pub(super) fn find(store: &SqliteStore, named: &str) -> Result<SessionSummary, CliError> {
    let sessions = store.sessions(None)?;
    let mut found: Vec<SessionSummary> = sessions
        .into_iter()
        .filter(|session| session.id.starts_with(named))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            Err(CliError::usage(format!("there is no session `{named}`"))
                .hint("`becket sessions` lists them"))
        }
        count => Err(
            CliError::usage(format!("`{named}` is the beginning of {count} sessions"))
                .hint("write more of it"),
        ),
    }
}

/// Shows what is recorded until the session ends.
fn follow(store: &SqliteStore, session: &SessionSummary, options: &Options) -> Result<Exit, CliError> {
    let mut after = 0;
    loop {
        // Looked up before the record: what is recorded until the end is then shown.
        let is_over = store
            .sessions(None)?
            .iter()
            .find(|known| known.id == session.id)
            .is_none_or(|known| known.reason.is_some());
        let news = store.record().of_session(&session.id, after)?;
        after = news.last().map_or(after, |last| last.seq);
        for item in news.iter().map(Item::read) {
            match options.run.json {
                true => print(&item.line())?,
                false => print(&harmless(&format!("{}\n", item.told())))?,
            }
        }
        if is_over {
            return Ok(Exit::Answered);
        }
        std::thread::sleep(PACE);
    }
}
