// Assertions that are always strict.

module.exports = require("assert").strict;
