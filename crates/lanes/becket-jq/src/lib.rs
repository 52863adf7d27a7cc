//! A jq for hooks: the language of jq by the `jaq` crates, behind the command line that hook scripts know.
//!
//! Many hooks take their input apart with `jq`. Where the machine has none, such a hook gets empty text and protects
//! nothing; so becket brings this one. `options.rs` reads the command line, `program.rs` compiles and runs the filter,
//! `prelude.jq` holds what jq has and the crates have not, `output.rs` writes the results.
//!
//! No filter and no input overflows the stack: a run has one of its own, which `bounds.rs` and `checked.rs` keep it
//! from using up, and what panics there is a filter that failed.
//!
//! It is told its arguments, variables and streams, and looks at nothing but the files that are named.

mod bounds;
mod checked;
mod input;
mod options;
mod output;
mod program;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};

use bounds::STACK;
use options::Asked;

/// What a run has to do with the world.
pub struct World<'a> {
    /// The variables of `$ENV`.
    pub variables: &'a BTreeMap<OsString, OsString>,
    /// Where input comes from when no file is named.
    pub stdin: Box<dyn BufRead + Send + 'a>,
    /// Where results go.
    pub stdout: &'a mut (dyn Write + Send),
    /// Where complaints go.
    pub stderr: Box<dyn Write + Send + 'a>,
}

/// How a run ends. The numbers are jq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Well,
    /// With `-e`: the last result was `false` or `null`.
    False,
    /// A wrong command line, or input that cannot be read.
    Unusable,
    /// A filter that cannot be compiled.
    Uncompiled,
    /// With `-e`: there was no result.
    Nothing,
    /// The filter failed on an input.
    Failed,
    /// The filter said with what to end.
    Said(i32),
}

impl End {
    fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::False => 1,
            Self::Unusable => 2,
            Self::Uncompiled => 3,
            Self::Nothing => 4,
            Self::Failed => 5,
            Self::Said(code) => (code & 0xff) as u8,
        }
    }
}

/// Runs a command line, without the program's name, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, world: World<'_>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let end = std::thread::scope(|scope| {
        let stack = std::thread::Builder::new().name("jq".into()).stack_size(STACK);
        let thread = stack.spawn_scoped(scope, move || run_here(arguments, world));
        // Without a thread, or with one that panicked, there is nothing to say that was not said on standard error.
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
        // There is nowhere left to complain about a broken standard error.
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
