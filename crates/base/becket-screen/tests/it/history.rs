//! The history file.

use becket_screen::History;

#[test]
fn entries_survive_in_the_form_that_other_editors_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deep/history.txt");
    let mut history = History::open(file.clone(), 100).expect("no file is no problem");
    for entry in ["one", "two\nlines", "two\nlines", "  ", "three"] {
        history.add(entry).expect("it can be written");
    }
    assert_eq!(history.entries(), ["one", "two\nlines", "three"]);
    let written = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(written, "one\ntwo<\\n>lines\nthree\n");
    assert_eq!(
        History::open(file.clone(), 100).expect("it opens").entries(),
        history.entries()
    );
    assert_eq!(
        History::open(file.clone(), 2).expect("it opens").entries(),
        ["two\nlines", "three"]
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("it is there"),
        "two<\\n>lines\nthree\n"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(History::open(folder.path().to_path_buf(), 10).is_err());
}
