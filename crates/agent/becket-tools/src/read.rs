//! Reading a file: some lines of a text, or a picture.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use base64::Engine;
use becket_agent::tool::ToolOutput;
use becket_events::{Finding, Part, ReadArguments, ReadLines, ReadStop, Why};
use rustix::io::Errno;
use serde_json::json;

use crate::answer::OperationAnswer;
use crate::buffers::BufferText;
use crate::judged_path::{self, reason, size};
use crate::place::broken_lines;

/// The most lines that one call returns.
const MOST_LINES: u64 = 2000;

/// The most bytes of text that one call returns.
const MOST_BYTES: usize = 50 * 1024;

/// The largest picture that is shown.
const MOST_PICTURE_BYTES: u64 = 5 * 1024 * 1024;

/// The largest cached output that is read.
const MOST_CACHED_BYTES: u64 = 256 * 1024 * 1024;

/// How much of a file is read to guess its type.
const GLIMPSE: u64 = 8 * 1024;

/// The largest file in which the lines after the shown ones are counted.
const COUNTED_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the file at `path`, which is the judged form of what the arguments name. If an editor has it in a buffer, that
/// is what is shown, unless the file on the disk cannot be.
pub(crate) fn run(arguments: &ReadArguments, path: &Path, buffer: BufferText) -> OperationAnswer {
    read(arguments, path, buffer).unwrap_or_else(|error| {
        let words = format!("Cannot read {}: {}.", arguments.path, reason(&error));
        OperationAnswer::refused_by_system(words, &error, path)
    })
}

/// Reads a cached output, with long lines in pieces.
pub(crate) fn run_cached(arguments: &ReadArguments, path: &Path) -> OperationAnswer {
    let read = judged_path::read_whole(path, MOST_CACHED_BYTES)
        .map(|bytes| broken_lines(&bytes))
        .and_then(|bytes| lines(arguments, io::Cursor::new(&bytes), bytes.len() as u64));
    read.unwrap_or_else(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => " Old outputs are removed after some days; make the call again.",
            _ => "",
        };
        let words = format!("Cannot read {}: {}.{hint}", arguments.path, reason(&error));
        ToolOutput::error(words).into()
    })
}

fn read(arguments: &ReadArguments, path: &Path, buffer: BufferText) -> io::Result<OperationAnswer> {
    let in_buffer = |text: String| {
        let length = text.len() as u64;
        lines(arguments, io::Cursor::new(text.into_bytes()), length)
    };
    let mut file = match (judged_path::open_file(path), &buffer) {
        // A file that was never saved.
        (Err(error), Ok(Some(text))) if error.kind() == io::ErrorKind::NotFound => {
            return in_buffer(text.clone());
        }
        (file, _) => file?,
    };
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        let words = format!(
            "Cannot read {}: it is a directory. List it to see what is in it.",
            arguments.path
        );
        return Ok(OperationAnswer::refused_by_system(
            words,
            &Errno::ISDIR.into(),
            path,
        ));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut glimpse = Vec::with_capacity(GLIMPSE as usize + 1);
    (&file).take(GLIMPSE).read_to_end(&mut glimpse)?;
    file.rewind()?;
    if let Some(media_type) = picture_type(&glimpse) {
        return picture(arguments, file, media_type, metadata.len()).map(OperationAnswer::from);
    }
    if glimpse.contains(&0) {
        return Ok(ToolOutput::error(format!(
            "Cannot show {} as text: it is binary ({}, {}). Use a command that understands such files.",
            arguments.path,
            binary_type(&glimpse),
            size(metadata.len())
        ))
        .into());
    }
    match buffer.map_err(io::Error::other)? {
        Some(text) => in_buffer(text),
        None => lines(arguments, file, metadata.len()),
    }
}

