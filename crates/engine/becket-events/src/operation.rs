//! Operations: what a tool does, in normalised terms.
//!
//! A model may know an operation under many names and argument spellings (its *profile*); hooks, rules and the
//! implementation see only the names declared here. Aliases are resolved when a call is read, before anything judges
//! it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::Schema;

/// Declares the operations: one block each gives the argument type, its schema, its aliases and its place in the
/// enums below.
macro_rules! operations {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal => $Kind:ident, effect: $effect:ident,
        $Arguments:ident { $( $(#[$meta:meta])* $field:ident : $type:ty, )* }
    )*) => {
        /// The kind of an operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum OperationKind {
            $( $(#[doc = $doc])+ $Kind, )*
        }

        /// An operation with its arguments.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Operation {
            $( $(#[doc = $doc])+ $Kind($Arguments), )*
        }

        $(
            #[doc = concat!("The arguments of `", $name, "`.")]
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $Arguments { $( $(#[$meta])* pub $field: $type, )* }
        )*

        impl OperationKind {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$Kind),*];

            /// becket's own name for the operation.
            pub fn name(self) -> &'static str {
                match self { $(Self::$Kind => $name),* }
            }

            /// One sentence about the operation, for the model.
            pub fn description(self) -> &'static str {
                match self { $(Self::$Kind => concat!($($doc),+).trim_ascii()),* }
            }

            /// What the operation does to the world.
            pub fn effect(self) -> Effect {
                match self { $(Self::$Kind => Effect::$effect),* }
            }

            /// The JSON Schema of the operation's arguments, derived from their type. `schema` is what was derived
            /// beforehand.
            pub fn derived_schema(self) -> Value {
                match self { $(Self::$Kind => argument_schema::<$Arguments>()),* }
            }

            /// The names of the operation's arguments, with their aliases.
            pub fn argument_names(self) -> &'static [&'static str] {
                match self { $(Self::$Kind => field_names::<$Arguments>()),* }
            }

            /// Reads arguments, whatever aliases they use.
            pub fn read(self, arguments: Map<String, Value>) -> Result<Operation, serde_json::Error> {
                let arguments = Value::Object(arguments);
                Ok(match self {
                    $(Self::$Kind => Operation::$Kind(serde_json::from_value(arguments)?)),*
                })
            }
        }

        impl Operation {
            /// The kind of this operation.
            pub fn kind(&self) -> OperationKind {
                match self { $(Self::$Kind(_) => OperationKind::$Kind),* }
            }

            /// The arguments under their normalised names; absent ones are left out.
            pub fn arguments(&self) -> Map<String, Value> {
                let value = match self { $(Self::$Kind(arguments) => serde_json::to_value(arguments)),* };
                match value {
                    Ok(Value::Object(map)) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
                    _ => unreachable!("arguments are structs of plain data"),
                }
            }
        }
    };
}

/// The names by which the fields of a type can be read.
pub(crate) fn field_names<'de, Fields: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Deserializing a struct passes its field names first. There is nothing to read, so the call fails right after
    // that.
    let _ = Fields::deserialize(NamesOnly(&mut names));
    names
}

/// A deserializer that records the names of a struct's fields and has no values for them.
struct NamesOnly<'a>(&'a mut &'static [&'static str]);

impl<'de> serde::Deserializer<'de> for NamesOnly<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("there is nothing to read"))
    }

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// What an operation does to the world: this decides which permission event fires, and what needs a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads files.
    Read,
    /// Changes a file.
    Write,
    /// Runs a program.
    Execute,
    /// Talks to the network.
    Network,
}

