//! What names mean: environments of programs and libraries, the scopes inside of them, and names that macros
//! introduced.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::library::Library;
use crate::macros::Macro;
use crate::native::Run;
use crate::special::Special;
use crate::syntax::{Ident, Scope};
use crate::value::Symbol;

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    Special(Special),
    Macro(u32),
    /// A variable of the unit that is being expanded.
    Local(u32),
    /// A variable of a program or library.
    Global(u32),
    /// A procedure written in Rust.
    Native(u32),
    /// A definition in Scheme that is compiled when it is used.
    Late(u32),
}

/// The names of a form that binds some.
#[derive(Debug)]
pub struct Inner {
    pub parent: Scope,
    pub bindings: FxHashMap<Ident, Binding>,
}

/// A name that a macro introduced: its original and where it was written.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    pub name: Ident,
    pub scope: Scope,
}

/// The names of a program or library.
#[derive(Debug, Default)]
pub struct Environment {
    pub names: FxHashMap<Symbol, Named>,
    /// The meaning of names that a macro introduced and defined here.
    pub aliases: FxHashMap<u32, Binding>,
    /// Whether the environment belongs to a library that a program has defined.
    pub from_program: bool,
    /// Whether definitions are refused.
    pub fixed: bool,
}

/// A name of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub binding: Binding,
    /// Whether the name was defined here, and not imported.
    pub own: bool,
    /// Whether the name has been defined, and not only mentioned.
    pub defined: bool,
}

/// A definition that is compiled when it is used.
#[derive(Debug)]
pub struct Late {
    pub environment: u32,
    pub name: Symbol,
    pub source: Cow<'static, str>,
    pub file: u16,
    pub line: u32,
    pub state: LateState,
}

/// The state of a late definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateState {
    Waiting,
    /// The definition has this meaning; its value may still have to be computed.
    Known(Binding),
}

/// Reads a file for `include`, by its name.
pub type Includer = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// The meaning of all names of a machine.
#[derive(Default)]
pub struct Names {
    pub environments: Vec<Environment>,
    pub inner: Vec<Inner>,
    pub aliases: Vec<Alias>,
    pub macros: Vec<Arc<Macro>>,
    pub late: Vec<Late>,
    /// How each procedure written in Rust is run; the heap knows the rest about it.
    pub runs: Vec<Run>,
    pub libraries: FxHashMap<String, Library>,
    /// Libraries that cannot be imported, and why.
    pub forbidden: FxHashMap<String, String>,
    /// Environments that programs asked for, by their import sets as text. Nothing can be defined in them, so all who
    /// ask for the same share one: environments are never freed.
    pub imported: FxHashMap<String, u32>,
    pub includer: Option<Includer>,
    /// Late definitions whose value must be computed: the variable, and the one that holds the procedure for it.
    pub pending: Vec<(u32, u32)>,
    /// Lengths of the tables up to which macros of programs may refer.
    kept: (usize, usize, usize),
}

/// The environment that holds everything the machine has.
pub const CORE: u32 = 0;

impl Names {
    pub fn environment(&mut self) -> u32 {
        self.environments.push(Environment::default());
        (self.environments.len() - 1) as u32
    }

    /// A scope inside of another.
    pub fn enter(&mut self, parent: Scope) -> Scope {
        self.inner.push(Inner {
            parent,
            bindings: FxHashMap::default(),
        });
        Scope::Inner((self.inner.len() - 1) as u32)
    }

    pub fn bind(&mut self, scope: Scope, ident: Ident, binding: Binding) {
        if let Scope::Inner(index) = scope {
            self.inner[index as usize].bindings.insert(ident, binding);
        }
    }

    pub fn alias(&mut self, name: Ident, scope: Scope) -> Ident {
        self.aliases.push(Alias { name, scope });
        Ident::Alias((self.aliases.len() - 1) as u32)
    }

    /// The name as its author wrote it.
    pub fn plain(&self, mut ident: Ident) -> Symbol {
        loop {
            match ident {
                Ident::Plain(symbol) => return symbol,
                Ident::Alias(index) => ident = self.aliases[index as usize].name,
            }
        }
    }

    /// What a name means in a scope; if nothing, the symbol and the environment in which it is free.
    pub fn look_up(&self, mut ident: Ident, mut scope: Scope) -> Result<Binding, (Symbol, u32)> {
        loop {
            while let Scope::Inner(index) = scope {
                let inner = &self.inner[index as usize];
                if let Some(binding) = inner.bindings.get(&ident) {
                    return Ok(*binding);
                }
                scope = inner.parent;
            }
            let Scope::Top(environment) = scope else { continue };
            match ident {
                Ident::Plain(symbol) => {
                    let named = self.environments[environment as usize].names.get(&symbol);
                    let defined = named.filter(|named| named.defined);
                    return defined.map(|named| named.binding).ok_or((symbol, environment));
                }
                Ident::Alias(index) => {
                    let environment = &self.environments[environment as usize];
                    if let Some(binding) = environment.aliases.get(&index) {
                        return Ok(*binding);
                    }
                    let alias = self.aliases[index as usize];
                    (ident, scope) = (alias.name, alias.scope);
                }
            }
        }
    }

    /// Whether two names mean the same, each where it was written.
    pub fn same(&self, a: (Ident, Scope), b: (Ident, Scope)) -> bool {
        match (self.look_up(a.0, a.1), self.look_up(b.0, b.1)) {
            (Ok(a), Ok(b)) => self.settled(a) == self.settled(b),
            (Err((a, _)), Err((b, _))) => a == b,
            _ => false,
        }
    }

    /// The meaning of a late definition, if it has been compiled.
    fn settled(&self, binding: Binding) -> Binding {
        match binding {
            Binding::Late(index) => match self.late[index as usize].state {
                LateState::Known(known) => known,
                LateState::Waiting => binding,
            },
            other => other,
        }
    }

    /// Keeps all scopes that exist now: a macro of a program may refer to them. Returns how many are kept newly.
    pub fn keep(&mut self) -> usize {
        let (inner, aliases, _) = self.kept;
        self.kept = (self.inner.len(), self.aliases.len(), self.macros.len());
        self.inner.len() - inner + self.aliases.len() - aliases
    }

    /// Forgets the scopes of a unit that is compiled.
    pub fn forget(&mut self) {
        let (inner, aliases, macros) = self.kept;
        self.inner.truncate(inner);
        self.aliases.truncate(aliases);
        self.macros.truncate(macros);
        for environment in self
            .environments
            .iter_mut()
            .filter(|environment| !environment.aliases.is_empty())
        {
            environment.aliases.retain(|alias, _| (*alias as usize) < aliases);
        }
    }
}
