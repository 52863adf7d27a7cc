//! Programs that try to end the process: by its stack, by its memory, or by a single step that never returns. Each is
//! answered in time, and the machine keeps working.

use std::time::{Duration, Instant};

use becket_scheme::{Limits, RunState};

use crate::room::Room;

/// How long an answer may take; a program that hangs takes far longer.
const SOON: Duration = Duration::from_secs(100);

fn room() -> Room {
    Room::with(Limits {
        steps: 10_000_000,
        memory: 64 << 20,
        time: Some(Duration::from_secs(2)),
        ..Limits::default()
    })
}

/// Runs a program on a stack as small as that of any thread; it may end in any way.
fn answered(source: &str) {
    let begun = Instant::now();
    let mut room = room();
    match room.machine.load(room.environment, source, "hostile.scm") {
        Ok(RunState::Suspended(suspended)) => room.machine.abandon(suspended),
        Ok(RunState::Done(_)) | Err(_) => {}
    }
    assert_eq!(room.show("(+ 1 2)"), "3", "the machine works on after {source}");
    assert!(begun.elapsed() < SOON, "{source} took {:?}", begun.elapsed());
}

fn all_answered(sources: &[&str]) {
    sources.iter().for_each(|source| answered(source));
}

#[test]
fn macros_that_grow_what_they_are_given() {
    all_answered(&[
        "(define-syntax m (syntax-rules () ((_ x) (m (x))))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ x) (m #(x))))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ . x) (m x . x)))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ x) (m (x x))))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ x y ...) (m (x y ...) x y ...)))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ x) (m '(quote x))))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ x) (m `(x ,x))))) (m 1)",
        "(let () (define-syntax m (syntax-rules () ((_ x) (begin (define y (x)) (m (x y)))))) (m 1))",
        "(define-syntax m (syntax-rules () ((_ x) (let-syntax ((n (syntax-rules () ((_ y) (m (x y)))))) (n 1))))) (m 1)",
        "(define-syntax m (syntax-rules () ((_ n x) (define-syntax n (syntax-rules () ((_ y) (m n (x y)))))))) (m a 1) (a 2) (a 3)",
        "(define-syntax m (syntax-rules () ((_ x) (no-such-form (x))))) (m (m (m (m 1))))",
        "(define-syntax m (syntax-rules () ((_ (x)) (m x)))) (m ((((((((((((1)))))))))))))",
    ]);
}

#[test]
fn macros_that_double_what_they_are_given() {
    // The forms share their parts, so they are small until they are walked.
    let doubled = |what: &str| {
        let mut program = format!("(define-syntax m0 (syntax-rules () ((_ x) {what})))");
        for level in 1..60 {
            program += &format!(
                "(define-syntax m{level} (syntax-rules () ((_ x) (m{} (x x)))))",
                level - 1
            );
        }
        program + "(m59 a)"
    };
    for what in [
        "'x",
        "`(x ,1)",
        "`x",
        "(x)",
        "(begin x)",
        "(lambda (y) 'x)",
        "(no x)",
        "#(x)",
        "(case 1 ((x) 1))",
    ] {
        answered(&doubled(what));
    }
}

#[test]
fn flat_forms_that_become_deep_ones() {
    let many =
        |start: &str, part: &str, count: usize, end: &str| format!("{start}{}{end}", part.repeat(count));
    answered(&many("(let*-values (", "((a b) (values 1 2)) ", 20_000, ") a)"));
    let inside = |inner: &str| {
        many(
            "(let*-values (",
            "((a b) (values 1 2)) ",
            150,
            &format!(") {inner})"),
        )
    };
    answered(&(0..100).fold("a".to_owned(), |inner, _| inside(&inner)));
    answered(&many("(let* (", "(a 1) ", 70_000, ") a)"));
    answered(&many("(parameterize (", "(a 1) ", 20_000, ") a)"));
    answered(&many("(cond ", "(#f 1) ", 50_000, ")"));
    answered(&many("`(", "unquote ", 20_000, ")"));
    answered(&many("'", "'", 100_000, "a"));
    answered(&many("", "#;", 100_000, "a"));
    answered(&many("", "#0=", 100_000, "a"));
    answered(&many("(cond-expand (", "(not ", 100_000, ""));
    answered(&many("(import ", "(only ", 100_000, ""));
    answered(&many("(lambda (", "a ", 50_000, ") 1)"));
    let names: String = (0..40_000).map(|index| format!("a{index} ")).collect();
    answered(&format!("(lambda ({names}) 1)"));
    answered(&format!(
        "(define-syntax m (syntax-rules () ((_ {names}) (list {names})))) (m {names})"
    ));
    let defines: String = (0..15_000)
        .map(|index| format!("(define (a{index}) (a{index} 1)) "))
        .collect();
    answered(&format!("(let () {defines} 1)"));
}

