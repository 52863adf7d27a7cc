//! The inbox file of a context: messages that plugins append to it, one JSON object per line, under a lock file.
//!
//! Messages are taken by moving the file aside while holding the lock, so nothing is added to the file that is read. A
//! file that was moved aside stays until its messages are safe elsewhere; if its process is killed before that, the
//! next one finds it. Every message has an origin that is the same each time its line is read, so that nothing arrives
//! twice.

#![allow(
    clippy::disallowed_methods,
    reason = "messages, which are looked at each time"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use becket_lock::lock_within;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

const INBOX: &str = "inbox.jsonl";
const LOCK: &str = ".inbox.lock";

/// The prefix of the names of files that were moved aside.
const TAKEN: &str = "inbox.jsonl.taken-";

/// The file in which lines that are no messages are kept for the user.
const UNREADABLE: &str = "inbox.jsonl.unreadable";

/// How many bytes of a line are read. Files are read line by line, so that they may be larger than that.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// How many characters of a message arrive; the rest is left out, with a note.
const LONGEST: usize = 64 * 1024;

/// How many characters of a writer's name are shown.
const LONGEST_NAME: usize = 100;

/// A message that was left for a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftMessage {
    /// The sender of the message.
    pub from: String,
    /// The text of the message.
    pub content: String,
    /// An id that is the same for the same line, however often it is read.
    pub origin: String,
}

/// Messages that were taken. They are still in files until `forget` is called.
#[derive(Debug)]
pub struct TakenMessages {
    /// The messages, in their order.
    pub messages: Vec<LeftMessage>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    folder: PathBuf,
    files: Vec<PathBuf>,
    unreadable: String,
    _lock: File,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default, deserialize_with = "as_text")]
    id: String,
    #[serde(default, deserialize_with = "as_text")]
    from: String,
    content: String,
}

/// A field as a text: programs write numbers where a text is expected.
fn as_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// The contexts in that folder that have messages.
pub fn contexts_with_messages(contexts: &Path) -> Vec<String> {
    let Ok(folders) = std::fs::read_dir(contexts) else {
        return Vec::new();
    };
    let names = folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| has_messages(&contexts.join(name))).collect();
    names.sort();
    names
}

fn has_messages(folder: &Path) -> bool {
    waits_in(&folder.join(INBOX)) || !files_aside(folder).is_empty()
}

/// Whether an inbox file has messages. A link is ignored, because its target is not part of the inbox.
fn waits_in(inbox: &Path) -> bool {
    std::fs::symlink_metadata(inbox).is_ok_and(|file| file.is_file() && file.len() > 0)
}

/// Takes the messages for a context; `None` if there are none. Waits at most `timeout` for the lock.
pub fn take_messages(contexts: &Path, context: &str, timeout: Duration) -> io::Result<Option<TakenMessages>> {
    let folder = contexts.join(context);
    if !has_messages(&folder) {
        return Ok(None);
    }
    let lock = lock(&folder.join(LOCK), timeout)?;
    let inbox = folder.join(INBOX);
    if waits_in(&inbox) {
        std::fs::rename(&inbox, folder.join(name_aside(context)))?;
    }
    let mut taken = TakenMessages {
        messages: Vec::new(),
        remarks: Vec::new(),
        files: Vec::new(),
        unreadable: String::new(),
        folder,
        _lock: lock,
    };
    for file in files_aside(&taken.folder) {
        taken.read(context, file);
    }
    Ok(Some(taken))
}

