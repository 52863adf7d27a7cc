//! A map of a project within a budget: its most important definitions, by how much the rest of it uses them.
//!
//! Files are the nodes of a graph. A file that uses a name points to those that define it, more strongly the more often
//! it does and the fewer files define that name. Page rank says which files matter, and each passes its rank on to the
//! definitions that it uses.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::database::IndexProblem;
use crate::query::{FoundSymbol, IndexReader};

/// The default size of a map.
const USUAL_TOKENS: usize = 2000;

/// The most files that may define a name; with more of them, a use does not tell which one is meant.
const MOST_DEFINITIONS: usize = 10;

/// How many definitions are considered at all.
const MOST_CANDIDATES: usize = 5000;

const ROUNDS: usize = 30;
const DAMPING: f64 = 0.85;

/// The weight of a file's use of its own names.
const OWN_USE: f64 = 0.1;

/// The weight of a use of a method: other types may have one of that name, and those of libraries are not in the index.
const METHOD: f64 = 0.3;

/// The share of its file's rank that an unused definition gets.
const UNUSED: f64 = 0.01;

/// How many bytes a token has, roughly.
const BYTES_PER_TOKEN: usize = 4;

/// The parameters of a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapOptions {
    /// About how many tokens the map may have.
    pub tokens: Option<usize>,
    /// A part of the paths of the files that the map centres on.
    pub focus: Option<String>,
}

impl MapOptions {
    /// An empty map of the wanted size.
    pub fn draft(&self) -> MapDraft {
        MapDraft {
            room: self
                .tokens
                .unwrap_or(USUAL_TOKENS)
                .saturating_mul(BYTES_PER_TOKEN),
            files: BTreeMap::new(),
            order: Vec::new(),
        }
    }
}

/// A map under construction.
#[derive(Debug)]
pub struct MapDraft {
    room: usize,
    files: BTreeMap<String, Vec<FoundSymbol>>,
    order: Vec<String>,
}

impl MapDraft {
    /// Adds a definition, unless it does not fit any more. Says whether it was added.
    pub fn add(&mut self, symbol: FoundSymbol) -> bool {
        let heading = if self.files.contains_key(&symbol.file) {
            0
        } else {
            symbol.file.len() + 1
        };
        let cost = heading + entry(&symbol).len();
        if cost > self.room {
            return false;
        }
        self.room -= cost;
        if heading > 0 {
            self.order.push(symbol.file.clone());
        }
        self.files.entry(symbol.file.clone()).or_default().push(symbol);
        true
    }

    /// The text of the map: files by rank, definitions by line.
    pub fn draw(mut self) -> String {
        let mut text = String::new();
        for file in &self.order {
            let _ = writeln!(text, "{file}");
            let mut symbols = self.files.remove(file).unwrap_or_default();
            symbols.sort_by_key(|symbol| symbol.line_start);
            symbols.iter().for_each(|symbol| text.push_str(&entry(symbol)));
        }
        text
    }
}

fn entry(symbol: &FoundSymbol) -> String {
    let told = symbol.signature.as_deref().unwrap_or(&symbol.name);
    match &symbol.parent {
        Some(parent) => format!("  {}: {parent}: {told}\n", symbol.line_start),
        None => format!("  {}: {told}\n", symbol.line_start),
    }
}

/// A definition that can be on the map.
struct Definition {
    id: i64,
    /// The index of the definition's file.
    file: usize,
    name: i64,
    callable: bool,
    /// Whether only its own file can use the definition.
    private: bool,
    /// How likely its name means this definition.
    weight: f64,
}

/// The definitions and uses of a project.
#[derive(Default)]
struct Graph {
    /// The numbers of files, and whether each is in focus.
    files: Vec<(i64, bool)>,
    definitions: Vec<Definition>,
    /// The uses of defined names: from which file, to which definition, and with which weight.
    uses: Vec<(usize, usize, f64)>,
}

impl IndexReader {
    /// The most important definitions, by rank.
    pub fn ranked(&self, options: &MapOptions) -> Result<Vec<FoundSymbol>, IndexProblem> {
        let graph = self.graph(options)?;
        let ranks = graph.file_ranks();
        let scores = graph.definition_scores(&ranks);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
        let best = order.into_iter().take(MOST_CANDIDATES);
        let sql = "SELECT s.id, f.path, n.name, s.kind, s.parent, s.line_start, s.line_end, s.signature, s.visibility
                   FROM symbols s JOIN files f ON f.id = s.file_id JOIN names n ON n.id = s.name_id WHERE s.id = ?1";
        let mut ranked = Vec::new();
        for place in best {
            let found = self.collect(sql, &[&graph.definitions[place].id], crate::query::symbol)?;
            ranked.extend(found.into_iter().map(|(_, symbol)| symbol));
        }
        Ok(ranked)
    }

