//! The tool output cache: outputs that are too large for the model, as files below `vfs:///sys/tool_cache`, one folder
//! for each context.

use std::io;
use std::time::{Duration, SystemTime};

use crate::vfs::{Kind, Vfs, VfsPath, VfsPlace};

/// The folder of cached outputs, with a subfolder for each context.
const FOLDER: &str = "/sys/tool_cache";

/// A file whose age tells when old outputs were last removed.
const CLEANED: &str = ".cleaned";

/// The shortest time between two clean-ups.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The longest part of a tool's name that stands in the name of an output.
const LONGEST_TOOL: usize = 60;

/// The outputs that were too large for the model.
#[derive(Debug, Clone)]
pub struct OutputCache {
    vfs: Vfs,
}

/// An output that was too large for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedOutput {
    /// The output's address in the virtual file system.
    pub address: VfsPath,
    /// The context in which the call was made.
    pub context_name: String,
    /// The output's name in the context's folder.
    pub cache_id: String,
    /// The tool that wrote the output.
    pub tool_name: String,
    /// The output's size in bytes.
    pub size: u64,
    /// When the output was stored, in milliseconds since 1970.
    pub stored_ms: u64,
}

impl OutputCache {
    /// The cache in that virtual file system.
    pub fn new(vfs: Vfs) -> Self {
        Self { vfs }
    }

    /// Whether an address is one of the cache. What is read from there is not cached again.
    pub fn holds(path: &VfsPath) -> bool {
        VfsPath::from_path(FOLDER).is_ok_and(|folder| path.is_in(&folder))
    }

    /// The folder of a context.
    pub fn folder_of(&self, context_name: &str) -> Result<VfsPlace, String> {
        self.vfs.place(&VfsPath::from_path(FOLDER)?.join(context_name)?)
    }

    /// Keeps an output.
    pub fn put(&self, context_name: &str, tool_name: &str, text: &str) -> Result<CachedOutput, String> {
        let stored_ms = now_ms();
        let tool_name = plain(tool_name);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let cache_id = format!("{tool_name}_{stored_ms:x}_{}", &hash[..8]);
        self.vfs.prepare()?;
        let place = self.folder_of(context_name)?.child(&cache_id)?;
        place.write(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(CachedOutput {
            address: place.address().clone(),
            context_name: context_name.into(),
            cache_id,
            tool_name,
            size: text.len() as u64,
            stored_ms,
        })
    }

    /// The outputs of a context, or of all, oldest first in each.
    pub fn outputs(&self, context_name: Option<&str>) -> io::Result<Vec<CachedOutput>> {
        let mut outputs = Vec::new();
        for folder in self.folders(context_name)? {
            outputs.extend(outputs_in(&folder)?);
        }
        Ok(outputs)
    }

    /// Removes the outputs of a context, or of all, that are at least that old. Returns how many there were.
    pub fn remove(&self, context_name: Option<&str>, age: Duration) -> io::Result<usize> {
        let limit = now_ms().saturating_sub(age.as_millis() as u64);
        let mut removed = 0;
        for folder in self.folders(context_name)? {
            for output in outputs_in(&folder)?
                .iter()
                .filter(|output| output.stored_ms <= limit)
            {
                folder
                    .child(&output.cache_id)
                    .map_err(io::Error::other)?
                    .remove()?;
                removed += 1;
            }
            // A folder with something in it stays.
            let _ = folder.remove();
        }
        Ok(removed)
    }

    /// Removes outputs older than `age`, unless a clean-up took place within the last hour.
    pub fn clean_up(&self, age: Duration) -> io::Result<()> {
        let top = self.top()?;
        let mark = top.child(CLEANED).map_err(io::Error::other)?;
        let is_due = mark.info().map_or(true, |info| {
            // A mark from the future is no reason to wait for it.
            info.modified.elapsed().map_or(true, |age| age >= INTERVAL)
        });
        if top.info().is_err() || !is_due {
            return Ok(());
        }
        mark.write(b"")?;
        self.remove(None, age).map(|_| ())
    }

    fn top(&self) -> io::Result<VfsPlace> {
        let path = VfsPath::from_path(FOLDER).map_err(io::Error::other)?;
        self.vfs.place(&path).map_err(io::Error::other)
    }

    fn folders(&self, context_name: Option<&str>) -> io::Result<Vec<VfsPlace>> {
        if let Some(name) = context_name {
            return Ok(vec![self.folder_of(name).map_err(io::Error::other)?]);
        }
        let top = self.top()?;
        let entries = absent_is_empty(top.entries())?.into_iter();
        let folders = entries.filter(|entry| entry.kind == Kind::Folder);
        folders
            .map(|entry| top.child(&entry.name).map_err(io::Error::other))
            .collect()
    }
}

/// The outputs in the folder of a context, oldest first.
pub fn outputs_in(folder: &VfsPlace) -> io::Result<Vec<CachedOutput>> {
    let context_name = folder.address().names().last().unwrap_or_default();
    let mut outputs = Vec::new();
    for entry in absent_is_empty(folder.entries())? {
        let place = folder.child(&entry.name).map_err(io::Error::other)?;
        let (Some((tool_name, stored_ms)), Ok(info)) = (read_id(&entry.name), place.info()) else {
            continue;
        };
        outputs.push(CachedOutput {
            address: place.address().clone(),
            context_name: context_name.into(),
            tool_name: tool_name.into(),
            size: info.size,
            stored_ms,
            cache_id: entry.name,
        });
    }
    outputs.sort_by(|one, other| (one.stored_ms, &one.cache_id).cmp(&(other.stored_ms, &other.cache_id)));
    Ok(outputs)
}

fn absent_is_empty<T: Default>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        result => result,
    }
}

