#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Checks result files against docs/result.schema.json. Needs no packages: it knows the
# part of JSON Schema that the schema uses, and refuses a schema that uses more.
"""usage: check-result.py [--schema FILE] RESULT.json..."""

import json
import pathlib
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
NOTES = {"$schema", "$id", "title", "description", "definitions"}
RULES = {"$ref", "type", "properties", "required", "additionalProperties", "items", "enum",
         "minimum", "maxLength"}


def check(value, schema, where, root):
    """Yields one line for everything in value that the schema does not allow."""
    unknown = set(schema) - NOTES - RULES
    if unknown:
        raise SystemExit(f"schema of {where}: unknown keyword {sorted(unknown)[0]}")
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/definitions/")
        yield from check(value, root["definitions"][name], where, root)
        return
    if "type" in schema and not TYPES[schema["type"]](value):
        yield f"{where}: is {json.dumps(value)[:60]}, must be of type {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: is {json.dumps(value)}, must be one of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: is {value}, must be at least {schema['minimum']}"
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield f"{where}: has {len(value)} characters, must have at most {schema['maxLength']}"
    if isinstance(value, dict):
        yield from check_object(value, schema, where, root)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from check(item, schema["items"], f"{where}[{i}]", root)


def check_object(value, schema, where, root):
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where}.{name}: is missing"
    for name, inner in value.items():
        if name in known:
            yield from check(inner, known[name], f"{where}.{name}", root)
        elif schema.get("additionalProperties") is False:
            yield f"{where}.{name}: is not in the schema"


def unique(pairs):
    """An object that names a field twice means two things: refuse it."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"field {name} appears twice")
    return dict(pairs)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def load(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant)


def main(argv):
    schema_path = pathlib.Path(__file__).resolve().parent.parent / "docs/result.schema.json"
    if argv[:1] == ["--schema"] and len(argv) > 1:
        schema_path, argv = argv[1], argv[2:]
    if not argv or argv[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    schema = load(schema_path)
    failed = False
    for path in argv:
        try:
            problems = list(check(load(path), schema, "result", schema))
        except (OSError, ValueError) as problem:
            problems = [str(problem)]
        for line in problems:
            print(f"{path}: {line}", file=sys.stderr)
        failed |= bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
