//! A machine for tests, and the results of its runs.

use becket_scheme::{Environment, Failure, Limits, Machine, RunState, Style};

/// All libraries of the standard.
pub const STANDARD: &[&str] = &[
    "(scheme base)",
    "(scheme case-lambda)",
    "(scheme char)",
    "(scheme complex)",
    "(scheme cxr)",
    "(scheme eval)",
    "(scheme inexact)",
    "(scheme lazy)",
    "(scheme process-context)",
    "(scheme read)",
    "(scheme repl)",
    "(scheme time)",
    "(scheme write)",
];

/// A machine with an environment for programs.
pub struct Room {
    pub machine: Machine,
    pub environment: Environment,
}

impl Room {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let mut machine = Machine::new(limits);
        let environment = machine.environment(STANDARD).expect("the standard is there");
        Self { machine, environment }
    }

    /// Runs a program to its end and shows its value as `write` does.
    pub fn show(&mut self, source: &str) -> String {
        match self.run(source) {
            Ok(shown) => shown,
            Err(failure) => format!("failed: {failure}"),
        }
    }

    pub fn run(&mut self, source: &str) -> Result<String, Failure> {
        match self.machine.load(self.environment, source, "test.scm")? {
            RunState::Done(value) => Ok(self
                .machine
                .heap()
                .show(value, Style::Write)
                .expect("it is small")),
            RunState::Suspended(suspended) => {
                self.machine.abandon(suspended);
                Ok("suspended".to_owned())
            }
        }
    }

    pub fn failure(&mut self, source: &str) -> Failure {
        match self.run(source) {
            Ok(shown) => panic!("{source} should fail, and is {shown}"),
            Err(failure) => failure,
        }
    }
}