/// The lines that the arguments ask for, from the beginning or from the end.
fn lines(arguments: &ReadArguments, file: impl Read + Seek, length: u64) -> io::Result<OperationAnswer> {
    if arguments.tail.is_some() && (arguments.offset.is_some() || arguments.limit.is_some()) {
        return Err(io::Error::other(
            "`tail` reads from the end, `offset` and `limit` from the beginning; give one or the other",
        ));
    }
    match arguments.tail {
        Some(wanted) => tail(wanted, file, length),
        None => text(arguments, file, length),
    }
}

fn picture(arguments: &ReadArguments, file: File, media_type: &str, length: u64) -> io::Result<ToolOutput> {
    let mut bytes = Vec::new();
    file.take(MOST_PICTURE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_PICTURE_BYTES {
        return Ok(ToolOutput::error(format!(
            "Cannot show {}: the picture ({media_type}, {}) is larger than {}. Make it smaller first.",
            arguments.path,
            size(length),
            size(MOST_PICTURE_BYTES)
        )));
    }
    let note = Part::text(format!(
        "{} ({media_type}, {})",
        arguments.path,
        size(bytes.len() as u64)
    ));
    let picture = Part::Image {
        media_type: media_type.to_owned(),
        data: base64::engine::general_purpose::STANDARD.encode(&bytes),
    };
    Ok(ToolOutput {
        content: vec![note, picture],
        is_error: false,
        details: Some(json!({"media_type": media_type, "bytes": bytes.len()})),
        ends_run: false,
    })
}

fn text(arguments: &ReadArguments, file: impl Read, length: u64) -> io::Result<OperationAnswer> {
    let first = arguments.offset.unwrap_or(1).max(1);
    let wanted = arguments.limit.unwrap_or(MOST_LINES).min(MOST_LINES);
    let mut reader = BufReader::with_capacity(64 * 1024, Watched { file, last: None });
    let skipped = skip_lines(&mut reader, first - 1)?;
    let window = take_lines(&mut reader, wanted)?;
    if skipped < first - 1 || (window.lines == 0 && first > 1 && wanted > 0) {
        let words = format!(
            "{} has only {skipped} lines; line {first} is past its end.",
            arguments.path
        );
        return Ok(OperationAnswer::failed(words, Why::PastEnd(skipped)));
    }
    let total = match window.more {
        true if length <= COUNTED_BYTES => {
            Some(first - 1 + window.lines + skip_lines(&mut reader, u64::MAX)?)
        }
        true => None,
        false => Some(first - 1 + window.lines),
    };
    let is_last_ended = total.and(reader.get_ref().last).map(|byte| byte == b'\n');
    let notice = notice(arguments, &window, first, total, length);
    let all_asked_for = !window.cut && (!window.more || arguments.limit == Some(window.lines));
    let missing = notice.clone().filter(|_| !all_asked_for && window.lines > 0);
    let asked = arguments.limit.is_some_and(|limit| limit <= window.lines);
    let lines = ReadLines {
        first: Some(first),
        count: window.lines,
        total,
        is_last_ended,
        stopped: window.stopped(asked),
    };
    Ok(lines_answer(&window.bytes, notice, missing, lines))
}

/// The last lines. However long the file is, only its end is read.
fn tail(wanted: u64, mut file: impl Read + Seek, length: u64) -> io::Result<OperationAnswer> {
    let total = match length <= COUNTED_BYTES {
        true => Some(skip_lines(&mut BufReader::new(&mut file), u64::MAX)?),
        false => None,
    };
    // One byte more than is shown tells whether the first line is complete.
    let start = length.saturating_sub(MOST_BYTES as u64 + 1);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = start > 0 && lines.len() == 1;
    if start > 0 && !cut {
        lines.remove(0);
    }
    let in_view = lines.len() as u64;
    let asked = wanted.min(MOST_LINES);
    let shown = &lines[in_view.saturating_sub(asked) as usize..];
    let count = shown.len() as u64;
    let of = total.map_or_else(
        || format!("a file of {}", size(length)),
        |total| total.to_string(),
    );
    let before = start > 0 || in_view > count;
    let notice = match (cut && count > 0, before, count) {
        (true, ..) => Some(format!(
            "[The last line is longer than {}; its beginning is left out.]",
            size(MOST_BYTES as u64)
        )),
        (_, true, 1..) => Some(format!("[The last {count} lines of {of}.]")),
        (_, false, 0) if wanted > 0 => Some("[The file is empty.]".to_owned()),
        _ => None,
    };
    let missing = notice
        .clone()
        .filter(|_| count > 0 && (cut || (before && count < wanted)));
    let lines = ReadLines {
        first: total.map(|total| total.saturating_sub(count) + 1),
        count,
        total,
        is_last_ended: bytes.last().map(|byte| *byte == b'\n'),
        stopped: None,
    };
    Ok(lines_answer(&shown.concat(), notice, missing, lines))
}

/// Lines with a notice; `missing` is the notice if not everything that was asked for is there.
fn lines_answer(
    bytes: &[u8],
    notice: Option<String>,
    missing: Option<String>,
    lines: ReadLines,
) -> OperationAnswer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut shown = text.clone();
    if let Some(notice) = notice {
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        shown.push_str(&notice);
    }
    OperationAnswer {
        output: ToolOutput {
            content: vec![Part::text(shown)],
            is_error: false,
            details: Some(json!({
                "first_line": lines.first,
                "lines": lines.count,
                "total_lines": lines.total,
                "cut_by": lines.stopped.and_then(cut_by),
            })),
            ends_run: false,
        },
        finding: Some(Finding::Read {
            text,
            notice: missing,
            lines,
        }),
    }
}

