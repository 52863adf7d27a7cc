//! A format for changes of files that models of several systems write. One call of becket's makes or changes one file
//! (`Patch`); other systems change several at once (`sections`).
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/main.rs
//! @@
//!  a line that stays
//! -a line that goes
//! +a line that comes
//! *** End Patch
//! ```

use std::fmt::Write as _;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
const CHUNK: &str = "@@";

/// A patch of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The file.
    pub path: String,
    /// What becomes of the file.
    pub change: Change,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file gets this content, whatever it held.
    Write(String),
    /// Pieces of the file are replaced.
    Edit(Vec<Chunk>),
}

/// The replacement of one piece of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Words about the place of the piece.
    pub place: Option<String>,
    /// The lines that are replaced; those that stay are among them.
    pub old: Vec<String>,
    /// The lines in their place.
    pub new: Vec<String>,
}

impl Chunk {
    /// The text that is replaced, and the text in its place. `None` if the patch does not say what is replaced.
    pub fn texts(&self) -> Option<(String, String)> {
        match (self.old.as_slice(), self.new.as_slice()) {
            ([], _) => None,
            // Whole lines go, with their ends.
            (old, []) => Some((format!("{}\n", old.join("\n")), String::new())),
            (old, new) => Some((old.join("\n"), new.join("\n"))),
        }
    }
}

impl Patch {
    /// The patch as text.
    pub fn text(&self) -> String {
        let mut text = format!("{BEGIN}\n");
        match &self.change {
            Change::Write(content) => {
                let _ = writeln!(text, "{ADD}{}", self.path);
                for line in content.split_inclusive('\n') {
                    let _ = writeln!(text, "+{}", line.strip_suffix('\n').unwrap_or(line));
                }
            }
            Change::Edit(chunks) => {
                let _ = writeln!(text, "{UPDATE}{}", self.path);
                for chunk in chunks {
                    let _ = match &chunk.place {
                        Some(place) => writeln!(text, "{CHUNK} {place}"),
                        None => writeln!(text, "{CHUNK}"),
                    };
                    for (sign, lines) in [('-', &chunk.old), ('+', &chunk.new)] {
                        for line in lines {
                            let _ = writeln!(text, "{sign}{line}");
                        }
                    }
                }
            }
        }
        text.push_str(END);
        text
    }

    /// Reads a patch. The error says what becket cannot do with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text
            .trim()
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line));
        if lines.next().map(str::trim) != Some(BEGIN) {
            return Err(format!("a patch begins with `{BEGIN}`"));
        }
        let mut patch: Option<Self> = None;
        let mut is_complete = false;
        for line in lines.by_ref() {
            match Header::of(line, patch.as_ref()) {
                Some(Header::End) => {
                    is_complete = true;
                    break;
                }
                Some(Header::File(_)) if patch.is_some() => {
                    return Err("one call changes one file, and this patch changes several".into());
                }
                Some(Header::File(file)) => patch = Some(file),
                Some(Header::Unable(why)) => return Err(why.into()),
                None => match &mut patch {
                    Some(patch) => patch.take(line)?,
                    None => return Err(format!("`{line}` stands before the name of a file")),
                },
            }
        }
        if !is_complete || lines.next().is_some() {
            return Err(format!("a patch ends with `{END}`"));
        }
        patch.ok_or_else(|| "a patch names a file".into())
    }

    /// Takes up a line of the change.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` is no line of a patch: it begins with ` `, `+` or `-`");
        let chunks = match &mut self.change {
            Change::Write(content) => {
                let added = line.strip_prefix('+').ok_or_else(wrong)?;
                content.push_str(added);
                content.push('\n');
                return Ok(());
            }
            Change::Edit(chunks) => chunks,
        };
        let end = line.trim_end();
        if let Some(place) = end.strip_prefix(CHUNK)
            && (place.is_empty() || place.starts_with(' '))
        {
            let place = Some(place.trim_start().to_owned()).filter(|place| !place.is_empty());
            chunks.push(Chunk {
                place,
                ..Chunk::default()
            });
            return Ok(());
        }
        if chunks.is_empty() {
            chunks.push(Chunk::default());
        }
        let Some(chunk) = chunks.last_mut() else {
            return Err(wrong());
        };
        match (line.chars().next(), line.get(1..)) {
            _ if end == END_OF_FILE => {}
            (None, _) => {
                chunk.old.push(String::new());
                chunk.new.push(String::new());
            }
            (Some(' '), Some(rest)) => {
                chunk.old.push(rest.to_owned());
                chunk.new.push(rest.to_owned());
            }
            (Some('-'), Some(rest)) => chunk.old.push(rest.to_owned()),
            (Some('+'), Some(rest)) => chunk.new.push(rest.to_owned()),
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

/// What a patch of several files does to one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The file.
    pub path: String,
    /// What becomes of the file; `None` if it goes.
    pub change: Option<Change>,
}

