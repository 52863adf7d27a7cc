//! `becket bridge daemon`: the daemons that keep hooks loaded.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use becket_bridge::{Daemon, DaemonStatus};
use becket_face_kit::listening;
use becket_hook::{
    DaemonFiles, Frame, Kind, RUNTIME_VARIABLE, peer_is_same_user, program_version, runtime_folder,
};
use becket_system::{CliError, Exit, Surroundings, counted, harmless};
use serde_json::json;

use super::asked::program;
use crate::args::DaemonCommand;
use crate::options::Options;
use crate::printing::print;

/// How long a daemon may take to say something about itself.
const ASKING: Duration = Duration::from_secs(2);

/// How long a daemon may take to end.
const ENDING: Duration = Duration::from_secs(5);

/// Carries out a command about daemons.
pub fn run(
    options: &Options,
    command: &DaemonCommand,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let folder = folder(surroundings)?;
    match command {
        DaemonCommand::Status => status(options, &folder, surroundings),
        DaemonCommand::Stop => stop(&folder, surroundings),
        DaemonCommand::Run { project, idle } => {
            let idle = Duration::from_secs(*idle);
            be_daemon(options, (&folder, project, idle), surroundings)
        }
    }
}

fn folder(surroundings: &Surroundings) -> Result<PathBuf, CliError> {
    let variable = surroundings.variable(RUNTIME_VARIABLE);
    runtime_folder(variable.as_deref().map(str::as_ref))
        .map_err(|error| CliError::failed(format!("there is no folder for daemons: {error}")))
}

/// Serves a project, unless it is served already.
fn be_daemon(
    options: &Options,
    (folder, project, idle): (&Path, &Path, Duration),
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let failed = |error: io::Error| CliError::failed(format!("cannot serve {}: {error}", project.display()));
    // Ends with no terminal, and not with the agent whose hook has started it.
    let _ = rustix::process::setsid();
    let project = project.canonicalize().map_err(failed)?;
    let program = program(options)?;
    let version = program_version(&program).map_err(failed)?;
    let place = DaemonFiles::of(folder, &project, &version);
    let lock = OpenOptions::new().create(true).append(true).open(&place.lock);
    let lock = lock.map_err(failed)?;
    if lock.try_lock().is_err() {
        surroundings.remark(&format!("{} is already served", project.display()));
        return Ok(Exit::Answered);
    }
    std::env::set_current_dir(&project).map_err(failed)?;
    // Whoever has the lock is alone here: a socket that is left was left by a daemon that died.
    let _ = std::fs::remove_file(&place.socket);
    let listener = UnixListener::bind(&place.socket).map_err(failed)?;
    let served = (project, version.clone());
    let signals = surroundings.signals.clone();
    let daemon = Daemon::new(options.run.clone(), served, idle, signals);
    let is_obsolete = || {
        let is_gone = std::fs::symlink_metadata(&place.socket).is_err();
        is_gone || program_version(&program).ok().as_deref() != Some(&version)
    };
    listening(options, surroundings, async |signals| {
        tokio::select! {
            () = daemon.serve(listener, is_obsolete) => {}
            () = signals.next().cancelled_owned() => {}
        }
        // First the socket: whoever asks from now on answers alone.
        let _ = std::fs::remove_file(&place.socket);
        daemon.close();
        Ok(Exit::Answered)
    })
}

/// The daemons of the user: their sockets, and what they say about themselves.
fn daemons(folder: &Path) -> Vec<(PathBuf, io::Result<DaemonStatus>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sockets = entries.map(|entry| entry.path());
    let sockets = sockets.filter(|path| path.extension().is_some_and(|ending| ending == "sock"));
    let mut found: Vec<_> = sockets.collect();
    found.sort();
    let asked = found.into_iter().map(|socket| {
        let status = ask(&socket, Kind::Status);
        let status = status.and_then(|frame| Ok(serde_json::from_str(frame.text(0))?));
        (socket, status)
    });
    // Nobody listens at what a daemon left that was killed.
    asked
        .filter(
            |(_, status)| !matches!(status, Err(error) if error.kind() == io::ErrorKind::ConnectionRefused),
        )
        .collect()
}

fn ask(socket: &Path, kind: Kind) -> io::Result<Frame> {
    let mut stream = UnixStream::connect(socket)?;
    if !peer_is_same_user(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(ASKING))?;
    stream.set_write_timeout(Some(ASKING))?;
    Frame::bare(kind).write(&mut stream)?;
    Frame::read(&mut stream)
}

fn status(options: &Options, folder: &Path, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let daemons = daemons(folder);
    if daemons.is_empty() && !options.run.json {
        surroundings.remark("no daemon is running; the first question of an agent starts one");
    }
    for (socket, status) in daemons {
        let text = match (status, options.run.json) {
            (Ok(status), true) => format!("{}\n", json!(status)),
            (Ok(status), false) => harmless(&shown(&status)),
            (Err(error), true) => {
                format!("{}\n", json!({"socket": socket, "error": error.to_string()}))
            }
            (Err(error), false) => harmless(&format!(
                "{} does not answer: {error}\n",
                socket.with_extension("").display()
            )),
        };
        print(&text)?;
    }
    Ok(Exit::Answered)
}

fn shown(status: &DaemonStatus) -> String {
    let mut text = format!(
        "{} (process {}, {}, hooks loaded {}, silent for {} s)\n",
        status.project.display(),
        status.pid,
        counted(status.questions, "question"),
        counted(status.loads, "time"),
        status.idle_seconds
    );
    for session in &status.sessions {
        text += &format!(
            "  {} {}{}: {}, hooks loaded {}; the last time because {}\n",
            session.system,
            session.session,
            if session.shadow { " (shadow)" } else { "" },
            counted(session.questions, "question"),
            counted(session.loads, "time"),
            session.loaded_because
        );
    }
    text
}

fn stop(folder: &Path, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let daemons = daemons(folder);
    if daemons.is_empty() {
        surroundings.remark("no daemon is running");
    }
    for (socket, status) in daemons {
        let name = match &status {
            Ok(status) => status.project.display().to_string(),
            Err(_) => socket.display().to_string(),
        };
        let deadline = Instant::now() + ENDING;
        let asked = ask(&socket, Kind::Stop);
        while asked.is_ok() && socket.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        if socket.exists() {
            return Err(CliError::failed(format!("the daemon of {name} did not end"))
                .hint("questions are answered without it; kill its process"));
        }
        surroundings.remark(&format!("ended the daemon of {name}"));
    }
    Ok(Exit::Answered)
}
