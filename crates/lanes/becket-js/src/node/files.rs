//! Files: the functions of `fs`.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, Timespec, Timestamps};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::errors::{Problem, system_error};
use super::held::Held;
use super::state::{Asker, Need, Node, NodeResult, bytes_of};
use crate::host::HostError;

/// How many files an extension may have open. The whole program is allowed few more.
const MOST_OPEN: usize = 256;

/// Texts up to this many bytes are returned as JSON.
const SHORT: usize = 64 << 10;

/// One request, with its paths as the script wrote them.
struct Asked<'a> {
    node: &'a Node,
    asker: Asker,
    arguments: &'a Value,
    path: &'a str,
    dest: Option<&'a str>,
}

/// The name of a function in reports, and in errors.
struct Named(&'static str, &'static str);

pub(super) fn call(node: &Node, asker: Asker, function: &str, arguments: &Value) -> NodeResult {
    let asked = Asked {
        node,
        asker,
        arguments,
        path: arguments["path"].as_str().unwrap_or_default(),
        dest: arguments["dest"].as_str(),
    };
    if let Some(answer) = asked.on_open_file(function) {
        return answer;
    }
    let Some((Named(what, syscall), work)) = operation(function) else {
        return Err(HostError::new(format!("there is no function fs.{function}")));
    };
    node.permit(Need::Files, what, asked.path)?;
    work(&asked).map_err(|error| match error {
        Problem::System(error) => system_error(&error, syscall, Some(asked.path), asked.dest),
        Problem::Part(error, syscall, path) => system_error(&error, syscall, Some(&path), None),
        Problem::Said(error) => error,
    })
}

