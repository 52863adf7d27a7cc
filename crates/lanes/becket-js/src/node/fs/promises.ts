// Files as promises.

module.exports = require("fs").promises;
