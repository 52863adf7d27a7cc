//! The cost of the code index: a first update of a large tree beside `ctags`, a second one after one change, and
//! queries among a million symbols.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use becket_index::{
    Extract, IndexFile, IndexReader, Limits, Reference, Symbol, SymbolQuery, Update, UpdateOptions,
};
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, time};

const LINES: usize = 100_000;
const LINES_PER_FILE: usize = 200;
const ROUNDS: usize = 3;

/// The most that the first update may take, as a multiple of `ctags`.
const OVER_CTAGS: f64 = 3.0;

/// The part of the first update's time that a second one may take when one file has changed.
const SECOND: f64 = 0.05;

const FILES: usize = 1000;
const SYMBOLS_PER_FILE: usize = 1000;

/// How long a query may take.
const QUERY: Duration = Duration::from_millis(10);

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    updates(programs, report)?;
    queries(report)
}

fn updates(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let (mut first, mut second, mut ctags) = (Samples::default(), Samples::default(), Samples::default());
    let has_ctags = testkit::needs("ctags");
    for round in 0..ROUNDS {
        let room = Room::new(&programs.becket);
        let lines = plant(&room.work())?;
        rest(&room.work())?;
        if round == 0 {
            let size = Line::new("index, the tree", Figure::Times(lines as f64 / LINES as f64));
            report.add(size.remark(format!("of {LINES} lines, in seven languages")));
        }
        if has_ctags {
            let mut command = Command::new("ctags");
            let tags = room.home().join("tags");
            command.arg("-R").arg("-f").arg(&tags).arg(room.work());
            ctags.add(ended(&mut command)?);
        }
        first.add(ended(&mut room.command(["index", "update"]))?);
        std::fs::write(room.work().join("folder0/file0.rs"), "pub fn changed() {}\n")?;
        second.add(ended(&mut room.command(["index", "update"]))?);
    }
    let (first, second, ctags) = (first.median(), second.median(), ctags.median());
    let line = Line::new("index, first update", Figure::Time(first)).remark("the whole program");
    if has_ctags {
        report.add(Line::new("index, ctags -R", Figure::Time(ctags)));
        let bar = Figure::Time(ctags.mul_f64(OVER_CTAGS));
        report.add(line.bar(bar).ratio(ratio(first, ctags)));
    } else {
        report.add(line);
        report.skipped("index, ctags -R", "ctags");
    }
    let line = Line::new("index, second update", Figure::Time(second));
    let line = line
        .bar(Figure::Time(first.mul_f64(SECOND)))
        .ratio(ratio(second, first));
    report.add(line.remark("one file has changed"));
    Ok(())
}

/// Makes a tree look as if it had not been touched for a while: files that were changed just now are looked at again,
/// in case they change within the same moment.
fn rest(folder: &Path) -> Result<(), Problem> {
    let earlier = SystemTime::now() - Duration::from_secs(60);
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => rest(&path)?,
            false => File::open(&path)?.set_modified(earlier)?,
        }
    }
    Ok(())
}

fn ended(command: &mut Command) -> Result<Duration, Problem> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (status, duration) = time(|| command.status());
    match status?.success() {
        true => Ok(duration),
        false => Err(format!("{command:?} failed").into()),
    }
}

/// Makes source files with about as many lines as wanted.
fn plant(root: &Path) -> Result<usize, Problem> {
    let mut lines = 0;
    let mut number = 0;
    while lines < LINES {
        let (ending, template) = LANGUAGES[number % LANGUAGES.len()];
        let template = template.replace("FILE", &number.to_string());
        let mut text = beginning(ending, number);
        let mut piece = 0;
        while text.lines().count() < LINES_PER_FILE {
            text.push_str(&template.replace("PIECE", &piece.to_string()));
            piece += 1;
        }
        lines += text.lines().count();
        let folder = root.join(format!("folder{}", number / 20));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("file{number}.{ending}")), text)?;
        number += 1;
    }
    Ok(lines)
}

fn beginning(ending: &str, number: usize) -> String {
    match ending {
        "go" => format!("package part{number}\n\n"),
        "java" => format!("package part{number};\n\n"),
        _ => String::new(),
    }
}

/// A piece of source in each language; FILE and PIECE stand for numbers.
// tidy: a table
const LANGUAGES: &[(&str, &str)] = &[
    (
        "rs",
        r#"/// Keeps a total.
#[derive(Debug, Clone)]
pub struct TotalFILExPIECE {
    sum: u64,
    name: String,
}

impl TotalFILExPIECE {
    /// Adds a number.
    pub fn add_PIECE(&mut self, number: u64) -> u64 {
        let doubled = number * 2;
        if doubled > 10 {
            self.sum += helper_FILE_PIECE(doubled);
        }
        self.sum.max(number)
    }
}

fn helper_FILE_PIECE(number: u64) -> u64 {
    number + PIECE
}

"#,
    ),
    (
        "py",
        r#"class TotalFILExPIECE(Base):
    """Keeps a total."""

    def __init__(self, name):
        self.name = name
        self.total = 0

    def add_PIECE(self, number):
        doubled = number * 2
        if doubled > 10:
            self.total += helper_FILE_PIECE(doubled)
        return max(self.total, number)


def helper_FILE_PIECE(number):
    return number + PIECE


"#,
    ),
    (
        "js",
        r#"export class TotalFILExPIECE extends Base {
  constructor(name) {
    super(name);
    this.total = 0;
  }

  addPIECE(number) {
    const doubled = number * 2;
    if (doubled > 10) {
      this.total += helperFILExPIECE(doubled);
    }
    return Math.max(this.total, number);
  }
}

const helperFILExPIECE = (number) => {
  return number + PIECE;
};

"#,
    ),
    (
        "ts",
        r#"export interface AddsFILExPIECE {
  add(number: number): number;
}

