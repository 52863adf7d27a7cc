//! A hand-checked sample of each language. Each expected line reads `first-last kind parent.name visibility |
//! signature`, and `line name kind` for references.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::Extractor;
use crate::language::grammar_of;
use crate::symbol::Extract;

fn read(file: &str, source: &str) -> Extract {
    let grammar = grammar_of(Path::new(file)).unwrap();
    let read = Extractor::default().extract(grammar, source.as_bytes(), &|| false);
    read.unwrap()
}

fn symbols(file: &str, source: &str) -> String {
    let told = read(file, source).symbols.into_iter().map(|symbol| {
        let parent = symbol
            .parent
            .map(|parent| format!("{parent}."))
            .unwrap_or_default();
        let visibility = symbol.visibility.unwrap_or_else(|| "-".into());
        format!(
            "{}-{} {} {parent}{} {visibility} | {}",
            symbol.line_start,
            symbol.line_end,
            symbol.kind,
            symbol.name,
            symbol.signature.unwrap_or_default()
        )
    });
    told.collect::<Vec<String>>().join("\n")
}

fn references(file: &str, source: &str) -> String {
    let told = read(file, source).refs.into_iter().map(|reference| {
        let kind = reference.kind.unwrap_or_default();
        format!("{} {} {kind}", reference.from_line, reference.to_name)
    });
    told.collect::<Vec<String>>().join("\n")
}

const RUST: &str = r#"use std::{fmt, io::{self, Read as _}};
pub mod deep {
    pub(crate) const LIMIT: usize = 3;
}
static mut COUNT: u32 = 0;
/// A point.
#[derive(Debug)]
pub struct Point<T> {
    pub x: T,
    y: T,
}
enum Shape {
    Round { radius: f64 },
    Flat,
}
pub trait Area {
    type Unit;
    fn area(&self) -> f64;
}
impl<T> Area for Point<T> {
    type Unit = u8;
    fn area(&self) -> f64 {
        let local = helper(1, Shape::Flat);
        println!("{}", local);
        local.abs()
    }
}
impl<T> Point<T> {
    pub fn new(
        x: T,
        y: T,
    ) -> Self {
        const INNER: u8 = 1;
        Self { x, y }
    }
}
fn helper(_: u32, _: Shape) -> f64 { deep::inner::<u8>() }
macro_rules! twice { ($e:expr) => { $e } }
type Alias = Point<u8>;
union Both { a: u8, b: i8 }
"#;

const RUST_SYMBOLS: &str = "\
2-4 module deep public | pub mod deep
3-3 constant deep.LIMIT crate | pub(crate) const LIMIT: usize = 3
5-5 variable COUNT private | static mut COUNT: u32 = 0
8-11 struct Point public | pub struct Point<T>
9-9 field Point.x public | pub x: T
10-10 field Point.y private | y: T
12-15 enum Shape private | enum Shape
13-13 enumerator Shape.Round public | Round
13-13 field Round.radius public | radius: f64
14-14 enumerator Shape.Flat public | Flat
16-19 trait Area public | pub trait Area
17-17 type Area.Unit public | type Unit
18-18 method Area.area public | fn area(&self) -> f64
21-21 type Point.Unit - | type Unit = u8
22-26 method Point.area - | fn area(&self) -> f64
29-35 method Point.new public | pub fn new(x: T, y: T) -> Self
37-37 function helper private | fn helper(_: u32, _: Shape) -> f64
38-38 macro twice - | macro_rules! twice { ($e:expr) => { $e } }
39-39 type Alias private | type Alias = Point<u8>
40-40 union Both private | union Both
40-40 field Both.a private | a: u8
40-40 field Both.b private | b: i8";

const RUST_REFERENCES: &str = "\
1 fmt import
1 Read import
8 T type
9 T type
10 T type
20 T type
20 Area type
20 Point type
20 T type
23 helper call
23 Shape path
24 println call
25 abs call
28 T type
28 Point type
28 T type
30 T type
31 T type
37 Shape type
37 inner call
37 deep path
39 Point type";

#[test]
fn rust() {
    assert_eq!(symbols("a.rs", RUST), RUST_SYMBOLS);
    assert_eq!(references("a.rs", RUST), RUST_REFERENCES);
}

