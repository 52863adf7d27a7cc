//! How fast the machine is: start, calls, loops. Run it with `cargo run --release -p becket-scheme --example measure`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use becket_scheme::{Limits, Machine, RunState, Value};

const LIBRARIES: &[&str] = &[
    "(scheme base)",
    "(scheme char)",
    "(scheme write)",
    "(scheme read)",
];

fn timed(name: &str, mut work: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:40} {:10.3} ms", best * 1e3);
}

fn program(name: &str, source: &str) {
    let mut machine = Machine::new(Limits {
        time: None,
        ..Limits::default()
    });
    let environment = machine.environment(LIBRARIES).expect("the standard is there");
    timed(name, || match machine.load(environment, source, "measure.scm") {
        Ok(_) => {}
        Err(failure) => println!("{failure}"),
    });
}

fn main() {
    timed("start", || {
        let mut machine = Machine::new(Limits::default());
        machine.environment(LIBRARIES).expect("the standard is there");
    });
    program(
        "fib 24",
        "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 24)",
    );
    program(
        "loop of 1,000,000",
        "(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1)) i))",
    );
    program(
        "1,000,000 frames",
        "(let f ((n 1000000)) (if (= n 0) 0 (+ 1 (f (- n 1)))))",
    );
    program(
        "100,000 call/cc",
        "(let loop ((i 0)) (if (< i 100000) (loop (call/cc (lambda (k) (k (+ i 1))))) i))",
    );
    program(
        "100,000 guards",
        "(let loop ((i 0)) (if (< i 100000) (loop (guard (e (#t (+ i 1))) (raise i))) i))",
    );
    program(
        "map over 100,000",
        "(let loop ((i 0)) (if (< i 10) (begin (map (lambda (x) (+ x 1)) (make-list 10000 1)) (loop (+ i 1)))))",
    );
    let mut machine = Machine::new(Limits::default());
    let environment = machine.environment(LIBRARIES).expect("the standard is there");
    let source = "(lambda (payload) (list (cons \"prompt\" (string-append \"x\" payload))))";
    let Ok(RunState::Done(procedure)) = machine.load(environment, source, "measure.scm") else {
        return;
    };
    let root = machine.hold(procedure);
    timed("1000 callbacks", || {
        for _ in 0..1000 {
            let payload = machine.heap_mut().string("payload");
            let procedure: Value = machine.value(&root);
            assert!(machine.apply(procedure, &[payload]).is_ok());
        }
    });
}
