//! `becket sessions export` and `import`: conversations as session files of pi's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use becket_agent::store::{NewSession, Store, fresh_id};
use becket_pi::session_file;
use becket_pi::session_files::{self, About};
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::{CliError, Exit, Folders, Surroundings, harmless_name};

use super::place;
use crate::args::{Options, SessionFormat};
use crate::assemble::Setup;
use crate::commands::{print, runtime};
use crate::front::counted;
use crate::target::claim_new;

/// The folder of pi's home that holds its sessions.
const SESSIONS: &str = "sessions";

/// How a session ends that only brings a conversation in.
const IMPORTED: &str = "imported";

/// How many problems of a file are told one by one.
const MOST_TOLD: usize = 10;

/// Writes a conversation as a file.
pub fn export(
    options: &Options,
    context: Option<String>,
    format: SessionFormat,
    output: Option<PathBuf>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let (store, name) = place(options, context, surroundings)?;
    let (tree, origin) = store.conversation(name.as_str())?;
    let sessions = store.sessions(Some(name.as_str()))?;
    let models: HashMap<&str, &str> = sessions
        .iter()
        .map(|session| (session.id.as_str(), session.model.as_str()))
        .collect();
    let first = tree.entries().first().map(|entry| entry.session_id.as_str());
    let first = first.or_else(|| sessions.last().map(|session| session.id.as_str()));
    let begun = sessions.iter().find(|session| Some(session.id.as_str()) == first);
    let cwd = surroundings.cwd.display().to_string();
    let text = match format {
        SessionFormat::Pi => {
            let about = About {
                id: first.unwrap_or(name.as_str()),
                cwd: begun.map_or(cwd.as_str(), |session| session.cwd.as_str()),
                origin: origin.as_ref(),
                contexts: &Setup::read(options, surroundings)?.contexts(),
                now_ms: begun.map_or(0, |session| session.started_ms),
            };
            let model_of = |session: &str| models.get(session).copied().unwrap_or_default().to_owned();
            session_files::export(&tree, about, model_of)
        }
    };
    let Some(output) = output else {
        print(&text)?;
        return Ok(Exit::Answered);
    };
    let file = surroundings.cwd.join(output);
    std::fs::write(&file, text)
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", file.display())))?;
    let entries = counted(tree.entries().len() as u64, "entry");
    surroundings.remark(&format!("{entries} of {name} are in {}", file.display()));
    Ok(Exit::Answered)
}

/// Makes a context from a file.
pub fn import(
    options: &Options,
    file: &Path,
    to: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let file = find(file, surroundings)?;
    let store = Folders::find(options.home.as_deref(), surroundings)?.open_store()?;
    let (name, claim, entries) = runtime(options)?.block_on(async {
        let brought = bring(&file, to.as_deref(), &store, surroundings).await;
        store.close().await?;
        brought
    })?;
    drop(claim);
    print(&format!("{name}\n"))?;
    let entries = counted(entries as u64, "entry");
    surroundings.remark(&format!("{entries} came from {}", file.display()));
    Ok(Exit::Answered)
}

/// Makes a context from a file, and says how many entries came.
pub async fn bring(
    file: &Path,
    to: Option<&str>,
    store: &SqliteStore,
    surroundings: &Surroundings,
) -> Result<(ContextName, Claim, usize), CliError> {
    let unreadable = |why: String| CliError::failed(format!("cannot import {}: {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
    let read = session_file::read(&String::from_utf8_lossy(&bytes)).map_err(unreadable)?;
    for problem in read.problems.iter().take(MOST_TOLD) {
        surroundings.remark(&harmless_name(problem));
    }
    if let Some(more) = read
        .problems
        .len()
        .checked_sub(MOST_TOLD)
        .filter(|more| *more > 0)
    {
        surroundings.remark(&format!("and {more} more"));
    }
    let (name, claim) = claim_new(to, Some("pi"), store)?;
    let cwd = read.header["cwd"].as_str().map(ToOwned::to_owned);
    let seed = session_files::seed(read);
    let entries = seed.entries.len();
    let session = NewSession {
        session_id: fresh_id(),
        parent_session_id: None,
        context_name: name.to_string(),
        model: session_files::last_model(&seed).unwrap_or_else(|| "unknown".into()),
        cwd: cwd.unwrap_or_else(|| surroundings.cwd.display().to_string()),
    };
    let session_id = session.session_id.clone();
    store.plant(session, seed).await?;
    store.end_session(&session_id, IMPORTED).await?;
    Ok((name, claim, entries))
}

/// The file that is named, or the one of the session in pi's own folder whose id begins so.
fn find(named: &Path, surroundings: &Surroundings) -> Result<PathBuf, CliError> {
    let file = surroundings.cwd.join(named);
    if file.is_file() {
        return Ok(file);
    }
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let home = surroundings.variable(becket_pi::HOME_VARIABLE).map(PathBuf::from);
    let folder = becket_pi::home(home, persons_home.as_deref()).map(|home| home.join(SESSIONS));
    let prefix = named.to_string_lossy();
    let mut found: Vec<PathBuf> = folder.iter().flat_map(|folder| files_below(folder)).collect();
    found.retain(|file| !prefix.is_empty() && is_session(file, &prefix));
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let error = CliError::usage(format!("there is no file {}", file.display()));
            Err(match folder {
                Some(folder) => error.hint(format!(
                    "nor a session in {} whose id begins so",
                    folder.display()
                )),
                None => error.hint("a session of pi's can be named by its id where pi's folder is"),
            })
        }
        [first, second, ..] => Err(CliError::usage(format!(
            "{} sessions begin with {prefix:?}, such as {} and {}",
            found.len(),
            first.display(),
            second.display()
        ))
        .hint("write more of the id")),
    }
}

/// Whether a file is that of a session whose id begins so; its name is the moment and the id.
fn is_session(file: &Path, prefix: &str) -> bool {
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
    let is_lines = file.extension().is_some_and(|extension| extension == "jsonl");
    let id = name.as_deref().and_then(|name| name.split_once('_'));
    is_lines && id.is_some_and(|(_, id)| id.starts_with(prefix))
}

/// The files in a folder and in the folders in it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
        listed.map(|entry| entry.path()).collect()
    };
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        inside(folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| inside(folder)));
    files
}
