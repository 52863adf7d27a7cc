// path, with what is odd about it
["", "/", "//", "a", "/a", "a/", "/a/b/", "./a", "../a", "a/../..", "/..", "/../a", "a//b", "a/./b/../c", ".", ".."].map((p) => require("path").normalize(p))
["", "/", "//", "a", "/a", "a/b", "/a/b/", "a//b", "../a", "/a//b//"].map((p) => require("path").dirname(p))
["", "/", "a", "/a/b.c", "a/b/", "a.b.c", ".x", "..", "a/.b.c"].map((p) => [require("path").basename(p), require("path").extname(p)])
[["a.html", ".html"], ["a.html", "html"], ["a", "a"], ["/x/a.js", "a.js"]].map(([p, s]) => require("path").basename(p, s))
[["a", "b"], ["/a", "../b"], ["", ""], ["a", "", "b"], ["/", "a", "..", ".."]].map((p) => require("node:path").join(...p))
[["/a", "b"], ["/a", "/b", "c"], ["/a/b", "..", "./c"], ["/", ""]].map((p) => require("path").resolve(...p))
[["/a/b", "/a/c"], ["/a/b/c", "/a"], ["/a", "/a"], ["/", "/x/y"], ["/a/bc", "/a/b"]].map(([a, b]) => require("path").relative(a, b))
["/a/b.c", "a", "/", "", "./x.y.z", "/a/", ".x"].map((p) => require("path").parse(p))
[{ dir: "/a", base: "b" }, { root: "/", name: "x", ext: "y" }, { dir: "/", root: "/", base: "z" }, { name: "n" }].map((p) => require("path").format(p))
["/a", "a", "", "./a"].map((p) => require("path").isAbsolute(p))
[require("path").sep, require("path").delimiter, require("path").posix === require("path"), require("path/posix").sep]
require("path").join("a", 5)
require("path").basename(undefined)
["C:\\a\\b.c", "a\\b", "\\\\s\\share\\x", "C:/a/b"].map((p) => [require("path").win32.basename(p), require("path").win32.dirname(p), require("path").win32.isAbsolute(p)])
[require("path").win32.join("a", "..", "b\\c"), require("path").win32.normalize("C:/a/../b"), require("path").win32.sep]
require("path/win32").parse("C:\\a\\b.txt")
