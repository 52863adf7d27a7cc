//! The program that hooks find as `jq`: quick where every jq gives the same answer, otherwise the machine's jq.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Cursor, IsTerminal, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::machine::{self, Read};
use crate::quick::{Plan, QuickAnswer, Why};

/// The variable that names a file to which the program appends one line for each start: who answered, and why.
pub const REPORT_VARIABLE: &str = "BECKET_JQ_REPORT";

/// The line of a quick answer in the report.
pub const QUICK: &str = "quick";

/// How long to wait for the end of the input. Whoever sends it slowly wants results before its end.
const INPUT_WAIT: Duration = Duration::from_secs(1);

/// The most input that is read here.
const MOST_INPUT: usize = 16 << 20;

/// Runs the program: arguments, variables and streams are those of the process.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let (answered, read) = answer(&arguments, &variables);
    // Where nobody reads the answer, the machine's jq ends in its own way.
    let answered = answered.and_then(|answer| print(&answer).map(|()| answer).map_err(|_| Why::Failed));
    let why = match answered {
        Ok(answer) => {
            report(&variables, QUICK);
            return ExitCode::from(answer.end.code());
        }
        Err(why) => why,
    };
    let path = variables
        .get(OsStr::new("PATH"))
        .map_or(OsStr::new(""), |path| path);
    match machine::find(path) {
        Some(program) => {
            report(&variables, &format!("{} ({})", program.display(), why.name()));
            machine::run(&program, &arguments, read)
        }
        None => {
            report(&variables, "becket");
            alone(arguments, &variables, read)
        }
    }
}

/// The output and exit code for this input, if every jq answers the same; `None` leaves it to the machine's jq.
pub fn quick_answer(arguments: &[OsString], input: &str) -> Option<(Vec<u8>, u8)> {
    let plan = Plan::new(arguments).ok()?;
    let answer = plan.answer(&BTreeMap::new(), &[input.into()]).ok()?;
    Some((answer.stdout, answer.end.code()))
}

/// The answer, or why there is none, and what was read of standard input.
fn answer(
    arguments: &[OsString],
    variables: &BTreeMap<OsString, OsString>,
) -> (Result<QuickAnswer, Why>, Read) {
    let plan = match Plan::new(arguments) {
        // For a terminal jq adds colours.
        Ok(_) if io::stdout().is_terminal() => return (Err(Why::Options), Read::Nothing),
        Ok(plan) => plan,
        Err(why) => return (Err(why), Read::Nothing),
    };
    if plan.has_no_input() {
        return (plan.answer(variables, &[]), Read::Nothing);
    }
    if !plan.files().is_empty() {
        let texts = plan
            .files()
            .iter()
            .map(|file| contents(file))
            .collect::<io::Result<Vec<_>>>();
        let answer = texts
            .map_err(|_| Why::Input)
            .and_then(|texts| plan.answer(variables, &texts));
        return (answer, Read::Nothing);
    }
    match stdin() {
        Read::All(text) => {
            let texts = [text];
            let answer = plan.answer(variables, &texts);
            let [text] = texts;
            (answer, Read::All(text))
        }
        begun => (Err(Why::Input), begun),
    }
}

/// A file's contents. A pipe could be read only once, and a large file takes long anyway.
fn contents(file: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(file)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > MOST_INPUT as u64 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut text = Vec::new();
    file.take(MOST_INPUT as u64).read_to_end(&mut text)?;
    Ok(text)
}

/// Everything that comes on standard input, if it comes soon and is not much.
fn stdin() -> Read {
    let deadline = Instant::now() + INPUT_WAIT;
    let input = io::stdin();
    let mut text = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut waiting, Some(&left)) {
            Ok(0) => return Read::Begun(text),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Read::Begun(text),
        }
        match rustix::io::read(&input, &mut chunk) {
            Ok(0) => return Read::All(text),
            Ok(count) => text.extend_from_slice(&chunk[..count]),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Read::Begun(text),
        }
        if text.len() > MOST_INPUT {
            return Read::Begun(text);
        }
    }
}

fn print(answer: &QuickAnswer) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(&answer.stdout)?;
    stdout.flush()
}

/// Answers here, where the machine has no jq.
fn alone(arguments: Vec<OsString>, variables: &BTreeMap<OsString, OsString>, read: Read) -> ExitCode {
    let stdin: Box<dyn io::BufRead + Send> = match read {
        Read::Nothing => Box::new(BufReader::new(io::stdin())),
        Read::All(text) => Box::new(Cursor::new(text)),
        Read::Begun(text) => Box::new(BufReader::new(Cursor::new(text).chain(io::stdin()))),
    };
    let mut stdout = io::stdout();
    let world = crate::World {
        variables,
        stdin,
        stdout: &mut stdout,
        stderr: Box::new(io::stderr()),
    };
    ExitCode::from(crate::run(arguments, world))
}

/// Says who answers, if somebody wants to know. What cannot be said changes no answer.
fn report(variables: &BTreeMap<OsString, OsString>, line: &str) {
    if let Some(file) = variables.get(OsStr::new(REPORT_VARIABLE)) {
        let file = OpenOptions::new().append(true).open(file);
        let _ = file.and_then(|mut file| writeln!(file, "{line}"));
    }
}
