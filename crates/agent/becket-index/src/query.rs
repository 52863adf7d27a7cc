//! Looks things up in the index.
//!
//! Each name is kept once, with an index of its pieces, so that any part of a name is found at once among a million
//! symbols. The most recent names, up to 30,000, are looked through instead: that is as fast, and most projects have no
//! more.

use std::collections::HashSet;
use std::fmt;

use rusqlite::{Connection, Row, ToSql};
use serde::Serialize;

use crate::database::{IndexFile, IndexProblem};

/// The default limit of results.
pub(crate) const USUAL_LIMIT: usize = 50;

/// The shortest name that is looked up by its parts.
const PIECE: usize = 3;

/// Selects symbols. Fields that are `None` do not restrict the result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolQuery {
    /// A part of the name, ignoring case.
    pub name: Option<String>,
    /// The kind of symbol.
    pub kind: Option<String>,
    /// A part of the file's path, ignoring case.
    pub file: Option<String>,
    /// The language of the file.
    pub language: Option<String>,
    /// The most results.
    pub limit: Option<usize>,
}

/// A symbol that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundSymbol {
    /// The file, relative to the root.
    pub file: String,
    /// The symbol's name.
    pub name: String,
    /// The kind of symbol.
    pub kind: String,
    /// The definition that the symbol is a part of.
    pub parent: Option<String>,
    /// The symbol's first line.
    pub line_start: u32,
    /// The symbol's last line.
    pub line_end: u32,
    /// The symbol's declaration.
    pub signature: Option<String>,
    /// Who may use the symbol.
    pub visibility: Option<String>,
}

impl fmt::Display for FoundSymbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            name,
            kind,
            line_start,
            line_end,
            ..
        } = self;
        write!(formatter, "{file}:{line_start}-{line_end} {kind} ")?;
        if let Some(parent) = &self.parent {
            write!(formatter, "{parent}.")?;
        }
        write!(formatter, "{name}")?;
        match &self.signature {
            Some(signature) if signature != name => write!(formatter, "  {signature}"),
            _ => Ok(()),
        }
    }
}

/// A reference that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundReference {
    /// The file, relative to the root.
    pub file: String,
    /// The line of the reference.
    pub from_line: u32,
    /// The name that is used there.
    pub to_name: String,
    /// How the name is used.
    pub kind: Option<String>,
}

impl fmt::Display for FoundReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            from_line,
            to_name,
            ..
        } = self;
        let kind = self.kind.as_deref().unwrap_or("unknown");
        write!(formatter, "{file}:{from_line} -> {to_name} ({kind})")
    }
}

/// The size of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The root of the project.
    pub root: String,
    /// How many files are in the index.
    pub files: u64,
    /// How many definitions are in the index.
    pub symbols: u64,
    /// How many references are in the index.
    pub references: u64,
    /// How many files of each language are in the index, most first.
    pub languages: Vec<(String, u64)>,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            root,
            files,
            symbols,
            references,
            languages,
        } = self;
        write!(
            formatter,
            "{root}\n  files: {files}, symbols: {symbols}, references: {references}"
        )?;
        if !languages.is_empty() {
            let words: Vec<String> = languages
                .iter()
                .map(|(name, count)| format!("{name} ({count})"))
                .collect();
            write!(formatter, "\n  languages: {}", words.join(", "))?;
        }
        Ok(())
    }
}

/// An open index.
pub struct IndexReader {
    pub(crate) index: IndexFile,
    pub(crate) connection: Connection,
}

/// The ways to match a name, the best first. Each also matches what those before it match.
#[derive(Clone, Copy)]
enum Way {
    Exactly,
    FromItsBeginning,
    FromAnywhere,
}

impl Way {
    const ALL: [Self; 3] = [Self::Exactly, Self::FromItsBeginning, Self::FromAnywhere];

    /// The matching names, as a query with one parameter `?1`.
    fn names(self, wanted: &str) -> &'static str {
        match self {
            Self::Exactly => "SELECT id, name FROM names WHERE name = ?1 COLLATE NOCASE",
            Self::FromItsBeginning => {
                "SELECT id, name FROM names
                 WHERE name >= ?1 COLLATE NOCASE AND name < ?1 || char(1114111) COLLATE NOCASE"
            }
            Self::FromAnywhere if wanted.chars().count() >= PIECE => {
                "SELECT rowid AS id, name FROM name_pieces
                 WHERE name_pieces MATCH '\"' || replace(?1, '\"', '\"\"') || '\"'
                 UNION ALL
                 SELECT id, name FROM names
                 WHERE id > (SELECT up_to FROM pieces) AND instr(lower(name), lower(?1)) > 0"
            }
            Self::FromAnywhere => "SELECT id, name FROM names WHERE instr(lower(name), lower(?1)) > 0",
        }
    }
}

impl IndexFile {
    /// Opens the index to look things up.
    pub fn reader(&self) -> Result<IndexReader, IndexProblem> {
        let connection = self.open_to_read()?;
        Ok(IndexReader {
            index: self.clone(),
            connection,
        })
    }
}

