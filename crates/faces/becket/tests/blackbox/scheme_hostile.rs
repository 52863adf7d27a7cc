//! Files in Scheme that try to end the process: a model can write them without a yes, so no other run may notice more
//! of them than a line.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;
use crate::scheme::{call, put, result, returning, run};

/// What ends a machine without limits: by its stack, by its memory, by its time.
const BOMBS: &[&str] = &[
    "(define-syntax m (syntax-rules () ((_ x) (m (x))))) (m 1)",
    "(define-syntax m (syntax-rules () ((_ x) (m (x x))))) (m 1)",
    "(define v (make-vector 400000 0)) (vector-fill! v v) (write v)",
    "(define (f a b n) (if (= n 0) (< (/ a b) (/ (+ a b) a)) (f (+ a b) a (- n 1)))) (f 1 1 40000)",
    "(read (open-input-string (make-string 20000000 #\\()))",
];

/// Runs in that context and sees that a good file beside the others works; what was told.
fn goes_on(room: &Room, context: &str) -> String {
    let run = run(room, &["-c", context], &[call("probe", json!({}))]);
    assert!(result(&run).starts_with("result: fine"), "{}", result(&run));
    run.stderr
}

#[test]
fn a_file_that_would_end_the_process_is_left_out_and_not_executed_again() {
    let room = room();
    put(&room, "tools/shared/fine.scm", &returning("\"fine\""));
    let address = |index: usize| format!("vfs:///tools/shared/bomb{index}.scm");
    let write = |(index, text): (usize, &&str)| {
        let content = format!("(import (scheme base) (scheme read) (scheme write))\n{text}\n");
        call("write", json!({"path": address(index), "content": content}))
    };
    let writes: Vec<Value> = BOMBS.iter().enumerate().map(write).collect();
    let first = run(&room, &["-c", "ada"], &writes).stderr;
    for index in 0..BOMBS.len() {
        assert!(
            first.contains(&format!("{}:", address(index))),
            "{index}: {first}"
        );
    }
    assert!(!first.contains("so the last time"), "{first}");
    for context in ["bob", "ada", "cleo"] {
        let told = goes_on(&room, context);
        assert_eq!(told.matches("so the last time").count(), BOMBS.len(), "{told}");
    }
    // What has changed is tried.
    let mended = returning("\"mended\"").replace("probe", "mended");
    put(&room, "tools/shared/bomb0.scm", &mended);
    let told = goes_on(&room, "bob");
    assert_eq!(
        told.matches("so the last time").count(),
        BOMBS.len() - 1,
        "{told}"
    );
    // A model's own change, too.
    let anew = returning("\"anew\"").replace("probe", "anew");
    let change = call("write", json!({"path": address(1), "content": anew}));
    run(&room, &["-c", "ada"], &[change]);
    let told = goes_on(&room, "bob");
    assert_eq!(
        told.matches("so the last time").count(),
        BOMBS.len() - 2,
        "{told}"
    );
    let run = run(&room, &["--yes"], &[call("mended", json!({}))]);
    assert!(result(&run).starts_with("result: mended"), "{}", result(&run));
}
