//! Nonsensical programs in Scheme: text, words in any order, and valid forms that are nested at random.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Pseudo-random numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

/// Words of the language, and some that are none.
const WORDS: &[&str] = &[
    "(",
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    ")",
    "'",
    "`",
    ",",
    ",@",
    ".",
    "#(",
    "#u8(",
    "#;",
    "#0=",
    "#0#",
    "...",
    "_",
    "=>",
    "else",
    "lambda",
    "define",
    "let",
    "let*",
    "letrec",
    "if",
    "set!",
    "begin",
    "cond",
    "case",
    "and",
    "or",
    "do",
    "when",
    "define-syntax",
    "let-syntax",
    "letrec-syntax",
    "syntax-rules",
    "define-record-type",
    "define-values",
    "let-values",
    "let*-values",
    "case-lambda",
    "guard",
    "parameterize",
    "delay",
    "delay-force",
    "quasiquote",
    "quote",
    "unquote",
    "unquote-splicing",
    "cond-expand",
    "import",
    "define-library",
    "export",
    "include",
    "only",
    "prefix",
    "rename",
    "(scheme base)",
    "x",
    "y",
    "f",
    "k",
    "e",
    "1",
    "2.5",
    "1/3",
    "-7",
    "#t",
    "#f",
    "#\\a",
    "\"text\"",
    "()",
    "car",
    "cdr",
    "cons",
    "list",
    "apply",
    "map",
    "call/cc",
    "dynamic-wind",
    "raise",
    "error",
    "with-exception-handler",
    "values",
    "call-with-values",
    "eval",
    "environment",
    "vector",
    "vector-ref",
    "string-append",
    "+",
    "-",
    "*",
    "/",
    "expt",
    "=",
    "<",
    "eq?",
    "equal?",
    "force",
    "make-parameter",
    "read",
    "write",
    "open-input-string",
    "(lambda (x) x)",
    "(x)",
    "((x 1))",
    "((f x))",
    "(_ x ...)",
    "(x ... y)",
    "exit",
    "length",
    "append",
    "list-tail",
    "string->symbol",
];

/// Characters that mean something to the reader.
const SIGNS: &str = "()#'`,;|\"\\.@ \nx1";

/// Shapes of expressions; `E` is another one, `N` a name.
const SHAPES: &[&str] = &[
    "(if E E E)",
    "(let ((N E) (N E)) E E)",
    "(let loop ((N E)) (if E N (loop E)))",
    "(letrec ((N (lambda (N) E))) (N E))",
    "((lambda (N . N) E) E E)",
    "(call/cc (lambda (N) E (N E)))",
    "(dynamic-wind (lambda () E) (lambda () E) (lambda () E))",
    "(guard (N (E E) (else E)) E)",
    "(with-exception-handler (lambda (N) E) (lambda () E))",
    "(call-with-values (lambda () (values E E)) (lambda (N N) E))",
    "(let-syntax ((N (syntax-rules () ((_ N ...) (list N ... E))))) (N E E))",
    "(define-syntax N (syntax-rules (N) ((_ (N E) ...) (begin N ...))))",
    "(define-record-type N (N N) N (N N N))",
    "(parameterize (((make-parameter E) E)) E)",
    "`(E ,E ,@E . ,E)",
    "(do ((N E E)) (E E) E)",
    "(case E ((1 a) E) (else => E))",
    "(set! N E)",
    "(define (N N) E)",
    "(force (delay-force E))",
    "(map (lambda (N) E) (list E E))",
    "(apply E (list E E))",
    "(eval 'E (environment '(scheme base)))",
    "(string->number (number->string E))",
    "(vector-ref (vector E E) E)",
    "(E E E)",
    "(raise E)",
    // Forms that grow, are cyclic, or take long for their size.
    "(begin (define-syntax N (syntax-rules () ((_ N) (N (N E))))) (N E))",
    "(begin (define-syntax N (syntax-rules () ((_ N N ...) (N (N N ...) N ... E)))) (N E E))",
    "(begin (define-syntax N (syntax-rules () ((_ N) '(N N)))) (N (N (N (N E)))))",
    "(letrec-syntax ((N (syntax-rules () ((_ (N ...) ...) (E (N ... ...)))))) (N (E E) (E)))",
    "(let* ((x (list E E)) (y (vector x x E))) (set-cdr! (cdr x) x) (vector-set! y 2 y) E (equal? x y))",
    "(let loop ((x E) (n 0)) (if (< n 30) (loop (list x x) (+ n 1)) E))",
    "(let loop ((x E) (n 0)) (if (< n 3000) (loop (list x) (+ n 1)) (equal? x E)))",
    "(let ((p (open-output-string))) (write E p) (read (open-input-string (get-output-string p))))",
    "(eval (list 'quasiquote E) (environment '(scheme base)))",
    "(eval (list E E) (interaction-environment))",
    "(let*-values (((N N) (values E E)) ((N . N) (values E E))) E)",
    "(let ((k #f) (n 0)) (map (lambda (N) (call/cc (lambda (c) (set! k c))) E) '(1 2 3)) (set! n (+ n 1)) (if (< n 5) (k n)))",
    "(list-tail E E)",
    "(string->symbol (make-string E E))",
    "(make-vector E E)",
    "(expt E E)",
    "(exact (/ E E))",
    "(rationalize E E)",
    "(number->string E E)",
    "(let-values (((x y) (exact-integer-sqrt E))) (list x y))",
    "(apply E (make-list E E))",
    "(string-append E E (string-upcase E))",
    "(vector-fill! E E)",
    "(assoc E (list (cons E E)))",
    "(call-with-port (open-input-string \"(1 . #(2 #0=(a . #0#)))\") (lambda (x) E (read x)))",
];

