//! `becket replay`: runs recorded sessions again through the current hooks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_face_kit::{cancellable, progress};
use becket_front::Progress;
use becket_run::own_hooks::HOOKS_OPTION;
use becket_store::{SessionSummary, SqliteStore};
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_workbench::{Difference, Lab, Replay, Said, Speaker};
use serde_json::{Value, json};

use super::trace;
use crate::args::ReplayArgs;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;
use crate::since::since;

/// Replays sessions and shows the differences.
pub fn run(options: &Options, wanted: &ReplayArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let store = folders.open_store()?;
    let sessions = match &wanted.session {
        Some(named) => vec![trace::find(&store, named)?],
        None if wanted.all => all_since(&store, wanted)?,
        None => vec![trace::newest_here(&store, &folders, surroundings)?],
    };
    // What the user names is named from here, wherever the session worked.
    let mut options = options.clone();
    options.run.guests.resolve(HOOKS_OPTION, &surroundings.cwd);
    cancellable(&options, surroundings, async |cancel| {
        let work = async {
            let mut report = Report::new(options.run.json, wanted.all);
            let what = if wanted.all { "sessions" } else { "events" };
            let mut progress = progress(what, &options, surroundings);
            let total = sessions.len() as u64;
            for (folder, sessions) in by_folder(sessions) {
                if !folder.is_dir() {
                    report.skip(&folder, &sessions, surroundings);
                    continue;
                }
                let mut there = surroundings.clone();
                there.cwd = folder;
                let lab = lab(&options, &there, None, &cancel).await?.begin().await;
                let replayed = replay_all(&lab, &store, &sessions, (&mut report, &mut progress, total)).await;
                lab.close(&there).await?;
                replayed?;
            }
            report.end(surroundings)
        };
        tokio::select! {
            ended = work => ended,
            () = cancel.cancelled() => Err(CliError::cancelled()),
        }
    })
}

/// All sessions since the given moment, without those of sub-agents, which come with their parents.
fn all_since(store: &SqliteStore, wanted: &ReplayArgs) -> Result<Vec<SessionSummary>, CliError> {
    let since_ms = wanted
        .since
        .as_deref()
        .map(since)
        .transpose()?
        .unwrap_or_default();
    let sessions = store.sessions(None)?.into_iter().rev();
    let own = sessions.filter(|session| session.parent_id.is_none() && session.started_ms >= since_ms);
    Ok(own.collect())
}

/// Groups sessions by folder: those of one folder have the same hooks.
fn by_folder(sessions: Vec<SessionSummary>) -> BTreeMap<PathBuf, Vec<SessionSummary>> {
    let mut folders: BTreeMap<PathBuf, Vec<SessionSummary>> = BTreeMap::new();
    for session in sessions {
        folders
            .entry(session.cwd.clone().into())
            .or_default()
            .push(session);
    }
    folders
}

async fn replay_all(
    lab: &Lab,
    store: &SqliteStore,
    sessions: &[SessionSummary],
    (report, progress, total): (&mut Report, &mut Progress, u64),
) -> Result<(), CliError> {
    for session in sessions {
        let record = store.record().whole_of_session(&session.id)?;
        // Of several sessions, those that are over are counted; of one, its events.
        let over = report.sessions + report.skipped;
        let sums_up = report.sums_up;
        let replay = Replay::of(lab.engine(), &record, |done, events| match sums_up {
            true => progress.at(over, total),
            false => progress.at(done, events),
        })
        .await;
        progress.clear();
        report.add(session, &replay)?;
    }
    Ok(())
}

/// The results so far, for the summary.
struct Report {
    json: bool,
    sums_up: bool,
    sessions: u64,
    skipped: u64,
    older: u64,
    replayed: u64,
    not_kept: u64,
    /// Sessions without a record: every session begins with an event, so theirs is lost.
    unrecorded: u64,
    differing: u64,
    digest: blake3::Hasher,
    /// The calls that each hook would have stopped.
    stopped: BTreeMap<(String, String), Vec<String>>,
    let_through: u64,
}

impl Report {
    fn new(json: bool, sums_up: bool) -> Self {
        Self {
            json,
            sums_up,
            sessions: 0,
            skipped: 0,
            older: 0,
            replayed: 0,
            not_kept: 0,
            unrecorded: 0,
            differing: 0,
            digest: blake3::Hasher::new(),
            stopped: BTreeMap::new(),
            let_through: 0,
        }
    }

    fn skip(&mut self, folder: &Path, sessions: &[SessionSummary], surroundings: &Surroundings) {
        self.skipped += sessions.len() as u64;
        surroundings.remark(&format!(
            "{} left out: hooks run in the folder of their session, and {} is not there any more",
            counted(sessions.len() as u64, "session"),
            folder.display()
        ));
    }

