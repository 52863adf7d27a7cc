//! The memory for values that do not fit into a word: an arena for each frequent kind, one for all others. Nothing is
//! collected while Rust code runs: the machine collects between two steps, so procedures written in Rust may hold any
//! value until they return.

mod arena;
mod collect;
mod equal;
mod lists;
mod object;
mod slots;
mod tables;

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;

pub use arena::{Arena, Slot};
pub use lists::ListItems;
pub use object::{Continuation, Dynamic, ErrorObject, Object, Port, PortKind, RecordProcedure, RecordType};
pub use slots::{Closure, Pair};

use crate::code::CodeStore;
use crate::fault::Fault;
use crate::limits::{Budget, Limit, Limits};
use crate::place::SourcePlace;
use crate::signature::Signature;
use crate::text::Text;
use crate::value::{CellRef, ClosureRef, ObjectRef, PairRef, StringRef, Symbol, Value, VectorRef};

/// A variable of a program or library.
#[derive(Debug)]
pub struct Global {
    pub value: Value,
    pub name: Symbol,
}

/// All values of a machine.
#[derive(Debug)]
pub struct Heap {
    pairs: Arena<Pair>,
    strings: Arena<Text>,
    vectors: Arena<Vec<Value>>,
    closures: Arena<Closure>,
    cells: Arena<Value>,
    objects: Arena<Object>,
    names: Vec<Arc<str>>,
    symbols: FxHashMap<Arc<str>, Symbol>,
    files: Vec<Arc<str>>,
    pub(crate) globals: Vec<Global>,
    pub(crate) code: CodeStore,
    pub(crate) dynamic: Dynamic,
    pub(crate) standard: StandardPorts,
    pub(crate) limits: Limits,
    /// What is left of the limits of the run.
    pub(crate) budget: Budget,
    /// Work that may be done before the clock is checked again.
    effort: Cell<usize>,
    /// The procedures written in Rust.
    pub(crate) natives: Vec<Signature>,
    /// The environment of the program that was loaded last.
    pub(crate) interaction: u32,
    /// What `command-line` and `get-environment-variable` return: given by the host.
    pub process: Process,
    pub(crate) started: Instant,
    /// The state of the random number generator.
    pub(crate) random: u64,
    /// Bytes in use, including garbage that is not collected yet.
    used: usize,
    /// The number of used bytes at which the next collection is due.
    threshold: usize,
    /// Bytes that are never collected: symbols and global variables.
    permanent: usize,
    /// Whether to collect at every step, to find values that nothing holds.
    stress: bool,
}

/// The process as a program sees it.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

/// The standard ports; parameters, so that code may replace them.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardPorts {
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) error: Value,
}

/// The number of used bytes before which nothing is collected.
const FIRST_COLLECTION: usize = 4 << 20;

/// How many parts of data are processed between two checks of the clock.
const EFFORT: usize = 1 << 16;

impl Heap {
    pub fn new(limits: Limits) -> Self {
        let mut heap = Self {
            pairs: Arena::default(),
            strings: Arena::default(),
            vectors: Arena::default(),
            closures: Arena::default(),
            cells: Arena::default(),
            objects: Arena::default(),
            names: Vec::new(),
            symbols: FxHashMap::default(),
            files: Vec::new(),
            globals: Vec::new(),
            code: CodeStore::default(),
            dynamic: Dynamic::default(),
            standard: StandardPorts::default(),
            threshold: FIRST_COLLECTION.min(limits.memory / 2),
            budget: Budget::new(&limits),
            effort: Cell::new(EFFORT),
            limits,
            natives: Vec::new(),
            interaction: 0,
            process: Process::default(),
            started: Instant::now(),
            random: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(1, |since| since.as_nanos() as u64),
            used: 0,
            permanent: 0,
            stress: false,
        };
        heap.standard = StandardPorts {
            input: heap.standard_port(Port::input_text("")),
            output: heap.standard_port(Port::output_text()),
            error: heap.standard_port(Port::output_text()),
        };
        heap
    }

