//! A file into which a hook writes variables for the later commands of its session, in the language of the shell.
//!
//! Such a file may use everything that a shell can do, as in `export PATH="$PWD/bin:$PATH"`, so a shell reads it: what
//! is different in its environment afterwards are the variables. Several hooks may extend the same variable, and none
//! knows of the others. So their files are read one after another once all of them have ended, in the order of the
//! hooks, and each begins with what those before it have set.

#![allow(clippy::disallowed_methods, reason = "a file that hooks write")]

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becket_events::{Class, Event, Merge, SessionStart, SessionStartReply, Setup, SetupReply};
use becket_hooks::{
    Action, CommandLane, Engine, Failure, Handler, HandlerInfo, HookEnvironment, Invocation, Lane, Matcher,
    Occasion, Program, Registration,
};
use futures_util::future::BoxFuture;

use crate::facts::Facts;

/// The variable that names the file, and the events whose hooks get one.
#[derive(Debug, Clone, Copy)]
pub struct EnvFile {
    /// The variable.
    pub variable: &'static str,
    /// The events, by the names of their system.
    pub events: &'static [&'static str],
}

/// How long a shell may take to read the file.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Variables that every shell sets for itself.
const OF_SHELLS: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD"];

/// Prints the environment without the file and, behind an entry that is no variable, with it.
const READER: &str = r#"env -0; printf '=\0'; set -a; . "$HOOK_ENV_FILE" >&2; set +a; env -0"#;

/// The file of one run of a hook. It is gone when the run is over.
pub struct RunFile(PathBuf);

impl RunFile {
    /// A new, empty file.
    pub fn new(facts: &Facts, session_id: &str) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&facts.files)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{session_id}-{}-{number}.env", std::process::id());
        let file = facts.files.join(name);
        std::fs::File::create_new(&file)?;
        Ok(Self(file))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the hook has written nothing.
    fn is_empty(&self) -> bool {
        std::fs::metadata(&self.0).is_ok_and(|file| file.len() == 0)
    }

    /// The variables that the file sets, where others have set some before.
    async fn variables(
        &self,
        environment: &HookEnvironment,
        before: &BTreeMap<String, String>,
        directory: &Path,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let program = Program::shell(READER).environment(Arc::clone(&environment.variables));
        let program = before
            .iter()
            .fold(program, |program, (name, value)| program.variable(name, value))
            .variable("HOOK_ENV_FILE", &self.0);
        let invocation = Invocation {
            input: "".into(),
            environment: Vec::new(),
            directory: directory.to_path_buf(),
            timeout: READ_TIMEOUT,
        };
        let finished = CommandLane::new(program).run(invocation).await?;
        Ok(changed(&finished.stdout))
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file that stays behind holds what the hook wrote into it and nothing else.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The files that hooks of a run have written.
#[derive(Default)]
pub struct EnvFiles(Mutex<HashMap<String, OfSession>>);

/// What hooks of a session have written.
#[derive(Default)]
struct OfSession {
    /// Files that were not read yet, with the places of their hooks in the order.
    written: Vec<(usize, RunFile, PathBuf)>,
    /// The variables of all files before.
    set: BTreeMap<String, String>,
}

impl EnvFiles {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, OfSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the file of a hook, which has run in a directory, until all hooks of the event have ended.
    pub fn add(&self, session_id: &str, place: usize, file: RunFile, directory: PathBuf) {
        if !file.is_empty() {
            let mut sessions = self.sessions();
            let of_session = sessions.entry(session_id.to_owned()).or_default();
            of_session.written.push((place, file, directory));
        }
    }

    /// Reads the files that were not read yet. Returns the variables of all files of the session.
    async fn read(
        &self,
        session_id: &str,
        environment: &HookEnvironment,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let OfSession { mut written, mut set } = self.sessions().remove(session_id).unwrap_or_default();
        written.sort_by_key(|(place, ..)| *place);
        let mut result = Ok(());
        for (_, file, directory) in &written {
            match file.variables(environment, &set, directory).await {
                Ok(variables) => set.extend(variables),
                Err(failure) => result = result.and(Err(failure)),
            }
        }
        let of_session = OfSession {
            set: set.clone(),
            ..OfSession::default()
        };
        self.sessions().insert(session_id.to_owned(), of_session);
        result.map(|()| set)
    }

    /// Lets the variables count once all hooks of an event have ended.
    pub fn register(self: &Arc<Self>, engine: &Engine, environment: &HookEnvironment) {
        let reader = || (Arc::clone(self), environment.clone());
        register::<SessionStart>(engine, reader(), |environment| SessionStartReply {
            environment,
            ..SessionStartReply::default()
        });
        register::<Setup>(engine, reader(), |environment| SetupReply {
            environment,
            ..SetupReply::default()
        });
    }
}

/// Reads the files that hooks of an event have written.
struct FileReader<E: Event> {
    files: Arc<EnvFiles>,
    environment: HookEnvironment,
    reply: fn(Merge) -> E::Reply,
}

fn register<E: Event>(
    engine: &Engine,
    (files, environment): (Arc<EnvFiles>, HookEnvironment),
    reply: fn(Merge) -> E::Reply,
) {
    engine.register(Registration::<E> {
        info: HandlerInfo {
            // All hooks have ended before.
            priority: i32::MIN,
            ..HandlerInfo::native("variables that hooks have written", Class::Transform)
        },
        order: Vec::new(),
        matcher: Matcher::default(),
        condition: None,
        action: Action::Other(Arc::new(FileReader {
            files,
            environment,
            reply,
        })),
    });
}

impl<E: Event> Handler<E> for FileReader<E> {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>> {
        Box::pin(async move {
            let set = self
                .files
                .read(&occasion.scope.session_id, &self.environment)
                .await?;
            let set = set.into_iter().map(|(name, value)| (name, value.into()));
            Ok((self.reply)(Merge(set.collect())))
        })
    }
}

/// The variables that are different in the second environment.
fn changed(printed: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(printed);
    let entries: Vec<&str> = text.split('\0').collect();
    let middle = entries.iter().position(|entry| *entry == "=");
    let (before, after) = entries.split_at(middle.unwrap_or(entries.len()));
    let after = after.iter().filter(|entry| !before.contains(entry));
    let after = after.filter_map(|entry| entry.split_once('='));
    after
        .filter(|(name, _)| !name.is_empty() && !OF_SHELLS.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_different_is_a_variable() {
        let printed = b"A=1\0B=x\ny\0_=/bin/env\0=\0A=2\0B=x\ny\0C=a=b\0_=/usr/bin/env\0";
        let expected = [("A", "2"), ("C", "a=b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(changed(printed), BTreeMap::from(expected));
    }

    #[test]
    fn half_an_answer_sets_nothing() {
        assert!(changed(b"A=1\0B=2\0").is_empty());
    }
}
