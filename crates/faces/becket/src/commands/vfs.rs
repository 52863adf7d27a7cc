//! `becket vfs`: the virtual file system from the shell. The user may write to every zone, and no hook is asked, since
//! hooks guard what contexts do.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use becket_agent::judged_path::{reason, size};
use becket_agent::vfs::{Caller, Entry, Info, Kind, Vfs, VfsPath, VfsPlace, ZONES};
#[cfg(feature = "scheme")]
use becket_chibi::scheme::zone_of;
#[cfg(feature = "scheme")]
use becket_chibi::scheme_files::{Marks, Trust};
use becket_run::agent_settings::agent_settings;
use becket_run::setup::Setup;
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Value, json};

use crate::args::VfsCommand;
use crate::options::Options;
use crate::printing::{print, print_bytes};

/// Runs one of the VFS commands.
pub fn run(options: &Options, command: VfsCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let settings = agent_settings(&setup, &options.run, surroundings)?;
    let shell = Shell {
        vfs: Vfs::new(&settings.vfs),
        #[cfg(feature = "scheme")]
        marks: Marks::new(setup.folders.marks_folder()),
        json: options.run.json,
        surroundings,
    };
    match command {
        VfsCommand::Ls { address, all } => shell.list(&address, all)?,
        VfsCommand::Cat { address } => shell.print_file(&address)?,
        VfsCommand::Put { address, file } => shell.put(address, file)?,
        VfsCommand::Get { address, file } => shell.get(&address, file.as_deref())?,
        VfsCommand::Rm { addresses, recursive } => {
            for address in &addresses {
                shell.remove(address, recursive)?;
            }
        }
        VfsCommand::Mkdir { address } => {
            let place = shell.writable(&address)?;
            place
                .make_folder()
                .map_err(|error| failed("make", &place, &error))?;
        }
        VfsCommand::Mv { from, to } => {
            let (place, other) = (shell.writable(&from)?, shell.writable(&to)?);
            place
                .move_to(&other)
                .map_err(|error| failed("move", &place, &error))?;
            shell.own(&other)?;
        }
        VfsCommand::Cp { from, to } => {
            let (place, other) = (shell.place(&from)?, shell.writable(&to)?);
            place
                .copy_to(&other)
                .map_err(|error| failed("copy", &place, &error))?;
            shell.own(&other)?;
        }
        #[cfg(feature = "scheme")]
        VfsCommand::Trust { addresses } => {
            for address in &addresses {
                shell.trust(address)?;
            }
        }
        VfsCommand::Info { address } => shell.info(&address)?,
    }
    Ok(Exit::Answered)
}

struct Shell<'a> {
    vfs: Vfs,
    /// Who wrote which Scheme file.
    #[cfg(feature = "scheme")]
    marks: Marks,
    json: bool,
    surroundings: &'a Surroundings,
}

