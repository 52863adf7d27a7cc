//! The host's view: requests that suspend a run, values it holds, errors with places.

use std::sync::Arc;

use becket_scheme::{Cause, HostAnswer, Limits, Machine, Module, Native, RunState, Style, Value};

use crate::room::{Room, STANDARD};

/// A library whose procedure asks the host.
fn asking() -> Module {
    let ask = Native::host("ask", 1, Some(1), |heap, arguments| {
        let request = heap.list(arguments);
        Ok(HostAnswer::Suspend(request))
    });
    let double = Native::host("double", 1, Some(1), |_, arguments| match arguments[0] {
        Value::Int(word) => Ok(HostAnswer::Value(Value::Int(word * 2))),
        _ => Ok(HostAnswer::Value(Value::Bool(false))),
    });
    Module {
        name: "(host tools)".into(),
        imports: vec!["(scheme base)".into()],
        natives: vec![ask, double],
        definitions: "(define (ask-twice x) (list (ask x) (ask x)))\n".into(),
        ..Module::default()
    }
}

fn room() -> Room {
    let mut machine = Machine::new(Limits::default());
    machine.register(asking());
    let mut libraries = STANDARD.to_vec();
    libraries.push("(host tools)");
    let environment = machine.environment(&libraries).expect("all are there");
    Room { machine, environment }
}

/// Runs a program and answers each of its requests with the number of the request.
fn answered(room: &mut Room, source: &str) -> (Vec<String>, String) {
    let mut requests = Vec::new();
    let mut outcome = room.machine.load(room.environment, source, "host.scm");
    loop {
        match outcome {
            Ok(RunState::Done(value)) => {
                let shown = room.machine.heap().show(value, Style::Write).expect("small");
                return (requests, shown);
            }
            Ok(RunState::Suspended(suspended)) => {
                requests.push(
                    room.machine
                        .heap()
                        .show(suspended.request, Style::Write)
                        .expect("small"),
                );
                room.machine.collect_garbage().expect("enough memory");
                let answer = Value::Int(requests.len() as i64);
                outcome = room.machine.resume(suspended, Ok(answer));
            }
            Err(failure) => return (requests, format!("failed: {failure}")),
        }
    }
}

#[test]
fn a_host_call_suspends_the_run() {
    let mut room = room();
    assert_eq!(
        answered(&mut room, "(+ (ask 'a) (* 10 (ask 'b)))"),
        (vec!["(a)".into(), "(b)".into()], "21".into())
    );
    assert_eq!(answered(&mut room, "(ask-twice 5)").1, "(1 2)");
    assert_eq!(answered(&mut room, "(map ask '(1 2 3))").1, "(1 2 3)");
    assert_eq!(answered(&mut room, "(ask 1)").1, "1");
    assert_eq!(answered(&mut room, "(define (f) (ask 1)) (f)").1, "1");
    assert_eq!(answered(&mut room, "(double 21)").1, "42");
}

#[test]
fn handlers_and_winds_survive_a_suspension() {
    let mut room = room();
    let source = "(define log '()) (define (note x) (set! log (cons x log)))
        (dynamic-wind (lambda () (note 'in)) (lambda () (note (ask 1))) (lambda () (note 'out)))
        (reverse log)";
    assert_eq!(answered(&mut room, source).1, "(in 1 out)");
    let source = "(guard (e (#t (list 'caught e))) (ask 1) (raise 'after))";
    assert_eq!(answered(&mut room, source).1, "(caught after)");
    let source = "(let ((p (make-parameter 1))) (parameterize ((p 2)) (ask 1) (p)))";
    assert_eq!(answered(&mut room, source).1, "2");
    let source = "(call/cc (lambda (k) (+ 1 (ask 1) (k 'escaped))))";
    assert_eq!(answered(&mut room, source).1, "escaped");
}

