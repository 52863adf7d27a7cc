//! Texts of hooks that are too long for a conversation: a file has the whole, and the beginning is shown with its path.

#![allow(clippy::disallowed_methods, reason = "a file that the model may read")]

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::answer::HookAnswer;
use crate::entry::HookEntry;
use crate::facts::Facts;

/// How much of a long text is shown.
const SHOWN: usize = 2_000;

/// An answer whose texts for the model and the user are as short as the hook's system wants them.
pub fn shortened(answer: HookAnswer, entry: &HookEntry, (facts, session_id): (&Facts, &str)) -> HookAnswer {
    let Some(most) = entry.longest_text else {
        return answer;
    };
    let short = |texts: Vec<String>| -> Vec<String> {
        let texts = texts.into_iter();
        texts
            .map(|text| short_text(text, most, (facts, session_id)))
            .collect()
    };
    HookAnswer {
        context: short(answer.context),
        notice: short(answer.notice),
        ..answer
    }
}

/// The beginning of a text that has more characters than it may, with the path of the whole. If no file can be written,
/// the text stays as it is: nothing of it must get lost.
fn short_text(text: String, most: usize, place: (&Facts, &str)) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let shown = text.char_indices().nth(SHOWN).map_or(end, |(at, _)| at.min(end));
    match keep(&text, place) {
        Ok(file) => format!(
            "{}\n[This is the beginning of a text of {} characters. All of it is in {}]",
            &text[..shown],
            text.chars().count(),
            file.display()
        ),
        Err(_) => text,
    }
}

/// Writes a text to a file of the session that only the user can read.
fn keep(text: &str, (facts, session_id): (&Facts, &str)) -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&facts.files)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{session_id}-{}-{number}.txt", std::process::id());
    let path = facts.files.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}