    fn add(&mut self, session: &SessionSummary, replay: &Replay) -> Result<(), CliError> {
        self.sessions += 1;
        self.older += u64::from(!session.is_whole);
        self.replayed += replay.replayed;
        self.not_kept += replay.not_kept;
        self.unrecorded += u64::from(session.is_whole && replay.replayed + replay.not_kept == 0);
        self.differing += replay.differences.len() as u64;
        self.digest.update(replay.digest().as_bytes());
        if !self.json && !replay.differences.is_empty() {
            let SessionSummary { id, context, .. } = session;
            print(&harmless(&format!("session {id} in {context}\n")))?;
        }
        for difference in &replay.differences {
            self.let_through += u64::from(difference.is_let_through());
            if difference.is_stopped() {
                for Speaker { hook, source, .. } in difference.is.refusers() {
                    let stopped = self.stopped.entry((hook.clone(), source.clone())).or_default();
                    stopped.push(format!("{} {}", difference.event, difference.about));
                }
            }
            match self.json {
                true => {
                    let mut line = serde_json::to_value(difference).unwrap_or_default();
                    line["type"] = "difference".into();
                    print(&format!("{line}\n"))?;
                }
                false => print(&harmless(&told(difference)))?,
            }
        }
        Ok(())
    }

    fn end(self, surroundings: &Surroundings) -> Result<Exit, CliError> {
        match self.json {
            true => print(&format!("{}\n", self.summary()))?,
            false => print(&harmless(&self.words()))?,
        }
        if self.older > 0 && !self.json {
            surroundings.remark(&format!(
                "{} from before becket recorded events without hooks: a new guard is asked only about what others \
                 were asked about",
                counted(self.older, "session")
            ));
        }
        if self.unrecorded > 0 {
            let told = format!(
                "the record has no event of {}",
                counted(self.unrecorded, "session")
            );
            if self.unrecorded == self.sessions {
                return Err(CliError::failed(told)
                    .hint("`becket audit verify` says whether decisions are missing too"));
            }
            surroundings.remark(&told);
        }
        Ok(match self.differing {
            0 => Exit::Answered,
            _ => Exit::Differs,
        })
    }

    fn summary(&self) -> Value {
        let by_hook = self.stopped.iter().map(|((hook, source), calls)| {
            json!({"hook": hook, "source": source, "stopped": calls.len(), "calls": calls})
        });
        json!({
            "type": "summary", "sessions": self.sessions, "skipped": self.skipped, "older": self.older,
            "replayed": self.replayed, "not_kept": self.not_kept, "unrecorded": self.unrecorded,
            "differing": self.differing, "let_through": self.let_through, "by_hook": by_hook.collect::<Vec<_>>(),
            "digest": self.digest.finalize().to_hex().to_string(),
        })
    }

    fn words(&self) -> String {
        let mut text = String::new();
        if self.sums_up {
            for ((hook, source), calls) in &self.stopped {
                // A hook without a name is called by its place.
                let place = match hook == source {
                    true => String::new(),
                    false => format!(" ({source})"),
                };
                text.push_str(&format!("{hook}{place} would have stopped {}:\n", calls.len()));
                for call in calls {
                    text.push_str(&format!("  {call}\n"));
                }
            }
        }
        let differing = match self.differing {
            0 => "nothing differs".to_owned(),
            _ => format!(
                "{} differ; what follows them is as it was recorded",
                self.differing
            ),
        };
        let sessions = counted(self.sessions, "session");
        let events = counted(self.replayed, "event");
        text.push_str(&format!("{events} of {sessions} replayed: {differing}\n"));
        if self.not_kept > 0 {
            text.push_str(&format!(
                "{} not replayed, because the record does not have their payloads\n",
                counted(self.not_kept, "event")
            ));
        }
        text
    }
}

/// A difference as text.
fn told(difference: &Difference) -> String {
    let Difference {
        event,
        about,
        was,
        is,
        ..
    } = difference;
    let mut text = format!("  {event}  {about}\n");
    text.push_str(&format!("    was  {}\n", said(was, difference)));
    text.push_str(&format!("    is   {}\n", said(is, difference)));
    match difference.ran {
        Some(true) => text.push_str("    the call was made then; what follows is as it was recorded\n"),
        Some(false) => text.push_str("    the call was not made then either\n"),
        None => {}
    }
    text
}

/// The part of what hooks said that differs, as text.
fn said(said: &Said, difference: &Difference) -> String {
    let words = |what: &&'static str| match *what {
        "decision" => verdict(&said.verdict),
        "rewrite" if said.rewritten.is_empty() => "nothing rewritten".into(),
        "rewrite" => format!("rewritten: {}", Value::Object(said.rewritten.clone())),
        "answer" if said.answers.is_empty() => "no answer".into(),
        "answer" => format!("answers: {}", Value::Array(said.answers.clone())),
        _ if said.failures.is_empty() => "no failures".into(),
        _ => format!("failures: {}", Value::Array(said.failures.clone())),
    };
    let words: Vec<String> = difference.differs.iter().map(words).collect();
    let hooks: Vec<String> = said
        .hooks
        .iter()
        .map(|speaker| match speaker.hook == speaker.source {
            true => speaker.hook.clone(),
            false => format!("{} ({})", speaker.hook, speaker.source),
        })
        .collect();
    match hooks.is_empty() {
        true => words.join("; "),
        false => format!("{}  by {}", words.join("; "), hooks.join(", ")),
    }
}

fn verdict(verdict: &Value) -> String {
    match verdict {
        Value::Null => "no decision".into(),
        Value::String(word) => word.clone(),
        other => becket_record::verdict_of(other),
    }
}

fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