/// What a section of a patch does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// A file gets this content, or pieces of it are replaced.
    Change(Patch),
    /// A file gets another name, and pieces of it are replaced.
    Move {
        /// The file.
        from: String,
        /// Its new name.
        to: String,
        /// The pieces, if there are any.
        chunks: Vec<Chunk>,
    },
    /// A file goes.
    Remove(String),
}

/// The sections of a patch. The error says what cannot be read.
pub fn sections(text: &str) -> Result<Vec<Section>, String> {
    let body = text
        .trim()
        .strip_prefix(BEGIN)
        .and_then(|body| body.strip_suffix(END));
    let body = body.ok_or_else(|| format!("a patch begins with `{BEGIN}` and ends with `{END}`"))?;
    let mut written: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in body.split('\n').skip(1) {
        match (begins_file(line), written.last_mut()) {
            (true, _) => written.push((line.trim(), Vec::new())),
            (false, Some((_, lines))) => lines.push(line),
            (false, None) => return Err(format!("`{line}` stands before the name of a file")),
        }
    }
    if written.is_empty() {
        return Err("a patch names a file".into());
    }
    written
        .into_iter()
        .map(|(header, lines)| section(header, lines))
        .collect()
}

fn section(header: &str, mut lines: Vec<&str>) -> Result<Section, String> {
    if let Some(path) = header.strip_prefix(DELETE) {
        // A reader that is less strict might take one of them for the next header.
        return match lines.iter().find(|line| !line.trim().is_empty()) {
            Some(line) => Err(format!("`{line}` stands below a file that goes")),
            None => Ok(Section::Remove(path.into())),
        };
    }
    // The last section ends with the line break before the end of the patch.
    lines.pop_if(|line| line.is_empty());
    let moved = lines.first().and_then(|line| line.trim_end().strip_prefix(MOVE));
    let rest = lines.get(usize::from(moved.is_some())..).unwrap_or_default();
    let changes = !rest.iter().all(|line| line.trim().is_empty());
    let alone = match (changes, header.strip_prefix(UPDATE)) {
        (false, Some(path)) if moved.is_some() => Patch {
            path: path.into(),
            change: Change::Edit(Vec::new()),
        },
        _ => Patch::read(&format!("{BEGIN}\n{header}\n{}\n{END}", rest.join("\n")))?,
    };
    match (moved, alone.change) {
        (None, change) => Ok(Section::Change(Patch { change, ..alone })),
        (Some(to), Change::Edit(chunks)) => Ok(Section::Move {
            from: alone.path,
            to: to.into(),
            chunks,
        }),
        (Some(_), Change::Write(_)) => Err("a file that is made cannot be moved".into()),
    }
}

/// The files that a patch makes, changes, moves or removes. The error says what cannot be read.
pub fn patched_files(text: &str) -> Result<Vec<PatchedFile>, String> {
    let files = sections(text)?.into_iter().flat_map(|section| match section {
        Section::Remove(path) => vec![PatchedFile { path, change: None }],
        Section::Change(Patch { path, change }) => vec![PatchedFile {
            path,
            change: Some(change),
        }],
        Section::Move { from, to, chunks } => [to, from]
            .map(|path| PatchedFile {
                path,
                change: Some(Change::Edit(chunks.clone())),
            })
            .into(),
    });
    Ok(files.collect())
}

fn begins_file(line: &str) -> bool {
    [ADD, UPDATE, DELETE]
        .iter()
        .any(|header| line.starts_with(header))
}

