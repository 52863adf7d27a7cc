//! The machine's own procedures: those written in Rust, those written in Scheme, and the libraries of the standard,
//! which are lists of their names.

pub mod arguments;
mod chars;
mod control;
pub mod lists;
pub mod numbers;
mod ports;
mod standard;
mod strings;
mod tables;
pub mod vectors;

use std::borrow::Cow;

use crate::heap::Heap;
use crate::libraries;
use crate::library::Library;
use crate::names::{Binding, Named, Names};
use crate::native::Native;
use crate::value::Value;

/// Procedures that are written in Scheme.
const CORE_DEFINITIONS: &str = include_str!("../scheme/core.scm");

/// Sets up the environment that holds everything, and the libraries that are parts of it.
pub fn install(heap: &mut Heap, names: &mut Names) {
    let core = names.environment();
    names.add_specials(heap, core);
    let tables = [
        lists::TABLE,
        numbers::TABLE,
        chars::TABLE,
        strings::TABLE,
        vectors::TABLE,
        ports::TABLE,
        control::TABLE,
        tables::TABLE,
    ];
    let natives = tables.into_iter().flatten().map(Native::from);
    names.add_natives(heap, core, natives);
    let standard = heap.standard;
    let ports = [
        ("current-input-port", standard.input),
        ("current-output-port", standard.output),
        ("current-error-port", standard.error),
    ];
    for (name, port) in ports {
        define(heap, names, core, name, port);
    }
    // The text is the machine's own, and tests read all of it.
    let added = names.add_definitions(heap, core, Cow::Borrowed(CORE_DEFINITIONS), "(core)");
    debug_assert!(added.is_ok());
    for (name, exports) in standard::LIBRARIES {
        let library = Library::Standard(exports);
        names.libraries.insert((*name).to_owned(), library);
    }
    for (name, make) in libraries::BUNDLED {
        let library = Library::Bundled(*make);
        names.libraries.insert((*name).to_owned(), library);
    }
}

fn define(heap: &mut Heap, names: &mut Names, environment: u32, name: &str, value: Value) {
    let symbol = heap.intern(name);
    let cell = heap.global(symbol, value);
    let named = Named {
        binding: Binding::Global(cell),
        own: true,
        defined: true,
    };
    names.environments[environment as usize]
        .names
        .insert(symbol, named);
}