impl Shell<'_> {
    /// Parses an address; the scheme may be left out.
    fn place(&self, address: &str) -> Result<VfsPlace, CliError> {
        let path = match address.starts_with('/') {
            true => VfsPath::from_path(address),
            false => VfsPath::parse(address),
        };
        self.vfs
            .place(&path.map_err(CliError::usage)?)
            .map_err(CliError::failed)
    }

    /// Parses the address of a file or folder that will change.
    fn writable(&self, address: &str) -> Result<VfsPlace, CliError> {
        let place = self.place(address)?;
        place
            .address()
            .check_write(Caller::System)
            .map_err(CliError::usage)?;
        self.vfs.prepare().map_err(CliError::failed)?;
        Ok(place)
    }

    fn list(&self, address: &str, all: bool) -> Result<(), CliError> {
        let folder = self.place(address)?;
        let depth = folder.address().names().count();
        let mut entries = match folder.entries() {
            // A zone is there before anybody has written in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth <= 1 => Vec::new(),
            result => result.map_err(|error| failed("list", &folder, &error))?,
        };
        if depth == 0 {
            for zone in ZONES {
                if !entries.iter().any(|entry| entry.name == *zone) {
                    let (name, kind) = ((*zone).to_owned(), Kind::Folder);
                    entries.push(Entry { name, kind });
                }
            }
            entries.sort_by(|one, other| one.name.cmp(&other.name));
        }
        for entry in entries.iter().filter(|entry| all || !entry.name.starts_with('.')) {
            let place = folder.child(&entry.name).map_err(CliError::failed)?;
            let info = place.info().ok();
            let line = match self.json {
                true => described(&place, entry.kind, info).to_string(),
                false => line(entry, info),
            };
            print(&format!("{}\n", self.shown(&line)))?;
        }
        Ok(())
    }

    fn print_file(&self, address: &str) -> Result<(), CliError> {
        let place = self.place(address)?;
        let bytes = place.read().map_err(|error| failed("read", &place, &error))?;
        // Models write these files: on a terminal nothing in them moves the cursor.
        match self.surroundings.stdout_is_terminal {
            true => print(&harmless(&String::from_utf8_lossy(&bytes))),
            false => print_bytes(&bytes),
        }
    }

    fn put(&self, address: String, file: Option<String>) -> Result<(), CliError> {
        // `put FILE ADDRESS`, as with cp, is understood where there is no doubt.
        let (address, file) = match file {
            Some(other) if VfsPath::is_meant_by(&other) && !VfsPath::is_meant_by(&address) => {
                (other, Some(address))
            }
            file => (address, file),
        };
        if file.is_none() && self.surroundings.stdin_is_terminal {
            return Err(
                CliError::usage("there is nothing to write").hint("name a file, or pipe the content in")
            );
        }
        let place = self.writable(&address)?;
        let bytes = match self.outside(file.as_deref()) {
            None => {
                let mut bytes = Vec::new();
                io::stdin()
                    .read_to_end(&mut bytes)
                    .map(|_| bytes)
                    .map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?
            }
            Some(file) => std::fs::read(&file)
                .map_err(|error| CliError::failed(format!("cannot read {}: {error}", file.display())))?,
        };
        place
            .write(&bytes)
            .map_err(|error| failed("write", &place, &error))?;
        self.own(&place)
    }

    /// Marks a file as the user's own, even if a model wrote the same content before.
    #[cfg(feature = "scheme")]
    fn own(&self, place: &VfsPlace) -> Result<(), CliError> {
        self.marks.forget(place.file()).map_err(CliError::failed)
    }

    #[cfg(not(feature = "scheme"))]
    fn own(&self, _: &VfsPlace) -> Result<(), CliError> {
        Ok(())
    }

    #[cfg(feature = "scheme")]
    fn trust(&self, address: &str) -> Result<(), CliError> {
        let place = self.place(address)?;
        if zone_of(place.address().as_str()).is_none() {
            let words = format!("{} is no file in Scheme under vfs:///tools", place.address());
            return Err(CliError::usage(words).hint("only the hooks and tools of such files need trust"));
        }
        let content = place.read().map_err(|error| failed("read", &place, &error))?;
        let news = match self.marks.trust(place.file(), &content) {
            Trust::Persons => "is trusted already",
            Trust::Models => "is now trusted",
        };
        self.own(&place)?;
        self.surroundings.remark(&format!("{} {news}", place.address()));
        Ok(())
    }

    fn get(&self, address: &str, file: Option<&str>) -> Result<(), CliError> {
        let Some(file) = self.outside(file) else {
            return self.print_file(address);
        };
        let place = self.place(address)?;
        let bytes = place.read().map_err(|error| failed("read", &place, &error))?;
        let file = match place.address().names().last() {
            Some(name) if file.is_dir() => file.join(name),
            _ => file,
        };
        std::fs::write(&file, bytes)
            .map_err(|error| CliError::failed(format!("cannot write {}: {error}", file.display())))
    }

    fn remove(&self, address: &str, recursive: bool) -> Result<(), CliError> {
        let place = self.writable(address)?;
        let removed = match recursive {
            true => place.remove_all(),
            false => place.remove(),
        };
        removed.map_err(|error| {
            let failure = failed("remove", &place, &error);
            match error.kind() {
                io::ErrorKind::DirectoryNotEmpty => {
                    failure.hint("`rm -r` removes a folder with everything in it")
                }
                _ => failure,
            }
        })
    }

    fn info(&self, address: &str) -> Result<(), CliError> {
        let place = self.place(address)?;
        let info = place.info().map_err(|error| failed("look at", &place, &error))?;
        if self.json {
            return print(&format!("{}\n", described(&place, info.kind, Some(info))));
        }
        let kind = match info.kind {
            Kind::File => "file",
            Kind::Folder => "folder",
        };
        let mut text = format!("{}\n{kind}, {}\n", place.address(), size(info.size));
        if let Some(created) = info.created {
            text.push_str(&format!("made {}\n", ago(millis(created))));
        }
        text.push_str(&format!("changed {}\n", ago(millis(info.modified))));
        print(&self.shown(&text))
    }

    /// The path of a file outside; `None` for the standard stream.
    fn outside(&self, file: Option<&str>) -> Option<PathBuf> {
        let file = file.filter(|file| *file != "-")?;
        Some(self.surroundings.cwd.join(Path::new(file)))
    }

    /// Text without control characters, for a terminal.
    fn shown(&self, text: &str) -> String {
        match self.surroundings.stdout_is_terminal {
            true => harmless(text),
            false => text.into(),
        }
    }
}

fn line(entry: &Entry, info: Option<Info>) -> String {
    match (entry.kind, info) {
        (Kind::Folder, _) => format!("{}/", entry.name),
        (Kind::File, Some(info)) => format!("{} ({})", entry.name, size(info.size)),
        (Kind::File, None) => entry.name.clone(),
    }
}

fn described(place: &VfsPlace, kind: Kind, info: Option<Info>) -> Value {
    json!({
        "path": place.address().to_string(),
        "name": place.address().names().last(),
        "kind": kind.name(),
        "size": info.map(|info| info.size),
        "created_ms": info.and_then(|info| info.created).map(millis),
        "modified_ms": info.map(|info| millis(info.modified)),
    })
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

fn failed(verb: &str, place: &VfsPlace, error: &io::Error) -> CliError {
    CliError::failed(format!("cannot {verb} {}: {}", place.address(), reason(error)))
}
