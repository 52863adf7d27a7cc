//! Compiles a filter and runs it over the inputs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::{Def, Term};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::native::{Fun, run as native, v};
use jaq_core::{Compiler, Ctx, DataT, Error, Exn, Filter, Lut, Native, Vars, data::HasLut};
use jaq_json::{Map, Val};
use jaq_std::input::{self, HasInputs, Inputs, RcIter};

use crate::bounds::{Bounds, LONGEST_FILTER};
use crate::called;
use crate::checked::{self, CHECK};
use crate::end::End;
use crate::input::inputs;
use crate::json::parse_many;
use crate::options::Options;
use crate::output::Printer;

/// The definitions that the prelude adds to the interpreter's own library.
const PRELUDE: &str = include_str!("prelude.jq");

/// Native functions that look at the process themselves, or that recurse as deep as a text says; the prelude and this
/// file replace them.
const REPLACED: &[&str] = &["env", "debug_empty", "stderr_empty", "fromjson"];

/// Native functions that fail on times that are too large for them. The prelude calls them by the second name, after
/// checking the time.
const GUARDED: &[(&str, &str)] = &[
    ("strftime", "strftime_"),
    ("strflocaltime", "strflocaltime_"),
    ("gmtime", "gmtime_"),
    ("localtime", "localtime_"),
    ("mktime", "mktime_"),
];

/// How many characters of an invalid JSON text are shown.
const LONGEST_SHOWN: usize = 60;

/// The name of the filter as a definition.
const MAIN: &str = "main_";

type Stderr<'a> = RefCell<Box<dyn Write + 'a>>;

/// The types of a run.
pub(crate) struct Run;

impl DataT for Run {
    type V<'a> = Val;
    type Data<'a> = RunData<'a>;
}

/// The data that native functions of a run can reach.
#[derive(Clone)]
pub(crate) struct RunData<'a> {
    lut: &'a Lut<Run>,
    inputs: Inputs<'a, Val>,
    stderr: &'a dyn Complaints,
    bounds: &'a Bounds,
    /// Set by guards where another jq may answer differently (`quick.rs`).
    pub(crate) doubt: &'a Cell<bool>,
}

/// Standard error, whatever its type.
pub(crate) trait Complaints {
    fn write(&self, text: &[u8]);
}

impl Complaints for Stderr<'_> {
    fn write(&self, text: &[u8]) {
        // A broken standard error cannot be reported anywhere.
        let _ = self.borrow_mut().write_all(text);
    }
}

impl<'a> HasLut<'a, Run> for RunData<'a> {
    fn lut(&self) -> &'a Lut<Run> {
        self.lut
    }
}

impl<'a> HasInputs<'a, Val> for RunData<'a> {
    fn inputs(&self) -> Inputs<'a, Val> {
        self.inputs
    }
}

/// Runs the filter over all inputs.
pub(crate) fn run(
    options: &Options,
    variables: &BTreeMap<OsString, OsString>,
    stdin: Box<dyn BufRead + '_>,
    stdout: &mut dyn Write,
    stderr: &Stderr<'_>,
) -> End {
    let globals = globals(options, variables);
    let names = globals.iter().map(|(name, _)| name.as_str());
    let compiled = parse(&options.filter).and_then(|filter| compile(filter, std::iter::empty(), names));
    let filter = match compiled {
        Ok(filter) => filter,
        Err(faults) => {
            for fault in &faults {
                stderr.write(format!("jq: error: {fault}\n").as_bytes());
            }
            let plural = if faults.len() == 1 { "error" } else { "errors" };
            stderr.write(format!("jq: {} compile {plural}\n", faults.len()).as_bytes());
            return End::Uncompiled;
        }
    };
    let printer = Printer::new(options);
    let values = RcIter::new(inputs(options, stdin));
    let values: Inputs<'_, Val> = &values;
    let (bounds, doubt) = (Bounds::new(), Cell::new(false));
    let mut progress = Progress::default();
    let mut once = options.null_input.then_some(Ok(Val::Null));
    while let Some(value) = if options.null_input {
        once.take()
    } else {
        values.into_iter().next()
    } {
        let data = RunData {
            lut: &filter.lut,
            inputs: values,
            stderr,
            bounds: &bounds,
            doubt: &doubt,
        };
        match value {
            Ok(value) => {
                let results = results(&filter, &globals, data, value);
                if let Some(end) = progress.take(results, &printer, stdout, stderr) {
                    return end;
                }
            }
            Err(message) => {
                stderr.write(format!("jq: {message}\n").as_bytes());
                progress.end = End::Unusable;
            }
        }
    }
    progress.over(options.exit_status)
}

