// No extension is a program of one file.

module.exports = { isSea: () => false };