/// The limit that left out the rest of a file, if it is not the caller's.
fn cut_by(stop: ReadStop) -> Option<&'static str> {
    match stop {
        ReadStop::Asked => None,
        ReadStop::Lines => Some("lines"),
        ReadStop::Bytes | ReadStop::LongLine => Some("bytes"),
    }
}

/// A notice in square brackets for the reader of the text, if one is needed.
fn notice(
    arguments: &ReadArguments,
    window: &Window,
    first: u64,
    total: Option<u64>,
    length: u64,
) -> Option<String> {
    let last = first + window.lines - window.lines.min(1);
    if window.cut {
        return Some(format!(
            "[Line {last} is longer than {}; the rest of it is left out. To go on, read from line {}.]",
            size(MOST_BYTES as u64),
            last + 1
        ));
    }
    if window.more {
        let of = total.map_or_else(
            || format!("a file of {}", size(length)),
            |total| total.to_string(),
        );
        return Some(format!(
            "[Lines {first}-{last} of {of}. To go on, read from line {}.]",
            last + 1
        ));
    }
    (window.lines == 0 && arguments.limit != Some(0)).then(|| "[The file is empty.]".to_owned())
}

/// A file that is read, and the last byte that was.
struct Watched<R> {
    file: R,
    last: Option<u8>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.last = buffer[..count].last().copied().or(self.last);
        Ok(count)
    }
}

/// Some lines of a file.
struct Window {
    bytes: Vec<u8>,
    lines: u64,
    /// Whether there is more after the lines.
    more: bool,
    /// Whether the last line is incomplete.
    cut: bool,
}

impl Window {
    /// Why the window ends where it does; `asked` if it has as many lines as were asked for.
    fn stopped(&self, asked: bool) -> Option<ReadStop> {
        match (self.cut, self.more) {
            (true, _) => Some(ReadStop::LongLine),
            (_, false) => None,
            _ if asked => Some(ReadStop::Asked),
            _ if self.lines >= MOST_LINES => Some(ReadStop::Lines),
            _ => Some(ReadStop::Bytes),
        }
    }
}

