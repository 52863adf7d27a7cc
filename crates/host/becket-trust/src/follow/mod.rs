//! Which other files a script runs, imports or sources, as far as its text says so. Nothing is run.
//!
//! One file for each family of languages, and `followed.rs` for what comes of it. What a text does not say, such as
//! `. "$X"`, is told as open. A follower may name too many files, which only makes more bytes count. It may also name
//! too few: a file that it has missed is not in the copy that runs, so the script fails there and nothing strange runs
//! in its place.

mod calls;
mod followed;
mod javascript;
mod language;
mod python;
mod scheme;
mod shell;
mod table;

pub use followed::{Base, Followed, Open, Use};
pub use javascript::starts;
pub use language::Language;
pub use shell::look;
pub use table::{Holds, holds};

/// What the text of a script says. JavaScript is followed by its own resolver, which knows packages.
pub fn follow(text: &str, language: Language) -> Followed {
    match language {
        Language::Shell => shell::follow(text),
        Language::Python => python::follow(text, Base::Script),
        Language::Scheme => scheme::follow(text),
        Language::JavaScript => Followed::default(),
        Language::Other => {
            let mut followed = Followed::default();
            followed.open(1, "it is in a language whose imports are not followed");
            followed
        }
    }
}