export class TotalFILExPIECE implements AddsFILExPIECE {
  private total = 0;

  add(number: number): number {
    const doubled: number = number * 2;
    if (doubled > 10) {
      this.total += helperFILExPIECE(doubled);
    }
    return Math.max(this.total, number);
  }
}

function helperFILExPIECE(number: number): number {
  return number + PIECE;
}

"#,
    ),
    (
        "go",
        r#"// TotalFILExPIECE keeps a total.
type TotalFILExPIECE struct {
	sum  int
	name string
}

func (t *TotalFILExPIECE) Add(number int) int {
	doubled := number * 2
	if doubled > 10 {
		t.sum += helperFILExPIECE(doubled)
	}
	return t.sum
}

func helperFILExPIECE(number int) int {
	return number + PIECE
}

"#,
    ),
    (
        "c",
        r#"/* Keeps a total. */
struct totalFILExPIECE {
    int sum;
    const char *name;
};

static int helperFILExPIECE(int number)
{
    return number + PIECE;
}

int addFILExPIECE(struct totalFILExPIECE *total, int number)
{
    int doubled = number * 2;
    if (doubled > 10) {
        total->sum += helperFILExPIECE(doubled);
    }
    return total->sum;
}

"#,
    ),
    (
        "java",
        r#"class TotalFILExPIECE extends Base {
    private int sum;
    private final String name = "x";

    public int add(int number) {
        int doubled = number * 2;
        if (doubled > 10) {
            this.sum += helperPIECE(doubled);
        }
        return Math.max(this.sum, number);
    }

    private static int helperPIECE(int number) {
        return number + PIECE;
    }
}

"#,
    ),
];

fn queries(report: &mut Report) -> Result<(), Problem> {
    let folder = tempfile::tempdir()?;
    let index = million(folder.path())?;
    let reader = index.reader()?;
    let count = reader.status()?.symbols;
    type Query = (&'static str, fn(&IndexReader) -> usize);
    let queries: [Query; 5] = [
        ("exact", |reader| found(reader, "compute_total_777_500")),
        ("beginning", |reader| found(reader, "compute_total_77")),
        ("middle", |reader| found(reader, "total_31_9")),
        ("everywhere", |reader| found(reader, "pute_tot")),
        ("references", |reader| {
            reader
                .references("compute_total_5_5", None)
                .map_or(0, |found| found.len())
        }),
    ];
    for (name, query) in queries {
        let mut samples = Samples::default();
        for _ in 0..20 {
            let (results, duration) = time(|| query(&reader));
            if results == 0 {
                return Err(format!("the query {name} found nothing").into());
            }
            samples.add(duration);
        }
        let line = Line::new(format!("index, query, {name}"), Figure::Time(samples.median()));
        report.add(
            line.bar(Figure::Time(QUERY))
                .remark(format!("among {count} symbols")),
        );
    }
    Ok(())
}

fn found(reader: &IndexReader, name: &str) -> usize {
    let query = SymbolQuery {
        name: Some(name.into()),
        ..SymbolQuery::default()
    };
    reader.symbols(&query).map_or(0, |found| found.len())
}

/// An index with a million symbols, as if a plugin had read them.
fn million(folder: &Path) -> Result<IndexFile, Problem> {
    let root = folder.join("project");
    std::fs::create_dir(&root)?;
    for number in 0..FILES {
        std::fs::write(root.join(format!("file{number}.zig")), number.to_string())?;
    }
    let index = IndexFile::of_project(&root, folder);
    let options = UpdateOptions {
        force: false,
        limits: Limits::default(),
        plugin_for: &|_| Some("bench".into()),
        is_cancelled: &|| false,
    };
    let mut update = Update::begin(&index, &options)?;
    while let Some(pending) = update.next_foreign()? {
        let file: usize = pending.content.parse()?;
        update.write_foreign(&pending, Ok(thousand(file)))?;
    }
    update.finish()?;
    Ok(index)
}

fn thousand(file: usize) -> Extract {
    let mut found = Extract::default();
    for number in 0..SYMBOLS_PER_FILE {
        let name = format!("compute_total_{file}_{number}");
        let line = u32::try_from(number).unwrap_or_default() + 1;
        found.refs.push(Reference {
            from_line: line,
            to_name: name.clone(),
            kind: Some("call".into()),
        });
        found.symbols.push(Symbol {
            signature: Some(format!("pub fn {name}(number: u64) -> u64")),
            name,
            kind: "function".into(),
            parent: None,
            line_start: line,
            line_end: line,
            visibility: Some("public".into()),
        });
    }
    found
}