fn results<'a>(
    filter: &'a Filter<Run>,
    globals: &[(String, Val)],
    data: RunData<'a>,
    value: Val,
) -> jaq_core::ValXs<'a, Val> {
    let vars = Vars::new(globals.iter().map(|(_, value)| value.clone()));
    filter.id.run((Ctx::<Run>::new(data, vars), value))
}

/// Gives every result for these inputs to the printer; `None` if one of them is an error. The filter asks for no input
/// and has nothing to say on standard error.
pub(crate) fn each_result(
    filter: &Filter<Run>,
    globals: &[(String, Val)],
    values: Vec<Val>,
    doubt: &Cell<bool>,
    mut print: impl FnMut(Val) -> Option<()>,
) -> Option<()> {
    let stderr: Stderr<'_> = RefCell::new(Box::new(std::io::sink()));
    let none: Box<dyn Iterator<Item = Result<Val, String>>> = Box::new(std::iter::empty());
    let (none, bounds) = (RcIter::new(none), Bounds::new());
    for value in values {
        let data = RunData {
            lut: &filter.lut,
            inputs: &none,
            stderr: &stderr,
            bounds: &bounds,
            doubt,
        };
        for result in results(filter, globals, data, value) {
            print(result.ok()?)?;
        }
    }
    Some(())
}

/// The state of a run so far.
struct Progress {
    end: End,
    last: Option<bool>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            end: End::Well,
            last: None,
        }
    }
}

impl Progress {
    /// Prints the results of one input; returns how the run ends, if it does.
    fn take<'a>(
        &mut self,
        results: impl Iterator<Item = jaq_json::ValX<'a>>,
        printer: &Printer,
        stdout: &mut dyn Write,
        stderr: &Stderr<'_>,
    ) -> Option<End> {
        for result in results {
            match result {
                Ok(value) => {
                    self.last = Some(!matches!(value, Val::Null | Val::Bool(false)));
                    if printer
                        .print(&value, stdout)
                        .and_then(|()| stdout.flush())
                        .is_err()
                    {
                        return Some(End::Unusable);
                    }
                }
                Err(thrown) => match thrown.get_err() {
                    Ok(error) => {
                        stderr.write(told(error.into_val()).as_bytes());
                        self.end = End::Failed;
                        return None;
                    }
                    Err(thrown) => return Some(thrown.get_halt().map_or(End::Failed, End::Said)),
                },
            }
        }
        None
    }

    fn over(self, by_result: bool) -> End {
        match (self.end, self.last) {
            (End::Well, last) if by_result => match last {
                None => End::Nothing,
                Some(false) => End::False,
                Some(true) => End::Well,
            },
            (end, _) => end,
        }
    }
}

fn told(error: Val) -> String {
    match &error {
        Val::TStr(text) => format!("jq: error: {}\n", String::from_utf8_lossy(text)),
        other => format!("jq: error (not a string): {other}\n"),
    }
}

/// The global variables with their values.
pub(crate) fn globals(options: &Options, variables: &BTreeMap<OsString, OsString>) -> Vec<(String, Val)> {
    let text = |text: &OsString| Val::from(text.to_string_lossy().into_owned());
    let environment: Map = variables
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    let named: Map = options
        .named
        .iter()
        .map(|(name, value)| (Val::from(name.clone()), value.clone()))
        .collect();
    let arguments: Map = [
        (
            Val::from("positional".to_owned()),
            options.positional.iter().cloned().collect(),
        ),
        (Val::from("named".to_owned()), Val::obj(named)),
    ]
    .into_iter()
    .collect();
    let mut globals = vec![
        ("$ENV".to_owned(), Val::obj(environment)),
        ("$ARGS".to_owned(), Val::obj(arguments)),
    ];
    let named = options
        .named
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "ENV" | "ARGS"));
    globals.extend(named.map(|(name, value)| (format!("${name}"), value.clone())));
    globals
}

/// Compiles a filter that may call these functions, too; the errors are messages.
pub(crate) fn compile<'a>(
    filter: Term<&str>,
    further: impl Iterator<Item = Fun<Run>>,
    globals: impl Iterator<Item = &'a str>,
) -> Result<Filter<Run>, Vec<String>> {
    let own = load::parse(PRELUDE, |parser| parser.defs()).expect("the prelude can be parsed");
    let library = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .chain(own);
    let library: Vec<Def<&str>> = library.collect::<Vec<Def>>();
    let mut definitions = called::needed(library, &filter);
    definitions.push(Def {
        name: MAIN,
        args: Vec::new(),
        body: filter,
    });
    let functions = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| !REPLACED.contains(name))
        .map(|(name, arguments, run)| (guarded(name), arguments, run))
        .chain(input::funs::<Run>().into_vec().into_iter().map(native::<Run>))
        .chain(own_functions())
        .chain([check()])
        .chain(further);
    let arena = Arena::default();
    let modules = Loader::new(definitions.into_iter().map(checked::definition))
        .load(&arena, File { code: MAIN, path: () })
        .map_err(in_words)?;
    Compiler::default()
        .with_funs(functions)
        .with_global_vars(globals)
        .compile(modules)
        .map_err(|faults| {
            let faults = faults.into_iter().flat_map(|(_, faults)| faults);
            faults
                .map(|(name, kind)| match kind {
                    jaq_core::compile::Undefined::Filter(arity) => format!("{name}/{arity} is not defined"),
                    kind => format!("the {} {name} is not defined", kind.as_str()),
                })
                .collect()
        })
}