/// Expressions without others inside of them.
const LEAVES: &[&str] = &[
    "1",
    "-7/3",
    "1e300",
    "\"text\"",
    "'sym",
    "'()",
    "#\\a",
    "#t",
    "#f",
    "x",
    "y",
    "f",
    "car",
    "+",
    "-",
    "*",
    "expt",
    "list",
    "append",
    "string-append",
    "(lambda (x) x)",
    "(list 1 2 3)",
    "(vector 1 2)",
    "(values)",
    "exit",
    "100000000000000000000",
    "+nan.0",
    "#u8(1 2)",
    "1000000",
    "(expt 3 5000)",
    "(/ (expt 3 900) (expt 2 1000))",
    "-1",
    "1e-320",
    "(make-string 100000 #\\a)",
    "(make-list 10000 'a)",
    "(let ((x (list 1 2))) (set-cdr! (cdr x) x) x)",
    "(let ((v (make-vector 1000 1))) (vector-fill! v v) v)",
    "#0=(a #0#)",
    "equal?",
    "write",
    "reverse",
    "vector->list",
    "string->list",
    "call/cc",
    "#\\λ",
    "(read (open-input-string \"#1=(1 . #1#)\"))",
    "(delay x)",
    "(current-output-port)",
];

/// A program with matching brackets.
pub fn program(dice: &mut Dice) -> String {
    let mut source = "E E E".to_owned();
    for round in 0..40 {
        let Some(at) = source.find('E') else { break };
        let shape = match round < 25 && dice.roll(3) > 0 {
            true => dice.pick(SHAPES),
            false => dice.pick(LEAVES),
        };
        source.replace_range(at..=at, shape);
    }
    let mut named = String::new();
    for character in source.chars() {
        match character {
            'N' => named.push_str(dice.pick(&["x", "y", "f", "k", "if", "..."])),
            'E' => named.push('x'),
            other => named.push(other),
        }
    }
    named
}

/// Words in any order.
pub fn words(dice: &mut Dice) -> String {
    let mut source = String::new();
    for _ in 0..2 + dice.roll(40) {
        source.push_str(dice.pick(WORDS));
        source.push(' ');
    }
    // Half of the time, what was opened is closed.
    if dice.roll(2) == 0 {
        let open = source.matches('(').count();
        let closed = source.matches(')').count();
        source.push_str(&")".repeat(open.saturating_sub(closed)));
    }
    source
}

/// Bytes in any order.
pub fn bytes(dice: &mut Dice) -> String {
    let length = dice.roll(60);
    let bytes: Vec<u8> = (0..length)
        .map(|_| match dice.roll(3) {
            0 => SIGNS.as_bytes()[dice.roll(SIGNS.len())],
            1 => 32 + dice.roll(95) as u8,
            _ => dice.roll(256) as u8,
        })
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One of these lines with a few characters changed.
pub fn changed(dice: &mut Dice, lines: &[String]) -> String {
    let mut characters: Vec<char> = lines[dice.roll(lines.len())].chars().collect();
    for _ in 0..1 + dice.roll(3) {
        if characters.is_empty() {
            break;
        }
        let at = dice.roll(characters.len());
        let sign = char::from(SIGNS.as_bytes()[dice.roll(SIGNS.len())]);
        match dice.roll(3) {
            0 => drop(characters.remove(at)),
            1 => characters[at] = sign,
            _ => characters.insert(at, sign),
        }
    }
    characters.into_iter().collect()
}

/// The lines of the conformance table.
pub fn lines() -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lanes/becket-scheme/tests/r7rs");
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(folder).expect("there") {
            let text = std::fs::read_to_string(entry.expect("readable").path()).expect("readable");
            lines.extend(text.lines().map(|line| line.replace("(test ", "(list ")));
        }
        lines.sort();
        lines
    })
}
