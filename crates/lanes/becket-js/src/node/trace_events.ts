// Nothing is traced in this way.

module.exports = { getEnabledCategories: () => undefined };
