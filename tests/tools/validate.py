#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Validates documents of vdsocheck by the JSON Schemas in src/share.

    tests/tools/validate.py FILE...

A file has any number of documents, one after another; each names its schema. Beyond what the
schema demands, a document may have no key that the schema does not know.
"""

import functools
import json
import os
import sys

from jsonschema.validators import Draft7Validator

SHARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/share")


def changed(schema, parts):
    """The schema of documents without a key that it does not know; or, with `parts`, of parts of
    documents: no key is required."""
    if isinstance(schema, list):
        return [changed(value, parts) for value in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: changed(value, parts) for key, value in schema.items()}
    if isinstance(result.get("required"), list):
        result["additionalProperties"] = False
        if parts:
            del result["required"]
    return result


@functools.lru_cache(maxsize=None)
def validator(name, parts):
    with open(f"{SHARE}/{name}.schema.json", encoding="utf-8") as file:
        return Draft7Validator(changed(json.load(file), parts))


def problem(document, parts=False):
    """What is wrong with it; None: nothing."""
    name = str(document.get("schema")).replace("/", "-")
    if not os.path.exists(f"{SHARE}/{name}.schema.json"):
        return f"there is no schema {name}"
    for error in validator(name, parts).iter_errors(document):
        place = ".".join(str(key) for key in error.absolute_path)
        return f"{name}: {place or 'the document'}: {error.message[:200]}"
    return None


def documents(text):
    decoder = json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        yield document


def main(paths):
    count = wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, document in enumerate(documents(file.read()), 1):
                count += 1
                why = problem(document)
                if why:
                    wrong += 1
                    print(f"{path}: document {number}: {why}", file=sys.stderr)
    print(f"{count} documents, {wrong} of them not valid")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
