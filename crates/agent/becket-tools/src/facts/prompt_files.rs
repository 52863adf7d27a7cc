//! Files of instructions, found by name: the closest one from the working directory upwards, else the one in the home.

use std::io;
use std::path::{Path, PathBuf};

use crate::judged_path::read_whole;

/// The largest file that is read; larger ones are left out.
const MOST_BYTES: u64 = 256 * 1024;

/// The result for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFileText {
    /// The text of the file, and where it is.
    Text { path: PathBuf, text: String },
    /// Why a file that is there is not used.
    LeftOut(String),
}

/// The texts of some files, in the order of their names. A name for which there is no file is skipped. No file is read
/// that a link, or the name itself, puts outside of the folder in which it was looked for.
pub fn prompt_file_texts(names: &[String], cwd: &Path, home: Option<&Path>) -> Vec<PromptFileText> {
    let found = names.iter().filter_map(|name| {
        let mut folders = cwd.ancestors().chain(home);
        folders.find_map(|folder| read(folder, name))
    });
    found.collect()
}

fn read(folder: &Path, name: &str) -> Option<PromptFileText> {
    let place = folder.join(name);
    let left_out = |why: String| {
        Some(PromptFileText::LeftOut(format!(
            "{} is left out: {why}",
            place.display()
        )))
    };
    let resolved = match place.canonicalize() {
        Ok(resolved) => resolved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return None,
        Err(error) => return left_out(error.to_string()),
    };
    let inside: PathBuf = folder.canonicalize().ok()?;
    if !resolved.starts_with(&inside) {
        return left_out(format!("it leads to {}, out of its folder", resolved.display()));
    }
    if resolved.is_dir() {
        return None;
    }
    let bytes = match read_whole(&resolved, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return left_out(error.to_string()),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(PromptFileText::Text { path: place, text }),
        Err(_) => left_out("it is not UTF-8 text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_file_counts_then_that_in_the_home() {
        let room = tempfile::tempdir().unwrap();
        let at = |path: &str| room.path().join(path);
        for folder in ["top/middle/below", "home"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let files = [
            ("top/A.md", "far"),
            ("top/middle/A.md", "near"),
            ("home/A.md", "home"),
            ("home/B.md", "home too"),
        ];
        for (file, text) in files {
            std::fs::write(at(file), text).unwrap();
        }
        let names = ["A.md", "MISSING.md", "B.md"].map(str::to_owned);
        let texts = prompt_file_texts(&names, &at("top/middle/below"), Some(&at("home")));
        let text = |path: &str, text: &str| PromptFileText::Text {
            path: at(path),
            text: text.into(),
        };
        let wanted = [text("top/middle/A.md", "near"), text("home/B.md", "home too")];
        assert_eq!(texts, wanted);
        let far = [text("top/A.md", "far")];
        assert_eq!(prompt_file_texts(&names, &at("top"), None), far);
        assert_eq!(prompt_file_texts(&[], &at("top"), None), []);
    }

    #[test]
    fn what_leads_out_is_too_large_or_no_text_is_left_out_with_a_word() {
        let room = tempfile::tempdir().unwrap();
        let cwd = room.path().join("cwd");
        std::fs::create_dir(&cwd).unwrap();
        std::fs::write(room.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("../secret", cwd.join("LINK.md")).unwrap();
        std::fs::write(cwd.join("LARGE.md"), "x".repeat(300 * 1024)).unwrap();
        std::fs::write(cwd.join("BYTES.md"), b"\xff\xfe").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, cwd.join("PIPE.md"), rustix::fs::Mode::RUSR).unwrap();
        let absolute = room.path().join("secret").display().to_string();
        let names = [
            "LINK.md",
            "LARGE.md",
            "BYTES.md",
            "PIPE.md",
            "../secret",
            &absolute,
        ];
        for name in names {
            let texts = prompt_file_texts(&[name.to_owned()], &cwd, None);
            assert!(
                matches!(texts.as_slice(), [PromptFileText::LeftOut(_)]),
                "{name}: {texts:?}"
            );
        }
        std::os::unix::fs::symlink("cwd/BYTES.md", room.path().join("x")).unwrap();
        std::fs::create_dir(cwd.join("FOLDER.md")).unwrap();
        assert_eq!(prompt_file_texts(&["FOLDER.md".into()], &cwd, None), []);
    }
}