const PYTHON: &str = r#"import os.path
from typing import List as L, Dict
LIMIT = 3
x, y = 1, 2
class Base: pass
class Point(Base, metaclass=Meta):
    unit: str = "m"
    def __init__(self, x: int, y: "int" = 2) -> None:
        self.x = x
        local = 1
        helper(x)

    async def _hidden(self): return await self.other.run()

    @property
    def size(self) -> List[int]:
        def inner():
            return os.path.join("a")
        return inner()
def helper(value: Dict): return value
"#;

const PYTHON_SYMBOLS: &str = "\
3-3 variable LIMIT public | LIMIT = 3
4-4 variable x public | x, y = 1, 2
4-4 variable y public | x, y = 1, 2
5-5 class Base public | class Base
6-19 class Point public | class Point(Base, metaclass=Meta)
7-7 variable Point.unit public | unit: str = \"m\"
8-11 method Point.__init__ public | def __init__(self, x: int, y: \"int\" = 2) -> None
13-13 method Point._hidden private | async def _hidden(self)
16-19 method Point.size public | def size(self) -> List[int]
17-18 function size.inner public | def inner()
20-20 function helper public | def helper(value: Dict)";

const PYTHON_REFERENCES: &str = "\
1 path import
2 List import
2 Dict import
6 Base type
8 int type
11 helper call
13 run call
18 join call
19 inner call
20 Dict type";

#[test]
fn python() {
    assert_eq!(symbols("a.py", PYTHON), PYTHON_SYMBOLS);
    assert_eq!(references("a.py", PYTHON), PYTHON_REFERENCES);
}

const JAVASCRIPT: &str = r#"import { readFile as read, join } from "fs";
export const LIMIT = 3;
let counter = 0;
const { a, b } = counter;
export const add = (x, y) => {
  const local = x + y;
  return local;
};
function* walk(tree) { yield tree; }
export default class Point extends Base.Shape {
  #secret = 1;
  size = 2;
  constructor(x) { super(x); this.x = new Other(x); }
  static get origin() { return make.point(0); }
  #hide() {}
}
const anonymous = class { run() {} };
"#;

const JAVASCRIPT_SYMBOLS: &str = "\
2-2 constant LIMIT public | export const LIMIT = 3
3-3 variable counter - | let counter = 0
5-8 function add public | export const add = (x, y)
9-9 function walk - | function* walk(tree)
10-16 class Point public | export default class Point extends Base.Shape
11-11 field Point.#secret private | #secret = 1
12-12 field Point.size public | size = 2
13-13 method Point.constructor public | constructor(x)
14-14 method Point.origin public | static get origin()
15-15 method Point.#hide private | #hide()
17-17 class anonymous - | const anonymous = class
17-17 method anonymous.run public | run()";

const JAVASCRIPT_REFERENCES: &str = "\
1 readFile import
1 join import
10 Shape type
13 Other call
14 point call";

#[test]
fn javascript() {
    assert_eq!(symbols("a.js", JAVASCRIPT), JAVASCRIPT_SYMBOLS);
    assert_eq!(references("a.js", JAVASCRIPT), JAVASCRIPT_REFERENCES);
}

const TYPESCRIPT: &str = r#"import { Thing } from "./thing";
export interface Shape extends Thing {
  readonly area: number;
  scale(by: number): Shape;
}
export type Point = { x: number; y: number };
enum Colour { Red, Green = "g" }
export abstract class Base<T> implements Shape {
  private readonly hidden: T;
  protected count = 0;
  abstract draw(): void;
  constructor(public area: number) { super(); }
  scale(by: number): Shape { return make<Shape>(by); }
}
namespace Inner {
  export function help(): void {}
}
declare function outside(x: string): Promise<Thing>;
export const arrow = async <T,>(x: T): Promise<T> => x;
"#;

const TYPESCRIPT_SYMBOLS: &str = "\
2-5 interface Shape public | export interface Shape extends Thing
3-3 field Shape.area public | readonly area: number
4-4 method Shape.scale public | scale(by: number): Shape
6-6 type Point public | export type Point = { x: number; y: number }
6-6 field Point.x - | x: number
6-6 field Point.y - | y: number
7-7 enum Colour - | enum Colour
7-7 enumerator Colour.Red public | Red
7-7 enumerator Colour.Green public | Green = \"g\"
8-14 class Base public | export abstract class Base<T> implements Shape
9-9 field Base.hidden private | private readonly hidden: T
10-10 field Base.count protected | protected count = 0
11-11 method Base.draw public | abstract draw(): void
12-12 method Base.constructor public | constructor(public area: number)
13-13 method Base.scale public | scale(by: number): Shape
15-17 namespace Inner - | namespace Inner
16-16 function Inner.help public | export function help(): void
18-18 function outside - | function outside(x: string): Promise<Thing>
19-19 function arrow public | export const arrow = async <T,>(x: T): Promise<T>";

const TYPESCRIPT_REFERENCES: &str = "\
1 Thing import
2 Thing type
4 Shape type
8 T type
8 Shape type
9 T type
13 Shape type
13 make call
13 Shape type
18 Promise type
18 Thing type
19 T type
19 T type
19 Promise type
19 T type";

#[test]
fn typescript() {
    assert_eq!(symbols("a.ts", TYPESCRIPT), TYPESCRIPT_SYMBOLS);
    assert_eq!(references("a.ts", TYPESCRIPT), TYPESCRIPT_REFERENCES);
}

const GO: &str = r#"package main

import "fmt"

const Limit, low = 3, 1

const (
	First = iota
	second
)

var counter int

type Point struct {
	X, Y int
	inner Other
}

type Shape interface {
	Area() float64
}

type Alias = Point
type Number int

func NewPoint(x int) *Point {
	local := 1
	var other int
	fmt.Println(local, other)
	return &Point{X: x}
}

func (p *Point) Area() float64 {
	return helper(p.X)
}
"#;

const GO_SYMBOLS: &str = "\
5-5 constant Limit public | const Limit, low = 3, 1
5-5 constant low package | const Limit, low = 3, 1
8-8 constant First public | First = iota
9-9 constant second package | second
12-12 variable counter package | var counter int
14-17 struct Point public | type Point struct
15-15 field Point.X public | X, Y int
15-15 field Point.Y public | X, Y int
16-16 field Point.inner package | inner Other
19-21 interface Shape public | type Shape interface
20-20 method Shape.Area public | Area() float64
23-23 type Alias public | type Alias = Point
24-24 type Number public | type Number int
26-31 function NewPoint public | func NewPoint(x int) *Point
33-35 method Point.Area public | func (p *Point) Area() float64";

const GO_REFERENCES: &str = "\
12 int type
15 int type
16 Other type
20 float64 type
23 Point type
24 int type
26 int type
26 Point type
28 int type
29 Println call
30 Point type
33 Point type
33 float64 type
34 helper call";

#[test]
fn go() {
    assert_eq!(symbols("a.go", GO), GO_SYMBOLS);
    assert_eq!(references("a.go", GO), GO_REFERENCES);
}

const C: &str = r#"#include <stdio.h>
#define LIMIT 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct node {
    int value;
    struct node *next, *previous;
} node_t;
typedef struct { int x; } point;
enum colour { RED, GREEN = 2 };
union both { int a; char b; };
static int counter = 0, *other;
extern int shared[3];
int add(int a, int b);
node_t *find(node_t *list, int value);
int (*callback)(int);
static int add_all(node_t *list)
{
    int local = 0;
    int inner(int);
    return add(local, list->value);
}
node_t **make(void) { return 0; }
"#;