/// Takes complete lines while they fit. A first line that does not fit is cut.
fn take_lines(reader: &mut impl BufRead, wanted: u64) -> io::Result<Window> {
    let mut window = Window {
        bytes: Vec::new(),
        lines: 0,
        more: false,
        cut: false,
    };
    while window.lines < wanted {
        let before = window.bytes.len();
        let room = (MOST_BYTES - before) as u64;
        let count = reader.by_ref().take(room).read_until(b'\n', &mut window.bytes)?;
        if count == 0 && room > 0 {
            return Ok(window);
        }
        let whole = window.bytes.ends_with(b"\n") && count > 0;
        if !whole && !reader.fill_buf()?.is_empty() {
            if before > 0 {
                window.bytes.truncate(before);
                window.more = true;
                // The line that did not fit counts with those that follow: its beginning is already consumed.
                return Ok(window);
            }
            window.lines = 1;
            window.cut = true;
            skip_lines(reader, 1)?;
            break;
        }
        window.lines += 1;
    }
    window.more = !reader.fill_buf()?.is_empty();
    Ok(window)
}

/// Skips at most `most` lines and returns how many there were. A last line without an end counts.
fn skip_lines(reader: &mut impl BufRead, most: u64) -> io::Result<u64> {
    let mut skipped = 0;
    while skipped < most && skip_line(reader)? {
        skipped += 1;
    }
    Ok(skipped)
}

/// Skips a line of any length without keeping it. Returns whether there was one.
fn skip_line(reader: &mut impl BufRead) -> io::Result<bool> {
    let mut anything = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(anything);
        }
        anything = true;
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                reader.consume(end + 1);
                return Ok(true);
            }
            None => {
                let length = buffer.len();
                reader.consume(length);
            }
        }
    }
}