/// The syntax of a filter; the errors are messages.
pub(crate) fn parse(code: &str) -> Result<Term<&str>, Vec<String>> {
    if code.len() > LONGEST_FILTER {
        return Err(vec![format!("the filter is longer than {LONGEST_FILTER} bytes")]);
    }
    let arena = Arena::default();
    // The loader reports errors, and the parser returns the syntax.
    Loader::new([])
        .load(&arena, File { code, path: () })
        .map_err(in_words)?;
    load::parse(code, |parser| parser.term()).ok_or_else(|| vec!["modules are not supported".to_owned()])
}

fn guarded(name: &'static str) -> &'static str {
    let found = GUARDED.iter().find(|(known, _)| *known == name);
    found.map_or(name, |(_, other)| other)
}

fn in_words(faults: load::Errors<&str, ()>) -> Vec<String> {
    faults
        .into_iter()
        .flat_map(|(_, fault)| load_faults(fault))
        .collect()
}

fn load_faults(fault: load::Error<&str>) -> Vec<String> {
    let near = |found: &str| match found.chars().take(30).collect::<String>() {
        end if end.is_empty() => "at the end".to_owned(),
        start => format!("near `{start}`"),
    };
    match fault {
        load::Error::Io(faults) => faults
            .into_iter()
            .map(|(path, message)| format!("cannot load {path}: {message}"))
            .collect(),
        load::Error::Lex(faults) => faults
            .into_iter()
            .map(|(expected, found)| format!("syntax error: expected {} {}", expected.as_str(), near(found)))
            .collect(),
        load::Error::Parse(faults) => faults
            .into_iter()
            .map(|(expected, found)| format!("syntax error: expected {} {}", expected.as_str(), near(found)))
            .collect(),
    }
}

/// The function that returns its input, unless the run is too deep.
fn check() -> Fun<Run> {
    let run = Native::<Run>::new(|(context, value)| {
        let checked = context.data().bounds.check(&value);
        box_once(checked.map(|()| value).map_err(Exn::from))
    });
    let run = run.with_paths(|(context, value)| {
        let checked = context.data().bounds.check(&value.0);
        box_once(checked.map(|()| value).map_err(Exn::from))
    });
    let run = run.with_update(
        |(context, value), update| match context.data().bounds.check(&value) {
            Ok(()) => update(value),
            Err(error) => box_once(Err(Exn::from(error))),
        },
    );
    (CHECK, v(0), run)
}

/// Functions that write to standard error and return no value, and the function that reads JSON.
fn own_functions() -> impl Iterator<Item = Fun<Run>> {
    let functions: [jaq_core::native::Filter<jaq_core::RunPtr<Run>>; 4] = [
        ("fromjson", v(0), |(_, value)| {
            let text = match value.try_as_utf8_bytes_owned() {
                Ok(text) => text,
                Err(error) => return box_once(Err(Exn::from(error))),
            };
            let told = |error| {
                let start: String = value.to_string().chars().take(LONGEST_SHOWN).collect();
                Exn::from(Error::str(format_args!("cannot parse {start} as JSON: {error}")))
            };
            let values: Vec<_> = parse_many(&text).map(|parsed| parsed.map_err(told)).collect();
            Box::new(values.into_iter())
        }),
        ("debug_empty", v(0), |(context, value)| {
            let told = format!("[\"DEBUG:\",{value}]\n");
            context.data().stderr.write(told.as_bytes());
            Box::new(std::iter::empty())
        }),
        ("stderr_empty", v(0), |(context, value)| {
            context.data().stderr.write(value.to_string().as_bytes());
            Box::new(std::iter::empty())
        }),
        ("stderr_raw", v(0), |(context, value)| {
            let stderr = context.data().stderr;
            match &value {
                Val::TStr(text) => stderr.write(text),
                other => stderr.write(format!("{other}\n").as_bytes()),
            }
            Box::new(std::iter::empty())
        }),
    ];
    functions.into_iter().map(native::<Run>)
}
