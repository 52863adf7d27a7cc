//! A map of a project within a budget: its most important definitions, by how much the rest of it uses them.
//!
//! Files are the nodes of a graph. A file that uses a name points to those that define it, more strongly the more often
//! it does and the fewer files define that name. Page rank says which files matter, and each passes its rank on to the
//! definitions that it uses.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::database::IndexProblem;
use crate::query::{FoundSymbol, IndexReader};

/// How large a map is where nothing is said.
const USUAL_TOKENS: usize = 2000;

/// Names that more files define say nothing about which one is meant.
const MOST_DEFINITIONS: usize = 10;

/// How many definitions are considered at all.
const MOST_CANDIDATES: usize = 5000;

const ROUNDS: usize = 30;
const DAMPING: f64 = 0.85;

/// What a file's use of its own names counts.
const OWN_USE: f64 = 0.1;

/// What the use of a method counts: other types may have one of that name, and those of libraries are not in the index.
const METHOD: f64 = 0.3;

/// What a definition that nobody uses has of its file's rank.
const UNUSED: f64 = 0.01;

/// How many bytes a token has, roughly.
const BYTES_PER_TOKEN: usize = 4;

/// Which map is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapWish {
    /// About how many tokens it may have.
    pub tokens: Option<usize>,
    /// A part of the paths of files from whose view the project is seen.
    pub focus: Option<String>,
}

impl MapWish {
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

/// A map that is being drawn.
#[derive(Debug)]
pub struct MapDraft {
    room: usize,
    files: BTreeMap<String, Vec<FoundSymbol>>,
    order: Vec<String>,
}

impl MapDraft {
    /// Adds a definition; says whether there was room for it.
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

    /// The map: files by rank, definitions by line.
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
    /// The place of its file.
    file: usize,
    name: i64,
    callable: bool,
    /// Whether only its own file can use it.
    private: bool,
    /// How sure it is that its name means it.
    weight: f64,
}

/// The definitions and uses of a project.
#[derive(Default)]
struct Graph {
    /// Numbers of files, and whether each is in focus.
    files: Vec<(i64, bool)>,
    definitions: Vec<Definition>,
    /// For each use of names that are defined somewhere: from where to which definition, and how much it counts.
    uses: Vec<(usize, usize, f64)>,
}

impl IndexReader {
    /// The definitions that matter most, in their order.
    pub fn ranked(&self, wish: &MapWish) -> Result<Vec<FoundSymbol>, IndexProblem> {
        let graph = self.graph(wish)?;
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

    fn graph(&self, wish: &MapWish) -> Result<Graph, IndexProblem> {
        let sql = "SELECT id, ?1 IS NOT NULL AND instr(lower(path), lower(?1)) > 0 FROM files ORDER BY path";
        let files = self.collect(sql, &[&wish.focus], |row| row.get::<_, bool>(1))?;
        let places: HashMap<i64, usize> = (0..).zip(&files).map(|(place, (id, _))| (*id, place)).collect();
        // What is a part of something else shows with it, and so does what is declared elsewhere: a method without a
        // word about who may use it implements something.
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

    /// Which file uses which definition, and how much that counts.
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
        type Row = (i64, (i64, bool, i64, String));
        let rows: Vec<Row> = self.collect(sql, &[], |row| {
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

/// Whether it can stand where something is called: a function, or what makes a value.
fn is_callable(kind: &str) -> bool {
    matches!(
        kind,
        "function" | "method" | "macro" | "class" | "struct" | "type" | "constant"
    )
}

/// A long name of several words is hardly something else's name as well.
fn distinctness(name: &str) -> f64 {
    let inner = name.get(1..).unwrap_or_default();
    let has_words = inner.contains('_') || inner.contains(char::is_uppercase);
    if name.len() >= 8 && has_words { 5.0 } else { 1.0 }
}

impl Graph {
    /// How much each file passes on altogether.
    fn passed_on(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.files.len()];
        for (from, _, weight) in &self.uses {
            sums[*from] += weight;
        }
        sums
    }

    /// The rank of each file. All ranks together are 1.
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

    /// What each definition gets from the files that use it.
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