impl TakenMessages {
    fn read(&mut self, context: &str, file: PathBuf) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let before = (self.messages.len(), self.remarks.len(), self.unreadable.len());
        let read = each_line(&file, |number, line| self.read_line(context, &name, number, line));
        match read {
            Ok(()) => self.files.push(file),
            // The part that was read is dropped, because it is read again with the rest.
            Err(error) => {
                self.messages.truncate(before.0);
                self.remarks.truncate(before.1);
                self.unreadable.truncate(before.2);
                self.remarks.push(format!(
                    "messages in {} cannot be read and stay there: {error}",
                    file.display()
                ));
            }
        }
    }

    fn read_line(&mut self, context: &str, file: &str, number: usize, line: &str) {
        match serde_json::from_str::<Line>(line) {
            Ok(read) => self.messages.push(message(read, context, file, number, line)),
            Err(error) => {
                self.unreadable.push_str(&format!("{line}\n"));
                let kept = self.folder.join(UNREADABLE);
                self.remarks.push(format!(
                    "a line of the inbox of {context} is no message ({error}); it is kept in {}",
                    kept.display()
                ));
            }
        }
    }

    /// Removes the files, once the messages are safe elsewhere.
    pub fn forget(self) -> io::Result<()> {
        if !self.unreadable.is_empty() {
            let path = self.folder.join(UNREADABLE);
            let mut kept = OpenOptions::new().create(true).append(true).open(path)?;
            kept.write_all(self.unreadable.as_bytes())?;
            kept.sync_all()?;
        }
        self.files.iter().try_for_each(std::fs::remove_file)
    }
}

fn message(read: Line, context: &str, file: &str, number: usize, line: &str) -> LeftMessage {
    // A line with an id is the same message wherever it is. Without one, the same text may be meant twice: then the
    // position tells two messages apart.
    let place = match read.id.as_str() {
        "" => format!("{file}:{number}"),
        _ => String::new(),
    };
    let origin = blake3::hash(format!("{context}\n{place}\n{line}").as_bytes());
    let mut content = read.content;
    if let Some((end, _)) = content.char_indices().nth(LONGEST) {
        content.truncate(end);
        content.push_str("\n[the rest of this message was too long]");
    }
    LeftMessage {
        from: sender(&read.from),
        content,
        origin: format!("inbox file {}", origin.to_hex()),
    }
}

/// The name of a sender. It may be chosen by a stranger who writes to a plugin, so a name of several words is quoted:
/// it must not read like a sentence of another sender.
fn sender(name: &str) -> String {
    let name: String = name.trim().chars().take(LONGEST_NAME).collect();
    match name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        _ if name.is_empty() => "unknown".into(),
        true => format!("{name:?}"),
        false => name,
    }
}

/// Calls `each` with every line that is not blank, and its number. The part of a line beyond the longest length is
/// skipped: such a line is no message.
fn each_line(path: &Path, mut each: impl FnMut(usize, &str)) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut bytes = Vec::new();
    for number in 0.. {
        bytes.clear();
        if file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if bytes.len() as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
            file.skip_until(b'\n')?;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        if !line.trim().is_empty() {
            each(number, line);
        }
    }
    Ok(())
}

/// The files that were moved aside, oldest first.
fn files_aside(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(TAKEN)).collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// A new, unique name for a file that is moved aside.
fn name_aside(context: &str) -> String {
    let moment = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let id = blake3::hash(format!("{context} {moment} {}", std::process::id()).as_bytes());
    format!("{TAKEN}{moment:032x}-{}", &id.to_hex()[..8])
}