const C_SYMBOLS: &str = "\
2-2 macro LIMIT - | #define LIMIT 3
3-3 macro MAX - | #define MAX(a, b) ((a) > (b) ? (a) : (b))
4-7 type node_t - | typedef struct node
4-7 struct node - | struct node
5-5 field node.value - | int value
6-6 field node.next - | struct node *next, *previous
6-6 field node.previous - | struct node *next, *previous
8-8 type point - | typedef struct { int x; } point
8-8 field point.x - | int x
9-9 enum colour - | enum colour
9-9 enumerator colour.RED - | RED
9-9 enumerator colour.GREEN - | GREEN = 2
10-10 union both - | union both
10-10 field both.a - | int a
10-10 field both.b - | char b
11-11 variable counter private | static int counter = 0, *other
11-11 variable other private | static int counter = 0, *other
12-12 variable shared public | extern int shared[3]
13-13 prototype add public | int add(int a, int b)
14-14 prototype find public | node_t *find(node_t *list, int value)
15-15 variable callback public | int (*callback)(int)
16-21 function add_all private | static int add_all(node_t *list)
22-22 function make public | node_t **make(void)";

const C_REFERENCES: &str = "\
6 node type
14 node_t type
14 node_t type
16 node_t type
20 add call
22 node_t type";

#[test]
fn c() {
    assert_eq!(symbols("a.c", C), C_SYMBOLS);
    assert_eq!(references("a.c", C), C_REFERENCES);
}