operations! {
    /// Run a command with the shell and return its output.
    "shell" => Shell, effect: Execute,
    ShellArguments {
        /// The command line.
        #[serde(alias = "cmd", alias = "script")]
        command: String,
        /// The directory to run in; the working directory when absent.
        #[serde(default, alias = "working_dir", alias = "workdir")]
        cwd: Option<String>,
        /// Seconds after which the command is ended.
        #[serde(default, alias = "timeout", alias = "timeout_secs")]
        timeout_seconds: Option<u64>,
        /// Whether the command runs as a job in the background, until it is stopped or the session ends.
        #[serde(default)]
        background: Option<bool>,
    }

    /// Read a text file, whole or some lines of it.
    "read" => Read, effect: Read,
    ReadArguments {
        /// The file.
        #[serde(alias = "file_path", alias = "file", alias = "filename")]
        path: String,
        /// The first line to read, counted from 1.
        #[serde(default, alias = "start_line")]
        offset: Option<u64>,
        /// How many lines to read.
        #[serde(default, alias = "lines", alias = "max_lines")]
        limit: Option<u64>,
        /// How many lines to read from the end, in place of `offset` and `limit`.
        #[serde(default)]
        tail: Option<u64>,
    }

    /// Write a file, replacing what was there. Folders are made as needed.
    "write" => Write, effect: Write,
    WriteArguments {
        /// The file.
        #[serde(alias = "file_path", alias = "file", alias = "filename")]
        path: String,
        /// The new content of the file.
        #[serde(alias = "text", alias = "contents")]
        content: String,
    }

    /// Replace exact pieces of text, or lines by their numbers, in a file.
    "edit" => Edit, effect: Write,
    EditArguments {
        /// The file.
        #[serde(alias = "file_path", alias = "file", alias = "filename")]
        path: String,
        /// The pieces of text to replace, all found in the file as it is now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edits: Vec<Replacement>,
        /// The lines to replace or to add to, all numbered as the file is now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<LineEdit>,
    }

    /// List a directory.
    "list" => List, effect: Read,
    ListArguments {
        /// The directory; the working directory when absent.
        #[serde(default, alias = "dir", alias = "directory")]
        path: Option<String>,
        /// How many levels to show; one when absent.
        #[serde(default)]
        depth: Option<u64>,
        /// Whether names that begin with a dot are shown; yes when absent.
        #[serde(default)]
        hidden: Option<bool>,
        /// Whether .git and what .gitignore names are left out; no when absent.
        #[serde(default)]
        skip_ignored: Option<bool>,
        /// How many entries to show at most.
        #[serde(default)]
        limit: Option<u64>,
    }

    /// Make a directory, with those above it. One that is there already is no error.
    "mkdir" => Mkdir, effect: Write,
    MkdirArguments {
        /// The directory.
        #[serde(alias = "dir", alias = "directory")]
        path: String,
    }

    /// Remove an empty directory.
    "rmdir" => Rmdir, effect: Write,
    RmdirArguments {
        /// The directory.
        #[serde(alias = "dir", alias = "directory")]
        path: String,
    }

    /// Remove a file.
    "remove" => Remove, effect: Write,
    RemoveArguments {
        /// The file.
        #[serde(alias = "file_path", alias = "file", alias = "filename")]
        path: String,
    }

    /// Find files by a glob pattern such as `**/*.rs`, leaving out what .gitignore names.
    "find" => Find, effect: Read,
    FindArguments {
        /// The glob pattern.
        #[serde(alias = "glob")]
        pattern: String,
        /// Where to look; the working directory when absent.
        #[serde(default, alias = "dir", alias = "directory")]
        path: Option<String>,
        /// How many files to return at most.
        #[serde(default)]
        limit: Option<u64>,
    }

    /// Search the contents of files with a regular expression, leaving out what .gitignore names.
    "grep" => Grep, effect: Read,
    GrepArguments {
        /// The regular expression.
        #[serde(alias = "query", alias = "regex")]
        pattern: String,
        /// A file or directory to search; the working directory when absent.
        #[serde(default, alias = "dir", alias = "directory")]
        path: Option<String>,
        /// Only files that match this glob.
        #[serde(default, alias = "include")]
        glob: Option<String>,
        /// No files that match one of these globs, and nothing in folders that do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exclude: Vec<String>,
        /// Whether upper and lower case count as the same.
        #[serde(default, alias = "case_insensitive")]
        ignore_case: Option<bool>,
        /// Whether the pattern is plain text.
        #[serde(default)]
        literal: Option<bool>,
        /// Lines to show around each match.
        #[serde(default)]
        context: Option<u64>,
        /// Lines to show before each match, where that is not `context`.
        #[serde(default)]
        before: Option<u64>,
        /// Lines to show after each match, where that is not `context`.
        #[serde(default)]
        after: Option<u64>,
        /// How many matches to return at most.
        #[serde(default, alias = "max_results")]
        limit: Option<u64>,
    }

    /// Fetch a web page or a file over HTTP and return it as text.
    "fetch" => Fetch, effect: Network,
    FetchArguments {
        /// The address.
        #[serde(alias = "uri")]
        url: String,
        /// Seconds after which the attempt ends.
        #[serde(default, alias = "timeout")]
        timeout_seconds: Option<u64>,
        /// How many bytes of the answer are read at most.
        #[serde(default)]
        max_bytes: Option<u64>,
        /// How a web page is returned: `text`, `markdown` or `html`, which is as it was sent; markdown when absent.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        format: Option<PageFormat>,
    }

    /// List a folder of the virtual file system.
    "vfs_list" => VfsList, effect: Read,
    VfsListArguments {
        /// The folder's address, such as vfs:///shared.
        path: String,
    }

    /// Tell what an entry of the virtual file system is, how large, and when it was changed.
    "vfs_info" => VfsInfo, effect: Read,
    VfsInfoArguments {
        /// The address, such as vfs:///shared/notes.md.
        path: String,
    }

    /// Copy a file of the virtual file system.
    "vfs_copy" => VfsCopy, effect: Write,
    VfsCopyArguments {
        /// The address of the file.
        #[serde(alias = "source", alias = "from")]
        src: String,
        /// The address of the copy.
        #[serde(alias = "destination", alias = "to")]
        dst: String,
    }

    /// Move or rename a file or a folder of the virtual file system.
    "vfs_move" => VfsMove, effect: Write,
    VfsMoveArguments {
        /// The address of the file or folder.
        #[serde(alias = "source", alias = "from")]
        src: String,
        /// The new address.
        #[serde(alias = "destination", alias = "to")]
        dst: String,
    }

    /// Make a folder in the virtual file system, with those above it. One that is there already is no error.
    "vfs_mkdir" => VfsMkdir, effect: Write,
    VfsMkdirArguments {
        /// The folder's address, such as vfs:///shared/notes.
        path: String,
    }

    /// Delete a file or a folder of the virtual file system.
    "vfs_delete" => VfsDelete, effect: Write,
    VfsDeleteArguments {
        /// The address of the file or folder.
        path: String,
        /// Whether a folder is deleted with everything in it; otherwise only an empty folder is.
        #[serde(default)]
        recursive: Option<bool>,
    }

    /// List the outputs of this conversation that were too large and were put aside, with their addresses.
    "cache_list" => CacheList, effect: Read,
    CacheListArguments {}
}