/// The media type of a picture, by the beginning of its file.
fn picture_type(glimpse: &[u8]) -> Option<&'static str> {
    match glimpse {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A guess at the type of a binary file.
fn binary_type(glimpse: &[u8]) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7FELF", "an ELF program or library"),
        (b"PK\x03\x04", "a zip archive or an office document"),
        (b"\x1F\x8B", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xFD7zXZ\0", "xz data"),
        (b"\x28\xB5\x2F\xFD", "zstd data"),
        (b"%PDF", "a PDF document"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\0asm", "a WebAssembly module"),
        (b"\xCA\xFE\xBA\xBE", "a Java class or a Mach-O program"),
        (b"\xCF\xFA\xED\xFE", "a Mach-O program"),
        (b"\xFF\xFE", "perhaps UTF-16 text"),
        (b"\xFE\xFF", "perhaps UTF-16 text"),
        (b"OggS", "Ogg audio or video"),
    ];
    KINDS
        .iter()
        .find(|(magic, _)| glimpse.starts_with(magic))
        .map_or("of unknown type", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    struct Room {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn room_with(content: impl AsRef<[u8]>) -> Room {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::write(path.join("file"), content).unwrap();
        Room {
            _folder: folder,
            path,
        }
    }

    impl Room {
        fn read(&self, name: &str, offset: Option<u64>, limit: Option<u64>) -> ToolOutput {
            let arguments = ReadArguments {
                path: name.to_owned(),
                offset,
                limit,
                tail: None,
            };
            run(&arguments, &self.path.join(name), Ok(None)).output
        }

        fn lines(&self, offset: u64, limit: u64) -> String {
            text_of(&self.read("file", Some(offset), Some(limit)))
        }
    }

    fn text_of(output: &ToolOutput) -> String {
        match output.content.first() {
            Some(Part::Text { text }) => text.clone(),
            other => panic!("a text expected: {other:?}"),
        }
    }

    fn whole(content: impl AsRef<[u8]>) -> ToolOutput {
        room_with(content).read("file", None, None)
    }

    #[test]
    fn a_small_file_comes_whole_and_as_it_is() {
        for content in [
            "a\nb\n",
            "a\nb",
            "a\r\nb\r\n",
            "ä\u{1F980}\n",
            "\u{FEFF}bom\n",
            "\n",
        ] {
            let output = whole(content);
            assert_eq!(text_of(&output), content);
            assert!(!output.is_error);
        }
    }

    #[test]
    fn an_empty_file_says_so() {
        assert_eq!(text_of(&whole("")), "[The file is empty.]");
    }

    #[test]
    fn some_lines_are_followed_by_a_word_on_how_to_go_on() {
        let room = room_with("1\n2\n3\n4\n5");
        assert_eq!(
            room.lines(2, 2),
            "2\n3\n[Lines 2-3 of 5. To go on, read from line 4.]"
        );
        assert_eq!(room.lines(4, 2), "4\n5");
        assert_eq!(room.lines(5, 100), "5");
        assert_eq!(
            room.lines(0, 1),
            "1\n[Lines 1-1 of 5. To go on, read from line 2.]"
        );
    }

    #[test]
    fn a_line_past_the_end_is_an_error_that_tells_the_length() {
        let output = room_with("1\n2\n").read("file", Some(3), None);
        assert!(output.is_error);
        assert_eq!(text_of(&output), "file has only 2 lines; line 3 is past its end.");
        let output = room_with("1\n2\n").read("file", Some(u64::MAX), None);
        assert!(output.is_error);
    }

    #[test]
    fn at_most_two_thousand_lines_come_at_once() {
        let content: String = (1..=5000).map(|line| format!("{line}\n")).collect();
        let output = room_with(content).read("file", None, Some(4000));
        let text = text_of(&output);
        assert!(
            text.ends_with("2000\n[Lines 1-2000 of 5000. To go on, read from line 2001.]"),
            "{text}"
        );
        assert_eq!(output.details.unwrap()["total_lines"], 5000);
    }

    #[test]
    fn at_most_fifty_kilobytes_come_at_once_and_lines_stay_whole() {
        let line = "x".repeat(999);
        let content: String = (0..100).map(|_| format!("{line}\n")).collect();
        let room = room_with(content);
        let text = text_of(&room.read("file", None, None));
        assert!(
            text.ends_with("\n[Lines 1-51 of 100. To go on, read from line 52.]"),
            "{}",
            &text[text.len() - 80..]
        );
        assert_eq!(text.lines().filter(|shown| *shown == line).count(), 51);
        let rest = text_of(&room.read("file", Some(52), None));
        assert_eq!(rest.lines().count(), 49);
    }

    #[test]
    fn a_huge_line_is_cut_and_the_next_one_can_be_reached() {
        let room = room_with(format!("{}\nafter\n", "y".repeat(3_000_000)));
        let text = text_of(&room.read("file", None, None));
        assert!(text.len() < 60_000);
        assert!(
            text.ends_with("To go on, read from line 2.]"),
            "{}",
            &text[text.len() - 120..]
        );
        assert_eq!(room.lines(2, 1), "after\n");
    }

    #[test]
    fn a_huge_file_is_not_counted_to_its_end() {
        let room = room_with("");
        let file = File::options().write(true).open(room.path.join("file")).unwrap();
        std::fs::write(room.path.join("file"), "line\n".repeat(3000)).unwrap();
        file.set_len(COUNTED_BYTES * 4).unwrap();
        let output = room.read("file", None, None);
        let text = text_of(&output);
        assert!(
            text.contains("Lines 1-2000 of a file of 64.0 MiB"),
            "{}",
            &text[text.len() - 120..]
        );
    }

    #[test]
    fn binary_files_are_named_and_not_shown() {
        let output = whole(b"\x7FELF\x02\x01\0\0");
        assert!(output.is_error);
        assert_eq!(
            text_of(&output),
            "Cannot show file as text: it is binary (an ELF program or library, 8 bytes). Use a command that \
             understands such files."
        );
    }

    #[test]
    fn text_in_another_encoding_is_made_readable() {
        assert_eq!(text_of(&whole(b"caf\xE9\n")), "caf\u{FFFD}\n");
    }

    #[test]
    fn pictures_come_as_pictures() {
        let cases: [(&[u8], &str); 4] = [
            (b"\x89PNG\r\n\x1A\n\0\0", "image/png"),
            (b"\xFF\xD8\xFF\xE0\0", "image/jpeg"),
            (b"GIF89a\0", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ];
        for (bytes, expected) in cases {
            let output = whole(bytes);
            let Some(Part::Image { media_type, data }) = output.content.get(1) else {
                panic!("{expected}")
            };
            assert_eq!(media_type, expected);
            assert_eq!(
                base64::engine::general_purpose::STANDARD.decode(data).unwrap(),
                bytes
            );
        }
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let mut bytes = b"GIF89a".to_vec();
        bytes.resize(MOST_PICTURE_BYTES as usize + 1, 0);
        assert!(whole(bytes).is_error);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let room = room_with("x");
        let say = |name: &str| {
            let output = room.read(name, None, None);
            assert!(output.is_error, "{name}");
            text_of(&output)
        };
        assert_eq!(say("missing"), "Cannot read missing: it does not exist.");
        assert!(say(".").contains("it is a directory. List it"));
        symlink(room.path.join("file"), room.path.join("link")).unwrap();
        assert!(say("link").contains("a link replaced it"));
        assert!(say("file/below").contains("not a directory"));
        assert!(
            text_of(
                &run(
                    &ReadArguments {
                        path: "/dev/zero".into(),
                        offset: None,
                        limit: None,
                        tail: None,
                    },
                    Path::new("/dev/zero"),
                    Ok(None)
                )
                .output
            )
            .contains("not a regular file")
        );
    }

    #[test]
    fn a_pipe_does_not_hold_the_reader() {
        let room = room_with("");
        let made = std::process::Command::new("mkfifo")
            .arg(room.path.join("pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        let output = room.read("pipe", None, None);
        assert!(text_of(&output).contains("not a regular file"), "{output:?}");
    }

    /// The last lines as text, and as data.
    fn tail_of(content: impl AsRef<[u8]>, lines: u64) -> (String, String, Option<String>) {
        let room = room_with(content);
        let arguments = ReadArguments {
            path: "file".to_owned(),
            offset: None,
            limit: None,
            tail: Some(lines),
        };
        let answer = run(&arguments, &room.path.join("file"), Ok(None));
        let Some(Finding::Read { text, notice, .. }) = answer.finding else {
            panic!("lines expected: {:?}", answer.output)
        };
        (text_of(&answer.output), text, notice)
    }

    #[test]
    fn the_end_of_a_file_comes_alone() {
        let cases = [
            ("1\n2\n3\n", 2, "2\n3\n[The last 2 lines of 3.]", "2\n3\n"),
            ("1\n2\n3", 1, "3\n[The last 1 lines of 3.]", "3"),
            ("1\n2\n", 2, "1\n2\n", "1\n2\n"),
            ("1\n2\n", 9, "1\n2\n", "1\n2\n"),
            ("\n\n", 1, "\n[The last 1 lines of 2.]", "\n"),
            ("", 9, "[The file is empty.]", ""),
            ("1\n", 0, "", ""),
        ];
        for (content, lines, shown, text) in cases {
            assert_eq!(
                tail_of(content, lines),
                (shown.to_owned(), text.to_owned(), None),
                "{content:?} {lines}"
            );
        }
    }

    #[test]
    fn the_end_of_a_huge_file_is_bounded_and_says_so() {
        let line = "x".repeat(999);
        let content: String = (0..100).map(|_| format!("{line}\n")).collect();
        let (shown, text, notice) = tail_of(&content, 90);
        assert_eq!(text.lines().count(), 51);
        assert!(text.lines().all(|shown| shown == line));
        assert_eq!(notice.as_deref(), Some("[The last 51 lines of 100.]"));
        assert!(shown.ends_with("[The last 51 lines of 100.]"));
        assert_eq!(tail_of(&content, 50).2, None, "as many as asked for");
        let (_, text, notice) = tail_of("y".repeat(3_000_000), 1);
        assert!(text.len() <= MOST_BYTES + 1);
        assert!(notice.unwrap().contains("its beginning is left out"));
    }

    #[test]
    fn the_end_and_a_range_are_not_asked_for_at_once() {
        let room = room_with("1\n");
        let arguments = ReadArguments {
            path: "file".to_owned(),
            offset: None,
            limit: Some(1),
            tail: Some(1),
        };
        let output = run(&arguments, &room.path.join("file"), Ok(None)).output;
        assert!(output.is_error);
        assert!(text_of(&output).contains("give one or the other"));
    }
}
