//! What names mean: environments of programs and libraries, the scopes inside of them, and what macros brought along.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::expand::Macro;
use crate::library::Library;
use crate::special::Special;
use crate::syntax::Ident;
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
    /// A definition in Scheme that is compiled when somebody uses it.
    Late(u32),
}

/// Where a name is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Top(u32),
    Inner(u32),
}

/// The names of a form that binds some.
#[derive(Debug)]
pub struct Inner {
    pub parent: Scope,
    pub bindings: FxHashMap<Ident, Binding>,
}

/// A name that a macro brought along: what it is called and where it was written.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    pub name: Ident,
    pub scope: Scope,
}

/// The names of a program or library.
#[derive(Debug, Default)]
pub struct Environment {
    pub names: FxHashMap<Symbol, Named>,
    /// What names mean that a macro brought along and defined here.
    pub aliases: FxHashMap<u32, Binding>,
    /// Whether it belongs to a library that a program has defined.
    pub from_program: bool,
    /// Whether definitions are refused.
    pub fixed: bool,
}

/// A name of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub binding: Binding,
    /// Whether it was defined here, and not imported.
    pub own: bool,
    /// Whether it has been defined at all, and not only mentioned.
    pub defined: bool,
}

/// A definition that is compiled when somebody uses it.
#[derive(Debug)]
pub struct Late {
    pub environment: u32,
    pub name: Symbol,
    pub source: Cow<'static, str>,
    pub file: u16,
    pub line: u32,
    pub state: LateState,
}

/// How far a late definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateState {
    Waiting,
    /// It means this now; the value may still be on its way.
    Known(Binding),
}

/// Reads a file for `include`, by its name.
pub type Includer = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// What all names of a machine mean.
#[derive(Default)]
pub struct Names {
    pub environments: Vec<Environment>,
    pub inner: Vec<Inner>,
    pub aliases: Vec<Alias>,
    pub macros: Vec<Arc<Macro>>,
    pub late: Vec<Late>,
    pub libraries: FxHashMap<String, Library>,
    /// Libraries that nobody can import, and why.
    pub forbidden: FxHashMap<String, String>,
    pub includer: Option<Includer>,
    /// Late definitions whose value must be computed: the variable, and the one with the procedure that computes it.
    pub pending: Vec<(u32, u32)>,
    /// Places in the tables up to which macros of programs may refer.
    kept: (usize, usize, usize),
}

/// The environment in which everything is that the machine brings.
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

    /// A late definition that somebody has used already means what it was compiled to.
    fn settled(&self, binding: Binding) -> Binding {
        match binding {
            Binding::Late(index) => match self.late[index as usize].state {
                LateState::Known(known) => known,
                LateState::Waiting => binding,
            },
            other => other,
        }
    }

    /// Keeps all scopes that are there now: a macro of a program may refer to them. Says how many are kept that were
    /// not before.
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