type Work = fn(&Asked<'_>) -> Result<Value, Problem>;

// tidy: a table
fn operation(function: &str) -> Option<(Named, Work)> {
    let row: (Named, Work) = match function {
        "readFile" => (Named("fs.readFile", "open"), read_file),
        "readText" => (Named("fs.readFile", "open"), read_text),
        "writeFile" => (Named("fs.writeFile", "open"), write_file),
        "open" => (Named("fs.open", "open"), open),
        "exists" => (Named("fs.exists", "access"), |asked| {
            Ok(json!(asked.at().exists()))
        }),
        "stat" => (Named("fs.stat", "stat"), |asked| {
            Ok(shown(&std::fs::metadata(asked.at())?))
        }),
        "lstat" => (Named("fs.lstat", "lstat"), |asked| {
            Ok(shown(&std::fs::symlink_metadata(asked.at())?))
        }),
        "access" => (Named("fs.access", "access"), access),
        "readdir" => (Named("fs.readdir", "scandir"), read_folder),
        "mkdir" => (Named("fs.mkdir", "mkdir"), make_folder),
        "mkdtemp" => (Named("fs.mkdtemp", "mkdtemp"), make_temporary),
        "rmdir" => (Named("fs.rmdir", "rmdir"), |asked| {
            done(std::fs::remove_dir(asked.at()))
        }),
        "rm" => (Named("fs.rm", "rm"), remove),
        "unlink" => (Named("fs.unlink", "unlink"), |asked| {
            done(std::fs::remove_file(asked.at()))
        }),
        "rename" => (Named("fs.rename", "rename"), |asked| {
            done(std::fs::rename(asked.at(), asked.to()))
        }),
        "copyFile" => (Named("fs.copyFile", "copyfile"), copy_file),
        "cp" => (Named("fs.cp", "cp"), copy),
        "symlink" => (Named("fs.symlink", "symlink"), |asked| {
            // The first path is the target of the link, whatever it is relative to.
            done(symlink(asked.path, asked.to()))
        }),
        "link" => (Named("fs.link", "link"), |asked| {
            done(std::fs::hard_link(asked.at(), asked.to()))
        }),
        "readlink" => (Named("fs.readlink", "readlink"), |asked| {
            Ok(text(&std::fs::read_link(asked.at())?))
        }),
        "realpath" => (Named("fs.realpath", "realpath"), |asked| {
            Ok(text(&std::fs::canonicalize(asked.at())?))
        }),
        "chmod" => (Named("fs.chmod", "chmod"), |asked| {
            let mode = std::fs::Permissions::from_mode(asked.number("mode") as u32);
            done(std::fs::set_permissions(asked.at(), mode))
        }),
        "chown" => (Named("fs.chown", "chown"), |asked| {
            let (user, group) = (asked.number("uid") as u32, asked.number("gid") as u32);
            done(lchown(asked.at(), Some(user), Some(group)))
        }),
        "utimes" => (Named("fs.utimes", "utime"), set_times),
        "truncate" => (Named("fs.truncate", "open"), |asked| {
            let file = asked.open(OpenOptions::new().write(true))?;
            done(file.set_len(asked.number("length")))
        }),
        _ => return None,
    };
    Some(row)
}

fn done(result: io::Result<()>) -> Result<Value, Problem> {
    result?;
    Ok(Value::Null)
}

/// A function on an open file.
type OnOpenFile = fn(&Asked<'_>, &File) -> Result<Value, Problem>;

impl Asked<'_> {
    fn at(&self) -> PathBuf {
        self.node.path(self.path)
    }

    fn to(&self) -> PathBuf {
        self.node.path(self.dest.unwrap_or_default())
    }

    fn number(&self, name: &str) -> u64 {
        self.arguments[name].as_f64().unwrap_or_default().max(0.0) as u64
    }

    fn is(&self, name: &str) -> bool {
        self.arguments[name] == true
    }

    /// Calls a function on an open file.
    fn on_open_file(&self, function: &str) -> Option<NodeResult> {
        let (syscall, work): (_, OnOpenFile) = match function {
            "close" => ("close", |_, _| Ok(Value::Null)),
            "read" => ("read", read),
            "write" => ("write", write),
            "fstat" => ("fstat", |_, file| Ok(shown(&file.metadata()?))),
            "ftruncate" => ("ftruncate", |asked, file| {
                done(file.set_len(asked.number("length")))
            }),
            "fsync" => ("fsync", |_, file| done(file.sync_all())),
            "fchmod" => ("fchmod", |asked, file| {
                let mode = std::fs::Permissions::from_mode(asked.number("mode") as u32);
                done(file.set_permissions(mode))
            }),
            "futimes" => ("futime", |asked, file| {
                Ok(rustix::fs::futimens(file, &asked.times()).map(|()| Value::Null)?)
            }),
            _ => return None,
        };
        let number = self.number("fd");
        let mut files = self
            .node
            .files
            .lock()
            .expect("no panic happens while files are held");
        let file = if function == "close" {
            files.remove(&number)
        } else {
            files.get(&number).cloned()
        };
        drop(files);
        let answer = match file {
            Some(file) => work(self, &file),
            None => Err(Errno::BADF.into()),
        };
        Some(answer.map_err(|problem| match problem {
            Problem::System(error) | Problem::Part(error, ..) => system_error(&error, syscall, None, None),
            Problem::Said(error) => error,
        }))
    }

    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        self.node.open(self.asker, options, &self.at())
    }

    fn options(&self) -> Result<OpenOptions, Problem> {
        let flags = self.arguments["flag"].as_str().unwrap_or("r");
        let mut options = OpenOptions::new();
        if let Some(mode) = self.arguments["mode"].as_u64() {
            options.mode(mode as u32);
        }
        // The `s` asks for synchronous access, which it always is.
        match flags.replace('s', "").as_str() {
            "r" => options.read(true),
            "r+" => options.read(true).write(true),
            "w" => options.write(true).create(true).truncate(true),
            "wx" | "xw" => options.write(true).create_new(true),
            "w+" => options.read(true).write(true).create(true).truncate(true),
            "wx+" | "xw+" => options.read(true).write(true).create_new(true),
            "a" => options.append(true).create(true),
            "ax" | "xa" => options.append(true).create_new(true),
            "a+" => options.read(true).append(true).create(true),
            "ax+" | "xa+" => options.read(true).append(true).create_new(true),
            _ => {
                let words = format!("The argument 'flags' is invalid. Received '{flags}'");
                return Err(HostError::new(words).with("code", "ERR_INVALID_ARG_VALUE").into());
            }
        };
        Ok(options)
    }

    fn times(&self) -> Timestamps {
        let time = |name: &str| {
            let seconds = self.arguments[name].as_f64().unwrap_or_default();
            Timespec {
                tv_sec: seconds.floor() as i64,
                tv_nsec: ((seconds - seconds.floor()) * 1e9) as _,
            }
        };
        Timestamps {
            last_access: time("atime"),
            last_modification: time("mtime"),
        }
    }
}

fn open(asked: &Asked<'_>) -> Result<Value, Problem> {
    let file = asked.open(&mut asked.options()?)?;
    let number = asked.node.number();
    let mut files = asked
        .node
        .files
        .lock()
        .expect("no panic happens while files are held");
    if files.len() >= MOST_OPEN {
        return Err(Errno::MFILE.into());
    }
    files.insert(number, Arc::new(file));
    Ok(json!(number))
}