#[test]
fn an_answer_may_be_an_error() {
    let mut room = room();
    let source = "(guard (e ((error-object? e) (error-object-message e))) (ask 1))";
    let Ok(RunState::Suspended(suspended)) = room.machine.load(room.environment, source, "host.scm") else {
        panic!("it asks");
    };
    let outcome = room.machine.resume(suspended, Err("unknown tool: x".into()));
    let Ok(RunState::Done(value)) = outcome else {
        panic!("it is over")
    };
    assert_eq!(
        room.machine.heap().show(value, Style::Write).expect("small"),
        "\"unknown tool: x\""
    );
}

#[test]
fn other_runs_go_on_while_one_waits() {
    let mut room = room();
    let source = "(let ((secret (list 1 2 3))) (list (ask 1) secret))";
    let Ok(RunState::Suspended(first)) = room.machine.load(room.environment, source, "host.scm") else {
        panic!("it asks");
    };
    let Ok(RunState::Suspended(second)) =
        room.machine
            .load(room.environment, "(list 'b (ask 2))", "host.scm")
    else {
        panic!("it asks");
    };
    assert_eq!(
        room.show("(let loop ((i 0)) (if (< i 300000) (begin (list i i i) (loop (+ i 1))) 'busy))"),
        "busy"
    );
    let Ok(RunState::Done(value)) = room.machine.resume(first, Ok(Value::Int(7))) else {
        panic!("done")
    };
    assert_eq!(
        room.machine.heap().show(value, Style::Write).expect("small"),
        "(7 (1 2 3))"
    );
    let Ok(RunState::Done(value)) = room.machine.resume(second, Ok(Value::Int(8))) else {
        panic!("done")
    };
    assert_eq!(
        room.machine.heap().show(value, Style::Write).expect("small"),
        "(b 8)"
    );
}

#[test]
fn a_host_holds_procedures_and_calls_them() {
    let mut room = room();
    let Ok(RunState::Done(value)) = room
        .machine
        .load(room.environment, "(lambda (x) (* x x))", "p.scm")
    else {
        panic!("it is a procedure");
    };
    let root = room.machine.hold(value);
    room.machine.collect_garbage().expect("enough");
    for word in 0..1000 {
        let procedure = room.machine.value(&root);
        let Ok(RunState::Done(Value::Int(square))) = room.machine.apply(procedure, &[Value::Int(word)])
        else {
            panic!("it is a number");
        };
        assert_eq!(square, word * word);
    }
    room.machine.release(root);
}

