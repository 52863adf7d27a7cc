// Terminals. An extension has none of its own.

const { Readable, Writable } = require("stream");

class ReadStream extends Readable {}
class WriteStream extends Writable {}

module.exports = { isatty: () => false, ReadStream, WriteStream };