impl IndexReader {
    /// The selected symbols: exact names first, then names with that prefix, then names that contain the text. Within
    /// each group, by file and line.
    pub fn symbols(&self, query: &SymbolQuery) -> Result<Vec<FoundSymbol>, IndexProblem> {
        let limit = query.limit.unwrap_or(USUAL_LIMIT);
        let columns =
            "s.id, f.path, n.name, s.kind, s.parent, s.line_start, s.line_end, s.signature, s.visibility";
        let filter = "(?2 IS NULL OR s.kind = ?2) AND (?3 IS NULL OR instr(lower(f.path), lower(?3)) > 0)
                      AND (?5 IS NULL OR f.language = ?5)";
        let Some(name) = query.name.as_deref().filter(|name| !name.is_empty()) else {
            // In the order of the files, so that a query with a small limit does not look at the rest.
            let sql = format!(
                "SELECT {columns} FROM files f CROSS JOIN symbols s ON s.file_id = f.id
                 CROSS JOIN names n ON n.id = s.name_id
                 WHERE ?1 IS NULL AND {filter} ORDER BY f.path, s.line_start LIMIT ?4"
            );
            let found = self.collect(
                &sql,
                &[
                    &None::<String>,
                    &query.kind,
                    &query.file,
                    &(limit as i64),
                    &query.language,
                ],
                symbol,
            )?;
            return Ok(by_place(found, |found| (&found.file, found.line_start)));
        };
        let sql = |way: Way| {
            format!(
                "SELECT {columns} FROM ({}) n CROSS JOIN symbols s ON s.name_id = n.id
                 CROSS JOIN files f ON f.id = s.file_id WHERE {filter} LIMIT ?4",
                way.names(name)
            )
        };
        let parameters = |limit: usize| -> Vec<Box<dyn ToSql>> {
            vec![
                Box::new(name.to_owned()),
                Box::new(query.kind.clone()),
                Box::new(query.file.clone()),
                Box::new(limit as i64),
                Box::new(query.language.clone()),
            ]
        };
        self.in_every_way(limit, sql, parameters, symbol, |found| {
            (&found.file, found.line_start)
        })
    }

    /// The places that use a name, exact names first, then by file and line.
    pub fn references(&self, name: &str, limit: Option<usize>) -> Result<Vec<FoundReference>, IndexProblem> {
        let sql = |way: Way| {
            format!(
                "SELECT r.id, f.path, r.line, n.name, r.kind FROM ({}) n CROSS JOIN refs r ON r.name_id = n.id
                 CROSS JOIN files f ON f.id = r.file_id LIMIT ?2",
                way.names(name)
            )
        };
        let parameters =
            |limit: usize| -> Vec<Box<dyn ToSql>> { vec![Box::new(name.to_owned()), Box::new(limit as i64)] };
        let limit = limit.unwrap_or(USUAL_LIMIT);
        self.in_every_way(limit, sql, parameters, reference, |found| {
            (&found.file, found.from_line)
        })
    }

    /// The size of the index.
    pub fn status(&self) -> Result<Status, IndexProblem> {
        let count = |table: &str| -> Result<u64, IndexProblem> {
            let counted = self
                .connection
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                    row.get::<_, i64>(0)
                });
            counted
                .map(i64::unsigned_abs)
                .map_err(|error| self.index.problem(error))
        };
        let sql =
            "SELECT 0, language, count(*) FROM files GROUP BY language ORDER BY count(*) DESC, language";
        let languages = self.collect(sql, &[], |row| {
            Ok((row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs()))
        })?;
        Ok(Status {
            root: self.index.root.display().to_string(),
            files: count("files")?,
            symbols: count("symbols")?,
            references: count("refs")?,
            languages: languages.into_iter().map(|(_, language)| language).collect(),
        })
    }

    /// Tries one way to match after the other, until there are enough results.
    fn in_every_way<T>(
        &self,
        limit: usize,
        sql: impl Fn(Way) -> String,
        parameters: impl Fn(usize) -> Vec<Box<dyn ToSql>>,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
        place: fn(&T) -> (&String, u32),
    ) -> Result<Vec<T>, IndexProblem> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for way in Way::ALL {
            // The results of the better ways are found again, so the limit must leave room for them.
            let parameters = parameters(limit + all.len());
            let parameters: Vec<&dyn ToSql> = parameters.iter().map(AsRef::as_ref).collect();
            let mut found = self.collect(&sql(way), &parameters, read)?;
            found.retain(|(id, _)| seen.insert(*id));
            all.extend(by_place(found, place));
            if all.len() >= limit {
                break;
            }
        }
        all.truncate(limit);
        Ok(all)
    }

    /// Rows with their numbers, which are in the first column.
    pub(crate) fn collect<T>(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<(i64, T)>, IndexProblem> {
        let rows = || -> rusqlite::Result<Vec<(i64, T)>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, read(row)?)))?;
            rows.collect()
        };
        rows().map_err(|error| self.index.problem(error))
    }
}

fn by_place<T>(found: Vec<(i64, T)>, place: fn(&T) -> (&String, u32)) -> Vec<T> {
    let mut found: Vec<T> = found.into_iter().map(|(_, found)| found).collect();
    found.sort_by(|one, other| place(one).cmp(&place(other)));
    found
}

pub(crate) fn symbol(row: &Row<'_>) -> rusqlite::Result<FoundSymbol> {
    Ok(FoundSymbol {
        file: row.get(1)?,
        name: row.get(2)?,
        kind: row.get(3)?,
        parent: row.get(4)?,
        line_start: row.get(5)?,
        line_end: row.get(6)?,
        signature: row.get(7)?,
        visibility: row.get(8)?,
    })
}

fn reference(row: &Row<'_>) -> rusqlite::Result<FoundReference> {
    Ok(FoundReference {
        file: row.get(1)?,
        from_line: row.get(2)?,
        to_name: row.get(3)?,
        kind: row.get(4)?,
    })
}