    fn standard_port(&mut self, port: Port) -> Value {
        let port = self.object(Object::Port(Box::new(port)));
        self.object(Object::Parameter {
            value: port,
            converter: Value::Bool(false),
        })
    }

    /// Notes work that grows with the data: `parts` that are processed in one step. From time to time this checks clock
    /// and host, so that no single step exceeds the limits of its run.
    #[inline]
    pub fn spend(&self, parts: usize) -> Result<(), Fault> {
        match self.effort.get().checked_sub(parts) {
            Some(left) => {
                self.effort.set(left);
                Ok(())
            }
            None => {
                self.effort.set(EFFORT);
                self.budget.check(&self.limits).map_err(Fault::Limit)
            }
        }
    }

    /// Checks that there is room for something large, before memory is allocated for it.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Fault> {
        self.spend(bytes / size_of::<Value>())?;
        let wanted = self.used.saturating_add(bytes);
        if bytes > self.limits.memory {
            return Err(Fault::Limit(Limit::Memory(self.limits.memory)));
        }
        if wanted > self.limits.memory {
            return Err(Fault::Full(bytes));
        }
        Ok(())
    }

    /// Checks that there is room for this many items of a list, a vector or a string.
    pub fn reserve_items(&mut self, count: usize, size: usize) -> Result<(), Fault> {
        self.reserve(count.saturating_mul(size))
    }

    /// Notes memory that was allocated outside of the arenas.
    pub fn charge(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Notes memory that is never freed.
    pub(crate) fn charge_for_ever(&mut self, bytes: usize) {
        self.used += bytes;
        self.permanent += bytes;
    }

    /// Checks that memory which is never freed leaves room to work: if it took everything, no later program could run.
    pub(crate) fn check_permanent(&self) -> Result<(), Fault> {
        let most = self.limits.memory - self.limits.memory / 16;
        match self.permanent > most {
            true => Err(Fault::Limit(Limit::Memory(self.limits.memory))),
            false => Ok(()),
        }
    }

    /// Turns collection at every step on or off.
    pub(crate) fn set_stress(&mut self, stress: bool) {
        self.stress = stress;
        self.threshold = 0;
    }

    /// Bytes that are in use, including what the next collection will free.
    pub fn used(&self) -> usize {
        self.used
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.used >= self.threshold
    }

    /// The symbol with this name.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = Symbol(self.names.len() as u32);
        let name: Arc<str> = name.into();
        self.charge_for_ever(name.len() + 64);
        self.names.push(Arc::clone(&name));
        self.symbols.insert(name, symbol);
        symbol
    }

    pub fn symbol(&mut self, name: &str) -> Value {
        Value::Symbol(self.intern(name))
    }

    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize]
    }

    /// The number by which places name a file.
    pub(crate) fn file(&mut self, name: &str) -> u16 {
        let known = self.files.iter().position(|known| **known == *name);
        let index = known.unwrap_or_else(|| {
            self.files.push(name.into());
            self.files.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// A place as compilers write it: `file:line:column`.
    pub fn show_place(&self, place: SourcePlace) -> String {
        let file = self.files.get(usize::from(place.file)).map_or("?", |name| name);
        format!("{file}:{}:{}", place.line, place.column)
    }

    /// Whether a place is in one of the machine's own libraries, which users need not see.
    pub(crate) fn is_internal(&self, place: SourcePlace) -> bool {
        self.files
            .get(usize::from(place.file))
            .is_none_or(|name| name.starts_with('('))
    }

    /// A new variable of a program or library.
    pub(crate) fn global(&mut self, name: Symbol, value: Value) -> u32 {
        self.globals.push(Global { value, name });
        self.charge_for_ever(size_of::<Global>() + 32);
        (self.globals.len() - 1) as u32
    }

    #[inline]
    pub fn cons(&mut self, car: Value, cdr: Value) -> Value {
        self.used += size_of::<Pair>();
        Value::Pair(PairRef(self.pairs.insert(Pair { car, cdr })))
    }

    #[inline]
    pub fn pair(&self, at: PairRef) -> Pair {
        *self.pairs.get(at.0)
    }

    #[inline]
    pub fn pair_mut(&mut self, at: PairRef) -> &mut Pair {
        self.pairs.get_mut(at.0)
    }

    pub fn string(&mut self, text: impl Into<Text>) -> Value {
        let text = text.into();
        self.used += text.bytes() + size_of::<Text>();
        Value::String(StringRef(self.strings.insert(text)))
    }

    #[inline]
    pub fn text(&self, at: StringRef) -> &Text {
        self.strings.get(at.0)
    }

    pub fn text_mut(&mut self, at: StringRef) -> &mut Text {
        self.strings.get_mut(at.0)
    }

    pub fn vector(&mut self, items: Vec<Value>) -> Value {
        self.used += items.capacity() * size_of::<Value>() + size_of::<Vec<Value>>();
        Value::Vector(VectorRef(self.vectors.insert(items)))
    }

    #[inline]
    pub fn items(&self, at: VectorRef) -> &[Value] {
        self.vectors.get(at.0)
    }

    #[inline]
    pub fn items_mut(&mut self, at: VectorRef) -> &mut [Value] {
        self.vectors.get_mut(at.0)
    }

    #[inline]
    pub(crate) fn closure(&mut self, code: u32, captured: Box<[Value]>) -> Value {
        self.used += size_of::<Closure>() + captured.len() * size_of::<Value>();
        let (entry, count) = self.code.fast_entry(code);
        Value::Closure(ClosureRef(self.closures.insert(Closure {
            code,
            entry,
            count,
            captured,
        })))
    }

    #[inline]
    pub(crate) fn closure_at(&self, at: ClosureRef) -> &Closure {
        self.closures.get(at.0)
    }

    pub(crate) fn closure_mut(&mut self, at: ClosureRef) -> &mut Closure {
        self.closures.get_mut(at.0)
    }

    #[inline]
    pub(crate) fn cell(&mut self, value: Value) -> Value {
        self.used += size_of::<Value>();
        Value::Cell(CellRef(self.cells.insert(value)))
    }

    #[inline]
    pub(crate) fn cell_value(&self, at: CellRef) -> Value {
        *self.cells.get(at.0)
    }

    #[inline]
    pub(crate) fn set_cell(&mut self, at: CellRef, value: Value) {
        *self.cells.get_mut(at.0) = value;
    }

    pub fn object(&mut self, object: Object) -> Value {
        self.used += size_of::<Object>() + object.outside();
        Value::Object(ObjectRef(self.objects.insert(object)))
    }

    #[inline]
    pub fn object_at(&self, at: ObjectRef) -> &Object {
        self.objects.get(at.0)
    }

    #[inline]
    pub fn object_mut(&mut self, at: ObjectRef) -> &mut Object {
        self.objects.get_mut(at.0)
    }

    /// The object behind a value, if it has one.
    #[inline]
    pub fn as_object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Object(at) => Some(self.object_at(at)),
            _ => None,
        }
    }

    /// The current value of a parameter.
    pub fn parameter(&self, parameter: Value) -> Value {
        let mut bindings = self.dynamic.parameters;
        while let Value::Pair(at) = bindings {
            let Pair { car, cdr } = self.pair(at);
            if let Value::Pair(binding) = car {
                let binding = self.pair(binding);
                if binding.car.is(parameter) {
                    return binding.cdr;
                }
            }
            bindings = cdr;
        }
        match self.as_object(parameter) {
            Some(Object::Parameter { value, .. }) => *value,
            _ => Value::Unspecified,
        }
    }

    /// How many pairs a list can have at most: a longer one is circular.
    fn longest_list(&self) -> usize {
        self.pairs.len()
    }
}