#[test]
fn callbacks_do_not_make_the_heap_grow() {
    let mut room = room();
    let source = "(lambda (payload) (let loop ((i 0) (acc '())) (if (< i 5) (loop (+ i 1) (cons i acc))
        (list (cons \"n\" (length acc)) payload))))";
    let Ok(RunState::Done(value)) = room.machine.load(room.environment, source, "p.scm") else {
        panic!("loads")
    };
    let root = room.machine.hold(value);
    let call = |room: &mut Room, times: usize| {
        for _ in 0..times {
            let payload = room.machine.heap_mut().string("payload");
            let procedure = room.machine.value(&root);
            assert!(matches!(
                room.machine.apply(procedure, &[payload]),
                Ok(RunState::Done(_))
            ));
        }
        room.machine.collect_garbage().expect("enough");
        room.machine.heap().used()
    };
    let before = call(&mut room, 1000);
    let after = call(&mut room, 50_000);
    assert!(after <= before + 1024, "{before} became {after}");
}

#[test]
fn errors_say_where() {
    let mut room = room();
    let failure = room.failure("(define (f x)\n  (car x))\n(f 5)");
    assert_eq!(failure.to_string(), "test.scm:2:3: car: this is not a pair 5");
    let failure = room.failure("\n\n(error \"went wrong:\" 1 \"two\")");
    assert_eq!(failure.to_string(), "test.scm:3:1: went wrong: 1 \"two\"");
    let failure = room.failure("(list 1\n  (undefined-thing))");
    assert_eq!(
        failure.to_string(),
        "test.scm:2:4: undefined variable: undefined-thing"
    );
    let failure = room.failure("(map car '(1))");
    assert_eq!(failure.to_string(), "test.scm:1:1: car: this is not a pair 1");
    let failure = room.failure("(define (f) 1\n(g)");
    assert_eq!(failure.to_string(), "test.scm:1:1: a list is not closed");
    let failure = room.failure("(let ((x))\n x)");
    assert_eq!(
        failure.to_string(),
        "test.scm:1:7: a binding is a name and a value: (name value)"
    );
    let failure = room.failure("(raise 'oops)");
    assert_eq!(failure.to_string(), "test.scm:1:1: raised oops");
    assert!(matches!(failure.cause, Cause::Raised(Value::Symbol(_))));
}

#[test]
fn nothing_of_a_program_runs_if_some_of_it_is_no_program() {
    let mut room = room();
    room.show("(define x 1)");
    room.failure("(set! x 2) (if)");
    assert_eq!(room.show("x"), "1");
}

#[test]
fn exit_is_told_to_the_host() {
    let mut room = room();
    let failure =
        room.failure("(dynamic-wind (lambda () #f) (lambda () (exit 3)) (lambda () (display \"bye\")))");
    assert!(matches!(failure.cause, Cause::Exit(Value::Int(3))), "{failure}");
    assert_eq!(room.machine.take_output(), ("bye".to_owned(), String::new()));
}

#[test]
fn output_is_kept_for_the_host() {
    let mut room = room();
    room.show("(display \"hello\") (newline) (write \"w\") (display 'e (current-error-port))");
    assert_eq!(
        room.machine.take_output(),
        ("hello\n\"w\"".to_owned(), "e".to_owned())
    );
    assert_eq!(room.machine.take_output(), (String::new(), String::new()));
}

#[test]
fn libraries_may_come_as_text_or_be_forbidden() {
    let mut room = room();
    let text = "(define-library (my lib) (export f) (import (scheme base)) (begin (define (f x) (+ x n)) (define n 1)))";
    room.machine.register_source("(my lib)", text, "lib.scm");
    assert_eq!(room.show("(import (my lib)) (f 41)"), "42");
    room.machine.forbid("(scheme time)", "it is late");
    let failure = room.failure("(import (scheme time))");
    assert_eq!(
        failure.to_string(),
        "test.scm:1:9: there is no library (scheme time) here: it is late"
    );
}

#[test]
fn a_name_may_be_imported_after_it_was_used() {
    let mut machine = Machine::new(Limits::default());
    let environment = machine.environment(&["(scheme base)"]).expect("there");
    let mut room = Room { machine, environment };
    assert_eq!(
        room.show("(define (shout s) (string-upcase s)) (import (scheme char)) (shout \"a\")"),
        "\"A\""
    );
}

#[test]
fn a_machine_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Machine>();
}

#[test]
fn programs_include_files_of_the_host_and_none_without_one() {
    let mut room = Room::new();
    room.failure("(include \"a.scm\")");
    room.machine.set_includer(Arc::new(|name| match name {
        "a.scm" => Ok("(define a 1) (define (add x) (+ x a))".into()),
        "Loud.scm" => Ok("(define Loud 'QUIET)".into()),
        "broken.scm" => Ok("(define".into()),
        other => Err(format!("there is no {other}")),
    }));
    assert_eq!(room.show("(include \"a.scm\") (add 2)"), "3");
    assert_eq!(room.show("(let () (include \"a.scm\") (add 41))"), "42");
    assert_eq!(room.show("(include-ci \"Loud.scm\") loud"), "quiet");
    let library = "(define-library (with file) (export add) (import (scheme base)) (include \"a.scm\"))";
    assert_eq!(
        room.show(&format!(
            "{library} (import (prefix (with file) file-)) (file-add 4)"
        )),
        "5"
    );
    assert!(
        room.failure("(include \"b.scm\")")
            .to_string()
            .contains("there is no b.scm")
    );
    assert!(
        room.failure("(include \"broken.scm\")")
            .to_string()
            .contains("broken.scm:1:1")
    );
}
