//! The content of files, which Cursor tells its hooks: of a file before it is read, and of one after an edit.

use std::path::Path;

use becket_system::files::{Unread, read_regular_lossy};
use serde_json::{Map, Value};

/// The largest file whose content hooks are told.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a file, however it is encoded; `None` if it cannot be read.
pub fn text_of(file: &Path) -> Option<String> {
    read_regular_lossy(file, MOST_BYTES).ok()
}

/// Why a hook cannot be told all of a file that the model could read.
pub fn hidden(file: &Path) -> Option<String> {
    let is_large = matches!(read_regular_lossy(file, MOST_BYTES), Err(Unread::TooLarge(_)));
    is_large.then(|| {
        format!(
            "{} is larger than {} MB, so the hook cannot see all of it",
            file.display(),
            MOST_BYTES / (1024 * 1024)
        )
    })
}

/// The whole new text of a file, from becket's arguments of an edit; `None` if that cannot be known before.
pub fn edited(old: &str, arguments: &Map<String, Value>) -> Option<String> {
    if arguments.contains_key("lines") {
        return None;
    }
    let edits = arguments.get("edits")?.as_array()?;
    let mut text = old.to_owned();
    for edit in edits {
        let old_text = edit.get("old_text")?.as_str().filter(|text| !text.is_empty())?;
        let new_text = edit.get("new_text")?.as_str()?;
        if !text.contains(old_text) {
            return None;
        }
        text = match edit.get("all") == Some(&Value::Bool(true)) {
            true => text.replace(old_text, new_text),
            false => text.replacen(old_text, new_text, 1),
        };
    }
    Some(text)
}

/// All text that an edit brings into a file.
pub fn brought(arguments: &Map<String, Value>) -> String {
    let list = |key: &str| arguments.get(key).and_then(Value::as_array).into_iter().flatten();
    let edits = list("edits").filter_map(|edit| edit.get("new_text")?.as_str());
    let lines = list("lines").filter_map(|line| line.get("text")?.as_str());
    edits.chain(lines).collect::<Vec<_>>().join("\n")
}
