//! Findings: what an operation brought back, as data.
//!
//! An operation tells its result in becket's own words. A face whose system words results differently, so that
//! programs there can read them, makes its text of the finding instead.

/// What an operation brought back.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// A command has ended. Its two outputs are apart, if the face wants them so.
    Shell {
        /// What it wrote to standard output, or to both.
        stdout: String,
        /// What it wrote to standard error; empty where both are one.
        stderr: String,
        /// The code it ended with; a signal or the end of its time leaves none.
        exit_code: Option<i32>,
        /// Whether its time was up.
        timed_out: bool,
    },
    /// Some lines of a file.
    Read {
        /// The lines.
        text: String,
        /// What is missing of what was asked for.
        notice: Option<String>,
        /// Which lines they are.
        lines: ReadLines,
    },
    /// A directory.
    List {
        /// The directory, absolute.
        root: String,
        /// What is in it, by name.
        entries: Vec<Entry>,
        /// What is missing of what was asked for.
        notice: Option<String>,
    },
    /// Files that were looked for.
    Find {
        /// Their paths below the searched directory.
        files: Vec<String>,
        /// What is missing of what was asked for.
        notice: Option<String>,
    },
    /// Lines that were looked for.
    Grep {
        /// Lines that stand together.
        passages: Vec<Passage>,
        /// What is missing of what was asked for.
        notice: Option<String>,
    },
    /// What an address holds, as it was sent.
    Fetch {
        /// The text.
        text: String,
        /// What is missing of it.
        notice: Option<String>,
    },
    /// It is done, and that is all there is to tell; in becket's own words.
    Done(String),
    /// Nothing was brought back.
    Failure {
        /// Why, in becket's own words.
        words: String,
        /// The same for a face that has words of its own for it.
        why: Why,
    },
}

/// Why an operation brought nothing back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nothing more than becket's words is known.
    Other,
    /// The system did not do it.
    System {
        /// Its name for the error, such as `ENOENT`.
        code: &'static str,
        /// The file, absolute.
        path: String,
    },
    /// The first line that was asked for is past the end of a file with so many lines.
    PastEnd(u64),
    /// An edit cannot be made.
    Edit {
        /// Which one, counted from 0.
        index: usize,
        /// Of how many.
        of: usize,
        /// What is wrong with it.
        fault: EditFault,
    },
}

/// What is wrong with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditFault {
    /// Its old text is empty.
    Empty,
    /// Its old and its new text are the same.
    Same,
    /// Its old text is not there.
    Absent,
    /// Its old text is there so many times.
    Several(usize),
    /// Another edit, counted from 0, changes the same place.
    Overlaps(usize),
}

/// Which lines of a file were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadLines {
    /// The first, counted from 1; `None` where that is not known.
    pub first: Option<u64>,
    /// How many.
    pub count: u64,
    /// How many there are in the file; `None` where that is not known.
    pub total: Option<u64>,
    /// Why there are no more of them, if there is more in the file.
    pub stopped: Option<ReadStop>,
}

/// Why reading stopped before the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStop {
    /// As many lines as were asked for.
    Asked,
    /// As many lines as there may be.
    Lines,
    /// As many bytes as there may be.
    Bytes,
    /// The line alone is longer than that.
    LongLine,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// What is in it, for a directory that was looked into.
    pub entries: Vec<Entry>,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file of so many bytes.
    File(u64),
    /// A link, and where it leads, if that can be told.
    Link(Option<String>),
    /// A pipe, a device, a socket.
    Special,
    /// It went away while the directory was read.
    Gone,
}

/// Lines of one file that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The file as the caller would write it.
    pub file: String,
    /// The file's path below the searched directory.
    pub below: String,
    /// The lines.
    pub lines: Vec<PassageLine>,
}

/// One line of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// Whether it is one that was looked for, or stands beside one.
    pub matches: bool,
    /// Its text.
    pub text: String,
}
