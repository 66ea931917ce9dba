"""JSON for programs; SCHEMA says what is in it, as JSON Schema. Fields are added, none is renamed or removed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from seismo.check.shown import words

if TYPE_CHECKING:
    from seismo.check.blame import Changes, Suspect
    from seismo.check.compare import Finding
    from seismo.check.deciding import Outcome
    from seismo.check.growth import Growth
    from seismo.check.measurement import Counts, Function, Range

_RANGE = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_FUNCTION = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("module", "qualname", "file")},
    "required": ["module", "qualname", "file"],
}
_COUNTS = {"type": "object", "additionalProperties": {"$ref": "#/$defs/range"}}
_CHANGES = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {"old": {"$ref": "#/$defs/range"}, "new": {"$ref": "#/$defs/range"}},
    },
}
_PAIRS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "function": {"$ref": "#/$defs/function"},
            "old": {"type": "integer"},
            "new": {"type": "integer"},
        },
        "required": ["function", "old", "new"],
    },
}
_GROWTH = {
    "type": ["object", "null"],
    "properties": {
        "quantity": {"type": "string"},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "counts": {"type": "array", "items": {"type": "integer"}},
        "slope": {"type": "number"},
        "shape": {"type": "string"},
    },
    "required": ["quantity", "sizes", "counts", "slope", "shape"],
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "seismo check",
    "$defs": {
        "range": _RANGE,
        "function": _FUNCTION,
        "counts": _COUNTS,
        "changes": _CHANGES,
        "pairs": _PAIRS,
        "growth": _GROWTH,
    },
    "type": "object",
    "required": ["format", "verdict", "status", "against", "totals", "findings", "suspects", "left_out", "remarks"],
    "properties": {
        "format": {"const": 1},
        "verdict": {"enum": ["beyond", "undecided", "within"]},
        "status": {"enum": [0, 1, 2]},
        "headline": {"type": "string"},
        "against": {"type": "string"},
        "stamp": {"type": "object"},
        "totals": {
            "type": "object",
            "properties": {"old": {"$ref": "#/$defs/counts"}, "new": {"$ref": "#/$defs/counts"}},
            "required": ["new"],
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["limit", "quantity", "verdict", "old", "new"],
                "properties": {
                    "limit": {"type": "string"},
                    "quantity": {"type": "string"},
                    "function": {"$ref": "#/$defs/function"},
                    "test": {"type": "string"},
                    "old": {"$ref": "#/$defs/range"},
                    "new": {"$ref": "#/$defs/range"},
                    "allowed": {"type": "integer"},
                    "verdict": {"enum": ["beyond", "undecided", "unmeasured", "better", "within"]},
                    "left_out_share": {"type": "number"},
                },
            },
        },
        "suspects": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["function", "where", "per_call", "changed", "counts", "called", "callers", "lines"],
                "properties": {
                    "function": {"$ref": "#/$defs/function"},
                    "where": {"type": "string"},
                    "per_call": {"type": "boolean"},
                    "changed": {"type": ["boolean", "null"]},
                    "renamed_from": {"$ref": "#/$defs/function"},
                    "counts": {"$ref": "#/$defs/changes"},
                    "below": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "function": {"$ref": "#/$defs/function"},
                                "counts": {"$ref": "#/$defs/changes"},
                            },
                            "required": ["function", "counts"],
                        },
                    },
                    "called": {"$ref": "#/$defs/pairs"},
                    "callers": {"$ref": "#/$defs/pairs"},
                    "lines": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "line": {"type": "integer"},
                                "text": {"type": "string"},
                                "what": {"enum": ["lines", "births"]},
                                "note": {"enum": ["", "new", "edited", "new or edited"]},
                                "old": {"type": ["integer", "null"]},
                                "new": {"type": "integer"},
                            },
                            "required": ["line", "text", "what", "old", "new"],
                        },
                    },
                },
            },
        },
        "worse": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "function": {"$ref": "#/$defs/function"},
                    "new": {"$ref": "#/$defs/growth"},
                    "old": {"$ref": "#/$defs/growth"},
                },
            },
        },
        "time": {
            "type": ["object", "null"],
            "properties": {
                "old_s": {"type": "array", "items": {"type": "number"}},
                "new_s": {"type": "array", "items": {"type": "number"}},
                "change": {"type": "number"},
                "low": {"type": "number"},
                "high": {"type": ["number", "null"]},
                "limit": {"type": "number"},
                "beyond": {"type": "boolean"},
            },
        },
        "left_out": {"type": "array", "items": {"type": "object"}},
        "remarks": {"type": "array", "items": {"type": "string"}},
    },
}


def as_json(outcome: Outcome) -> str:
    """One object."""
    comparison = outcome.comparison
    stamp = outcome.new.stamp
    found: dict[str, Any] = {
        "format": 1,
        "verdict": outcome.verdict.value,
        "status": outcome.status,
        "headline": words.headline(outcome),
        "against": outcome.against,
        "stamp": {
            "program": stamp.program,
            "python": stamp.python,
            "platform": stamp.platform,
            "seismo": stamp.seismo,
            "dependencies": dict(stamp.dependencies),
        },
        "totals": {"new": _counts(outcome.new.totals)}
        | ({"old": _counts(comparison.old.totals)} if comparison is not None else {}),
        "findings": [_finding(one) for one in comparison.findings] if comparison is not None else [],
        "suspects": [_suspect(one) for one in outcome.suspects],
        "worse": [
            {"function": _function(now.function), "new": _growth(now), "old": _growth(before)}
            for now, before in outcome.worse
        ],
        "time": _time(outcome),
        "left_out": [
            {**({"test": one} if isinstance(one, str) else {"function": _function(one)}), "quantities": quantities}
            for one, quantities in (comparison.left_out.items() if comparison is not None else ())
        ],
        "remarks": outcome.remarks,
    }
    return json.dumps(found, indent=1) + "\n"


def _range(found: Range) -> list[int]:
    return [found.low, found.high]


def _counts(counts: Counts) -> dict[str, list[int]]:
    return {quantity: _range(found) for quantity, found in counts.items()}


def _changes(changes: Changes) -> dict[str, Any]:
    return {quantity: {"old": _range(old), "new": _range(new)} for quantity, (old, new) in changes.items()}


def _function(function: Function) -> dict[str, str]:
    return {"module": function.module, "qualname": function.qualname, "file": function.file}


def _finding(finding: Finding) -> dict[str, Any]:
    subject: dict[str, Any] = {}
    if isinstance(finding.subject, str):
        subject = {"test": finding.subject}
    elif finding.subject is not None:
        subject = {"function": _function(finding.subject)}
    return {
        "limit": str(finding.limit),
        "quantity": finding.limit.quantity,
        **subject,
        "old": _range(finding.old),
        "new": _range(finding.new),
        "allowed": max(0, finding.allowed),
        "verdict": finding.verdict.value,
        "left_out_share": finding.share,
    }


def _pairs(rows: list[tuple[Function, int, int]]) -> list[dict[str, Any]]:
    return [{"function": _function(one), "old": old, "new": new} for one, old, new in rows[:20]]


def _suspect(suspect: Suspect) -> dict[str, Any]:
    return {
        "function": _function(suspect.function),
        "where": suspect.where,
        "per_call": suspect.per_call,
        "changed": suspect.changed,
        **({"renamed_from": _function(suspect.before)} if suspect.before is not None else {}),
        "counts": _changes(suspect.counts),
        "below": [{"function": _function(one), "counts": _changes(counts)} for one, counts in suspect.below[:20]],
        "called": _pairs(suspect.called),
        "callers": _pairs(suspect.callers),
        "lines": [
            {
                "line": line.number,
                "text": line.text,
                "note": line.note,
                "what": line.what,
                "old": line.old,
                "new": line.new,
            }
            for line in suspect.lines[:20]
        ],
    }


def _growth(growth: Growth | None) -> dict[str, Any] | None:
    if growth is None:
        return None
    return {
        "quantity": growth.quantity,
        "sizes": list(growth.sizes),
        "counts": list(growth.counts),
        "slope": growth.slope,
        "shape": growth.shape,
    }


def _time(outcome: Outcome) -> dict[str, Any] | None:
    times = outcome.times
    if times is None or not times.old:
        return None
    middle, low, high = times.change
    return {
        "old_s": times.old,
        "new_s": times.new,
        "change": middle,
        "low": low,
        "high": high if math.isfinite(high) else None,
        "limit": times.limit,
        "beyond": times.is_beyond,
    }
