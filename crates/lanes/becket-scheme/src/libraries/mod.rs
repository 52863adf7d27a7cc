//! Libraries beyond the standard that come with the machine: tables of procedures, definitions in `scheme/`, or both.
//! None costs anything before it is imported.

mod chibi_diff;
mod introspect;
mod random;
mod safe_regexp;
mod tein_json;

use crate::library::Module;

/// The libraries that definitions see: everything of the standard, and the machine's private names.
const CORE: &[&str] = &["(core)"];

/// A function that makes a library.
type Maker = fn() -> Module;

/// The names of the libraries, and the functions that make them.
pub const BUNDLED: &[(&str, Maker)] = &[
    ("(chibi diff)", chibi_diff::module),
    ("(chibi match)", || {
        Module::new("(chibi match)", CORE, &[], include_str!("../scheme/match.scm"))
    }),
    ("(scheme box)", || {
        small("(scheme box)", "box box? unbox set-box!")
    }),
    ("(scheme comparator)", || comparators("(scheme comparator)")),
    ("(scheme hash-table)", || hash_tables("(scheme hash-table)")),
    ("(scheme list)", || srfi_1("(scheme list)")),
    ("(scheme sort)", || srfi_132("(scheme sort)")),
    ("(scheme vector)", || srfi_133("(scheme vector)")),
    ("(srfi 1)", || srfi_1("(srfi 1)")),
    ("(srfi 2)", || small("(srfi 2)", "and-let*")),
    ("(srfi 8)", || small("(srfi 8)", "receive")),
    ("(srfi 26)", || {
        Module::new("(srfi 26)", CORE, &[], include_str!("../scheme/srfi-26.scm"))
    }),
    ("(srfi 27)", random::module),
    ("(srfi 69)", || hash_tables("(srfi 69)")),
    ("(srfi 95)", || {
        sorting("(srfi 95)").exporting("sort sort! sorted? merge merge!")
    }),
    ("(srfi 111)", || small("(srfi 111)", "box box? unbox set-box!")),
    ("(srfi 125)", || hash_tables("(srfi 125)")),
    ("(srfi 128)", || comparators("(srfi 128)")),
    ("(srfi 130)", srfi_130),
    ("(srfi 132)", || srfi_132("(srfi 132)")),
    ("(srfi 133)", || srfi_133("(srfi 133)")),
    ("(srfi 145)", || small("(srfi 145)", "assume")),
    ("(tein docs)", introspect::docs),
    ("(tein introspect)", introspect::introspect),
    ("(tein json)", tein_json::module),
    ("(tein safe-regexp)", safe_regexp::module),
    ("(tein uuid)", || small("(tein uuid)", "make-uuid uuid? uuid-nil")),
];

/// A library from the file that holds all those of a few lines.
fn small(name: &'static str, exports: &'static str) -> Module {
    let imports = &["(core)", "(srfi 27)"];
    Module::new(name, imports, &[], include_str!("../scheme/small.scm")).exporting(exports)
}

fn comparators(name: &'static str) -> Module {
    Module::new(name, CORE, &[], include_str!("../scheme/srfi-128.scm"))
}

fn srfi_1(name: &'static str) -> Module {
    Module::new(name, CORE, &[], include_str!("../scheme/srfi-1.scm")).also_exporting(
        "cons list cons* make-list list-copy pair? null? car cdr caar cadr cdar cddr caaar caadr cadar caddr cdaar \
         cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar cadadr caddar cadddr cdaaar cdaadr cdadar cdaddr cddaar \
         cddadr cdddar cddddr list-ref last-pair length append reverse map for-each memq memv member assq assv assoc \
         set-car! set-cdr!",
    )
}

fn sorting(name: &'static str) -> Module {
    Module::new(name, CORE, &[], include_str!("../scheme/sorting.scm"))
}

fn srfi_132(name: &'static str) -> Module {
    sorting(name).exporting(
        "list-sorted? vector-sorted? list-sort list-stable-sort list-sort! list-stable-sort! vector-sort \
         vector-stable-sort vector-sort! vector-stable-sort! list-merge list-merge! vector-merge \
         list-delete-neighbor-dups list-delete-neighbor-dups! vector-delete-neighbor-dups vector-find-median \
         vector-select!",
    )
}

fn hash_tables(name: &'static str) -> Module {
    Module::new(
        name,
        &["(core)", "(srfi 128)"],
        &[],
        include_str!("../scheme/hash-tables.scm"),
    )
}

fn srfi_130() -> Module {
    Module::new("(srfi 130)", CORE, &[], include_str!("../scheme/srfi-130.scm")).also_exporting(
        "string? make-string string string->vector string->list list->string vector->string string-length string-ref \
         substring string-copy string=? string<? string>? string<=? string>=? string-ci=? string-ci<? string-ci>? \
         string-ci<=? string-ci>=? string-upcase string-downcase string-foldcase string-append string-map \
         string-for-each string-set! string-fill! string-copy!",
    )
}

fn srfi_133(name: &'static str) -> Module {
    Module::new(name, CORE, &[], include_str!("../scheme/srfi-133.scm")).also_exporting(
        "make-vector vector vector-copy vector-append vector? vector-ref vector-length vector-map vector-for-each \
         vector-set! vector-fill! vector-copy! vector->list list->vector vector->string string->vector",
    )
}