#[test]
fn code_that_is_made_of_data() {
    all_answered(&[
        "(let loop ((x 1) (n 0)) (if (< n 100) (loop (list x x) (+ n 1)) (eval x)))",
        "(let loop ((x 1) (n 0)) (if (< n 100) (loop (list x x) (+ n 1)) (eval (list 'quote x))))",
        "(let loop ((x 1) (n 0)) (if (< n 100000) (loop (list 'list x) (+ n 1)) (eval x)))",
        "(let loop () (environment '(scheme base)) (loop))",
        "(let loop ((n 0)) (eval `(define-syntax m (syntax-rules () ((_ x) '(,@(make-list 100 1) x)))) (interaction-environment)) (loop (+ n 1)))",
        "(let loop ((n 0)) (eval `(define-library (x ,n) (import (scheme base)) (export a) (begin (define a 1))) (interaction-environment)) (loop (+ n 1)))",
        "(let loop ((x '(scheme base)) (n 0)) (if (< n 150) (loop `(prefix ,x ,(string->symbol (make-string 100000 #\\a))) (+ n 1)) (eval `(import ,x) (interaction-environment))))",
        "(let loop ((n 0)) (string->symbol (make-string (+ n 1000) #\\a)) (loop (+ n 1)))",
    ]);
}

#[test]
fn what_is_never_freed_leaves_room_to_work() {
    let limits = Limits {
        memory: 8 << 20,
        ..Limits::default()
    };
    for source in [
        "(define (name n) (string->symbol (number->string n)))
         (let loop ((n 0)) (environment `(prefix (scheme base) ,(name n))) (loop (+ n 1)))",
        "(let loop ((n 0)) (eval `(define ,(string->symbol (number->string n)) 1)) (loop (+ n 1)))",
        "(let loop ((n 0)) (string->symbol (number->string n)) (loop (+ n 1)))",
    ] {
        let mut room = Room::with(limits.clone());
        let stopped = room.show(source);
        assert!(
            stopped.contains("more than 8 MiB of memory"),
            "{source}: {stopped}"
        );
        assert_eq!(room.show("(+ 1 2)"), "3", "the machine works on after {source}");
    }
}

#[test]
fn the_same_environment_is_made_once() {
    let mut room = Room::with(Limits {
        memory: 8 << 20,
        ..Limits::default()
    });
    let many = "(let loop ((n 0)) (if (< n 5000) (begin (environment '(scheme base)) (loop (+ n 1))) n))";
    assert_eq!(room.show(many), "5000");
}