/// The form in which a web page is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageFormat {
    /// The text of the page alone.
    Text,
    /// The text of the page as Markdown, with headings, lists, links and code.
    Markdown,
    /// The page as it was sent.
    Html,
}

/// One replacement of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The text to find; it must occur exactly once, unless the first place or every place is meant.
    #[serde(alias = "oldText", alias = "old_string", alias = "old")]
    pub old_text: String,
    /// The text to put in its place.
    #[serde(alias = "newText", alias = "new_string", alias = "new")]
    pub new_text: String,
    /// Whether the first of several places is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// Whether every place is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", alias = "replace_all")]
    pub all: bool,
}

/// A change of some lines, found by their numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineEdit {
    /// The first line, counted from 1.
    pub start: u64,
    /// The last line, included; the same as `start` where text is inserted.
    pub end: u64,
    /// The lines to put there; without any, the old ones are deleted.
    #[serde(default)]
    pub text: String,
    /// Where the text goes if the line stays; when absent, it takes the place of the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insert: Option<Beside>,
    /// What the lines must hold now; otherwise nothing is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

/// The side of a line on which text is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// In front of the line.
    Before,
    /// Behind the line.
    After,
}

impl OperationKind {
    /// The operations that work on the virtual file system only.
    pub const VFS: &[Self] = &[
        Self::VfsList,
        Self::VfsInfo,
        Self::VfsCopy,
        Self::VfsMove,
        Self::VfsMkdir,
        Self::VfsDelete,
        Self::CacheList,
    ];
}