fn read(asked: &Asked<'_>, file: &File) -> Result<Value, Problem> {
    let node = asked.node;
    let mut bytes = vec![0; (asked.number("length") as usize).min(64 << 20)];
    let count = match asked.arguments["position"].as_u64() {
        Some(position) => file.read_at(&mut bytes, position)?,
        None => node.read(asked.asker, file, &mut bytes)?,
    };
    bytes.truncate(count);
    Ok(node.parcel(bytes)?)
}

fn write(asked: &Asked<'_>, file: &File) -> Result<Value, Problem> {
    let bytes = bytes_of(&asked.arguments["data"])?;
    let position = asked.arguments["position"].as_u64();
    asked.node.write_whole(asked.asker, file, &bytes, position)?;
    Ok(json!(bytes.len()))
}

fn contents(asked: &Asked<'_>) -> Result<Held, Problem> {
    let file = asked.open(&mut asked.options()?)?;
    asked
        .node
        .read_whole(asked.asker, &file)
        .map_err(|problem| match problem {
            // A folder can be opened but not read, and Node says so.
            Problem::System(error) if error.raw_os_error() == Some(Errno::ISDIR.raw_os_error()) => {
                Problem::Said(system_error(&error, "read", None, None))
            }
            other => other,
        })
}

fn read_file(asked: &Asked<'_>) -> Result<Value, Problem> {
    Ok(asked.node.keep(contents(asked)?))
}

/// Reads a text. A long one is a parcel, so that it is not copied.
fn read_text(asked: &Asked<'_>) -> Result<Value, Problem> {
    let contents = contents(asked)?;
    if contents.bytes().len() > SHORT {
        return Ok(asked.node.keep(contents));
    }
    Ok(Value::String(
        String::from_utf8_lossy(contents.bytes()).into_owned(),
    ))
}

fn write_file(asked: &Asked<'_>) -> Result<Value, Problem> {
    let bytes = bytes_of(&asked.arguments["data"])?;
    let file = asked.open(&mut asked.options()?)?;
    done(asked.node.write_whole(asked.asker, &file, &bytes, None))
}

fn shown(data: &Metadata) -> Value {
    let milliseconds = |seconds: i64, nanoseconds: i64| seconds as f64 * 1e3 + nanoseconds as f64 / 1e6;
    let changed = milliseconds(data.ctime(), data.ctime_nsec());
    let born = data
        .created()
        .ok()
        .and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    json!({
        "dev": data.dev(), "ino": data.ino(), "mode": data.mode(), "nlink": data.nlink(),
        "uid": data.uid(), "gid": data.gid(), "rdev": data.rdev(), "size": data.size(),
        "blksize": data.blksize(), "blocks": data.blocks(),
        "atimeMs": milliseconds(data.atime(), data.atime_nsec()),
        "mtimeMs": milliseconds(data.mtime(), data.mtime_nsec()),
        "ctimeMs": changed,
        "birthtimeMs": born.map_or(changed, |born| born.as_secs_f64() * 1e3),
    })
}

fn access(asked: &Asked<'_>) -> Result<Value, Problem> {
    let mode = Access::from_bits_truncate(asked.number("mode") as _);
    rustix::fs::access(asked.at(), mode)?;
    Ok(Value::Null)
}

/// Lists a folder: pairs of name and kind, sorted by name.
fn read_folder(asked: &Asked<'_>) -> Result<Value, Problem> {
    let mut found = Found {
        entries: Vec::new(),
        size: asked.node.store.empty(),
    };
    list(asked, &asked.at(), "", &mut found)?;
    found.entries.sort();
    let pairs = found.entries.into_iter();
    Ok(pairs.map(|(name, kind)| json!([name, kind])).collect())
}