    fn graph(&self, options: &MapOptions) -> Result<Graph, IndexProblem> {
        let sql = "SELECT id, ?1 IS NOT NULL AND instr(lower(path), lower(?1)) > 0 FROM files ORDER BY path";
        let files = self.collect(sql, &[&options.focus], |row| row.get::<_, bool>(1))?;
        let places: HashMap<i64, usize> = (0..).zip(&files).map(|(place, (id, _))| (*id, place)).collect();
        // A part of another definition shows with that one, and what is declared elsewhere shows there: a method
        // without a visibility implements something.
        let sql = "SELECT id, file_id, name_id, kind, visibility IS 'private' FROM symbols
                   WHERE kind NOT IN ('field', 'enumerator', 'variable', 'prototype')
                   AND NOT (kind = 'method' AND visibility IS NULL) AND NOT (kind = 'type' AND parent IS NOT NULL)
                   ORDER BY id";
        let rows = self.collect(sql, &[], |row| {
            let kind: String = row.get(3)?;
            let file: i64 = row.get(1)?;
            Ok(places.get(&file).copied().map(|file| {
                let weight = if kind == "method" { METHOD } else { 1.0 };
                let callable = is_callable(&kind);
                Ok(Definition {
                    id: row.get(0)?,
                    file,
                    name: row.get(2)?,
                    callable,
                    private: row.get(4)?,
                    weight,
                })
            }))
        })?;
        let definitions: rusqlite::Result<Vec<Definition>> =
            rows.into_iter().filter_map(|(_, one)| one).collect();
        let definitions = definitions.map_err(|error| self.index.problem(error))?;
        let uses = self.uses(&places, &definitions)?;
        Ok(Graph {
            files,
            definitions,
            uses,
        })
    }

    /// The uses of definitions by files, with their weights.
    fn uses(
        &self,
        places: &HashMap<i64, usize>,
        definitions: &[Definition],
    ) -> Result<Vec<(usize, usize, f64)>, IndexProblem> {
        let mut named: HashMap<i64, Vec<usize>> = HashMap::new();
        for (place, definition) in definitions.iter().enumerate() {
            named.entry(definition.name).or_default().push(place);
        }
        let sql = "SELECT r.file_id, r.name_id, r.kind IS 'call', count(*), n.name
                   FROM refs r JOIN names n ON n.id = r.name_id GROUP BY r.file_id, r.name_id, r.kind IS 'call'";
        type Ranked = (i64, (i64, bool, i64, String));
        let rows: Vec<Ranked> = self.collect(sql, &[], |row| {
            Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        let mut users: HashMap<i64, usize> = HashMap::new();
        for (_, (name, ..)) in &rows {
            *users.entry(*name).or_default() += 1;
        }
        let mut uses = Vec::new();
        for (file, (name, is_call, count, text)) in rows {
            let (Some(from), Some(targets)) = (places.get(&file), named.get(&name)) else {
                continue;
            };
            let meant = |target: &&usize| {
                let definition = &definitions[**target];
                (!is_call || definition.callable) && (!definition.private || definition.file == *from)
            };
            let targets: Vec<usize> = targets.iter().filter(meant).copied().collect();
            if targets.len() > MOST_DEFINITIONS {
                continue;
            }
            let rarity = (1.0 + places.len() as f64 / users[&name] as f64).ln();
            let weight = (count as f64).sqrt() * rarity * distinctness(&text) / targets.len() as f64;
            for target in targets {
                let own = if definitions[target].file == *from {
                    OWN_USE
                } else {
                    1.0
                };
                uses.push((*from, target, weight * own * definitions[target].weight));
            }
        }
        Ok(uses)
    }
}

/// Whether such a definition can be called: a function, or something that makes a value.
fn is_callable(kind: &str) -> bool {
    matches!(
        kind,
        "function" | "method" | "macro" | "class" | "struct" | "type" | "constant"
    )
}

/// How distinct a name is: a long one of several words is unlikely to mean something else as well.
fn distinctness(name: &str) -> f64 {
    let inner = name.get(1..).unwrap_or_default();
    let has_words = inner.contains('_') || inner.contains(char::is_uppercase);
    if name.len() >= 8 && has_words { 5.0 } else { 1.0 }
}

impl Graph {
    /// The sum of the weights that each file passes on.
    fn passed_on(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.files.len()];
        for (from, _, weight) in &self.uses {
            sums[*from] += weight;
        }
        sums
    }

    /// The rank of each file. The sum of all ranks is 1.
    fn file_ranks(&self) -> Vec<f64> {
        let count = self.files.len();
        let in_focus = self.files.iter().filter(|(_, focus)| *focus).count();
        let home = |focus: bool| match in_focus {
            0 => 1.0 / count as f64,
            _ if focus => 1.0 / in_focus as f64,
            _ => 0.0,
        };
        let homes: Vec<f64> = self.files.iter().map(|(_, focus)| home(*focus)).collect();
        let sums = self.passed_on();
        let mut ranks = homes.clone();
        for _ in 0..ROUNDS {
            let idle: f64 = ranks
                .iter()
                .zip(&sums)
                .filter(|(_, sum)| **sum == 0.0)
                .map(|(rank, _)| rank)
                .sum();
            let mut next: Vec<f64> = homes
                .iter()
                .map(|home| home * (1.0 - DAMPING + DAMPING * idle))
                .collect();
            for (from, target, weight) in &self.uses {
                next[self.definitions[*target].file] += DAMPING * ranks[*from] * weight / sums[*from];
            }
            ranks = next;
        }
        ranks
    }

    /// The score of each definition, from the files that use it.
    fn definition_scores(&self, ranks: &[f64]) -> Vec<f64> {
        let sums = self.passed_on();
        let mut sizes = vec![0_usize; self.files.len()];
        for definition in &self.definitions {
            sizes[definition.file] += 1;
        }
        let base = |file: usize| UNUSED * ranks[file] / sizes[file].max(1) as f64;
        let mut scores: Vec<f64> = self.definitions.iter().map(|one| base(one.file)).collect();
        for (from, target, weight) in &self.uses {
            scores[*target] += ranks[*from] * weight / sums[*from];
        }
        scores
    }
}