/// A line that is no part of a change.
enum Header {
    /// The beginning of a file's change.
    File(Patch),
    /// The end of the patch.
    End,
    /// Something that becket has no operation for.
    Unable(&'static str),
}

impl Header {
    /// The meaning of a line. In a change of a file a line is a header only without space before it.
    fn of(line: &str, patch: Option<&Patch>) -> Option<Self> {
        let is_edit = patch.is_some_and(|patch| matches!(patch.change, Change::Edit(_)));
        let line = if is_edit { line.trim_end() } else { line.trim() };
        let file = |path: &str, change| {
            Self::File(Patch {
                path: path.to_owned(),
                change,
            })
        };
        if line == END {
            Some(Self::End)
        } else if let Some(path) = line.strip_prefix(ADD) {
            Some(file(path, Change::Write(String::new())))
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            Some(file(path, Change::Edit(Vec::new())))
        } else if line.starts_with(DELETE) {
            Some(Self::Unable(
                "this call changes one file, and the patch deletes one",
            ))
        } else if is_edit && line.starts_with(MOVE) {
            Some(Self::Unable("this call changes one file, and the patch moves it"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, old: &[&str], new: &[&str]) -> Patch {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Patch {
            path: path.into(),
            change: Change::Edit(vec![Chunk {
                place: None,
                old: lines(old),
                new: lines(new),
            }]),
        }
    }

    #[test]
    fn a_patch_is_written_line_by_line() {
        let text = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n-y\n+z\n*** End Patch";
        assert_eq!(edit("a.rs", &["x", "y"], &["z"]).text(), text);
        let new = Patch {
            path: "a".into(),
            change: Change::Write("one\n\ntwo\n".into()),
        };
        assert_eq!(
            new.text(),
            "*** Begin Patch\n*** Add File: a\n+one\n+\n+two\n*** End Patch"
        );
    }

    #[test]
    fn whatever_is_written_is_read_again() {
        for patch in [
            edit("a b/c", &["x"], &["y", ""]),
            edit("a", &["*** End Patch", "@@ x", ""], &["-", "+", " "]),
            Patch {
                path: "a".into(),
                change: Change::Write(String::new()),
            },
            Patch {
                path: "a".into(),
                change: Change::Write("+x\n\n*** End Patch\n".into()),
            },
        ] {
            assert_eq!(Patch::read(&patch.text()), Ok(patch));
        }
    }

    #[test]
    fn lines_that_stay_are_part_of_what_is_replaced() {
        let chunk = "@@ fn main()\n one\n-two\n+2\n\n*** End of File";
        let text = format!("*** Begin Patch\n*** Update File: a\n{chunk}\n*** End Patch\n");
        let patch = Patch::read(&text).unwrap();
        let Change::Edit(chunks) = patch.change else {
            panic!("it changes a file");
        };
        assert_eq!(chunks[0].place.as_deref(), Some("fn main()"));
        assert_eq!(chunks[0].texts(), Some(("one\ntwo\n".into(), "one\n2\n".into())));
    }

    #[test]
    fn lines_that_go_take_their_ends_along() {
        let patch = Patch::read("*** Begin Patch\n*** Update File: a\n-x\n*** End Patch").unwrap();
        let Change::Edit(chunks) = patch.change else {
            panic!("it changes a file");
        };
        assert_eq!(chunks[0].texts(), Some(("x\n".into(), String::new())));
    }

    #[test]
    fn a_patch_of_several_files_is_taken_apart() {
        let text = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-1\n+2\n\n*** Update File: c\n\
                    *** Move to: d\n@@\n-1\n+2\n*** Delete File: e\n*** End Patch\n";
        let files = patched_files(text).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "d", "c", "e"]);
        assert_eq!(files[0].change, Some(Change::Write("x\n".into())));
        assert!(matches!(&files[2].change, Some(Change::Edit(chunks)) if chunks.len() == 1));
        assert_eq!(files[4].change, None);
        let moved = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch";
        let section = Section::Move {
            from: "a".into(),
            to: "b".into(),
            chunks: Vec::new(),
        };
        assert_eq!(sections(moved), Ok(vec![section]));
        for wrong in [
            "",
            "rm -rf /",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\nx\n*** End Patch",
            "*** Begin Patch\n*** Delete File: a\n *** Add File: b\n+x\n*** End Patch",
        ] {
            assert!(patched_files(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_one_call_cannot_do_is_refused() {
        for (text, why) in [
            ("*** Begin Patch\n*** Delete File: a\n*** End Patch", "deletes"),
            (
                "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch",
                "moves",
            ),
            (
                "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: b\n+y\n*** End Patch",
                "several",
            ),
            ("*** Begin Patch\n*** Add File: a\n+x", "ends with"),
            ("*** Begin Patch\n*** Add File: a\n*** End Patch\n+x", "ends with"),
            ("*** Add File: a\n+x\n*** End Patch", "begins with"),
            ("*** Begin Patch\n+x\n*** End Patch", "before the name"),
            ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "no line"),
            (
                "*** Begin Patch\n*** Update File: a\n*x\n*** End Patch",
                "no line",
            ),
            ("*** Begin Patch\n*** End Patch", "names a file"),
            ("rm -rf /", "begins with"),
        ] {
            let refused = Patch::read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
