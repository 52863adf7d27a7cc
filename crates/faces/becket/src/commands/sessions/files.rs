//! `becket sessions export` and `import`: conversations as pi session files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use becket_face_kit::runtime;
use becket_host::{AboutSession, SessionFiles};
use becket_run::import::{Imported, bring};
use becket_run::{Hosts, Setup};
use becket_system::{CliError, Exit, Folders, Surroundings, counted};

use super::place::place;
use crate::options::Options;
use crate::printing::print;

/// The session files of a system, by its name.
fn files(format: &str, hosts: Hosts) -> Result<&'static dyn SessionFiles, CliError> {
    let known: Vec<&str> = hosts.session_files().map(|files| files.format()).collect();
    let mut all = hosts.session_files();
    all.find(|files| files.format() == format).ok_or_else(|| {
        let error = CliError::usage(format!("becket does not know the session format `{format}`"));
        match known.as_slice() {
            [] => error,
            known => error.hint(format!("there are {}", known.join(", "))),
        }
    })
}

/// How a conversation is written.
pub struct Export {
    /// The program whose format is written.
    pub format: String,
    /// The file or the folder; `None` is standard output.
    pub output: Option<PathBuf>,
    /// Whether nothing is written if there is no conversation.
    pub if_any: bool,
    /// Whether nothing is printed.
    pub quiet: bool,
}

/// Writes a conversation as a file.
pub fn export(
    options: &Options,
    context: Option<String>,
    wanted: Export,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if wanted.if_any && is_unknown(options, context.as_deref(), surroundings)? {
        return Ok(Exit::Answered);
    }
    let (store, name) = place(options, context, surroundings)?;
    let (tree, origin) = store.conversation(name.as_str())?;
    if wanted.if_any && tree.entries().is_empty() {
        return Ok(Exit::Answered);
    }
    let files = files(&wanted.format, options.run.hosts)?;
    let sessions = store.sessions(Some(name.as_str()))?;
    let models: HashMap<&str, &str> = sessions
        .iter()
        .map(|session| (session.id.as_str(), session.model.as_str()))
        .collect();
    let first = tree.entries().first().map(|entry| entry.session_id.as_str());
    let first = first.or_else(|| sessions.last().map(|session| session.id.as_str()));
    let begun = sessions.iter().find(|session| Some(session.id.as_str()) == first);
    let cwd = surroundings.cwd.display().to_string();
    let about = AboutSession {
        id: first.unwrap_or(name.as_str()),
        cwd: begun.map_or(cwd.as_str(), |session| session.cwd.as_str()),
        origin: origin.as_ref(),
        contexts: &Setup::read(&options.run, surroundings)?.contexts(),
        begun_ms: begun.map_or(0, |session| session.started_ms),
        model_of: &|session| models.get(session).copied().unwrap_or_default().to_owned(),
    };
    let text = files.write(&tree, &about);
    let Some(output) = wanted.output else {
        print(&text)?;
        return Ok(Exit::Answered);
    };
    let is_folder = output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let mut file = surroundings.cwd.join(output);
    if is_folder || file.is_dir() {
        file.push(files.file_name(&about));
    }
    let folder = file.parent().unwrap_or(&surroundings.cwd);
    std::fs::create_dir_all(folder)
        .map_err(|error| CliError::failed(format!("cannot create {}: {error}", folder.display())))?;
    std::fs::write(&file, text)
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", file.display())))?;
    if wanted.quiet {
        return Ok(Exit::Answered);
    }
    let entries = counted(tree.entries().len() as u64, "entry");
    surroundings.remark(&format!("{entries} of {name} are in {}", file.display()));
    Ok(Exit::Answered)
}

/// Whether a context is named that does not exist.
fn is_unknown(
    options: &Options,
    context: Option<&str>,
    surroundings: &Surroundings,
) -> Result<bool, CliError> {
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    Ok(match context {
        Some(name) => store.context(name)?.is_none(),
        None => false,
    })
}

/// Makes a context from a file.
pub fn import(
    options: &Options,
    file: &Path,
    (to, quiet): (Option<String>, bool),
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let hosts = options.run.hosts;
    let file = find(file, hosts, surroundings)?;
    let store = Folders::find(options.run.home.as_deref(), surroundings)?.open_store()?;
    let Imported { name, claim, entries } = runtime(options)?.block_on(async {
        let brought = bring(&file, to.as_deref(), &store, (hosts, surroundings)).await;
        store.close().await?;
        brought
    })?;
    drop(claim);
    if quiet {
        return Ok(Exit::Answered);
    }
    print(&format!("{name}\n"))?;
    let entries = counted(entries as u64, "entry");
    surroundings.remark(&format!("{entries} came from {}", file.display()));
    Ok(Exit::Answered)
}

/// Writes a session file as a page for a browser.
pub fn page(
    options: &Options,
    file: &Path,
    output: Option<PathBuf>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let hosts = options.run.hosts;
    let file = find(file, hosts, surroundings)?;
    let failed = |why: String| CliError::failed(format!("cannot make a page of {}: {why}", file.display()));
    let bytes = std::fs::read(&file).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let files = hosts.session_files().next();
    let files = files.ok_or_else(|| failed("this becket was built without support for such files".into()))?;
    let page = files.page(&text).map_err(failed)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let output = output.unwrap_or_else(|| format!("{}-session-{name}.html", files.format()).into());
    let output = surroundings.cwd.join(output);
    std::fs::write(&output, page)
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", output.display())))?;
    print(&format!("Exported to: {}\n", output.display()))?;
    Ok(Exit::Answered)
}

/// The named file, or the session file in the system's own folder whose id begins with that text.
fn find(named: &Path, hosts: Hosts, surroundings: &Surroundings) -> Result<PathBuf, CliError> {
    let file = surroundings.cwd.join(named);
    if file.is_file() {
        return Ok(file);
    }
    let folder = hosts.session_files().find_map(|files| files.folder(surroundings));
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

/// Whether a file is that of a session whose id begins with `prefix`; its name is the moment and the id.
fn is_session(file: &Path, prefix: &str) -> bool {
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
    let is_lines = file.extension().is_some_and(|extension| extension == "jsonl");
    let id = name.as_deref().and_then(|name| name.split_once('_'));
    is_lines && id.is_some_and(|(_, id)| id.starts_with(prefix))
}

/// The files in a folder and in its subfolders.
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
