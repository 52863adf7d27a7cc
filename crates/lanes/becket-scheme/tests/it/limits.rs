//! Runaway code is stopped, nothing in Scheme can prevent it, and the machine works as before afterwards.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use becket_scheme::{Cause, Limit, Limits};

use crate::room::Room;

fn small() -> Limits {
    Limits {
        steps: 2_000_000,
        memory: 32 << 20,
        time: Some(Duration::from_secs(120)),
        ..Limits::default()
    }
}

/// Runs code that must be stopped, in spite of a handler around it.
fn stopped(source: &str) -> Limit {
    let mut room = Room::with(small());
    let guarded =
        format!("(guard (e (#t 'caught)) (with-exception-handler (lambda (e) 1) (lambda () {source})))");
    let failure = room.failure(&guarded);
    assert_eq!(room.show("(+ 1 2)"), "3", "the machine works on");
    match failure.cause {
        Cause::Limit(limit) => limit,
        _ => panic!("{source} fails with {failure}"),
    }
}

#[test]
fn a_loop_is_stopped_by_its_steps() {
    assert!(matches!(stopped("(let loop () (loop))"), Limit::Steps(_)));
    assert!(matches!(
        stopped("(letrec ((f (lambda () (g))) (g (lambda () (f)))) (f))"),
        Limit::Steps(_)
    ));
    assert!(matches!(stopped("(do () (#f))"), Limit::Steps(_)));
    assert!(matches!(
        stopped("(let loop () (call/cc (lambda (k) k)) (loop))"),
        Limit::Steps(_)
    ));
}

#[test]
fn memory_is_limited_before_it_is_taken() {
    let bombs = [
        "(let loop ((l '())) (loop (cons l l)))",
        "(let loop ((s \"0123456789\")) (loop (string-append s s)))",
        "(make-vector 1000000000000 0)",
        "(make-vector 1e12)",
        "(make-string 1000000000000 #\\a)",
        "(make-list 1000000000000 0)",
        "(make-bytevector 1000000000000)",
        "(let loop ((v (vector 1))) (loop (vector-append v v)))",
        "(let f ((n 1)) (+ 1 (f (+ n 1))))",
        "(let loop ((p (open-output-string))) (write-string (make-string 100000 #\\a) p) (loop p))",
        "(let loop ((x '(1))) (if (> (length x) 60) (display x) (loop (cons x x))))",
        "(let loop ((k '())) (loop (call/cc (lambda (c) (cons c k)))))",
        "(let ((x (list 1))) (set-cdr! x x) (write-simple x))",
    ];
    for bomb in bombs {
        assert!(matches!(stopped(bomb), Limit::Memory(_)), "{bomb}");
    }
}

#[test]
fn numbers_are_limited() {
    let bombs = [
        "(expt 2 (expt 2 40))",
        "(expt 3 10000000)",
        "(let loop ((n 2)) (loop (* n n)))",
        "(string->number \"#e1e100000000\")",
        "(exact (expt 7/3 1000000))",
    ];
    for bomb in bombs {
        assert!(matches!(stopped(bomb), Limit::NumberBits(_)), "{bomb}");
    }
}

#[test]
fn time_is_limited() {
    let mut room = Room::with(Limits {
        time: Some(Duration::from_secs(1)),
        ..Limits::default()
    });
    let failure = room.failure("(let loop () (loop))");
    assert!(matches!(failure.cause, Cause::Limit(Limit::Time(_))), "{failure}");
    assert_eq!(room.show("(+ 1 2)"), "3");
}

#[test]
fn a_cancel_ends_a_run() {
    let cancel = Arc::new(AtomicBool::new(true));
    let mut room = Room::with(Limits {
        cancel: Some(Arc::clone(&cancel).into()),
        ..Limits::default()
    });
    let failure = room.failure("(let loop () (loop))");
    assert!(
        matches!(failure.cause, Cause::Limit(Limit::Cancelled)),
        "{failure}"
    );
    cancel.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(room.show("(+ 1 2)"), "3");
}

#[test]
fn garbage_does_not_count() {
    let mut room = Room::with(Limits {
        memory: 8 << 20,
        ..Limits::default()
    });
    let source = "(let loop ((i 0)) (if (< i 200) (begin (make-string 1000000 #\\a) (loop (+ i 1))) 'fine))";
    assert_eq!(room.show(source), "fine");
    let source = "(let loop ((i 0) (l '())) (if (< i 1000000) (loop (+ i 1) (list i)) 'fine))";
    assert_eq!(room.show(source), "fine");
}

