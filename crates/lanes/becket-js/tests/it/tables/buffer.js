Buffer.from("héllo wörld ✓ 🎉").toString("hex")
["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le"].map((e) => Buffer.from("héllo ✓🎉?>").toString(e))
["utf8", "latin1", "ascii", "utf16le", "ucs2", "binary"].map((e) => Buffer.from("aé✓z", e).toString("hex"))
["6869", "6869zz", "6", "", "ABcd"].map((t) => Buffer.from(t, "hex").toString())
["aGk=", "aGk", "a-_/", "a GV sbG8=", "====", "YQ"].map((t) => Buffer.from(t, "base64").toString("hex"))
Buffer.from([1, 2, 300, -1, 3.7, "4", "x"]).toJSON()
[Buffer.alloc(3), Buffer.alloc(3, 1), Buffer.alloc(5, "ab"), Buffer.alloc(4, "6162", "hex")]
Buffer.concat([Buffer.from("a"), new Uint8Array([98]), Buffer.from("c")]).toString()
Buffer.concat([Buffer.from("abc"), Buffer.from("def")], 4).toString()
[Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.from("b").compare(Buffer.from("a")), Buffer.from("a").equals(Buffer.from("a"))]
[Buffer.byteLength("é✓"), Buffer.byteLength("aGk=", "base64"), Buffer.byteLength(new ArrayBuffer(5)), Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding("UTF-8"), Buffer.isEncoding("x")]
Buffer.from("hello").subarray(1, 3).toString()
Buffer.from("hello").slice(-3, -1).toString()
(() => { const a = Buffer.from("hello"); const b = a.subarray(1); b[0] = 65; return a.toString(); })()
["indexOf", "lastIndexOf", "includes"].map((m) => [Buffer.from("abcabc")[m]("c"), Buffer.from("abcabc")[m](98), Buffer.from("abcabc")[m](Buffer.from("ca")), Buffer.from("abcabc")[m]("b", 2), Buffer.from("abcabc")[m]("b", -2), Buffer.from("abc")[m]("x")])
(() => { const b = Buffer.alloc(10); return [b.write("héé", 1), b.write("zz", 8), b.write("abc", 9), b.toString("hex")]; })()
(() => { const b = Buffer.alloc(4); return [b.write("✓✓"), b.toString("hex")]; })()
(() => { const b = Buffer.alloc(8); b.writeUInt16BE(0x1234, 0); b.writeInt32LE(-5, 2); b.writeUInt8(255, 7); return [b.toString("hex"), b.readUInt16LE(0), b.readInt32LE(2), b.readInt8(7), b.readUint8(7)]; })()
(() => { const b = Buffer.alloc(16); b.writeDoubleBE(1.5, 0); b.writeFloatLE(-2.25, 8); return [b.toString("hex"), b.readDoubleBE(0), b.readFloatLE(8)]; })()
(() => { const b = Buffer.alloc(8); b.writeBigInt64BE(-3n); return [b.readBigUInt64BE(), b.readBigInt64BE(), b.readBigInt64LE()]; })()
(() => { const b = Buffer.alloc(6); b.writeUIntBE(0x123456, 0, 3); b.writeIntLE(-2, 3, 3); return [b.toString("hex"), b.readUIntBE(0, 3), b.readIntLE(3, 3), b.readUIntLE(0, 6)]; })()
Buffer.alloc(2).readUInt32LE(0)
Buffer.alloc(4).readUInt32LE(2)
Buffer.alloc(4).writeUInt8(256)
Buffer.alloc(4).readUInt8("0")
Buffer.from(5)
Buffer.from(null)
Buffer.from("x", "nope")
Buffer.alloc(-1)
Buffer.alloc("3")
JSON.stringify(Buffer.from("hi"))
[Buffer.from("abcd").swap16().toString(), Buffer.from("abcdefgh").swap32().toString()]
Buffer.from("abc").fill("xy").toString()
(() => { const a = Buffer.from("abcdef"), b = Buffer.alloc(4); return [a.copy(b, 1, 2), b.toString("hex")]; })()
[...Buffer.from("ab").entries()]
[Buffer.from("abc") instanceof Uint8Array, Buffer.from(new Uint16Array([1, 258])).toString("hex"), Buffer.from(new Uint8Array([1, 2]).buffer, 1).length]
Buffer.from({ type: "Buffer", data: [1, 2] }).toString("hex")
Buffer.from(new String("box")).toString()
Buffer.of(1, 2, 3).toString("hex")
[atob("aGk="), btoa("hi"), atob(" aG k= ")]
atob("*")
btoa("✓")
(async () => { const b = new Blob(["a", new Uint8Array([98]), new Blob(["c"])], { type: "Text/Plain" }); return [b.size, b.type, await b.text(), await b.slice(1).text()]; })()
Buffer.from([0xff, 0xfe, 0x61, 0xe2, 0x9c]).toString()
Buffer.from("a\ud800b").toString("hex")
[Buffer.from("test").toString("utf8", 1, 3), Buffer.from("test").toString("utf8", -1, 99), Buffer.from("abc").at(-1)]
Buffer.from("abc").map((x) => x + 1).toString()
// string_decoder
(() => { const d = new (require("string_decoder").StringDecoder)("utf8"); return [d.write(Buffer.from([0xe2, 0x9c])), d.write(Buffer.from([0x93, 0xf0])), d.write(Buffer.from([0x9f])), d.end()]; })()
(() => { const d = new (require("string_decoder").StringDecoder)("base64"); return [d.write(Buffer.from("abcd")), d.write(Buffer.from("e")), d.end()]; })()
(() => { const d = new (require("string_decoder").StringDecoder)("utf16le"); return [d.write(Buffer.from([0x61, 0, 0x3d])), d.write(Buffer.from([0xd8])), d.write(Buffer.from([0x4d, 0xdc])), d.end()].join(""); })()
new (require("string_decoder").StringDecoder)("nope")
[new Buffer.alloc(2), new Buffer.allocUnsafe(0).length]