/// An entry of a folder.
struct Found {
    entries: Vec<(String, &'static str)>,
    size: Held,
}

fn list(asked: &Asked<'_>, folder: &Path, prefix: &str, found: &mut Found) -> Result<(), Problem> {
    for entry in std::fs::read_dir(folder)? {
        asked.node.may_wait(asked.asker)?;
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        found.size.count(name.len() + size_of::<(String, &str)>())?;
        if asked.is("recursive") && kind.is_dir() {
            list(asked, &entry.path(), &format!("{name}/"), found)?;
        }
        let shown = match kind {
            _ if kind.is_file() => "file",
            _ if kind.is_dir() => "folder",
            _ if kind.is_symlink() => "link",
            _ if kind.is_fifo() => "fifo",
            _ if kind.is_socket() => "socket",
            _ if kind.is_char_device() => "character",
            _ => "block",
        };
        found.entries.push((name, shown));
    }
    Ok(())
}

/// Makes a folder. Returns the first folder that was made, if missing parents are made too.
fn make_folder(asked: &Asked<'_>) -> Result<Value, Problem> {
    let path = asked.at();
    let mut builder = std::fs::DirBuilder::new();
    if let Some(mode) = asked.arguments["mode"].as_u64() {
        builder.mode(mode as u32);
    }
    if !asked.is("recursive") {
        return done(builder.create(path));
    }
    if path.is_file() {
        return Err(Errno::EXIST.into());
    }
    let first = path
        .ancestors()
        .take_while(|ancestor| !ancestor.exists())
        .last()
        .map(text);
    builder.recursive(true).create(&path)?;
    Ok(first.unwrap_or(Value::Null))
}

fn make_temporary(asked: &Asked<'_>) -> Result<Value, Problem> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for _ in 0..100 {
        let mut random = [0; 6];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let end: String = random
            .iter()
            .map(|byte| LETTERS[*byte as usize % LETTERS.len()] as char)
            .collect();
        let path = format!("{}{end}", asked.path);
        match std::fs::DirBuilder::new()
            .mode(0o700)
            .create(asked.node.path(&path))
        {
            Ok(()) => return Ok(json!(path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Problem::Part(error, "mkdtemp", format!("{}XXXXXX", asked.path)));
            }
        }
    }
    Err(Errno::EXIST.into())
}

fn remove(asked: &Asked<'_>) -> Result<Value, Problem> {
    let path = asked.at();
    let data = match std::fs::symlink_metadata(&path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound && asked.is("force") => return Ok(Value::Null),
        Err(error) => return Err(Problem::Part(error, "lstat", asked.path.into())),
    };
    if !data.is_dir() {
        return done(std::fs::remove_file(path));
    }
    if asked.is("recursive") {
        return done(std::fs::remove_dir_all(path));
    }
    let words = format!(
        "Path is a directory: rm returned EISDIR (is a directory) {}",
        asked.path
    );
    let error = HostError::new(words)
        .with("code", "ERR_FS_EISDIR")
        .with("path", asked.path);
    Err(error
        .with("syscall", "rm")
        .with("errno", Errno::ISDIR.raw_os_error())
        .into())
}

fn copy_file(asked: &Asked<'_>) -> Result<Value, Problem> {
    if asked.is("exclusive") && asked.to().exists() {
        return Err(Errno::EXIST.into());
    }
    done(asked.node.copy_plain(asked.asker, &asked.at(), &asked.to()))
}

fn copy(asked: &Asked<'_>) -> Result<Value, Problem> {
    let (from, to) = (asked.at(), asked.to());
    if from.is_dir() && !asked.is("recursive") {
        let words = format!(
            "Recursive option not enabled, cannot copy a directory: {}",
            asked.path
        );
        return Err(HostError::new(words).with("code", "ERR_FS_EISDIR").into());
    }
    if from.is_dir() && to.starts_with(&from) {
        let words = format!(
            "cannot copy {} to a subdirectory of self {}",
            from.display(),
            to.display()
        );
        return Err(HostError::new(words).with("code", "ERR_FS_CP_EINVAL").into());
    }
    copy_all(asked, &from, &to)?;
    Ok(Value::Null)
}

fn copy_all(asked: &Asked<'_>, from: &Path, to: &Path) -> Result<(), Problem> {
    let data = if asked.is("dereference") {
        std::fs::metadata(from)
    } else {
        std::fs::symlink_metadata(from)
    }?;
    if data.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            asked.node.may_wait(asked.asker)?;
            let entry = entry?;
            copy_all(asked, &entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let there = std::fs::symlink_metadata(to).is_ok();
    if there && asked.is("errorOnExist") && asked.arguments["force"] == false {
        let words = format!(
            "Target already exists: cp returned EEXIST ({} already exists)",
            to.display()
        );
        return Err(HostError::new(words).with("code", "ERR_FS_CP_EEXIST").into());
    }
    if there && asked.arguments["force"] == false {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if data.is_symlink() {
        if there {
            std::fs::remove_file(to)?;
        }
        symlink(std::fs::read_link(from)?, to)?;
    } else {
        asked.node.copy_plain(asked.asker, from, to)?;
        if asked.is("preserveTimestamps") {
            File::options()
                .write(true)
                .open(to)?
                .set_modified(data.modified()?)?;
        }
    }
    Ok(())
}

fn set_times(asked: &Asked<'_>) -> Result<Value, Problem> {
    rustix::fs::utimensat(CWD, asked.at(), &asked.times(), AtFlags::empty())?;
    Ok(Value::Null)
}

fn text(path: impl AsRef<Path>) -> Value {
    json!(path.as_ref().to_string_lossy())
}