/// The tool and the time in the name of an output.
fn read_id(cache_id: &str) -> Option<(&str, u64)> {
    let (rest, hash) = cache_id.rsplit_once('_')?;
    let (tool_name, time) = rest.rsplit_once('_')?;
    let is_hash = hash.len() == 8 && hash.chars().all(|digit| digit.is_ascii_hexdigit());
    let stored_ms = u64::from_str_radix(time, 16).ok()?;
    (is_hash && !tool_name.is_empty()).then_some((tool_name, stored_ms))
}

/// A tool's name with nothing in it that does not belong into a file's name.
fn plain(tool_name: &str) -> String {
    let keep = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let characters = tool_name.chars().take(LONGEST_TOOL);
    let name: String = characters
        .map(|character| if keep(character) { character } else { '_' })
        .collect();
    if name.is_empty() { "tool".into() } else { name }
}

fn now_ms() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed();
    now.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, OutputCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = OutputCache::new(Vfs::new(&folder.path().join("vfs")));
        (folder, cache)
    }

    /// Stores an output as if that had been some days ago.
    fn old_output(folder: &tempfile::TempDir, context_name: &str, days: u64) {
        let time = now_ms() - days * 24 * 60 * 60 * 1000;
        let place = folder.path().join("vfs/sys/tool_cache").join(context_name);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(format!("shell_{time:x}_0123abcd")), "old").unwrap();
    }

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    #[test]
    fn an_output_is_listed_under_its_tool() {
        let (_folder, cache) = cache();
        assert!(cache.outputs(None).unwrap().is_empty());
        let put = cache.put("work", "mcp/../odd tool", "text").unwrap();
        assert!(put.cache_id.starts_with("mcp____odd_tool_"), "{}", put.cache_id);
        assert_eq!(
            put.address.to_string(),
            format!("vfs:///sys/tool_cache/work/{}", put.cache_id)
        );
        assert!(OutputCache::holds(&put.address));
        assert_eq!(cache.outputs(None).unwrap(), cache.outputs(Some("work")).unwrap());
        assert_eq!(cache.outputs(None).unwrap(), [put]);
        assert!(cache.outputs(Some("other")).unwrap().is_empty());
        assert!(cache.put("../up", "tool", "text").is_err());
    }

    #[test]
    fn only_old_outputs_are_removed_and_only_outputs() {
        let (folder, cache) = cache();
        old_output(&folder, "work", 8);
        old_output(&folder, "gone", 8);
        let fresh = cache.put("work", "shell", "text").unwrap();
        std::fs::write(folder.path().join("vfs/sys/tool_cache/work/notes"), "mine").unwrap();
        assert_eq!(cache.remove(None, WEEK).unwrap(), 2);
        assert_eq!(cache.outputs(None).unwrap(), [fresh]);
        assert!(!folder.path().join("vfs/sys/tool_cache/gone").exists());
        assert_eq!(cache.remove(Some("work"), Duration::ZERO).unwrap(), 1);
        assert!(folder.path().join("vfs/sys/tool_cache/work/notes").exists());
    }

    #[test]
    fn cleaning_up_happens_once_in_an_hour() {
        let (folder, cache) = cache();
        cache.clean_up(WEEK).unwrap();
        assert!(
            !folder.path().join("vfs").exists(),
            "nothing to clean makes no folder"
        );
        old_output(&folder, "work", 8);
        cache.clean_up(WEEK).unwrap();
        assert!(cache.outputs(None).unwrap().is_empty());
        old_output(&folder, "work", 8);
        cache.clean_up(WEEK).unwrap();
        assert_eq!(cache.outputs(None).unwrap().len(), 1, "an hour has not passed");
        let mark = folder.path().join("vfs/sys/tool_cache").join(CLEANED);
        let hour_ago = SystemTime::now() - INTERVAL;
        let file = std::fs::File::options().write(true).open(mark).unwrap();
        file.set_modified(hour_ago).unwrap();
        cache.clean_up(WEEK).unwrap();
        assert!(cache.outputs(None).unwrap().is_empty());
    }
}
