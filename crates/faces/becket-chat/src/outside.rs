//! The user's own editor (`$VISUAL` or `$EDITOR`) for the text of the chat's input.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use becket_screen::Screen;
use becket_system::Surroundings;

/// Opens the text in the user's editor, which has the terminal meanwhile. Returns the edited text; `None` if the editor
/// has failed, which is how some editors say that nothing is to change. The error says why it could not be opened.
pub async fn edited(
    screen: &Screen,
    environment: Arc<BTreeMap<OsString, OsString>>,
    surroundings: &Surroundings,
) -> Result<Option<String>, String> {
    let named = ["VISUAL", "EDITOR"].map(|name| surroundings.variable(name));
    let Some(editor) = named.into_iter().flatten().next() else {
        return Err("set VISUAL or EDITOR to your editor".to_owned());
    };
    let text = screen.edit(|editor| editor.expanded());
    let folder = surroundings.temporary_folder();
    let (screen, signals) = (screen.clone(), surroundings.signals.clone());
    let writing = move || {
        let draft = Draft::new(&text, &folder)?;
        let _lent = (screen.suspend(), signals.lend());
        let mut command = Command::new("/bin/sh");
        // The variable may hold arguments as well.
        command.args(["-c", "exec $0 \"$1\""]).arg(editor).arg(&draft.0);
        let status = command.env_clear().envs(&*environment).status()?;
        let text = std::fs::read_to_string(&draft.0)?;
        Ok::<_, io::Error>(status.success().then(|| text.trim_end().to_owned()))
    };
    let written = tokio::task::spawn_blocking(writing).await;
    let written = written.map_err(|error| error.to_string())?;
    written.map_err(|error| format!("cannot write in an editor: {error}"))
}

/// A file that only the user can read, removed on drop.
struct Draft(PathBuf);

impl Draft {
    fn new(text: &str, folder: &Path) -> io::Result<Self> {
        let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let path = folder.join(format!("becket-{number:016x}.md"));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let draft = Self(path);
        // A file of text ends with the end of a line.
        writeln!(file, "{text}")?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