#[test]
fn a_million_frames_fit() {
    let mut room = Room::new();
    let source = "(let f ((n 1000000)) (if (= n 0) 0 (+ 1 (f (- n 1)))))";
    assert_eq!(room.show(source), "1000000");
    let source = "(define (build n) (if (= n 0) '() (cons n (build (- n 1))))) (length (build 1000000))";
    assert_eq!(room.show(source), "1000000");
}

#[test]
fn depth_of_data_costs_no_stack() {
    let mut room = Room::new();
    let deep = "(define (deep n) (let loop ((i 0) (l '())) (if (< i n) (loop (+ i 1) (list l)) l)))";
    room.show(deep);
    assert_eq!(room.show("(equal? (deep 1000000) (deep 1000000))"), "#t");
    let printed =
        "(let ((p (open-output-string))) (write (deep 500000) p) (string-length (get-output-string p)))";
    assert_eq!(room.show(printed), "1000002");
    let read = "(let* ((s (string-append (make-string 300000 #\\() (make-string 300000 #\\))))) \
                (pair? (read (open-input-string s))))";
    assert_eq!(room.show(read), "#t");
}

#[test]
fn source_that_is_nested_too_deep_is_refused() {
    let mut room = Room::new();
    let source = format!("{}1{}", "(+ 1 ".repeat(100_000), ")".repeat(100_000));
    let failure = room.failure(&source);
    assert!(
        matches!(failure.cause, Cause::Limit(Limit::Nesting(_))),
        "{failure}"
    );
    let failure = room.failure("(define-syntax m (syntax-rules () ((_ x) (list (m (x)))))) (m 1)");
    assert!(
        matches!(failure.cause, Cause::Limit(Limit::Nesting(_))),
        "{failure}"
    );
}

#[test]
fn macros_that_never_end_are_stopped() {
    let mut room = Room::with(Limits {
        time: Some(Duration::from_millis(200)),
        memory: 8 << 20,
        ..Limits::default()
    });
    let failure = room.failure("(define-syntax m (syntax-rules () ((_ x) (m x)))) (m 1)");
    assert!(matches!(failure.cause, Cause::Limit(_)), "{failure}");
    let failure = room.failure("(define-syntax m (syntax-rules () ((_ x ...) (m x ... x ...)))) (m 1)");
    assert!(matches!(failure.cause, Cause::Limit(_)), "{failure}");
}

#[test]
fn source_below_the_limit_fits_on_a_small_stack() {
    let nested = |times: usize, open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut room = Room::new();
    assert_eq!(room.show(&nested(180, "(let ((x 1)) ", "x", ")")), "1");
    assert_eq!(room.show(&nested(180, "(+ 1 ", "0", ")")), "180");
    assert_eq!(room.show(&nested(90, "((lambda (x) ", "x", ") 1)")), "1");
    assert_eq!(
        room.show(&nested(55, "(guard (e (#t 1)) (cond (#t ", "1", ")))")),
        "1"
    );
    assert_eq!(room.show(&format!("'{}", nested(180, "(", "", ")"))).len(), 360);
    assert_eq!(room.show(&format!("`{}", nested(90, "(", ",1", ")"))).len(), 181);
}

#[test]
fn a_source_that_is_too_large_is_refused() {
    let mut room = Room::with(small());
    let failure = room.failure(&format!("\"{}\"", "a".repeat(10 << 20)));
    assert!(
        matches!(failure.cause, Cause::Limit(Limit::Memory(_))),
        "{failure}"
    );
}

#[test]
fn messages_are_short() {
    let mut room = Room::new();
    let failure = room.failure("(error (make-string 1000000 #\\a) (make-vector 100000 1))");
    assert!(
        failure.message.chars().count() < 2100,
        "{} characters",
        failure.message.len()
    );
    let failure = room.failure("(let ((x (list 1))) (set-cdr! x x) (raise x))");
    assert!(failure.message.chars().count() < 300);
}

#[test]
fn a_limit_says_where_it_was_reached() {
    let mut room = Room::with(small());
    let failure = room.failure("(define (again) (again))\n(again)");
    assert_eq!(failure.place.as_deref(), Some("test.scm:1:17"), "{failure}");
    let failure = room.failure("(define (more x)\n  (more (cons (make-vector 100 x) x)))\n(more 1)");
    assert!(
        failure
            .place
            .is_some_and(|place| place.starts_with("test.scm:2:"))
    );
}
