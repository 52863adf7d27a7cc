//! Which other files a script runs, imports or sources, as far as its text says so. Nothing is run.
//!
//! There is one file for each family of languages, and `followed.rs` for the result. What a text does not say, such as
//! `. "$X"`, is reported as open. A follower may name too many files, which only makes more bytes count. It may also
//! name too few: a missed file is not in the copy that runs, so the script fails there and no other file runs in its
//! place.
//!
//! What leads elsewhere at run time is not forbidden: a hook that may do anything cannot be kept from reading more
//! code, and the user is told before they trust it.

use std::collections::BTreeMap;

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

/// What the text of a script says about other files, given variables that are set when it runs. JavaScript is followed
/// by its own resolver, which knows packages.
pub fn follow(text: &str, language: Language, variables: &BTreeMap<String, String>) -> Followed {
    match language {
        Language::Shell => shell::follow_with(text, variables),
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
