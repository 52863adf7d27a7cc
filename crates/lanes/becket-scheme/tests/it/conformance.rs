//! Conformance with R7RS, section by section, and with other libraries: `tests/r7rs` and `tests/libraries` hold a file
//! for each, with a case in each line.

use std::fs;
use std::path::PathBuf;

use crate::room::Room;

/// The macros that the files use. A case that raises something is compared with what it raised.
const HARNESS: &str = r#"
(define many 100000)
(define %cases 0)
(define %wrong '())
(define (%note form expected actual)
  (set! %cases (+ %cases 1))
  (if (not (equal? expected actual))
      (set! %wrong (cons (list form '=> actual 'instead-of expected) %wrong))))
(define (%message e) (if (error-object? e) (error-object-message e) e))
(define-syntax test
  (syntax-rules ()
    ((_ expected form)
     (let ((wanted expected))
       (%note 'form wanted (guard (e (#t (list 'raised (%message e)))) form))))))
(define-syntax test-error
  (syntax-rules ()
    ((_ form)
     (%note 'form 'an-error (guard (e (#t 'an-error)) form)))))
"#;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

/// Runs one file; returns how many cases it has, and which are wrong.
fn run(file: &PathBuf, stress: bool) -> (usize, String) {
    let source = fs::read_to_string(file).expect("readable");
    let mut room = Room::new();
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
        .to_owned();
    room.show(HARNESS);
    if stress {
        room.show("(define many 100)");
        room.machine.set_stress(true);
    }
    if let Err(failure) = room.machine.load(room.environment, &source, &name) {
        return (0, format!("{name} does not load: {failure}"));
    }
    room.machine.set_stress(false);
    let count = room.show("%cases").parse().unwrap_or(0);
    let wrong = match room.show("(length %wrong)").as_str() {
        "0" => String::new(),
        _ => format!("{name}: {}", room.show("(apply values (reverse %wrong))")),
    };
    (count, wrong)
}

fn check(folder: &str, stress: bool) -> usize {
    let results: Vec<(usize, String)> = files(folder).iter().map(|file| run(file, stress)).collect();
    let wrong: Vec<&str> = results
        .iter()
        .map(|(_, wrong)| wrong.as_str())
        .filter(|wrong| !wrong.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    results.iter().map(|(count, _)| count).sum()
}

#[test]
fn what_the_standard_promises_holds() {
    let count = check("r7rs", false);
    assert!(count >= 400, "{count} cases");
}

/// With a collection at every step, a value that nothing holds is found at once.
#[test]
fn it_holds_with_a_collection_at_every_step() {
    check("r7rs", true);
    check("libraries", true);
}

#[test]
fn libraries_do_what_their_documents_say() {
    let count = check("libraries", false);
    assert!(count >= 150, "{count} cases");
}