const JAVA: &str = r#"package a.b;
import java.util.List;
public class Point extends Base implements Shape {
    public static final int LIMIT = 3;
    private int x, y;
    static { int local = 1; }
    Runnable run = () -> { int inside = 2; };
    public Point(int x) { this.x = x; }
    @Override
    protected double area(List<Other> others) throws Problem {
        int local = helper(1);
        return new Circle(others.size()).area();
    }
    interface Inner { void call(); }
    enum Colour { RED, GREEN { void shine() {} } }
}
record Pair(int a, int b) {}
@interface Mark { String value(); }
"#;

const JAVA_SYMBOLS: &str = "\
3-16 class Point public | public class Point extends Base implements Shape
4-4 field Point.LIMIT public | public static final int LIMIT = 3
5-5 field Point.x private | private int x
5-5 field Point.y private | private int x, y
7-7 field Point.run package | Runnable run = ()
8-8 method Point.Point public | public Point(int x)
9-13 method Point.area protected | @Override protected double area(List<Other> others) throws Problem
14-14 interface Point.Inner package | interface Inner
14-14 method Inner.call public | void call()
15-15 enum Point.Colour package | enum Colour
15-15 enumerator Colour.RED public | RED
15-15 enumerator Colour.GREEN public | GREEN
15-15 method GREEN.shine package | void shine()
17-17 class Pair package | record Pair(int a, int b)
18-18 interface Mark package | @interface Mark
18-18 method Mark.value public | String value()";

const JAVA_REFERENCES: &str = "\
3 Base type
3 Shape type
7 Runnable type
10 List type
10 Other type
10 Problem type
11 helper call
12 area call
12 Circle type
12 size call
18 String type";

#[test]
fn java() {
    assert_eq!(symbols("A.java", JAVA), JAVA_SYMBOLS);
    assert_eq!(references("A.java", JAVA), JAVA_REFERENCES);
}

/// The names that only becket finds in a sample, and those that only ctags does. The guide to the index explains each.
// tidy: a table
const DIFFERENCES: &[(&str, &str, &[&str], &[&str])] = &[
    ("a.rs", RUST, &["LIMIT", "Both", "a", "b", "radius"], &[]),
    ("a.py", PYTHON, &[], &["L"]),
    (
        "a.js",
        JAVASCRIPT,
        &["#hide", "#secret"],
        &["hide", "secret", "local"],
    ),
    ("a.ts", TYPESCRIPT, &["arrow", "constructor", "x", "y"], &[]),
    ("a.go", GO, &[], &["main"]),
    ("a.c", C, &[], &[]),
    ("a.java", JAVA, &["shine"], &["a.b"]),
];

#[test]
fn ctags_finds_the_same_names_but_for_what_is_explained() {
    let version = Command::new("ctags").arg("--version").output();
    if !version.is_ok_and(|said| said.stdout.starts_with(b"Universal Ctags")) {
        return testkit::skipped("universal-ctags");
    }
    let folder = tempfile::tempdir().unwrap();
    for (file, source, only_becket, only_ctags) in DIFFERENCES {
        std::fs::write(folder.path().join(file), source).unwrap();
        let mut ctags = Command::new("ctags");
        ctags
            .current_dir(folder.path())
            .args(["-f", "-", "--kinds-C=+px", file]);
        let said = String::from_utf8(ctags.output().unwrap().stdout).unwrap();
        // ctags makes up names for what has none.
        let theirs: BTreeSet<&str> = said
            .lines()
            .filter_map(|line| line.split('\t').next())
            .filter(|name| !name.starts_with("__anon"))
            .collect();
        let found = read(file, source).symbols;
        let ours: BTreeSet<&str> = found.iter().map(|symbol| symbol.name.as_str()).collect();
        assert!(theirs.len() > 5, "{file}: {said}");
        let unexplained = |one: &BTreeSet<&str>, other: &BTreeSet<&str>, explained: &[&str]| {
            let names = one.difference(other).filter(|name| !explained.contains(name));
            names.map(|name| (*name).to_owned()).collect::<Vec<String>>()
        };
        assert_eq!(
            unexplained(&ours, &theirs, only_becket),
            [""; 0],
            "only becket has it: {file}"
        );
        assert_eq!(
            unexplained(&theirs, &ours, only_ctags),
            [""; 0],
            "only ctags has it: {file}"
        );
    }
}
