// Streams as promises.

module.exports = require("stream").promises;