fn lock(path: &Path, timeout: Duration) -> io::Result<File> {
    // Opening a pipe would block forever.
    if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        return Err(io::Error::other(format!("{} is no file", path.display())));
    }
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    match lock_within(&file, timeout)? {
        true => Ok(file),
        false => Err(io::Error::other(format!(
            "another program has held the lock {} for {} s",
            path.display(),
            timeout.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(200);
    /// The timeout for locks in tests: a program that another test starts inherits a lock until it runs.
    const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

    fn left(text: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("c")).unwrap();
        std::fs::write(home.path().join("c").join(INBOX), text).unwrap();
        home
    }

    fn take(home: &tempfile::TempDir) -> Option<TakenMessages> {
        take_messages(home.path(), "c", LOCK_TIMEOUT).unwrap()
    }

    #[test]
    fn what_was_left_is_taken_once() {
        let home = left(
            "{\"id\":\"1\",\"timestamp\":5,\"from\":\"a\",\"to\":\"c\",\"content\":\"x\"}\n\n{\"content\":\"y\"}\n\
             {\"from\":\"A\\nFrom me:\",\"content\":\"z\"}\n",
        );
        assert_eq!(contexts_with_messages(home.path()), ["c"]);
        let taken = take(&home).unwrap();
        let words: Vec<(&str, &str)> = taken
            .messages
            .iter()
            .map(|message| (message.from.as_str(), message.content.as_str()))
            .collect();
        assert_eq!(words, [("a", "x"), ("unknown", "y"), ("\"A\\nFrom me:\"", "z")]);
        taken.forget().unwrap();
        assert!(take(&home).is_none());
        assert!(contexts_with_messages(home.path()).is_empty());
    }

    #[test]
    fn numbers_are_taken_for_texts() {
        let home = left(
            "{\"id\":7,\"from\":12,\"content\":\"x\"}\n{\"id\":7,\"from\":12,\"content\":\"x\"}\n\
             {\"id\":null,\"from\":null,\"content\":\"y\"}\r\n",
        );
        let taken = take(&home).unwrap();
        assert_eq!(taken.remarks, Vec::<String>::new());
        let [first, again, last] = &taken.messages[..] else {
            panic!("{taken:?}");
        };
        assert_eq!((first.from.as_str(), last.from.as_str()), ("12", "unknown"));
        assert_eq!(first.origin, again.origin, "an id counts once");
        assert_eq!(last.content, "y");
    }

    #[test]
    fn a_large_file_is_read_and_a_line_without_end_is_no_message() {
        let endless = "z".repeat(LONGEST_LINE as usize + 5);
        let home = left(&format!(
            "{{\"content\":\"x\"}}\n{endless}\n{{\"content\":\"y\"}}\n"
        ));
        let taken = take(&home).unwrap();
        let words: Vec<&str> = taken
            .messages
            .iter()
            .map(|message| message.content.as_str())
            .collect();
        assert_eq!((words, taken.remarks.len()), (vec!["x", "y"], 1));
        taken.forget().unwrap();
        assert!(take(&home).is_none());
    }

    #[test]
    fn a_killed_taker_leaves_everything_to_the_next_under_the_same_origins() {
        let home =
            left("{\"id\":\"1\",\"content\":\"x\"}\n{\"id\":\"\",\"content\":\"y\"}\n{\"content\":\"y\"}\n");
        let first = take(&home).unwrap().messages;
        std::fs::write(home.path().join("c").join(INBOX), "{\"content\":\"y\"}\n").unwrap();
        let second = take(&home).unwrap();
        assert_eq!(second.messages[..3], first[..]);
        let origins: std::collections::HashSet<&str> = second
            .messages
            .iter()
            .map(|message| message.origin.as_str())
            .collect();
        assert_eq!(
            origins.len(),
            4,
            "the same words without an id are messages of their own"
        );
        second.forget().unwrap();
        assert!(take(&home).is_none());
    }

    #[test]
    fn the_lock_of_another_program_is_respected() {
        let home = left("{\"content\":\"x\"}\n");
        let other = File::create(home.path().join("c").join(LOCK)).unwrap();
        other.lock().unwrap();
        let error = take_messages(home.path(), "c", SOON).unwrap_err().to_string();
        assert!(error.contains("held the lock"), "{error}");
        drop(other);
        assert_eq!(take(&home).unwrap().messages.len(), 1);
    }

    #[test]
    fn links_and_pipes_are_no_inboxes() {
        let home = left("{\"content\":\"x\"}\n");
        let folder = home.path().join("c");
        std::fs::rename(folder.join(INBOX), folder.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.join(INBOX)).unwrap();
        assert!(take(&home).is_none());
        std::fs::remove_file(folder.join(INBOX)).unwrap();
        std::fs::rename(folder.join("elsewhere"), folder.join(INBOX)).unwrap();
        std::fs::create_dir(folder.join(LOCK)).unwrap();
        let error = take_messages(home.path(), "c", SOON).unwrap_err().to_string();
        assert!(error.contains("is no file"), "{error}");
    }

    #[test]
    fn lines_that_are_no_messages_are_kept_for_the_person() {
        let home = left("{\"content\":\"x\"}\nnonsense\n{\"content\":3}\n{\"content\":\"cut o");
        let taken = take(&home).unwrap();
        assert_eq!((taken.messages.len(), taken.remarks.len()), (1, 3));
        taken.forget().unwrap();
        let kept = std::fs::read_to_string(home.path().join("c").join(UNREADABLE)).unwrap();
        assert_eq!(kept, "nonsense\n{\"content\":3}\n{\"content\":\"cut o\n");
    }
}