/// Definitions that the programs below share.
const DATA: &str = "
(define (deep n) (let loop ((i 0) (l '())) (if (< i n) (loop (+ i 1) (list l)) l)))
(define (shared n) (let loop ((i 0) (l '(1))) (if (< i n) (loop (+ i 1) (list l l)) l)))
(define (circle n) (let ((l (make-list n 1))) (set-cdr! (list-tail l (- n 1)) l) l))
(define (full n) (let ((v (make-vector n 0))) (vector-fill! v v) v))
(define (for-ever thunk) (thunk) (for-ever thunk))
";

fn all_answered_with_data(sources: &[&str]) {
    sources
        .iter()
        .for_each(|source| answered(&format!("{DATA}{source}")));
}

#[test]
fn equality_and_hashes_of_data_that_goes_around() {
    all_answered_with_data(&[
        "(equal? (circle 100000) (circle 99999))",
        "(equal? (full 200000) (full 200000))",
        "(equal? (shared 100) (shared 100))",
        "(equal? (deep 300000) (deep 300000))",
        "(for-ever (lambda () (equal? (make-vector 100000 1) (make-vector 100000 1))))",
        "(let ((l (make-list 500000 (make-string 1000000 #\\a)))) (member (make-string 1000000 #\\b) l))",
        "(import (srfi 69)) (let ((t (make-hash-table equal?))) (hash-table-set! t (circle 10) 1) (hash-table-ref/default t (circle 7) 2))",
        "(import (srfi 69)) (let ((t (make-hash-table equal?))) (for-ever (lambda () (hash-table-set! t (append (make-list 100 1) (list (hash-table-size t))) 1))))",
        "(import (srfi 69)) (hash (full 100000))",
    ]);
}

#[test]
fn text_of_data_that_goes_around() {
    all_answered_with_data(&[
        "(write (full 500000))",
        "(write-shared (full 500000))",
        "(write-simple (full 500000))",
        "(write (circle 500000))",
        "(write (shared 100))",
        "(write-shared (shared 100))",
        "(display (deep 300000))",
        "(raise (full 500000))",
        "(error \"a\" (full 500000) (shared 100) (deep 300000))",
        "(write (make-bytevector 30000000 255))",
        "(raise (make-bytevector 30000000 255))",
        "(write (make-string 15000000 #\\x1))",
        "(write (string->symbol (make-string 10000000 #\\x1)))",
        "(for-ever (lambda () (display (make-list 10000 \"\"))))",
        "(let ((p (open-output-string))) (write-string (make-string 30000000 #\\a) p) (write-char #\\λ p))",
        "(string-set! (make-string 30000000 #\\a) 0 #\\λ)",
    ]);
}

#[test]
fn text_that_is_read() {
    all_answered_with_data(&[
        "(read (open-input-string (make-string 20000000 #\\()))",
        "(read (open-input-string (make-string 20000000 #\\')))",
        "(read (open-input-string (string-append \"(\" (make-string 15000000 #\\1))))",
        "(let ((o (open-output-string))) (write-string \"(\" o) (let loop ((n 0)) (if (< n 3000000) (begin (write-string \"1 \" o) (loop (+ n 1))))) (read (open-input-string (get-output-string o))))",
        "(let ((o (open-output-string))) (write-string \"(\" o) (let loop ((n 0)) (if (< n 30000) (begin (write-string (string-append \"#\" (number->string n) \"=(#\" (number->string n) \"#)\") o) (loop (+ n 1))))) (write-string \")\" o) (read (open-input-string (get-output-string o))))",
        "(read (open-input-string (make-string 20000000 #\\1)))",
        "(string->number (make-string 20000000 #\\1))",
        "(import (tein json)) (json-parse (make-string 1000000 #\\[))",
        "(import (tein json)) (json-stringify (make-list 100000 (make-string 1000000 #\\a)))",
        "(import (tein json)) (json-stringify (make-list 100000 (make-list 10000 '(\"k\" . 1))))",
        "(import (tein json)) (json-stringify (circle 10))",
        "(import (tein json)) (json-stringify (shared 100))",
    ]);
}

#[test]
fn large_numbers() {
    all_answered_with_data(&[
        // The continued fractions of these have many terms.
        "(let loop ((a 1) (b 1) (n 0)) (if (< n 40000) (loop (+ a b) a (+ n 1)) (let ((x (/ a b)) (y (/ (+ a b) a))) (list (< x y) (= x y) (eqv? x y) (equal? x y) (max x y)))))",
        "(import (srfi 69)) (let loop ((a 1) (b 1) (n 0)) (if (< n 40000) (loop (+ a b) a (+ n 1)) (hash (/ a b))))",
        "(let loop ((a 1) (b 1) (n 0)) (if (< n 40000) (loop (+ a b) a (+ n 1)) (rationalize (/ a b) (/ 1 (* a a b)))))",
        "(/ (expt 3 160000) (expt 2 250000))",
        "(gcd (expt 3 160000) (expt 6 90000))",
        "(let ((n (- (expt 2 250000) 1))) (for-ever (lambda () (* n n))))",
        "(let ((n (- (expt 2 250000) 1))) (for-ever (lambda () (number->string n))))",
        "(let ((n (- (expt 2 250000) 1))) (for-ever (lambda () (exact-integer-sqrt n))))",
        "(let ((n (- (expt 2 250000) 1))) (apply = (make-list 1000000 n)))",
        "(let ((n (- (expt 2 250000) 1))) (apply + (make-list 1000000 n)))",
        "(let f ((n 1)) (* n (f (+ n 1))))",
        "(exact 1e308) (expt 1.1 (expt 10 400)) (expt 0 (expt 10 400)) (exact->inexact (expt 10 4000))",
        "(string->number \"1/3\" 37)",
        "(string->number (string-append \"1/\" (make-string 200000 #\\7)))",
        "(string->number \"#e1e-200000\")",
        "(number->string 1e300 2)",
    ]);
}

#[test]
fn single_steps_that_take_long() {
    all_answered_with_data(&[
        "(let ((v (make-vector 1000000 0))) (for-ever (lambda () (vector-fill! v 1))))",
        "(let ((v (make-vector 1000000 0))) (for-ever (lambda () (vector->list v))))",
        "(let ((l (make-list 1000000 0))) (for-ever (lambda () (length l))))",
        "(let ((l (make-list 1000000 0))) (for-ever (lambda () (list-ref l 999999))))",
        "(let ((l (make-list 1000000 0))) (for-ever (lambda () (assq 1 (map list l)))))",
        "(let ((l (circle 1000000))) (for-ever (lambda () (list? l))))",
        "(list-tail (circle 10) 1000000000000)",
        "(let ((s (make-string 20000000 #\\a))) (for-ever (lambda () (string=? s (string-copy s)))))",
        "(let ((s (make-string 5000000 #\\a))) (apply string-ci=? (make-list 100000 s)))",
        "(let ((l (make-list 1000000 0))) (apply append (make-list 100000 l)))",
        "(let ((v (make-vector 1000000 0))) (apply vector-append (make-list 100000 v)))",
        "(let ((v (make-bytevector 1000000 0))) (apply bytevector-append (make-list 100000 v)))",
        "(let ((l (make-list 1500000 0))) (let f () (+ 1 (apply f l))))",
        "(define (f . l) (+ 1 (apply f l))) (apply f (make-list 1000000 0))",
        "(define (f a) (+ 1 (call-with-values (lambda () (apply values (make-list 1000000 0))) (case-lambda ((a) 1) ((a . r) (f r)))))) (f 1)",
        "(string->vector (make-string 60000000 #\\a))",
        "(string->list (make-string 60000000 #\\a))",
        "(string-upcase (make-string 15000000 #\\ΐ))",
        "(let loop ((k #f) (n 0)) (call/cc (lambda (c) (loop c (+ n 1)))))",
        "(let ((k #f) (n 0)) (map (lambda (x) (call/cc (lambda (c) (set! k c))) x) '(1 2 3)) (set! n (+ n 1)) (k n))",
        "(let loop ((n 0)) (dynamic-wind (lambda () #f) (lambda () (loop (+ n 1))) (lambda () #f)))",
        "(with-exception-handler (lambda (e) (raise e)) (lambda () (raise 1)))",
        "(let loop ((p (delay 1))) (loop (delay-force p)))",
        "(make-vector -1) (make-string 1e300) (make-list 1e18)",
    ]);
}

#[test]
fn patterns_and_differences() {
    all_answered_with_data(&[
        "(import (tein safe-regexp)) (regexp-search \"(a?){1000}(a?){1000}a{2000}\" (make-string 2000000 #\\a))",
        "(import (tein safe-regexp)) (regexp-extract \".*[^A-Z]|[A-Z]\" (make-string 400000 #\\A))",
        "(import (tein safe-regexp)) (regexp-replace-all \".*[^A-Z]|[A-Z]\" (make-string 400000 #\\A) \"$0$0\")",
        "(import (tein safe-regexp)) (regexp-replace-all \"a\" (make-string 5000000 #\\a) (make-string 5000000 #\\b))",
        "(import (tein safe-regexp)) (let loop ((l '()) (n 0)) (loop (cons (regexp (string-append \"[a-z]{200}\" (number->string n))) l) (+ n 1)))",
        "(import (tein safe-regexp)) (regexp (make-string 100000 #\\())",
        "(import (tein safe-regexp)) (regexp-split \"\" (make-string 10000000 #\\a))",
        "(import (chibi diff)) (diff (make-string 20000 #\\a) (make-string 20000 #\\b))",
    ]);
}
