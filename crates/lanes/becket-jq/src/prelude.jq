# What jq has and the interpreter's own library has not, or has with another meaning.

def env: $ENV;
def input_filename: null;
def input: first((inputs | [.]), null) | if . == null then error("No more inputs") else .[0] end;
def IN(f): . as $x | any(f == $x; .);
def IN(f; g): any(f == g; .);
def INDEX(f; key): reduce f as $x ({}; .[$x | key | tostring] |= $x);
def INDEX(key): INDEX(.[]; key);
def ltrimstr($text): if isstring and ($text | isstring) and startswith($text)
  then .[($text | length):] else . end;
def rtrimstr($text): if isstring and ($text | isstring) and $text != "" and endswith($text)
  then .[:length - ($text | length)] else . end;
def leaf_paths: paths(scalars);
def input_line_number: 0;
def finites: select(isinfinite or isnan | not);
def getpath($path): if . == null or ($path | length) == 0 then if ($path | length) == 0 then . else null end
  else .[$path[0]] | getpath($path[1:]) end;

# Deleting keeps the order of what is left.
def _without($path):
  if . == null then null
  elif ($path | length) == 1 then
    $path[0] as $key
    | if isobject then with_entries(select(.key != $key))
      elif isarray and ($key | isobject) then .[$key.start:$key.end] |= []
      elif isarray then
        (if $key < 0 then $key + length else $key end) as $at
        | if $at < 0 or $at >= length then . else .[:$at] + .[$at + 1:] end
      else error("Cannot delete field of \(type)") end
  elif .[$path[0]] == null then .
  else .[$path[0]] |= _without($path[1:]) end;
def delpaths($paths):
  if any($paths[]; length == 0) then null
  else reduce ($paths | sort | reverse[]) as $path (.; _without($path)) end;
def del(f): delpaths([path(f)]);
def to_entries: [keys_unsorted[] as $key | {key: $key, value: .[$key]}];
def from_entries:
  def _first(f): first(f | select(. != null)) // null;
  reduce .[] as $entry ({};
    . + {($entry
          | if isobject | not then error("Cannot use \(type) as an entry") else . end
          | if .key == false then false
            else _first(.key, .k, .name, .Name, .Key, .K) end
          | if isstring then . else tojson end):
         ($entry | if has("value") then .value elif has("v") then .v else .Value end)});
def with_entries(f): to_entries | map(f) | from_entries;
def walk(f): def _walk: if isobject then map_values(_walk) elif isarray then map(_walk) else . end | f; _walk;

def @csv:
  if isarray | not then error("\(type) (\(tojson)) cannot be csv-formatted, only an array can be") else . end
  | map(if isstring then "\"" + (split("\"") | join("\"\"")) + "\""
        elif isnumber or isboolean then tojson
        elif . == null then ""
        else error("\(type) (\(tojson)) is not valid in a csv row") end)
  | join(",");
def @tsv:
  if isarray | not then error("\(type) (\(tojson)) cannot be tsv-formatted, only an array can be") else . end
  | map(if isstring then
          (split("\\") | join("\\\\")) | (split("\t") | join("\\t"))
          | (split("\n") | join("\\n")) | (split("\r") | join("\\r"))
        elif isnumber or isboolean then tojson
        elif . == null then ""
        else error("\(type) (\(tojson)) is not valid in a tsv row") end)
  | join("\t");
def @sh:
  [if isarray then .[] else . end
   | if isobject or isarray then error("\(type) (\(tojson)) can not be escaped for shell")
     elif isstring then "'\(escape_sh)'" else tojson end]
  | join(" ");

def splits($re): splits($re; null);
def splits($re; $flags): split($re; $flags // "") | .[];
def join($text): reduce .[] as $x (null;
  (if . == null then "" else . + $text end)
  + ($x | if . == null then "" elif isstring then . elif isnumber or isboolean then tojson
          else error("Cannot join \(type) into a text") end)) // "";
def ascii_downcase: if isstring then explode | map(if 65 <= . and . <= 90 then . + 32 else . end) | implode
  else error("ascii_downcase input must be a string") end;
def ascii_upcase: if isstring then explode | map(if 97 <= . and . <= 122 then . - 32 else . end) | implode
  else error("ascii_upcase input must be a string") end;

# Times that can be calculated with: a number of seconds, or an array with a month in it.
def _time:
  if isnumber and (. > 1e12 or . < -1e12) or isarray and (.[1] | isnumber and (. < 0 or . > 11))
  then error("\(tojson) is no time") else . end;
def strftime($format): _time | strftime_($format);
def strflocaltime($format): _time | strflocaltime_($format);
def gmtime: _time | gmtime_;
def localtime: _time | localtime_;
def mktime: _time | mktime_;
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def halt_error($code): stderr_raw, halt($code);
def halt_error: halt_error(5);
