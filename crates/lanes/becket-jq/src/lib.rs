//! A jq for hooks: jq's language by the `jaq` crates, behind the command line that hook scripts use.
//!
//! Many hooks parse their input with `jq`. If the machine has none, such a hook gets empty text and protects nothing;
//! so becket has this one. `options.rs` reads the command line, `input.rs` the inputs (JSON by `json.rs`), `program.rs`
//! compiles and runs the filter, `prelude.jq` holds what jq has and the crates have not, `output.rs` writes the
//! results, `end.rs` has the exit codes.
//!
//! `hook_jq.rs` is the program that hooks find as `jq`, also where the machine has one: `quick.rs` answers what every
//! jq answers in the same way, and `machine.rs` starts the machine's jq for the rest.
//!
//! No filter and no input overflows the stack: a run has its own, which `bounds.rs` and `checked.rs` keep from being
//! used up, and a panic counts as a filter that failed.
//!
//! The caller gives arguments, variables and streams; apart from them only the named files are read.

mod bounds;
mod called;
mod checked;
mod end;
pub mod hook_jq;
mod input;
mod json;
mod machine;
mod options;
mod output;
mod program;
mod quick;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};

use bounds::STACK;
use end::End;
use options::Asked;

/// The environment and streams of a run.
pub struct World<'a> {
    /// The variables of `$ENV`.
    pub variables: &'a BTreeMap<OsString, OsString>,
    /// The input if no file is named.
    pub stdin: Box<dyn BufRead + Send + 'a>,
    /// The stream for results.
    pub stdout: &'a mut (dyn Write + Send),
    /// The stream for errors.
    pub stderr: Box<dyn Write + Send + 'a>,
}

/// Runs a command line, without the program's name, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, world: World<'_>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let end = std::thread::scope(|scope| {
        let stack = std::thread::Builder::new().name("jq".into()).stack_size(STACK);
        let thread = stack.spawn_scoped(scope, move || run_here(arguments, world));
        // Without a thread, or with one that panicked, there is nothing to add to standard error.
        thread.ok()?.join().ok()
    });
    end.unwrap_or(End::Failed).code()
}

fn run_here(arguments: Vec<OsString>, world: World<'_>) -> End {
    let World {
        variables,
        stdin,
        stdout,
        stderr,
    } = world;
    let stderr: Box<dyn Write> = stderr;
    let stderr = RefCell::new(stderr);
    let complain = |message: &str| {
        // A broken standard error cannot be reported anywhere.
        let _ = writeln!(stderr.borrow_mut(), "jq: {message}");
    };
    let options = match options::read(arguments) {
        Ok(Asked::Run(options)) => options,
        Ok(Asked::Words(words)) => {
            return match stdout.write_all(words.as_bytes()) {
                Ok(()) => End::Well,
                Err(_) => End::Unusable,
            };
        }
        Err(message) => {
            complain(&format!("error: {message}"));
            return End::Unusable;
        }
    };
    program::run(&options, variables, stdin, stdout, &stderr)
}