impl Operation {
    /// The file or directory that the operation touches or runs in, as the caller wrote it.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read(arguments) => Some(&arguments.path),
            Self::Write(arguments) => Some(&arguments.path),
            Self::Edit(arguments) => Some(&arguments.path),
            Self::Mkdir(arguments) => Some(&arguments.path),
            Self::Rmdir(arguments) => Some(&arguments.path),
            Self::Remove(arguments) => Some(&arguments.path),
            Self::List(arguments) => Some(arguments.path.as_deref().unwrap_or(".")),
            Self::Find(arguments) => Some(arguments.path.as_deref().unwrap_or(".")),
            Self::Grep(arguments) => Some(arguments.path.as_deref().unwrap_or(".")),
            Self::Shell(arguments) => Some(arguments.cwd.as_deref().unwrap_or(".")),
            Self::VfsList(arguments) => Some(&arguments.path),
            Self::VfsInfo(arguments) => Some(&arguments.path),
            Self::VfsMkdir(arguments) => Some(&arguments.path),
            Self::VfsDelete(arguments) => Some(&arguments.path),
            Self::VfsCopy(arguments) => Some(&arguments.src),
            Self::VfsMove(arguments) => Some(&arguments.src),
            Self::Fetch(_) | Self::CacheList(_) => None,
        }
    }

    /// The destination of a copy or a move.
    pub fn destination(&self) -> Option<&str> {
        match self {
            Self::VfsCopy(arguments) => Some(&arguments.dst),
            Self::VfsMove(arguments) => Some(&arguments.dst),
            _ => None,
        }
    }
}

impl OperationKind {
    /// The JSON Schema of the operation's arguments.
    pub fn schema(self) -> Schema {
        // Deriving all of them takes longer than anything else at the start of the program.
        static DERIVED: LazyLock<BTreeMap<String, Schema>> = LazyLock::new(|| {
            let text = include_str!("../operations.schema.json");
            let all: BTreeMap<String, Value> =
                serde_json::from_str(text).expect("the generated file is an object");
            let shared = all.into_iter().map(|(name, schema)| (name, schema.into()));
            shared.collect()
        });
        DERIVED.get(self.name()).cloned().unwrap_or_default()
    }

    /// The file that `schema` reads.
    pub fn derived_schemas() -> String {
        let all = Self::ALL.iter();
        let all: Map<String, Value> = all
            .map(|kind| (kind.name().into(), kind.derived_schema()))
            .collect();
        format!("{:#}", Value::Object(all))
    }
}

/// The schema of an argument struct, reduced to what providers accept.
fn argument_schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
        // Providers want to be told even that there are no arguments.
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn aliases_become_the_normalised_name() {
        let operation = OperationKind::Shell
            .read(object(json!({"cmd": "ls", "timeout": 3})))
            .unwrap();
        assert_eq!(
            Value::Object(operation.arguments()),
            json!({"command": "ls", "timeout_seconds": 3})
        );
    }

    #[test]
    fn an_argument_under_two_names_is_refused() {
        let twice = object(json!({"cmd": "ls", "command": "rm -rf /"}));
        let error = OperationKind::Shell.read(twice).unwrap_err();
        assert!(error.to_string().contains("duplicate field"), "{error}");
    }

    #[test]
    fn unknown_arguments_are_refused_by_name() {
        let error = OperationKind::Read
            .read(object(json!({"path": "a", "sudo": true})))
            .unwrap_err();
        assert!(error.to_string().contains("sudo"), "{error}");
    }

    #[test]
    fn every_operation_has_a_schema_with_described_fields() {
        for kind in OperationKind::ALL {
            let schema = kind.schema();
            assert_eq!(*schema, kind.derived_schema(), "`cargo xtask generate` writes it");
            assert_eq!(schema["type"], "object", "{}", kind.name());
            for (field, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{} {field}", kind.name());
            }
        }
    }
}
